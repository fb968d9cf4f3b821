// Shape rules and decompositions of data movement while sizes are symbolic.
#include <gtest/gtest.h>

#include "ops/build.h"

namespace edgewright::ops {
namespace {

class SymbolicViews : public testing::Test {
 protected:
  ir::Graph g_;
  Builder b_{g_, nullptr};
  Dim s_ = Dim::symbol("s0"), t_ = Dim::symbol("s1");
  ir::Value* input(Shape s) { return g_.add_input("x", TensorType{DType::f32, std::move(s)}); }
  std::string type_of(ir::Value* v) { return v ? ir::str(v->type) : "(failed)"; }
  // The types of a node's results; its decomposition, where it has one, gives the same.
  std::string types(std::string_view op, std::vector<ir::Arg> args) {
    std::string out;
    const auto r = b_.multi(op, std::move(args));
    for (ir::Value* v : r) out += (out.empty() ? "" : " ") + ir::str(v->type);
    if (r.empty()) return "(failed)";
    const OpDef* d = def(*r[0]->producer);
    if (!d->decompose) return out;
    Builder b(g_, nullptr);
    const auto simpler = d->decompose(*r[0]->producer, b);
    EXPECT_TRUE(simpler) << (simpler ? "" : simpler.error().str());
    for (size_t i = 0; simpler && i < simpler->size(); ++i)
      EXPECT_EQ(ir::str((*simpler)[i]->type), ir::str(r[i]->type)) << op;
    return out;
  }
};

TEST_F(SymbolicViews, view_works_out_the_open_size) {
  EXPECT_EQ(types("aten.view", {input({s_, 4, 6}), ir::Arg::ints({-1, 24})}), "f32[s0,24]");
  EXPECT_EQ(types("aten.view", {input({s_, 4, 6}), ir::Arg::ints({-1})}), "f32[24*s0]");
  EXPECT_EQ(types("aten.reshape", {input({s_, t_, 6}), ir::Arg::ints({-1, 6})}), "f32[s0*s1,6]");
  EXPECT_EQ(types("aten.view", {input({s_ * Dim(2), 3}), ir::Arg::ints({-1, 6})}), "f32[s0,6]");
}
TEST_F(SymbolicViews, flatten_multiplies) {
  EXPECT_EQ(types("aten.flatten.using_ints", {input({s_, 3, t_, 2}), 1, 2}), "f32[s0,3*s1,2]");
  EXPECT_EQ(types("aten.flatten.using_ints", {input({s_, 3, t_, 2}), 1, -1}), "f32[s0,6*s1]");
}
TEST_F(SymbolicViews, slice_to_the_end_keeps_the_size) {
  EXPECT_EQ(types("aten.slice.Tensor", {input({s_, 3}), 0, 0, INT64_MAX}), "f32[s0,3]");
  EXPECT_EQ(types("aten.slice.Tensor", {input({s_, 3}), 1, 1, 3}), "f32[s0,2]");
}
TEST_F(SymbolicViews, moving_dims_moves_symbols) {
  EXPECT_EQ(types("aten.permute", {input({s_, 3, t_}), ir::Arg::ints({2, 0, 1})}), "f32[s1,s0,3]");
  EXPECT_EQ(types("aten.transpose.int", {input({s_, 3}), 0, 1}), "f32[3,s0]");
  EXPECT_EQ(types("aten.unsqueeze", {input({s_, 3}), 1}), "f32[s0,1,3]");
  EXPECT_EQ(types("aten.squeeze.dim", {input({s_, 1}), 1}), "f32[s0]");
  EXPECT_EQ(types("aten.squeeze", {input({s_, 1, 3})}), "f32[s0,3]");
}
TEST_F(SymbolicViews, expand_takes_sizes_from_another) {
  ir::Value* x = input({1, 3});
  ir::Value* y = input({s_, 3});
  EXPECT_EQ(types("aten.expand_as", {x, y}), "f32[s0,3]");
  EXPECT_EQ(types("aten.expand", {y, ir::Arg::ints({2, -1, -1})}), "f32[2,s0,3]");
}
TEST_F(SymbolicViews, cat_and_stack_add_up) {
  EXPECT_EQ(types("aten.cat", {ir::Arg::values({input({s_, 3}), input({2, 3}), input({t_, 3})}), 0}),
            "f32[s0 + s1 + 2,3]");
  EXPECT_EQ(types("aten.stack", {ir::Arg::values({input({s_, 3}), input({s_, 3})}), 1}), "f32[s0,2,3]");
}
TEST_F(SymbolicViews, split_along_a_static_dim) {
  EXPECT_EQ(types("aten.split.Tensor", {input({s_, 4}), 2, 1}), "f32[s0,2] f32[s0,2]");
  EXPECT_EQ(types("aten.chunk", {input({s_, 4}), 2, -1}), "f32[s0,2] f32[s0,2]");
  EXPECT_EQ(types("aten.unbind.int", {input({s_, 2}), 1}), "f32[s0] f32[s0]");
}
TEST_F(SymbolicViews, pixel_shuffle_multiplies_the_image) {
  EXPECT_EQ(types("aten.pixel_shuffle", {input({1, 8, s_, 3}), 2}), "f32[1,2,2*s0,6]");
}
TEST_F(SymbolicViews, a_mask_gives_an_unknown_size) {
  ir::Value* x = input({4, 3});
  ir::Value* mask = g_.add_input("m", TensorType{DType::b8, {4}});
  ir::Value* y = b_("aten.index.Tensor", {x, ir::Arg::values({mask})});
  ASSERT_TRUE(y);
  EXPECT_FALSE(y->tensor()->shape[0].is_constant());
  EXPECT_EQ(y->tensor()->shape[1], Dim(3));
}
// as_strided counts from the start of the storage: a part of it, or a permutation, is no base for it.
TEST_F(SymbolicViews, as_strided_refuses_a_base_that_is_not_its_storage) {
  ir::Value* x = input({4, 4});
  x->strides = {4, 1};
  const auto strided = [&](ir::Value* base) {
    Builder b(g_, nullptr);
    return b("aten.as_strided", {base, ir::Arg::ints({3}), ir::Arg::ints({1})}) != nullptr;
  };
  ir::Value* t = b_("aten.t", {x});
  t->strides = {1, 4};
  ir::Value* rows = b_("aten.slice.Tensor", {x, 0, 1});
  rows->strides = {4, 1};
  EXPECT_TRUE(strided(x));
  EXPECT_TRUE(strided(b_("aten.view", {x, ir::Arg::ints({16})})));
  EXPECT_TRUE(strided(b_("aten.add.Tensor", {rows, rows})));
  EXPECT_FALSE(strided(t));
  EXPECT_FALSE(strided(rows));
}
// The base's new value has the base's type also where nothing is known of its sizes.
TEST_F(SymbolicViews, scatter_back_keeps_the_type) {
  const auto check = [&](ir::Value* base, std::string_view op, std::vector<ir::Arg> more) {
    std::vector<ir::Arg> args{base};
    args.insert(args.end(), more.begin(), more.end());
    ir::Value* view = b_(op, args);
    ASSERT_TRUE(view) << op;
    ir::Value* written = g_.add_input("w", view->type);
    Builder b(g_, nullptr);
    const auto r = def(*view->producer)->scatter_back(*view->producer, 0, base, written, b);
    ASSERT_TRUE(r) << op << ": " << r.error().str();
    EXPECT_EQ(type_of(*r), type_of(base)) << op;
  };
  check(input({s_, 3, t_}), "aten.permute", {ir::Arg::ints({2, 0, 1})});
  check(input({s_, 3, t_}), "aten.view", {ir::Arg::ints({-1})});
  check(input({s_, 3, 2}), "aten.flatten.using_ints", {1});
  check(input({s_, 3}), "aten.slice.Tensor", {1, 0, 2});
  check(input({s_, 3}), "aten.select.int", {1, -1});
  check(input({s_, 3}), "aten.select.int", {0, 0});
  check(input({s_, 4}), "aten.split.Tensor", {2, 1});
  check(input({s_, 3}), "aten.unsqueeze", {0});
  check(input({s_, 1}), "aten.squeeze.dim", {1});
}

}  // namespace
}  // namespace edgewright::ops
