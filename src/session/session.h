// src/session/session.h - load an exported program and run it: the public face of compiler and runtime together.
// Depends on value.h, signature.h; everything else stands in the .cc files.
//
//   auto model = session::Model::load("model.pt2");            // or a .pte
//   if (!model) return report(model.error());
//   auto outputs = (*model)->run({session::f32({1, 3}, {1, 2, 3})});
//
#pragma once

#include <memory>
#include <optional>

#include "session/signature.h"

namespace edgewright::driver {
struct CompileOptions;
struct CompileReport;
}  // namespace edgewright::driver

namespace edgewright::session {

struct Options {
  int threads = 1;                                  // 0: as many as the machine has
  std::string model;                                // which model of an archive that holds several; empty: the only one
  std::string method;                               // empty: the first
  bool profile = false;                             // measure each step (see session/loaded.h)
  const driver::CompileOptions* compile = nullptr;  // for a .pt2; null: the defaults. Not kept.
};

// A program ready to run, with state of its own. Not for use from several threads at once.
class Model {
 public:
  // A .pt2 (torch.export.save) is compiled in memory; a .pte is loaded as it is. What a file is, its first bytes say.
  // Errors: kMalformed, kUnsupported (naming node, op, dtype, module path), kUsage (no such model or method), kInternal.
  static Result<std::unique_ptr<Model>> load(const std::string& path, const Options& options = {});
  virtual ~Model() = default;

  virtual const Signature& signature() const = 0;
  // One call. `inputs`: one value per input leaf (see Signature); those that the export fixed may be None.
  // Mutated buffers keep their values from one call to the next. Errors: kUsage where the inputs do not fit.
  virtual Result<std::vector<Value>> run(const std::vector<Value>& inputs) = 0;
  // Values of buffers as they were after load.
  virtual void reset_state() = 0;

  // The sample inputs inside a .pt2, if there are any.
  virtual std::optional<std::vector<Value>> sample_inputs() const = 0;
  // What the compiler did; null for a .pte.
  virtual const driver::CompileReport* report() const = 0;
  // Milliseconds that the runtime took to load the program, without compiling.
  virtual double load_ms() const = 0;
  virtual uint64_t arena_bytes() const = 0;
};

}  // namespace edgewright::session
