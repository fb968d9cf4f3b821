// tests/passes/graphs.h - graph text into programs, and running a graph on random inputs. Depends on passes, interp.
#pragma once

#include <gtest/gtest.h>

#include <random>

#include "interp/compare.h"
#include "interp/interp.h"
#include "ops/verify.h"
#include "passes/pass_manager.h"

namespace edgewright::passes {

inline ir::Program program_of(const ir::Parsed& parsed) {
  ir::Program p;
  p.graph = parsed.graph->clone();
  p.ranges = parsed.ranges;
  return p;
}

// Inputs of all kinds of numbers, sizes of symbolic dims at `symbol_size` within their ranges.
inline std::vector<interp::Datum> random_inputs(const ir::Program& p, unsigned seed, int64_t symbol_size = 5) {
  std::mt19937 r(seed);
  static constexpr double kSpecial[] = {0.0, -0.0, 1.0, -1.0, 6.0, 0.5, -3.0, 100.0};
  std::vector<interp::Datum> out;
  for (const Value* v : p.graph->inputs()) {
    std::vector<std::string> symbols;
    ir::SymbolValues values;
    const auto bind = [&] {
      for (const std::string& s : symbols) {
        const auto it = p.ranges.find(s);
        values[s] = it == p.ranges.end() ? symbol_size : std::clamp(symbol_size, it->second.lo, it->second.hi);
      }
    };
    if (const auto* s = v->scalar()) {
      if (s->expr) s->expr->collect_symbols(symbols);
      bind();
      out.push_back(interp::int_datum(s->expr ? s->expr->evaluate(values).value_or(1) : 1));
      continue;
    }
    std::vector<int64_t> sizes;
    for (const ir::Dim& d : v->tensor()->shape) d.collect_symbols(symbols);
    bind();
    for (const ir::Dim& d : v->tensor()->shape) sizes.push_back(d.evaluate(values).value_or(1));
    ir::Tensor t = ir::Tensor::empty(v->tensor()->dtype, sizes);
    for (int64_t i = 0; i < t.numel(); ++i) {
      const double x = static_cast<double>(r()) / 1073741824.0 - 2;
      if (is_float(t.dtype))
        ir::store_f(t.dtype, t.mutable_data(), i, r() % 4 ? x : kSpecial[r() % std::size(kSpecial)]);
      else
        ir::store_i(t.dtype, t.mutable_data(), i, static_cast<int64_t>(t.dtype == DType::i8 ? r() % 256 : r() % 3));
    }
    out.push_back(t);
  }
  return out;
}

// Outputs, overwritten inputs and states of two graphs on the same inputs.
inline void expect_same_numbers(const ir::Program& before, const ir::Program& after, Agreement promise) {
  for (unsigned seed : {1u, 2u, 3u}) {
    const auto inputs = random_inputs(before, seed, seed + 3);
    interp::State sa, sb;
    const auto a = interp::run(*before.graph, inputs, {.state = &sa}),
               b = interp::run(*after.graph, inputs, {.state = &sb});
    ASSERT_TRUE(a.has_value()) << a.error().str();
    ASSERT_TRUE(b.has_value()) << b.error().str();
    ASSERT_EQ(a->outputs.size(), b->outputs.size());
    const auto expect = [&](const ir::Tensor& x, const ir::Tensor& y) {
      if (promise == Agreement::kQuantized && is_int(x.dtype)) {  // one step
        const ir::Tensor p = x.contiguous(), q = y.contiguous();
        ASSERT_EQ(p.sizes, q.sizes);
        for (int64_t i = 0; i < p.numel(); ++i)
          EXPECT_LE(std::abs(ir::load_i(p.dtype, p.data, i) - ir::load_i(q.dtype, q.data, i)), 1) << "element " << i;
        return;
      }
      if (promise == Agreement::kQuantized && is_float(x.dtype)) {  // sums of steps: within 2% of the largest element
        const ir::Tensor p = x.contiguous(), q = y.contiguous();
        ASSERT_EQ(p.sizes, q.sizes);
        double largest = 0;
        for (int64_t i = 0; i < p.numel(); ++i) largest = std::max(largest, std::fabs(ir::load_f(p.dtype, p.data, i)));
        for (int64_t i = 0; i < p.numel(); ++i)
          EXPECT_NEAR(ir::load_f(p.dtype, p.data, i), ir::load_f(q.dtype, q.data, i), 0.02 * largest)
              << "element " << i;
        return;
      }
      const auto c = interp::compare(
          y, x, promise >= Agreement::kReassociated ? interp::default_tolerance(x.dtype) : interp::Tolerance{});
      EXPECT_TRUE(c.agrees()) << c.str();
      // What is bit-exact keeps the sign of zero.
      if (promise == Agreement::kBitExact && is_float(x.dtype)) {
        const ir::Tensor p = x.contiguous(), q = y.contiguous();
        for (int64_t i = 0; i < p.numel(); ++i) {
          const double u = ir::load_f(p.dtype, p.data, i), v = ir::load_f(q.dtype, q.data, i);
          if (!std::isnan(u)) EXPECT_EQ(std::signbit(u), std::signbit(v)) << "element " << i;
        }
      }
    };
    for (size_t i = 0; i < a->outputs.size(); ++i)
      if (const auto *x = interp::tensor(a->outputs[i]), *y = interp::tensor(b->outputs[i]); x && y) expect(*x, *y);
    ASSERT_EQ(a->inputs.size(), b->inputs.size());
    for (const auto& [i, x] : a->inputs) expect(x, b->inputs.at(i));
    for (const auto& [name, x] : sa.values)
      if (sb.values.contains(name)) expect(x, sb.values.at(name));
  }
}

}  // namespace edgewright::passes
