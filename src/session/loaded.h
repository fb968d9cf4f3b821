// src/session/loaded.h - a model on the runtime, as the commands use it. Depends on session.h, driver, source.h.
#pragma once

#include "driver/compile.h"
#include "runtime/program.h"
#include "session/session.h"
#include "session/source.h"

namespace edgewright::session {

class Loaded : public Model {
 public:
  // Like run(), with the extra outputs of CompileOptions::expose at the end.
  virtual Result<std::vector<Value>> run_all(const std::vector<Value>& inputs) = 0;
  // The same without the check of the inputs and the copy of the outputs, for measuring. A program may reuse the memory of its
  // inputs, so that each run needs them anew.
  virtual Result<void> run_unchecked(const std::vector<Value>& inputs) = 0;
  // Empty without Options::profile.
  virtual std::vector<runtime::StepTime> profile() const = 0;
};

// Compiles the program in memory (rewriting it) and loads it. Errors: those of driver::compile; kInternal where the runtime
// does not take what was compiled.
Result<std::unique_ptr<Loaded>> compile_and_load(ir::Program program, const driver::CompileOptions& compile,
                                                 const runtime::LoadOptions& options);
// Methods of one loaded .pte, each once, in order of first mention; buffers that they share are shared. Errors: as load(); kUsage for a
// .pt2, or a method that is not there.
Result<std::vector<std::unique_ptr<Loaded>>> load_methods(const std::string& path, const Options& options,
                                                          const std::vector<std::string>& methods);
// Model::load with the wider type.
Result<std::unique_ptr<Loaded>> load(const std::string& path, const Options& options);

}  // namespace edgewright::session
