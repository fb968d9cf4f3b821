// tests/random/reduce.h - from a failing program to a small one that fails in the same way. Depends on generate.h.
#pragma once

#include "generate.h"

namespace edgewright::random {

// True where the program fails as the one at hand does.
using Fails = std::function<bool(const Case&)>;

// Takes away calls, outputs, writes and nodes (a node's results become inputs with the values that they had), makes sizes
// smaller and numbers simpler, as long as it fails. At most `tries` times.
Case reduce(Case c, const Fails& fails, int tries = 2000);

// The graph with its inputs of the first call as a comment, to be read by `edgewright check FILE.ir`.
std::string text_of(const Case& c);
// Writes STEM.ir and STEM.safetensors (inputs of the first call); returns the commands that reproduce it, for people.
Result<std::string> write_case(const Case& c, const std::string& stem);

}  // namespace edgewright::random
