// src/session/bench.h - how long a program takes to load and to run. Depends on calls.h.
#pragma once

#include "runtime/program.h"
#include "session/calls.h"
#include "session/session.h"

namespace edgewright::session {

struct BenchResult {
  int runs = 0;
  double median_ms = 0, min_ms = 0, p90_ms = 0, mean_ms = 0;
  double load_ms = 0;
  std::optional<double> compile_ms;  // of a .pt2
  double peak_rss_mb = 0;            // of this process
  uint64_t arena_bytes = 0;
  // With Options::profile: where a run's time goes, kernels and delegates' operators of one name together, greatest first.
  struct Share {
    std::string name;
    int delegate = -1;  // -1: outside
    int count = 0;      // in the program
    double ms = 0;      // mean over the runs, of all of them together
  };
  std::vector<Share> profile;
};

// Runs one call again and again for `seconds`, at least once, after as much warming up as takes a tenth of it (at least one
// run). Inputs as gather() finds them, made up where there are none. Errors: those of Model::load, gather and run.
Result<BenchResult> bench(const std::string& path, const Options& options, const CallFiles& files, double seconds);

}  // namespace edgewright::session
