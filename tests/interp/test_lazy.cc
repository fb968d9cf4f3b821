// Evaluation of chosen elements: the interpreter's numbers, at a cost that follows the request; error bounds that hold for
// arithmetic done in f32 in other orders; ints that rounding could change are marked.
#include <cmath>
#include <random>

#include "graph_text.h"
#include "interp/lazy.h"

namespace edgewright::interp {
namespace {

ir::Tensor random(std::vector<int64_t> sizes, unsigned seed, double scale = 1) {
  std::mt19937 r(seed);
  ir::Tensor t = ir::Tensor::empty(DType::f32, std::move(sizes));
  for (int64_t i = 0; i < t.numel(); ++i)
    ir::store_f(t.dtype, t.mutable_data(), i, scale * (static_cast<double>(r()) / 2147483648.0 - 1));
  return t;
}
const ir::Value* output(const ir::Parsed& p, size_t i = 0) { return p.graph->outputs[i].value(); }
void give(Lazy& l, const ir::Parsed& p, std::vector<Datum> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) l.set(p.graph->inputs()[i], inputs[i]);
}
double f(Lazy& l, const ir::Value* v, std::vector<int64_t> at) {
  auto r = l.f(v, at);
  EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().str());
  return r ? *r : NAN;
}
ops::Bounded bounded(Lazy& l, const ir::Value* v, std::vector<int64_t> at) {
  auto r = l.bounded(v, at);
  EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().str());
  return r ? *r : ops::Bounded{};
}
CertainInt certain(Lazy& l, const ir::Value* v, std::vector<int64_t> at) {
  auto r = l.certain(v, at);
  EXPECT_TRUE(r.has_value()) << (r ? "" : r.error().str());
  return r ? *r : CertainInt{};
}

TEST(Lazy, every_element_is_the_interpreters) {
  const auto p = read(R"(graph (%x: f32[s0,6], %w: f32[4,6]) {
    %n = aten.sym_size.int(%x, 0)
    %t = aten.linear(%x, %w)
    %v = aten.reshape(%t, [%n, 2, 2])
    %q = aten.permute(%v, [1, 0, 2])
    %c = aten.cat([%q, %q], dim=2)
    %s = aten._softmax(%c, -1, False)
    %h = aten._to_copy(%s, dtype=f16)
    %g = aten.gt.Scalar(%c, 0)
    %y = aten.where.self(%g, %c, %s)
    return %y, %h, %g
  })");
  const std::vector<Datum> in{random({3, 6}, 1), random({4, 6}, 2)};
  const RunResult r = must_run(*p.graph, in);
  Lazy l;
  give(l, p, in);
  for (size_t o = 0; o < 3; ++o) {
    const ir::Tensor t = tensor(r.outputs[o])->contiguous();
    std::vector<int64_t> at(t.sizes.size(), 0);
    for (int64_t i = 0; i < t.numel(); ++i) {
      const double expected = ir::load_f(t.dtype, t.data, i);
      if (o == 2) {
        EXPECT_EQ(*l.i(output(p, o), at), static_cast<int64_t>(expected));
        EXPECT_EQ(certain(l, output(p, o), at).v, static_cast<int64_t>(expected));
      }
      // whole-tensor meanings may add in another order: a unit in the last place
      EXPECT_NEAR(f(l, output(p, o), at), expected, std::fabs(expected) * (t.dtype == DType::f16 ? 0x1p-10 : 0x1p-23));
      ops::next_index(at, t.sizes);
    }
  }
  EXPECT_EQ(ir::str(l.type(output(p))->type), "f32[2,3,4]");
}

TEST(Lazy, costs_what_is_asked_for) {
  const auto p = read(
      "graph (%x: f32[1000,1000], %w: f32[1000,1000]) { %a = aten.relu(%x)  %b = aten.mm(%a, %w)  %c = aten.neg(%b)  "
      "return %c }");
  Lazy l;
  give(l, p, {random({1000, 1000}, 1), random({1000, 1000}, 2)});
  f(l, output(p), {500, 3});
  EXPECT_EQ(l.count(), 1002);
  f(l, output(p), {500, 4});  // the row of the relu is remembered
  EXPECT_EQ(l.count(), 1004);
}

