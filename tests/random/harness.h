// tests/random/harness.h - many random programs, each judged; failures reduced. Depends on generate.h, reduce.h.
//
// Programs are judged in a child process, so that a crash or a hang is a failure like any other: with a seed, and reduced.
#pragma once

#include "reduce.h"

namespace edgewright::random {

struct Campaign {
  uint64_t seed = 1;      // programs have the seeds seed, seed + 1, ...
  int64_t count = 0;      // of programs; 0: as many as the time allows
  double seconds = 0;     // 0: until `count`
  int max_failures = 20;  // then it ends
  int reduce_tries = 600;
  GenerateOptions generate;
  std::string found_dir;  // where failures are written; empty: nowhere
  bool verbose = false;   // prints failures as they are found
};

struct Failure {
  uint64_t seed = 0;
  std::string kind;  // what is wrong, without numbers
  std::string text;  // what is wrong
  Case reduced;
  std::string command;  // reproduces it, where it was written
  int times = 1;        // programs that were reduced to one like it
};

struct Tally {
  int64_t programs = 0, right = 0, refused = 0, unjudged = 0;
  std::map<std::string, int> reasons;  // of refusals
  std::vector<Failure> failures;
  std::string str() const;  // one line
};

Tally run_campaign(const Campaign& c);

// One program by its seed, in a child process: the verdict, also of a crash ("signal 11") or a hang.
Verdict judge_apart(const Case& c);

}  // namespace edgewright::random
