// src/passes/pass_manager.h - runs passes: verifies, times, logs and, as asked, validates each rewrite. Depends on passes, interp.
#pragma once

#include <set>

#include "passes/pass_def.h"

namespace edgewright::passes {

// kLocal: each rewrite of a local pass is judged by itself, a pass over the whole graph by what it made of the graph; a wrong one is
// undone and reported. kStrict: the same, and after each pass the whole program is interpreted as it was and as it is now; whatever
// is wrong is an error. kOff: types alone.
enum class Verify : uint8_t { kOff, kLocal, kStrict };

// One line of the log.
struct Event {
  std::string pass;
  std::string node;    // the root
  std::string reason;  // why a rewrite was refused or rolled back; empty for an applied one
  std::string module_path;
  bool applied = false;
  bool fault = false;              // a rewrite that failed its check: ours
  std::string source;              // last frame of the exporter's stack trace
  std::vector<std::string> nodes;  // of a fault: all nodes that the rewrite would have replaced
  // Of a fault: a small program on which the pass alone fails in the same way; the whole program where none was found.
  std::shared_ptr<const ir::Program> reduced;
};

struct PassStats {
  std::string pass;
  double milliseconds = 0;
  int applied = 0;
  int unjudged = 0;  // of those: rewrites of which not all could be evaluated (see Verdict)
};

struct PassOptions {
  Verify verify = Verify::kLocal;
  std::set<std::string> disabled;
  // Called after each pass that changed the graph (for --dump).
  std::function<Result<void>(const std::string& pass, const ir::Program&)> after = {};
  // Called before each pass.
  std::function<void(const std::string& pass)> progress = {};
  bool reduce = true;                             // make Event::reduced
  const std::vector<PassDef>* further = nullptr;  // passes that may be named beside those of the table
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