TEST(Lazy, bounds_hold_for_f32_arithmetic_in_any_order) {
  const auto p = read(
      "graph (%x: f32[4,300], %w: f32[300,5]) { %b = aten.mm(%x, %w)  %e = aten.exp(%b)  %d = aten.div.Tensor(%e, %b)  "
      "return %b, %d }");
  const ir::Tensor x = random({4, 300}, 3), w = random({300, 5}, 4);
  Lazy l;
  give(l, p, {x, w});
  const auto at = [](const ir::Tensor& t, int64_t i, int64_t j) {
    return static_cast<float>(ir::load_f(t.dtype, t.data, i * t.sizes[1] + j));
  };
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 5; ++j) {
      const ops::Bounded b = bounded(l, output(p, 0), {i, j}), d = bounded(l, output(p, 1), {i, j});
      EXPECT_GT(b.e, 0);
      EXPECT_LT(b.e, 2e-3);  // 300 u times the sum of magnitudes, about 75
      float forward = 0, backward = 0, halves[2] = {0, 0};
      for (int64_t k = 0; k < 300; ++k) {
        forward += at(x, i, k) * at(w, k, j);
        backward += at(x, i, 299 - k) * at(w, 299 - k, j);
        halves[k % 2] += at(x, i, k) * at(w, k, j);
      }
      for (float sum : {forward, backward, halves[0] + halves[1]}) {
        EXPECT_LE(std::fabs(b.v - static_cast<double>(sum)), b.e);
        EXPECT_LE(std::fabs(d.v - static_cast<double>(std::exp(sum) / sum)), d.e);
      }
    }
}

