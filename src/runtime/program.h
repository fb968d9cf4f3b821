// src/runtime/program.h - loads and runs .pte programs. The public face of the runtime. Depends on base, format.
//
//   EW_ASSIGN(auto program, Program::load("model.pte", {.threads = 2}));
//   EW_ASSIGN(auto method, program->method("forward"));
//   EW_TRY(method->set_input(0, tensor));
//   EW_TRY(method->execute());
//   HostTensor y = method->output_tensor(0);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "format/tensor.h"
#include "runtime/value.h"

namespace edgewright::runtime {

struct LoadOptions {
  int threads = 1;  // 0: as many as the machine has
  // A method that runs more instructions than this in one call is stopped: a file must not hang its reader.
  uint64_t max_instructions = 100'000'000;
  bool profile = false;  // measure each step: see Method::profile
};

// What an input or output is. Sizes are upper bounds where `dynamic`; an unbounded tensor has `unbounded` set.
struct ValueInfo {
  Tag tag = Tag::kNone;
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  std::vector<uint8_t> dim_order;
  bool dynamic = false, unbounded = false;
};

// Where time goes: one instruction, or one operator inside of a delegate.
struct StepTime {
  std::string name;     // "aten::add.out", "Fully Connected (NC, F32) GEMM"
  int delegate = -1;    // number of the delegate that the operator belongs to
  double total_ms = 0;  // over all runs since load
};

class Method;

// A loaded file. Methods keep it alive. Not for use from several threads at once.
class Program : public std::enable_shared_from_this<Program> {
 public:
  virtual ~Program() = default;
  // Errors: kMalformed (unreadable, truncated, inconsistent), kUnsupported (no kernel or backend of that name).
  static Result<std::shared_ptr<Program>> load(const std::string& path, LoadOptions options = {});
  // `owner` keeps the bytes alive; without one the caller does.
  static Result<std::shared_ptr<Program>> load(Bytes file, std::shared_ptr<const void> owner, LoadOptions options = {});

  virtual std::vector<std::string> method_names() const = 0;
  // Allocates all memory of the method and prepares its kernels and delegates. Every call makes a method with its own state, save for
  // buffers that methods of the file share: those are the program's.
  // Errors: kUsage for an unknown name; kUnsupported; kMalformed.
  virtual Result<std::unique_ptr<Method>> method(const std::string& name) = 0;
};

// A method with its memory. After Program::method, set_input and execute on static shapes perform no heap allocation.
// Mutable buffers keep their values from one execute to the next.
class Method {
 public:
  virtual ~Method() = default;
  virtual size_t num_inputs() const = 0;
  virtual size_t num_outputs() const = 0;
  virtual ValueInfo input_info(size_t i) const = 0;
  virtual ValueInfo output_info(size_t i) const = 0;
  // How the container of inputs and outputs was encoded by the exporter; may be empty.
  virtual const std::string& encoded_inputs() const = 0;
  virtual const std::string& encoded_outputs() const = 0;

  // Copies a C-order tensor in, into the layout that the program declares. kUsage when dtype, rank or sizes do not fit.
  virtual Result<void> set_input(size_t i, DType dtype, std::span<const int64_t> sizes, Bytes data) = 0;
  Result<void> set_input(size_t i, const HostTensor& t) { return set_input(i, t.dtype, t.sizes, t.bytes); }
  // An int, bool or double input. One that no instruction reads was fixed by the export: kUsage for another value.
  virtual Result<void> set_input_int(size_t i, int64_t v) = 0;
  virtual Result<void> set_input_bool(size_t i, bool v) = 0;
  virtual Result<void> set_input_double(size_t i, double v) = 0;

  // Runs once. kUsage when the inputs do not fit the program. Outputs are valid until the next call of any member.
  virtual Result<void> execute() = 0;

  // The value itself: a tensor in the program's layout (see Tensor::strides), or a scalar.
  virtual const EValue& output(size_t i) const = 0;
  // A C-order copy of a tensor output; 0-d int64, bool or double for scalars; empty sizes {0} for none.
  virtual HostTensor output_tensor(size_t i) const = 0;

  // Mutable buffers as they were after load: their initial values, zeros where the file has none. Those that methods share are reset
  // for all of them.
  virtual void reset_state() = 0;
  // Bytes of planned memory (without what delegates use).
  virtual uint64_t arena_bytes() const = 0;
  // In execution order; empty without LoadOptions::profile. A delegate is given by its operators, what it takes beyond them
  // under the name "delegate".
  virtual std::vector<StepTime> profile() const = 0;
};

}  // namespace edgewright::runtime
