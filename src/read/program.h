// src/read/program.h - one exported program: torch's JSON schema and its tensors -> ir::Program. Depends on base, ir, ops, and
// the other readers here.
//
// Format facts: torch/_export/serde/schema.py, schema major versions 7 (torch 2.5) and 8 (2.6 to 2.15).
#pragma once

#include "ir/graph.h"
#include "read/json.h"
#include "read/weights.h"

namespace edgewright::read {

// Builds the program. `sample_inputs` is the torch.save file of (args, kwargs), empty where there is none; samples that hold
// other things than tensors and plain values are left away.
// Parameters, buffers and constant tensors become constants named as in the module, or states where the signature says that the
// program mutates them; several that are one view of one storage become one value.
// Errors: kMalformed with the node's name where the JSON breaks the schema, names what is not defined, or contradicts itself, its
// tensors or the ops' own shape rules; kUnsupported for what has no meaning here (custom objects, tokens, sparse tensors, training
// outputs).
Result<ir::Program> build_program(JsonValue root, const Weights& weights, const Bytes& sample_inputs);

}  // namespace edgewright::read