TEST(Lazy, what_is_not_rounded_is_exact) {
  const auto p = read(R"(graph (%x: f32[2,3]) {
    const %w: f32[3] = [1, 2, 3]
    %t = aten.transpose.int(%x, 0, 1)  %r = aten.relu(%t)  %n = aten.neg(%r)
    %e = aten.expand(%w, [2, 3])  %s = aten.add.Tensor(%x, %e)  %h = aten._to_copy(%s, dtype=f16)
    return %n, %e, %s, %h
  })");
  Lazy l;
  give(l, p, {f32({2, 3}, {0.1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(bounded(l, output(p, 0), {0, 0}).e, 0);
  EXPECT_EQ(bounded(l, output(p, 1), {1, 2}).v, 3);
  EXPECT_EQ(bounded(l, output(p, 1), {1, 2}).e, 0);
  const ops::Bounded sum = bounded(l, output(p, 2), {0, 0}), half = bounded(l, output(p, 3), {0, 0});
  EXPECT_GT(sum.e, 0);
  EXPECT_LT(sum.e, 1e-6);
  EXPECT_GT(half.e, 5e-4);  // half a unit of f16 at 1.1
  EXPECT_LT(half.e, 6e-4);
}

TEST(Lazy, ints_that_rounding_could_change_are_marked) {
  const auto p = read(R"(graph (%x: f32[3]) {
    const %w: f32[3] = [0.7, 0.7, 0.7]
    %s = aten.mul.Tensor(%x, %w)
    %g = aten.gt.Scalar(%s, 2.1)
    %o = aten.gt.Tensor(%s, %s)
    %e = aten.gt.Tensor(%x, %w)
    %y = aten.where.self(%g, %s, %x)
    return %g, %o, %e, %y
  })");
  Lazy l;
  give(l, p, {f32({3}, {1, 3, 5})});
  EXPECT_TRUE(certain(l, output(p, 0), {0}).certain);
  EXPECT_FALSE(certain(l, output(p, 0), {1}).certain);  // 3 * 0.7 > 2.1 is a matter of rounding
  EXPECT_TRUE(certain(l, output(p, 0), {2}).certain);
  EXPECT_EQ(certain(l, output(p, 0), {2}).v, 1);
  EXPECT_FALSE(certain(l, output(p, 1), {0}).certain);
  EXPECT_TRUE(certain(l, output(p, 2), {1}).certain);
  EXPECT_EQ(bounded(l, output(p, 3), {0}).e, 0);
  EXPECT_GT(bounded(l, output(p, 3), {1}).e, 0.89);  // it could be 2.1 or 3
  EXPECT_LT(bounded(l, output(p, 3), {2}).e, 1e-6);
}

TEST(Lazy, ops_with_only_a_whole_meaning_are_computed_whole) {
  const auto p = read(R"(graph (%x: f32[4]) {
    %s, %i = aten.sort(%x)  %n = aten.neg(%s)
    %h = aten.mul.Tensor(%x, 0.7)  %t, %j = aten.sort(%h)
    return %n, %i, %t, %j
  })");
  Lazy l;
  give(l, p, {f32({4}, {3, 1, 2, 0})});
  EXPECT_EQ(f(l, output(p, 0), {3}), -3);
  EXPECT_EQ(*l.i(output(p, 1), std::vector<int64_t>{0}), 3);
  EXPECT_LT(bounded(l, output(p, 0), {3}).e, 1e-6);
  EXPECT_TRUE(certain(l, output(p, 1), {0}).certain);
  EXPECT_FALSE(std::isfinite(bounded(l, output(p, 2), {0}).e));
  EXPECT_FALSE(certain(l, output(p, 3), {0}).certain);
}

TEST(Lazy, sizes_may_depend_on_data) {
  const auto p = read(
      "graph (%x: f32[4]) { %m = aten.gt.Scalar(%x, 1)  %y = aten.masked_select(%x, %m) : f32[u0]  %z = aten.neg(%y) : "
      "f32[u0]  return %z }");
  Lazy l;
  give(l, p, {f32({4}, {3, 0, 2, 1})});
  EXPECT_EQ(ir::str(l.type(output(p))->type), "f32[2]");
  EXPECT_EQ(f(l, output(p), {1}), -2);
  EXPECT_EQ(numbers(*l.dense(output(p))), (std::vector<double>{-3, -2}));
}

TEST(Lazy, deep_regions_do_not_overflow_the_stack) {
  ir::Graph g;
  ir::Value* v = g.add_input("x", ir::TensorType{DType::f32, {2}});
  const ir::Value* x = v;
  for (int i = 0; i < 5000; ++i) v = (*ops::add_node(g, "aten.neg", {v}))->result();
  Lazy l;
  l.set(x, f32({2}, {1, 2}));
  EXPECT_EQ(f(l, v, {1}), 2);
  auto b = l.bounded(v, std::vector<int64_t>{1});
  ASSERT_FALSE(b.has_value());
  EXPECT_EQ(b.error().code, Code::kUnsupported);
}

TEST(Lazy, work_is_limited) {
  const auto p =
      read("graph (%x: f32[100]) { %a = aten.neg(%x)  %s = aten.cumsum(%a, 0)  %r = aten.sum(%s)  return %r }");
  Lazy l({.elements = 50, .depth = 100});
  give(l, p, {random({100}, 1)});
  auto r = l.f(output(p), {});
  if (!r) {
    EXPECT_EQ(r.error().code, Code::kUnsupported);
  }
  EXPECT_LE(l.count(), 51);
}

TEST(Lazy, refuses_what_it_cannot_evaluate) {
  const auto p = read("graph (%x: f32[2]) { %y = aten.neg(%x)  %z = aten.add_.Tensor(%y, 1)  return %z, %y }");
  {
    Lazy l;
    EXPECT_EQ(l.f(output(p, 1), std::vector<int64_t>{0}).error().code, Code::kInternal);  // %x is not given
  }
  {
    Lazy l;
    give(l, p, {iota({2})});
    EXPECT_EQ(l.f(output(p, 0), std::vector<int64_t>{0}).error().code, Code::kUnsupported);
  }
  {
    Lazy l;
    give(l, p, {iota({2})});
    EXPECT_FALSE(l.f(output(p, 1), std::vector<int64_t>{2}).has_value());
    EXPECT_FALSE(l.f(output(p, 1), std::vector<int64_t>{0}).has_value());  // an error stays
  }
}

}  // namespace
}  // namespace edgewright::interp
