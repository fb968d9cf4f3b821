// verify_structure: each rule with a graph that breaks it. The breaks go through public fields, as a faulty pass would.
#include <gtest/gtest.h>

#include "ir/verify.h"
#include "toy_ops.h"

namespace edgewright::ir {
namespace {

struct Verify : testing::Test {
  Graph g;
  Type t = TensorType{DType::f32, {2}};
  Value* x = g.add_input("x", t);
  Value* w = g.add_constant("w", Tensor::empty(DType::f32, {2}));
  Value* s = g.add_state("s", Tensor::empty(DType::f32, {2}));
  Node* a = g.add(*toy_op("toy.add"), {x, w}, {t});
  Node* b = g.add(*toy_op("toy.relu"), {a->result()}, {t});

  void SetUp() override {
    g.outputs = {b->result()};
    g.writes = {{s, a->result()}};
    ASSERT_TRUE(verify_structure(g).has_value());
  }
  void expect(std::string_view reason, Code code = Code::kInternal) {
    auto r = verify_structure(g, code);
    ASSERT_FALSE(r.has_value());
    EXPECT_EQ(r.error().code, code);
    EXPECT_NE(r.error().str().find(reason), std::string::npos) << r.error().str();
  }
};

TEST_F(Verify, refuses_a_use_before_the_definition) {
  g.move_before(b, a);
  expect("relu: a value is used that is not defined before");
}
TEST_F(Verify, refuses_a_value_of_another_graph) {
  Graph other;
  g.outputs.push_back(other.add_input("y", t));
  expect("belongs to another graph", Code::kMalformed);
}
TEST_F(Verify, refuses_two_values_of_one_name) {
  b->result()->name = "x";
  expect("two values are named %x");
}
TEST_F(Verify, refuses_a_name_that_is_no_name) {
  b->result()->name = "a b";
  expect("'a b' cannot be a value's name");
}
TEST_F(Verify, refuses_users_that_are_missing_or_too_many) {
  x->users.push_back(b);
  expect("%x is used 1 times, but 2 users are listed");
  x->users.clear();
  expect("%x is used 1 times, but 0 users are listed");
}
TEST_F(Verify, refuses_a_null_value) {
  g.outputs.push_back(static_cast<Value*>(nullptr));
  expect("a null value is used");
}
TEST_F(Verify, refuses_a_list_as_an_output) {
  g.outputs.push_back(ArgList{});
  expect("an output is a list or a graph");
}
TEST_F(Verify, refuses_data_that_is_not_what_the_type_says) {
  w->type = TensorType{DType::f32, {3}};
  expect("%w is f32[3], but its data is f32[2]");
  w->data = nullptr;
  expect("%w is a constant without data");
}
TEST_F(Verify, refuses_writes_to_constants_of_other_types_and_twice) {
  g.writes = {{w, x}};
  expect("%w is written but is neither state nor input");
  g.writes = {{s, x}, {s, x}};
  expect("%s is written twice");
  Value* y = g.add_input("y", TensorType{DType::f32, {3}});
  g.writes = {{s, y}};
  expect("%y of f32[3] is written to %s of f32[2]");
}
TEST_F(Verify, refuses_wrong_counts) {
  g.add(*toy_op("toy.relu"), {}, {t});
  expect("argument 'self' is missing");
}
TEST_F(Verify, refuses_wrong_counts_of_results) {
  g.add(*toy_op("toy.relu"), {x}, {t, t});
  expect("toy.relu has 1 results, not 2");
}
TEST_F(Verify, looks_into_subgraphs) {
  auto sub = std::make_shared<Graph>();
  sub->name = "body";
  sub->outputs = {x};
  g.add(*toy_op("toy.cond"), {x, sub, sub, ArgList{}}, {t});
  expect("subgraph body: ");
}

TEST(MayEqual, only_sure_differences_count) {
  const Dim s = Dim::symbol("s0"), r = Dim::symbol("s1");
  EXPECT_TRUE(may_equal(s, r));
  EXPECT_TRUE(may_equal(s, Dim(3)));
  EXPECT_TRUE(may_equal(Dim(3), Dim(3)));
  EXPECT_FALSE(may_equal(Dim(3), Dim(4)));
  EXPECT_FALSE(may_equal(s, s + Dim(1)));
  EXPECT_FALSE(may_equal(Type(TensorType{DType::f32, {s}}), Type(TensorType{DType::f32, {s, s}})));
  EXPECT_FALSE(may_equal(Type(TensorType{DType::f32, {s}}), Type(TensorType{DType::f16, {s}})));
  EXPECT_FALSE(may_equal(Type(TensorType{DType::f32, {}}), Type(ScalarType{})));
  EXPECT_TRUE(may_equal(Type(ScalarType{ScalarKind::kInt, s}), Type(ScalarType{})));
}

}  // namespace
}  // namespace edgewright::ir
