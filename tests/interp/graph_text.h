// tests/interp/graph_text.h - graphs and tensors for the interpreter's tests. Depends on interp.
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "interp/interp.h"
#include "ops/verify.h"

namespace edgewright::interp {

inline ir::Parsed read(std::string_view text) {
  auto p = ir::parse(text, ops::parse_context());
  EXPECT_TRUE(p.has_value()) << (p ? "" : p.error().str()) << "\n" << text;
  if (!p) std::abort();
  if (auto v = ops::verify(*p->graph); !v) ADD_FAILURE() << v.error().str();
  return std::move(*p);
}

template <class T>
ir::Tensor tensor_of(DType t, std::vector<int64_t> sizes, const std::vector<T>& values) {
  ir::Tensor x = ir::Tensor::empty(t, std::move(sizes));
  EXPECT_EQ(x.numel(), static_cast<int64_t>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      ir::store_f(t, x.mutable_data(), static_cast<int64_t>(i), values[i]);
    } else {
      ir::store_i(t, x.mutable_data(), static_cast<int64_t>(i), static_cast<int64_t>(values[i]));
    }
  }
  return x;
}
inline ir::Tensor f32(std::vector<int64_t> sizes, const std::vector<double>& values) {
  return tensor_of(DType::f32, std::move(sizes), values);
}
inline ir::Tensor i64(std::vector<int64_t> sizes, const std::vector<int64_t>& values) {
  return tensor_of(DType::i64, std::move(sizes), values);
}
// 0, 1, 2, ...
inline ir::Tensor iota(std::vector<int64_t> sizes) {
  ir::Tensor x = ir::Tensor::empty(DType::f32, std::move(sizes));
  for (int64_t i = 0; i < x.numel(); ++i) ir::store_f(DType::f32, x.mutable_data(), i, static_cast<double>(i));
  return x;
}

inline std::vector<double> numbers(const ir::Tensor& t) {
  const ir::Tensor c = t.contiguous();
  std::vector<double> out;
  for (int64_t i = 0; i < c.numel(); ++i) out.push_back(ir::load_f(c.dtype, c.data, i));
  return out;
}
inline std::vector<double> numbers(const Datum& d) {
  if (const auto* t = tensor(d)) return numbers(*t);
  if (const auto* s = number(d)) return {s->is_float() ? s->f : static_cast<double>(s->i)};
  ADD_FAILURE() << "not a number: " << describe(d);
  return {};
}

inline RunResult must_run(const ir::Graph& g, const std::vector<Datum>& inputs, const Options& o = {}) {
  auto r = run(g, inputs, o);
  EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().str());
  return r ? std::move(*r) : RunResult{};
}
inline Error must_fail(const ir::Graph& g, const std::vector<Datum>& inputs, const Options& o = {}) {
  auto r = run(g, inputs, o);
  EXPECT_FALSE(r.has_value());
  return r ? Error{} : r.error();
}

}  // namespace edgewright::interp
