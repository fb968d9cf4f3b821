// Which calls of elementwise ops XNNPACK takes, and the reasons for the others. That the delegate computes the right numbers is
// shown where whole programs are compiled and run.
#include <gtest/gtest.h>

#include "ops/build.h"
#include "ops/xnn_support.h"

namespace edgewright::ops {
namespace {

struct Tried {
  bool taken = false;
  std::string reason;
};
Tried try_op(const char* op, DType t, std::vector<ir::Arg> rest, int tensors = 1) {
  ir::Graph g;
  std::vector<ir::Arg> args;
  for (int k = 0; k < tensors; ++k) args.push_back(g.add_input("x", TensorType{t, {2, 3}}));
  args.insert(args.end(), rest.begin(), rest.end());
  const auto n = add_node(g, op, std::move(args));
  EXPECT_TRUE(n) << n.error().str();
  Tried r;
  if (n) r.taken = xnn_takes(**n, &r.reason);
  return r;
}

TEST(Lowering, takes_f32_arithmetic_and_activations) {
  for (const char* op :
       {"aten.add.Tensor", "aten.sub.Tensor", "aten.mul.Tensor", "aten.div.Tensor", "aten.maximum", "aten.minimum"})
    EXPECT_TRUE(try_op(op, DType::f32, {}, 2).taken) << op;
  for (const char* op :
       {"aten.abs",    "aten.neg",        "aten.sqrt",        "aten.rsqrt",    "aten.exp",        "aten.log",
        "aten.sin",    "aten.cos",        "aten.tanh",        "aten.sigmoid",  "aten.ceil",       "aten.floor",
        "aten.square", "aten.reciprocal", "aten.relu",        "aten.hardtanh", "aten.leaky_relu", "aten.elu",
        "aten.gelu",   "aten.silu",       "aten.hardsigmoid", "aten.hardswish"})
    EXPECT_TRUE(try_op(op, DType::f32, {}).taken) << op << ": " << try_op(op, DType::f32, {}).reason;
  EXPECT_TRUE(try_op("aten.gelu", DType::f32, {"tanh"}).taken);
  EXPECT_TRUE(try_op("aten.clamp", DType::f32, {0, 6}).taken);
  EXPECT_TRUE(try_op("aten.add.Tensor", DType::f32, {2.5}, 2).taken);  // alpha
  EXPECT_TRUE(try_op("aten.mul.Scalar", DType::f32, {2}).taken);
  EXPECT_TRUE(try_op("aten.rsub.Scalar", DType::f32, {1}).taken);
  for (double p : {2.0, 3.0, 0.5, -0.5, -1.0})
    EXPECT_TRUE(try_op("aten.pow.Tensor_Scalar", DType::f32, {p}).taken) << p;
}

TEST(Lowering, refuses_with_a_reason_what_xnnpack_cannot_compute) {
  EXPECT_NE(try_op("aten.add.Tensor", DType::i32, {}, 2).reason, "");
  EXPECT_NE(try_op("aten.relu", DType::f64, {}).reason, "");
  EXPECT_NE(try_op("aten.clamp", DType::f32, {6, 0}).reason.find("min <= max"), std::string::npos);
  EXPECT_NE(try_op("aten.clamp", DType::f32, {NAN, 1.0}).reason, "");
  EXPECT_NE(try_op("aten.pow.Tensor_Scalar", DType::f32, {2.5}).reason, "");
  EXPECT_NE(try_op("aten.elu", DType::f32, {1.0, 1.0, 0.5}).reason, "");
  EXPECT_NE(try_op("aten.div.Tensor_mode", DType::f32, {"floor"}, 2).reason, "");
  EXPECT_NE(try_op("aten.erf", DType::f32, {}).reason, "");
}

}  // namespace
}  // namespace edgewright::ops
