// The elementwise and folding families on shapes that exercise their blocks: an element computed alone equals the same element
// of the whole tensor. Values against PyTorch are test_vectors.cc's.
#include <gtest/gtest.h>

#include <random>

#include "ops/families.h"

namespace edgewright::ops {
namespace {

using ir::Tensor;

class Dense : public In {
 public:
  explicit Dense(std::span<const Tensor> t) : t_(t) {}
  double f(int k, Index at) const override { return ir::load_f(t(k).dtype, t(k).data, t(k).offset_of(at)); }
  int64_t i(int k, Index at) const override { return ir::load_i(t(k).dtype, t(k).data, t(k).offset_of(at)); }
  const Tensor& t(int k) const { return t_[static_cast<size_t>(k)]; }

 private:
  std::span<const Tensor> t_;
};

Tensor random(DType t, std::vector<int64_t> sizes, std::mt19937& r) {
  Tensor x = Tensor::empty(t, std::move(sizes));
  std::uniform_real_distribution<double> d(-3, 3);
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (is_float(t))
      ir::store_f(t, x.mutable_data(), i, d(r));
    else
      ir::store_i(t, x.mutable_data(), i, static_cast<int64_t>(d(r) * 3));
  }
  return x;
}
// The last two dims swapped in memory.
Tensor swapped(const Tensor& x) {
  Tensor y = x;
  const size_t n = x.sizes.size();
  std::swap(y.sizes[n - 1], y.sizes[n - 2]);
  std::swap(y.strides[n - 1], y.strides[n - 2]);
  return y;
}

void expect_point_is_whole(const char* op, const std::vector<Tensor>& in, std::vector<ir::Arg> rest, std::mt19937& r) {
  SCOPED_TRACE(op);
  const OpDef* d = find(op);
  ASSERT_TRUE(d);
  ir::Graph g;
  std::vector<ir::Arg> args;
  for (const Tensor& t : in) args.push_back(g.add_constant("x", t));
  args.insert(args.end(), rest.begin(), rest.end());
  const Call c = Call::of(*d, args);
  const auto types = infer(*d, c);
  ASSERT_TRUE(types) << types.error().str();
  const auto& type = std::get<TensorType>((*types)[0]);
  std::vector<Tensor> out{Tensor::empty(type.dtype, ir::static_sizes(type.shape))};
  ASSERT_TRUE(d->whole(c, in, out));
  const auto p = point(*d, c, 0);
  ASSERT_TRUE(p);
  const Dense dense(in);
  Tensor one = Tensor::empty(type.dtype, {});
  for (int k = 0; k < 300 && out[0].numel() > 0; ++k) {
    std::vector<int64_t> at;
    for (int64_t s : out[0].sizes) at.push_back(std::uniform_int_distribution<int64_t>(0, s - 1)(r));
    if (p->f)
      ir::store_f(type.dtype, one.mutable_data(), 0, p->f(dense, at));
    else
      ir::store_i(type.dtype, one.mutable_data(), 0, p->i(dense, at));
    const double a = ir::load_f(type.dtype, one.data, 0), b = ir::load_f(type.dtype, out[0].data, out[0].offset_of(at));
    ASSERT_TRUE(a == b || (a != a && b != b) || std::fabs(a - b) <= 1e-6 * std::fabs(b))
        << a << " alone, " << b << " in the whole";
  }
}

TEST(Families, an_element_alone_is_the_element_of_the_whole) {
  std::mt19937 r(1);
  for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64, DType::u8}) {
    const Tensor a = random(t, {3, 700}, r), b = random(DType::f32, {700}, r), row = random(t, {3, 1}, r),
                 tall = random(t, {600, 2, 3}, r);
    expect_point_is_whole("aten.add.Tensor", {a, b}, {}, r);
    expect_point_is_whole("aten.mul.Tensor", {a, row}, {}, r);
    expect_point_is_whole("aten.mul.Tensor", {row, b}, {}, r);
    expect_point_is_whole("aten.div.Tensor", {swapped(a), random(t, {3}, r)}, {}, r);
    expect_point_is_whole("aten.maximum", {tall, random(t, {2, 1}, r)}, {}, r);
    expect_point_is_whole("aten.lt.Tensor", {a, swapped(random(t, {700, 3}, r))}, {}, r);
    expect_point_is_whole("aten.exp", {swapped(tall)}, {}, r);
    expect_point_is_whole("aten._to_copy", {swapped(a)}, {DType::i16}, r);
    expect_point_is_whole("aten.add.Tensor", {random(t, {0, 3}, r), random(t, {3}, r)}, {}, r);
    expect_point_is_whole("aten.sum.dim_IntList", {tall}, {ir::Arg::ints({0, 2}), false}, r);
    expect_point_is_whole("aten.sum.dim_IntList", {swapped(tall)}, {ir::Arg::ints({1}), true}, r);
  }
}

TEST(Families, promotion_prefers_tensors_with_dims_within_a_category) {
  EXPECT_EQ(promote(DType::u8, DType::i8), DType::i16);
  EXPECT_EQ(promote(DType::f16, DType::bf16), DType::f32);
  EXPECT_EQ(promote(DType::i64, DType::f16), DType::f16);
  EXPECT_EQ(promote(DType::b8, DType::i8), DType::i8);
  EXPECT_FALSE(promote(DType::u32, DType::i32));
  EXPECT_FALSE(promote(DType::c64, DType::f32));
}

TEST(Families, broadcasts_symbolic_sizes) {
  const OpDef* add = find("aten.add.Tensor");
  ir::Graph g;
  const Dim s = Dim::symbol("s0");
  ir::Value* a = g.add_input("a", TensorType{DType::f32, {s, 1, 3}});
  ir::Value* b = g.add_input("b", TensorType{DType::f32, {s * Dim(2), 3}});
  const auto t = infer(*add, Call::of(*add, {a, b}));
  ASSERT_TRUE(t);
  EXPECT_EQ(std::get<TensorType>((*t)[0]).shape, (Shape{s, s * Dim(2), 3}));
}

TEST(Families, takes_a_number_known_only_at_run_time_for_its_kind) {
  const OpDef* mul = find("aten.mul.Tensor");
  ir::Graph g;
  ir::Value* x = g.add_input("x", TensorType{DType::i32, {2}});
  ir::Value* n = g.add_input("n", ir::ScalarType{ir::ScalarKind::kFloat, std::nullopt});
  const auto t = infer(*mul, Call::of(*mul, {x, n}));
  ASSERT_TRUE(t) << t.error().str();
  EXPECT_EQ(std::get<TensorType>((*t)[0]).dtype, DType::f32);
}

}  // namespace
}  // namespace edgewright::ops
