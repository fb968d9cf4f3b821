// src/session/calls.h - from what a command line names to the inputs of each call. Depends on signature.h.
#pragma once

#include <functional>
#include <optional>

#include "session/signature.h"

namespace edgewright::session {

// Called at the start of each part that may take long.
using Progress = std::function<void(const std::string& what)>;

// What the calls of one command are given. Each element of `inputs` and `expected` is the files of one call.
struct CallFiles {
  std::vector<std::vector<std::string>> inputs, expected;
  std::vector<std::string> scalars;  // K=VALUE, the same for every call
  std::vector<std::string> methods;  // none, one for all calls, or one per call
  // Where no files and no samples are: make inputs up instead of refusing.
  bool invent = false;
};

struct CallInputs {
  std::vector<Value> inputs;                        // one per leaf, as check() wants them
  std::optional<std::map<size_t, Value>> expected;  // tensors, by output leaf; nullopt where nothing is expected
};

// Successive calls on one loaded method. Without input files: one call with `samples`, else with nothing but scalars where
// the program takes no tensors. Errors: those of read_inputs and place, with the file; kUsage where the numbers of files
// disagree or inputs are missing.
Result<std::vector<CallInputs>> gather(const Signature& s, const CallFiles& files,
                                       const std::optional<std::vector<Value>>& samples);

// Inputs made up: zeros for integers and bools, floats of a normal distribution of deviation 0.5, the same for the same seed;
// symbols at a small size within their ranges, bounds of a .pte at their greatest.
Result<std::vector<Value>> invent_inputs(const Signature& s, uint64_t seed);

}  // namespace edgewright::session
