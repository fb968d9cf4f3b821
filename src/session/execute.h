// src/session/execute.h - running calls as a command: files in, outputs out. Depends on check.h.
#pragma once

#include "session/check.h"

namespace edgewright::session {

struct CallResult {
  std::vector<Value> outputs;
  double milliseconds = 0;
};
struct RunResult {
  double load_ms = 0;
  std::vector<CallResult> calls;
  std::vector<OutputCheck> checks;  // `compiled_expected` alone; empty where nothing was expected
};

// Loads, runs the calls in order on one method (or, with several in `files`, each on its own, all of one loaded .pte), compares with what is expected, writes `output_files` (one per call, or none),
// also where something differs. Errors: those of Model::load, gather, run and write_outputs.
Result<RunResult> execute(const std::string& path, const Options& options, const CallFiles& files,
                          const Tolerance& tolerance, const std::vector<std::string>& output_files,
                          const Progress& progress);

// Element `i` in C order; floats, ints and bools only.
double element_f(const HostTensor& t, int64_t i);
int64_t element_i(const HostTensor& t, int64_t i);

}  // namespace edgewright::session
