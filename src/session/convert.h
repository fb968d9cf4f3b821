// src/session/convert.h - between the tensors of files and runtime (HostTensor), those of graphs (ir::Tensor)
// and the interpreter's values. Depends on interp, value.h.
#pragma once

#include "interp/datum.h"
#include "session/value.h"

namespace edgewright::session {

// Shares the bytes where they are contiguous.
HostTensor to_host(const ir::Tensor& t);
// Shares the bytes unless they lie unaligned in a file.
ir::Tensor to_graph(const HostTensor& t);
interp::Datum to_datum(const Value& v);
Value to_value(const interp::Datum& d);
std::vector<Value> to_values(const ir::Program::Sample& s);

}  // namespace edgewright::session
