// src/passes/pass_manager.h - runs passes: verifies, times, logs and, as asked, validates each rewrite. Depends on passes, interp.
#pragma once

#include <set>

#include "passes/pass_def.h"

namespace edgewright::passes {

enum class Verify : uint8_t { kOff, kLocal, kStrict };

// One line of the log.
struct Event {
  std::string pass;
  std::string node;    // the root
  std::string reason;  // why a rewrite was refused or rolled back; empty for an applied one
  std::string module_path;
  bool applied = false;
  bool fault = false;  // a rewrite that failed its check: ours
};

struct PassStats {
  std::string pass;
  double milliseconds = 0;
  int applied = 0;
};

struct PassOptions {
  Verify verify = Verify::kLocal;
  std::set<std::string> disabled;
  // Called after each pass that changed the graph (for --dump).
  std::function<Result<void>(const std::string& pass, const ir::Program&)> after;
};

struct PassLog {
  std::vector<Event> events;
  std::vector<PassStats> stats;
  int faults = 0;
};

// Runs the named passes in order. Errors: kInternal where the verifier finds a broken graph (or, under kStrict, where a rewrite
// fails its check), otherwise what a pass reports. The graph is sound at every return, also after an error.
Result<void> run_passes(ir::Program& p, const std::vector<std::string>& names, const PassOptions& o, PassLog& log);

// One pass, also one that is not in the table. Errors: as run_passes.
Result<void> run_pass(ir::Program& p, const PassDef& pass, const PassOptions& o, PassLog& log);

// The order of the default pipeline (pipeline.cc, commented).
const std::vector<std::string>& default_pipeline();

}  // namespace edgewright::passes
