// tests/runtime/programs.h - small programs made with the builder, for tests of the runtime.
#pragma once

#include <gtest/gtest.h>

#include <numeric>

#include "format/pte_build.h"
#include "runtime/program.h"

namespace edgewright::runtime {

// One method "forward" with one chain, to which values and instructions are added.
struct Maker {
  pte::Program program;
  pte::Blobs blobs;
  std::vector<std::vector<std::byte>> data;  // of constants

  Maker() {
    program.plans.emplace_back();
    plan().name = "forward";
    plan().chains.emplace_back();
    plan().buffer_sizes = {0, 0};
  }
  pte::Plan& plan() { return program.plans[0]; }
  std::vector<pte::Instruction>& code() { return plan().chains[0].instructions; }

  int32_t value(pte::Value v) {
    plan().values.push_back(std::move(v));
    return static_cast<int32_t>(plan().values.size() - 1);
  }
  static pte::Tensor tensor_of(DType dtype, const std::vector<int64_t>& sizes) {
    pte::Tensor t;
    t.dtype = dtype;
    t.sizes.assign(sizes.begin(), sizes.end());
    t.dim_order.resize(sizes.size());
    std::iota(t.dim_order.begin(), t.dim_order.end(), 0);
    return t;
  }
  // A tensor without a place in the plan: the runtime gives it memory.
  int32_t tensor(DType dtype, const std::vector<int64_t>& sizes) { return value(tensor_of(dtype, sizes)); }
  // A tensor in planned memory, all such behind each other.
  int32_t planned(DType dtype, const std::vector<int64_t>& sizes, uint32_t initial = 0) {
    pte::Tensor t = tensor_of(dtype, sizes);
    t.allocation = pte::Allocation{1, static_cast<uint64_t>(plan().buffer_sizes[1])};
    t.buffer = initial;
    plan().buffer_sizes[1] += static_cast<int64_t>((pte::byte_size(t) + 15) / 16 * 16);
    return value(t);
  }
  int32_t ints(const std::vector<int64_t>& v) {
    pte::IntList l;
    for (int64_t i : v) l.items.push_back(value(i));
    return value(l);
  }
  int32_t op(const std::string& name, const std::string& overload) {
    plan().operators.push_back({name, overload});
    return static_cast<int32_t>(plan().operators.size() - 1);
  }
  void call(const std::string& name, const std::string& overload, std::vector<int32_t> args) {
    code().push_back(pte::KernelCall{op(name, overload), std::move(args)});
  }
  std::vector<std::byte> file() {
    pte::Blobs copy;
    copy.constants = blobs.constants;
    copy.mutable_data = blobs.mutable_data;
    auto pieces = pte::build(program, std::move(copy));
    EXPECT_TRUE(pieces) << (pieces ? "" : pieces.error().str());
    return pieces ? pieces->join() : std::vector<std::byte>();
  }
  Result<std::unique_ptr<Method>> load(LoadOptions options = {}) {
    auto bytes = std::make_shared<std::vector<std::byte>>(file());
    EW_ASSIGN(auto p, Program::load(Bytes(*bytes), bytes, options));
    return p->method("forward");
  }
};

template <class T>
HostTensor host(DType dtype, std::vector<int64_t> sizes, const std::vector<T>& v) {
  const Bytes b = std::as_bytes(std::span(v));
  return HostTensor::owned(dtype, std::move(sizes), {b.begin(), b.end()});
}
inline HostTensor floats(std::vector<int64_t> sizes, const std::vector<float>& v) {
  return host(DType::f32, std::move(sizes), v);
}
inline std::vector<float> to_floats(const HostTensor& t) {
  std::vector<float> v(t.bytes.size() / 4);
  std::memcpy(v.data(), t.bytes.data(), v.size() * 4);
  return v;
}

// Element i of a tensor of any dtype as a double.
double element(const HostTensor& t, int64_t i);
// Where the two differ by more than the tolerance (floats; all else exactly); empty if nowhere.
std::string difference(const HostTensor& got, const HostTensor& want, double rtol, double atol);

}  // namespace edgewright::runtime
