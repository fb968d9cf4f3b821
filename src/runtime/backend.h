// src/runtime/backend.h - what the runtime asks of a delegate. Depends on base, value.h, format/pieces.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/pieces.h"
#include "runtime/value.h"

struct pthreadpool;

namespace edgewright::runtime {

// Data that a payload refers to by name, kept in the program's named segments.
class NamedDataSource {
 public:
  virtual ~NamedDataSource() = default;
  virtual const Bytes* find(std::string_view key) const = 0;  // nullptr if absent
};

// One delegated region, ready to run.
class Delegate {
 public:
  virtual ~Delegate() = default;
  // `args` are the call's arguments: inputs, then outputs. Resizes the outputs. kUsage when shapes do not fit.
  virtual Result<void> run(std::span<EValue* const> args) = 0;
  // Called once at load with the arguments at their greatest sizes, so that run() need not allocate.
  virtual Result<void> prepare(std::span<EValue* const> args) = 0;
  // Names of the operators inside, and what each took in the last run, in milliseconds; empty where the backend was not made
  // to profile.
  virtual std::vector<std::pair<std::string, double>> profile() const = 0;
};

// State that the delegates of one program share.
class BackendState {
 public:
  virtual ~BackendState() = default;
  virtual Result<std::unique_ptr<Delegate>> load(Bytes payload, const NamedDataSource& named) = 0;
};

// The backend of this id ("XnnpackBackend"); kUnsupported for others. `file` is the whole .pte: payload and named data lie in it.
Result<std::unique_ptr<BackendState>> make_backend(std::string_view id, pthreadpool* pool, Bytes file, bool profile);

}  // namespace edgewright::runtime
