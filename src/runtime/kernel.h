// src/runtime/kernel.h - how a kernel sees its call, and the table of kernels. Depends on base, value.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "runtime/value.h"

struct pthreadpool;

namespace edgewright::runtime {

// Memory that kernels share for the length of one call. It grows at load, by what Kernel::scratch asks for, and at run time
// only where a tensor's shape has no bound.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();
  std::byte* get(uint64_t bytes);  // aligned to 64; nullptr when out of memory

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

// One call of a kernel. Arguments stand in the order of the operator's schema, outputs last, as in the .pte.
// A getter that meets another kind of value notes the error and returns a harmless stand-in; a kernel calls ok() once it has
// all its arguments, before it touches data.
class Call {
 public:
  Call(std::string_view op, std::span<EValue* const> args, Scratch& scratch, pthreadpool* pool)
      : op_(op), args_(args), scratch_(scratch), pool_(pool) {}

  size_t size() const { return args_.size(); }
  bool none(size_t i) const { return i >= args_.size() || args_[i]->is_none(); }

  const Tensor& in(size_t i);           // a tensor to read
  const Tensor* optional_in(size_t i);  // nullptr for None
  Tensor& out(size_t i);                // a tensor to write
  int64_t integer(size_t i);
  int64_t integer_or(size_t i, int64_t otherwise) { return none(i) ? otherwise : integer(i); }
  bool boolean(size_t i);
  double real(size_t i);  // int, bool or double
  double real_or(size_t i, double otherwise) { return none(i) ? otherwise : real(i); }
  const EValue& scalar(size_t i);  // int, bool or double
  bool is_number(size_t i) const {
    return i < args_.size() &&
           (args_[i]->tag == Tag::kInt || args_[i]->tag == Tag::kBool || args_[i]->tag == Tag::kDouble);
  }
  std::string_view text(size_t i);
  // Lists of up to kMaxRank ints, copied; empty for None.
  struct Ints {
    std::array<int64_t, kMaxRank> v{};
    size_t n = 0;
    int64_t operator[](size_t i) const { return v[i]; }
    size_t size() const { return n; }
    bool empty() const { return n == 0; }
    std::span<const int64_t> span() const { return {v.data(), n}; }
  };
  Ints ints(size_t i);
  std::span<const double> doubles(size_t i);
  std::span<const bool> bools(size_t i);
  size_t list_size(size_t i);                 // of a tensor list; 0 when it is none
  const Tensor* list_in(size_t i, size_t k);  // nullptr for an absent element
  Tensor& list_out(size_t i, size_t k);
  EValue& slot(size_t i);  // the value itself, for the prim operators that write ints
  // Axis of a tensor of this rank, negative ones counted from the end. A 0-d tensor has axis 0 and -1.
  size_t axis(size_t i, size_t rank);
  size_t axis_of(int64_t value, size_t rank);

  void reject(std::string_view why);  // notes the first error
  bool bad() const { return !error_.empty(); }
  // kUsage with the reason when a getter failed.
  Result<void> ok() const;
  template <class... Args>
  std::unexpected<Error> fail(Code code, FormatAt<std::type_identity_t<Args>...> f, Args&&... args) const {
    return named(edgewright::fail<Args...>(code, f, std::forward<Args>(args)...));
  }
  std::unexpected<Error> unsupported(DType t) const;

  // Gives `out` these sizes within its capacity. kUsage if it cannot have them.
  Result<void> resize(Tensor& out, std::span<const int64_t> sizes) const;
  std::byte* scratch(uint64_t bytes) { return scratch_.get(bytes); }
  pthreadpool* pool() const { return pool_; }

 private:
  std::unexpected<Error> named(std::unexpected<Error> e) const;
  const EValue& at(size_t i);

  std::string_view op_;
  std::span<EValue* const> args_;
  Scratch& scratch_;
  pthreadpool* pool_;
  std::string_view error_;
  size_t error_at_ = 0;
};

using KernelFn = Result<void> (*)(Call&);

struct Kernel {
  std::string_view name;  // "aten::add.out": operator name, dot, overload
  KernelFn run;
  // Bytes of scratch for these arguments at their present (at load: greatest) sizes; nullptr when it needs none.
  uint64_t (*scratch)(Call&) = nullptr;
};

// The kernel for an operator, nullptr if there is none.
const Kernel* find_kernel(std::string_view name);
// Adds a kernel for an operator of the program's own, before programs that call it are loaded: `name` as in the .pte, "mylib::op.out". Its
// call has the operator's arguments in the order of its schema, then the outputs (as tensors, already typed and placed; give them their
// sizes with Call::resize). The kernel must check what it gets: Call's getters and ok(). Thread-safe. Errors: kUsage where the name is
// taken.
Result<void> register_kernel(std::string name, KernelFn run, uint64_t (*scratch)(Call&) = nullptr);
// All kernels of our own: one table for each file of src/runtime/kernels, sorted by name.
std::span<const std::span<const Kernel>> kernel_tables();

// Sets a tensor's sizes where its kind of shape allows them; allocates only for kUnbound. See Call::resize.
// `why` receives a constant text on failure.
bool resize_tensor(Tensor& t, std::span<const int64_t> sizes, const char** why);

}  // namespace edgewright::runtime
