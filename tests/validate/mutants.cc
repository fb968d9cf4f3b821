#include "mutants.h"

#include <cmath>

namespace edgewright::passes {
namespace {

using A = Agreement;
using ir::Arg;

Value* v(const Node& n, std::string_view param) { return n.arg(param).value(); }
Arg ints(const std::vector<int64_t>& xs) { return Arg::ints(xs); }
Value* operand(const Value* x, size_t i = 0) { return x->producer->inputs()[i]; }

ir::Tensor map(const ir::Tensor& t, const std::function<double(int64_t, double)>& f) {
  const ir::Tensor c = t.contiguous();
  ir::Tensor out = ir::Tensor::empty(c.dtype, c.sizes);
  for (int64_t i = 0; i < c.numel(); ++i)
    ir::store_f(c.dtype, out.mutable_data(), i, f(i, ir::load_f(c.dtype, c.data, i)));
  return out;
}

// The batch-norm fold with each of its faults: which channel weight i belongs to, eps, the mean's sign, the convolution's bias.
struct Fold {
  std::function<int64_t(int64_t)> channel;
  double eps = 1e-3;
  double mean_sign = -1;
  bool keep_bias = true;
};
Value* fold(Node& n, Rewriter& rw, const Fold& f) {
  const auto at = [&](std::string_view param, int64_t i) { return ir::load_f(DType::f32, v(n, param)->data->data, i); };
  Node* conv = v(n, "input")->producer;
  rw.matched(conv);
  const auto scale = [&](int64_t c) { return at("weight", c) / std::sqrt(at("running_var", c) + f.eps); };
  const Value *w = v(*conv, "weight"), *b = v(*conv, "bias");
  std::vector<Arg> args = conv->args();
  args[1] = rw.constant(map(*w->data, [&](int64_t i, double x) { return x * scale(f.channel(i)); }), "w");
  args[2] = rw.constant(map(*v(n, "bias")->data,
                            [&](int64_t c, double bias) {
                              return bias + ((b && f.keep_bias ? ir::load_f(DType::f32, b->data->data, c) : 0) +
                                             f.mean_sign * at("running_mean", c)) *
                                                scale(c);
                            }),
                        "b");
  return rw(conv->name(), args);
}
const char* const kConv = R"(graph (%x: f32[1,2,3,3]) {
  const %w: f32[2,2,1,1] = [[[[3]], [[1]]], [[[5]], [[-2]]]]  const %c: f32[2] = [1, 2]
  const %g: f32[2] = [2, 6]  const %b: f32[2] = [0, 1]  const %m: f32[2] = [1, -1]  const %v: f32[2] = [0.003, 8]
  %k = aten.convolution(%x, %w, %c, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
  %y, %s, %t = aten._native_batch_norm_legit_no_training(%k, %g, %b, %m, %v, 0.1, 1e-3)  return %y })";
const char* const kDeconv = R"(graph (%x: f32[1,2,3,3]) {
  const %w: f32[2,2,1,1] = [[[[3]], [[1]]], [[[5]], [[-2]]]]  const %c: f32[2] = [1, 2]
  const %g: f32[2] = [2, 6]  const %b: f32[2] = [0, 1]  const %m: f32[2] = [1, -1]  const %v: f32[2] = [0.003, 8]
  %k = aten.convolution(%x, %w, %c, [1, 1], [0, 0], [1, 1], True, [0, 0], 1)
  %y, %s, %t = aten._native_batch_norm_legit_no_training(%k, %g, %b, %m, %v, 0.1, 1e-3)  return %y })";
const char* const kConv3 =
    "graph (%x: f32[1,1,5,5]) { const %w: f32[1,1,3,3] = [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]  %y = "
    "aten.convolution(%x, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)  return %y }";

std::vector<Mutant> make() {
  std::vector<Mutant> all;
  // One root, one result.
  const auto add = [&](const char* name, const char* fault, A a, const char* root, const char* graph,
                       std::function<Value*(Node&, Rewriter&)> f) {
    all.push_back({{.name = name,
                    .roots = {root},
                    .rewrite =
                        [f](Node& n, Rewriter& rw) {
                          if (n.result()->name != "y") return no_match();  // what it made itself is left alone
                          Value* y = f(n, rw);
                          std::vector<Value*> values(n.num_results(), nullptr);
                          values[0] = y;
                          return rw.replace(std::move(values));
                        },
                    .agreement = a,
                    .summary = fault},
                   graph});
  };

  // --- the linear family ---
  add("linear-over-folded", "an mm whose transpose was folded becomes a linear over the folded constant (square)",
      A::kReassociated, "aten.mm",
      "graph (%x: f32[2,2]) { const %w: f32[2,2] = [[1, 2], [3, 4]]  %y = aten.mm(%x, %w)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.linear", {v(n, "self"), v(n, "mat2")}); });
  add("linear-over-folded-oblong", "the same, not square: the weight is reshaped until it fits", A::kReassociated,
      "aten.mm",
      "graph (%x: f32[2,3]) { const %w: f32[3,2] = [[1, 2], [3, 4], [5, 6]]  %y = aten.mm(%x, %w)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.linear", {v(n, "self"), rw.view(v(n, "mat2"), {2, 3})}); });
  add("transpose-upstream-of-add", "the transpose is looked for past an addition", A::kReassociated, "aten.mm",
      "graph (%x: f32[2,3], %w: f32[3,3]) { %t = aten.t(%w)  %a = aten.add.Scalar(%t, 1)  %y = aten.mm(%x, %a)  return "
      "%y }",
      [](Node& n, Rewriter& rw) {
        Value* a = v(n, "mat2");
        rw.matched(a->producer);
        rw.matched(operand(a)->producer);
        return rw("aten.linear", {v(n, "self"), operand(operand(a))});
      });
  add("transpose-upstream-of-slice", "the transpose is looked for past a slice, which keeps the wrong rows",
      A::kReassociated, "aten.mm",
      "graph (%x: f32[2,3], %w: f32[6,3]) { %t = aten.t(%w)  %a = aten.slice.Tensor(%t, 1, 2, 6)  %y = aten.mm(%x, %a) "
      " return %y }",
      [](Node& n, Rewriter& rw) {
        Value* a = v(n, "mat2");
        rw.matched(a->producer);
        rw.matched(operand(a)->producer);
        return rw("aten.linear", {v(n, "self"), rw("aten.slice.Tensor", {operand(operand(a)), 0, 0, 4})});
      });
  add("walk-past-a-boundary", "the weight is taken from beyond a node of another partition", A::kReassociated,
      "aten.mm",
      "graph (%x: f32[2,3], %w: f32[3,3]) { %t = aten.t(%w)  %a = aten.round(%t)  %u = aten.t(%a)  %b = aten.t(%u)  %y "
      "= aten.mm(%x, %b)  return %y }",
      [](Node& n, Rewriter& rw) {
        Value* x = v(n, "mat2");
        for (int i = 0; i < 4; ++i, x = operand(x)) rw.matched(x->producer);
        return rw("aten.linear", {v(n, "self"), x});
      });
  const char* const addmm =
      "graph (%b: f32[4], %x: f32[2,3], %w: f32[4,3]) { %t = aten.t(%w)  %y = aten.addmm(%b, %x, %t, beta=0.5, "
      "alpha=2)  return %y }";
  add("bias-lost", "addmm becomes a linear without its bias", A::kReassociated, "aten.addmm",
      "graph (%b: f32[4], %x: f32[2,3], %w: f32[3,4]) { %y = aten.addmm(%b, %x, %w)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.mm", {v(n, "mat1"), v(n, "mat2")}); });
  add("bias-twice", "the bias goes inside and is added outside as well", A::kReassociated, "aten.addmm",
      "graph (%b: f32[4], %x: f32[2,3], %w: f32[3,4]) { %y = aten.addmm(%b, %x, %w)  return %y }",
      [](Node& n, Rewriter& rw) {
        return rw("aten.add.Tensor",
                  {rw("aten.add.Tensor", {rw("aten.mm", {v(n, "mat1"), v(n, "mat2")}), v(n, "self")}), v(n, "self")});
      });
  add("alpha-ignored", "addmm's alpha is ignored", A::kReassociated, "aten.addmm", addmm, [](Node& n, Rewriter& rw) {
    return rw("aten.add.Tensor",
              {rw("aten.mm", {v(n, "mat1"), v(n, "mat2")}), rw("aten.mul.Scalar", {v(n, "self"), 0.5})});
  });
  add("beta-ignored", "addmm's beta is ignored", A::kReassociated, "aten.addmm", addmm, [](Node& n, Rewriter& rw) {
    return rw("aten.add.Tensor",
              {rw("aten.mul.Scalar", {rw("aten.mm", {v(n, "mat1"), v(n, "mat2")}), 2}), v(n, "self")});
  });
  add("alpha-is-beta", "alpha and beta are exchanged", A::kReassociated, "aten.addmm", addmm,
      [](Node& n, Rewriter& rw) {
        return rw("aten.add.Tensor", {rw("aten.mul.Scalar", {rw("aten.mm", {v(n, "mat1"), v(n, "mat2")}), 0.5}),
                                      rw("aten.mul.Scalar", {v(n, "self"), 2})});
      });
  add("column-bias-as-row", "a bias for each row is taken for one for each column", A::kReassociated, "aten.addmm",
      "graph (%b: f32[4,1], %x: f32[4,3], %w: f32[3,4]) { %y = aten.addmm(%b, %x, %w)  return %y }",
      [](Node& n, Rewriter& rw) {
        return rw("aten.add.Tensor",
                  {rw("aten.mm", {v(n, "mat1"), v(n, "mat2")}), rw("aten.view", {v(n, "self"), ints({4})})});
      });
  add("integer-mm-in-f32", "an integer matmul is computed in f32", A::kBitExact, "aten.mm",
      "graph (%x: i64[2,3], %w: i64[3,2]) { %y = aten.mm(%x, %w)  return %y }", [](Node& n, Rewriter& rw) {
        return rw("aten._to_copy", {rw("aten.mm", {rw("aten._to_copy", {v(n, "self"), DType::f32}),
                                                   rw("aten._to_copy", {v(n, "mat2"), DType::f32})}),
                                    DType::i64});
      });
  add("bmm-weight-untransposed", "a bmm over view(expand(permute(w))) loses the permute", A::kReassociated, "aten.bmm",
      "graph (%x: f32[2,3,3], %w: f32[3,3]) { %t = aten.permute(%w, [1, 0])  %e = aten.expand(%t, [2, 3, 3])  %u = "
      "aten.view(%e, [2, 3, 3])  %y = aten.bmm(%x, %u)  return %y }",
      [](Node& n, Rewriter& rw) {
        Value* x = v(n, "mat2");
        for (int i = 0; i < 3; ++i, x = operand(x)) rw.matched(x->producer);
        return rw("aten.matmul", {v(n, "self"), x});
      });

  // --- several users: edits that other users see ---
  add("permute-with-two-users", "two permutes cancel, and the inner one's other user is handed the input too",
      A::kBitExact, "aten.permute",
      "graph (%x: f32[2,2]) { %a = aten.t(%x)  %y = aten.permute(%a, [1, 0])  %u = aten.exp(%a)  return %y, %u }",
      [](Node& n, Rewriter& rw) {
        Value *a = v(n, "self"), *x = operand(a);
        rw.matched(a->producer);
        for (Node* u : std::vector<Node*>(a->users))
          if (u != &n) u->set_arg(0, x);
        return x;
      });
  add("relu-past-a-second-user", "relu is fused into an addition that another node reads unclamped", A::kEqual,
      "aten.relu",
      "graph (%x: f32[2,3], %z: f32[2,3]) { %a = aten.add.Tensor(%x, %z)  %y = aten.relu(%a)  %u = aten.neg(%a)  "
      "return %y, %u }",
      [](Node& n, Rewriter& rw) {
        Value* a = v(n, "self");
        rw.matched(a->producer);
        Value* y = rw("xnn.add", {operand(a), operand(a, 1), 0.0, static_cast<double>(INFINITY)});
        for (Node* u : std::vector<Node*>(a->users))
          if (u != &n) u->set_arg(0, y);
        return y;
      });
  add("relu-past-an-output", "relu is fused into an addition that is an output as well", A::kEqual, "aten.relu",
      "graph (%x: f32[2,3], %z: f32[2,3]) { %a = aten.add.Tensor(%x, %z)  %y = aten.relu(%a)  return %y, %a }",
      [](Node& n, Rewriter& rw) {
        Value* a = v(n, "self");
        rw.matched(a->producer);
        Value* y = rw("xnn.add", {operand(a), operand(a, 1), 0.0, static_cast<double>(INFINITY)});
        for (Arg& o : rw.graph().outputs)
          if (o.value() == a) o = y;
        return y;
      });

  // --- batch norm and convolutions ---
  add("batch-norm-wrong-eps", "another epsilon is folded", A::kReassociated,
      "aten._native_batch_norm_legit_no_training", kConv,
      [](Node& n, Rewriter& rw) { return fold(n, rw, {.channel = [](int64_t i) { return i / 2; }, .eps = 1e-5}); });
  add("batch-norm-wrong-dim", "the weight is scaled along its input channels", A::kReassociated,
      "aten._native_batch_norm_legit_no_training", kConv,
      [](Node& n, Rewriter& rw) { return fold(n, rw, {.channel = [](int64_t i) { return i % 2; }}); });
  add("batch-norm-mean-sign", "the running mean is added", A::kReassociated,
      "aten._native_batch_norm_legit_no_training", kConv,
      [](Node& n, Rewriter& rw) { return fold(n, rw, {.channel = [](int64_t i) { return i / 2; }, .mean_sign = 1}); });
  add("batch-norm-bias-lost", "the convolution's own bias is lost in the fold", A::kReassociated,
      "aten._native_batch_norm_legit_no_training", kConv, [](Node& n, Rewriter& rw) {
        return fold(n, rw, {.channel = [](int64_t i) { return i / 2; }, .keep_bias = false});
      });
  add("transposed-conv-wrong-axis", "a transposed convolution's weight is scaled along dim 0", A::kReassociated,
      "aten._native_batch_norm_legit_no_training", kDeconv,
      [](Node& n, Rewriter& rw) { return fold(n, rw, {.channel = [](int64_t i) { return i / 2; }}); });
  add("kernel-transposed", "a convolution's kernel has height and width exchanged", A::kReassociated,
      "aten.convolution", kConv3, [](Node& n, Rewriter& rw) {
        auto args = n.args();
        args[1] = rw.permute(v(n, "weight"), {0, 1, 3, 2});
        return rw("aten.convolution", args);
      });
  add("kernel-flipped", "a convolution is written as the transposed one, its kernel not flipped", A::kReassociated,
      "aten.convolution", kConv3, [](Node& n, Rewriter& rw) {
        auto args = n.args();
        args[6] = true;
        return rw("aten.convolution", args);
      });
  add("dilation-dropped", "a dilated convolution becomes a dense one of the same size", A::kReassociated,
      "aten.convolution",
      "graph (%x: f32[1,1,7,7]) { const %w: f32[1,1,3,3] = [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]  %y = "
      "aten.convolution(%x, %w, None, [1, 1], [2, 2], [2, 2], False, [0, 0], 1)  return %y }",
      [](Node& n, Rewriter& rw) {
        auto args = n.args();
        args[4] = ints({1, 1});
        args[5] = ints({1, 1});
        return rw("aten.convolution", args);
      });
  add("groups-interleaved",
      "a grouped convolution's output channels are written group by turn instead of group by group", A::kReassociated,
      "aten.convolution",
      "graph (%x: f32[1,2,3,3]) { const %w: f32[4,1,1,1] = [[[[1]]], [[[2]]], [[[3]]], [[[4]]]]  %y = "
      "aten.convolution(%x, %w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 2)  return %y }",
      [](Node& n, Rewriter& rw) {
        Value* z = rw("aten.view", {rw("aten.convolution", n.args()), ints({1, 2, 2, 3, 3})});
        return rw("aten.reshape", {rw("aten.permute", {z, ints({0, 2, 1, 3, 4})}), ints({1, 4, 3, 3})});
      });
  add("padding-on-one-side", "padding of both sides is put on the far side alone", A::kReassociated, "aten.convolution",
      kConv3, [](Node& n, Rewriter& rw) {
        auto args = n.args();
        args[0] = rw("aten.constant_pad_nd", {v(n, "input"), ints({0, 2, 0, 2}), 0.0});
        args[4] = ints({0, 0});
        return rw("aten.convolution", args);
      });
  add("padding-counted", "an average counts its padding", A::kReassociated, "aten.avg_pool2d",
      "graph (%x: f32[1,1,4,4]) { %y = aten.avg_pool2d(%x, [3, 3], [1, 1], [1, 1], False, False)  return %y }",
      [](Node& n, Rewriter& rw) {
        return rw("aten.avg_pool2d", {v(n, "self"), ints({3, 3}), ints({1, 1}), ints({1, 1}), false, true});
      });
  add("ceil-mode-dropped", "ceil_mode is dropped: the last row and column are lost", A::kEqual, "aten.max_pool2d",
      "graph (%x: f32[1,1,5,5]) { %y = aten.max_pool2d(%x, [2, 2], [2, 2], [0, 0], [1, 1], True)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.max_pool2d", {v(n, "self"), ints({2, 2}), ints({2, 2})}); });
  add("maximum-over-zero-padding", "ceil_mode is made with zeros, which win over negative numbers", A::kEqual,
      "aten.max_pool2d",
      "graph (%x: f32[1,1,5,5]) { %y = aten.max_pool2d(%x, [2, 2], [2, 2], [0, 0], [1, 1], True)  return %y }",
      [](Node& n, Rewriter& rw) {
        return rw("aten.max_pool2d",
                  {rw("aten.constant_pad_nd", {v(n, "self"), ints({0, 1, 0, 1}), 0.0}), ints({2, 2}), ints({2, 2})});
      });

  // --- activations ---
  add("bounds-swapped", "a clamp's bounds are exchanged", A::kEqual, "aten.clamp",
      "graph (%x: f32[20]) { %y = aten.clamp(%x, -0.5, 0.5)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.clamp", {v(n, "self"), 0.5, -0.5}); });
  add("upper-bound-lost", "hardtanh becomes its lower bound alone", A::kEqual, "aten.hardtanh",
      "graph (%x: f32[20]) { %y = aten.hardtanh(%x, -1.0, 1.0)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.clamp", {v(n, "self"), -1.0}); });
  add("another-gelu", "the exact gelu becomes the tanh form, said to be equal but for rounding", A::kReassociated,
      "aten.gelu", "graph (%x: f32[20]) { %y = aten.gelu(%x)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.gelu", {v(n, "self"), "tanh"}); });
  add("slope-sign", "a leaky relu's slope changes sign", A::kReassociated, "aten.leaky_relu",
      "graph (%x: f32[20]) { %y = aten.leaky_relu(%x, 0.25)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.leaky_relu", {v(n, "self"), -0.25}); });

  // --- data movement ---
  add("permutes-composed-backwards", "two permutes are composed in the wrong order", A::kBitExact, "aten.permute",
      "graph (%x: f32[2,2,2]) { %a = aten.transpose.int(%x, 0, 1)  %y = aten.permute(%a, [1, 2, 0])  return %y }",
      [](Node& n, Rewriter& rw) {
        Value* a = v(n, "self");
        rw.matched(a->producer);
        return rw("aten.permute", {operand(a), ints({2, 1, 0})});
      });
  add("view-for-permute", "a transpose is written as a view", A::kBitExact, "aten.t",
      "graph (%x: f32[2,3]) { %y = aten.t(%x)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.view", {v(n, "self"), ints({3, 2})}); });
  add("negative-dim", "a negative dim is taken as counted from the front", A::kReassociated, "aten.sum.dim_IntList",
      "graph (%x: f32[3,3]) { %y = aten.sum.dim_IntList(%x, [-1])  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.sum.dim_IntList", {v(n, "self"), ints({0})}); });
  add("broadcast-wrong-dim", "a row is broadcast as a column", A::kBitExact, "aten.add.Tensor",
      "graph (%x: f32[3,3], %b: f32[3]) { %y = aten.add.Tensor(%x, %b)  return %y }", [](Node& n, Rewriter& rw) {
        return rw("aten.add.Tensor", {v(n, "self"), rw("aten.view", {v(n, "other"), ints({3, 1})})});
      });
  add("slice-end-beyond", "a slice whose end lies beyond the size is moved back to fit", A::kBitExact,
      "aten.slice.Tensor", "graph (%x: f32[5]) { %y = aten.slice.Tensor(%x, 0, 1, 100)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.slice.Tensor", {v(n, "self"), 0, 0, 4}); });
  add("slice-step-lost", "a slice's step is lost", A::kBitExact, "aten.slice.Tensor",
      "graph (%x: f32[8]) { %y = aten.slice.Tensor(%x, 0, 0, 8, 2)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.slice.Tensor", {v(n, "self"), 0, 0, 4}); });
  add("slice-negative-start", "a negative start is clamped to 0 instead of counted from the end", A::kBitExact,
      "aten.slice.Tensor", "graph (%x: f32[8]) { %y = aten.slice.Tensor(%x, 0, -3, 100)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.slice.Tensor", {v(n, "self"), 0, 0, 3}); });
  add("cat-reversed", "cat's operands stand in another order", A::kBitExact, "aten.cat",
      "graph (%x: f32[3], %z: f32[3]) { %y = aten.cat([%x, %z])  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.cat", {Arg::values({n.inputs()[1], n.inputs()[0]}), 0}); });
  add("shifting-pad-removed", "a pad that keeps the size is taken for no pad at all", A::kBitExact,
      "aten.constant_pad_nd", "graph (%x: f32[4]) { %y = aten.constant_pad_nd(%x, [1, -1], 0.0)  return %y }",
      [](Node& n, Rewriter&) { return v(n, "self"); });

  // --- arithmetic and dtypes ---
  add("division-truncated", "an integer division rounds toward zero instead of down", A::kBitExact,
      "aten.div.Tensor_mode",
      "graph (%x: i64[20], %z: i64[20]) { %y = aten.div.Tensor_mode(%x, %z, rounding_mode=\"floor\")  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.div.Tensor_mode", {v(n, "self"), v(n, "other"), "trunc"}); });
  add("remainder-is-fmod", "a remainder takes the sign of the dividend", A::kEqual, "aten.remainder.Scalar",
      "graph (%x: f32[20]) { %y = aten.remainder.Scalar(%x, 3)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.fmod.Scalar", {v(n, "self"), 3}); });
  add("promotion-dropped", "i64 + f32 is computed in i64", A::kReassociated, "aten.add.Tensor",
      "graph (%x: i64[20], %z: f32[20]) { %y = aten.add.Tensor(%x, %z)  return %y }", [](Node& n, Rewriter& rw) {
        return rw(
            "aten._to_copy",
            {rw("aten.add.Tensor", {v(n, "self"), rw("aten._to_copy", {v(n, "other"), DType::i64})}), DType::f32});
      });
  add("half-promotion-dropped", "f16 * f32 is computed in f16", A::kReassociated, "aten.mul.Tensor",
      "graph (%x: f16[20], %z: f32[20]) { %y = aten.mul.Tensor(%x, %z)  return %y }", [](Node& n, Rewriter& rw) {
        return rw(
            "aten._to_copy",
            {rw("aten.mul.Tensor", {v(n, "self"), rw("aten._to_copy", {v(n, "other"), DType::f16})}), DType::f32});
      });
  add("casts-cancelled", "f32 -> i64 -> f32 is taken for nothing", A::kEqual, "aten._to_copy",
      "graph (%x: f32[20]) { %i = aten._to_copy(%x, dtype=i64)  %y = aten._to_copy(%i, dtype=f32)  return %y }",
      [](Node& n, Rewriter& rw) {
        rw.matched(v(n, "self")->producer);
        return operand(v(n, "self"));
      });
  add("round-half-up", "halves are rounded up instead of to even", A::kEqual, "aten.round",
      "graph (%x: f32[40]) { %y = aten.round(%x)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.floor", {rw("aten.add.Scalar", {v(n, "self"), 0.5})}); });
  add("operands-swapped", "a subtraction's operands are exchanged", A::kBitExact, "aten.sub.Tensor",
      "graph (%x: f32[4], %z: f32[4]) { %y = aten.sub.Tensor(%x, %z)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.sub.Tensor", {v(n, "other"), v(n, "self")}); });
  add("where-swapped", "where's branches are exchanged", A::kBitExact, "aten.where.self",
      "graph (%c: bool[8], %x: f32[8], %z: f32[8]) { %y = aten.where.self(%c, %x, %z)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.where.self", {v(n, "condition"), v(n, "other"), v(n, "self")}); });
  add("gt-is-ge", "a comparison is off where both are equal", A::kBitExact, "aten.gt.Scalar",
      "graph (%x: f32[24]) { %y = aten.gt.Scalar(%x, 0)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.ge.Scalar", {v(n, "self"), 0}); });
  add("last-of-equals", "only ties: argmax gives the last of several greatest elements", A::kBitExact, "aten.argmax",
      "graph (%x: i64[3,8]) { %y = aten.argmax(%x, 1)  return %y }", [](Node& n, Rewriter& rw) {
        return rw("aten.rsub.Scalar", {rw("aten.argmax", {rw("aten.flip", {v(n, "self"), ints({1})}), 1}), 7});
      });
  add("variance-unbiased", "a variance divides by n instead of n - 1", A::kReassociated, "aten.var.correction",
      "graph (%x: f32[3,4]) { %y = aten.var.correction(%x, [1], correction=1)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.var.correction", {v(n, "self"), ints({1}), 0}); });
  add("softmax-wrong-dim", "a softmax runs over another dim", A::kReassociated, "aten._softmax",
      "graph (%x: f32[3,3]) { %y = aten._softmax(%x, 0, False)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten._softmax", {v(n, "self"), -1, false}); });
  add("layer-norm-eps-lost", "a layer norm loses its epsilon", A::kReassociated, "aten.layer_norm",
      "graph (%x: f32[3,4]) { %y = aten.layer_norm(%x, [4], None, None, 0.1)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.layer_norm", {v(n, "input"), ints({4}), Arg(), Arg(), 1e-5}); });

  // --- numbers that are seldom tried ---
  add("nan-lost", "only NaN: relu as a choice, which turns it into 0", A::kEqual, "aten.relu",
      "graph (%x: f32[20]) { %y = aten.relu(%x)  return %y }", [](Node& n, Rewriter& rw) {
        Value* x = v(n, "self");
        return rw("aten.where.self", {rw("aten.gt.Scalar", {x, 0}), x, rw("aten.full_like", {x, 0})});
      });
  add("nan-ignored-by-maximum", "only NaN: maximum becomes fmax", A::kEqual, "aten.maximum",
      "graph (%x: f32[20], %z: f32[20]) { %y = aten.maximum(%x, %z)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.fmax", {v(n, "self"), v(n, "other")}); });
  add("zero-sign", "only -0.0: an addition of 0.0 is taken for nothing", A::kBitExact, "aten.add.Scalar",
      "graph (%x: f32[24]) { %y = aten.add.Scalar(%x, 0.0)  return %y }",
      [](Node& n, Rewriter&) { return v(n, "self"); });
  add("cse-of-zeros", "only -0.0: additions of 0.0 and -0.0 are taken for one", A::kBitExact, "aten.add.Scalar",
      "graph (%x: f32[24]) { %a = aten.neg(%x)  %y = aten.add.Scalar(%a, -0.0)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.add.Scalar", {v(n, "self"), 0.0}); });
  add("infinity-times-zero", "only infinity and NaN: x * 0 is taken for 0", A::kEqual, "aten.mul.Scalar",
      "graph (%x: f32[24]) { %y = aten.mul.Scalar(%x, 0)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.full_like", {v(n, "self"), 0}); });
  add("reciprocal", "a division becomes a product with the reciprocal, said to be exact", A::kEqual, "aten.div.Tensor",
      "graph (%x: f32[20], %z: f32[20]) { %y = aten.div.Tensor(%x, %z)  return %y }", [](Node& n, Rewriter& rw) {
        return rw("aten.mul.Tensor", {v(n, "self"), rw("aten.reciprocal", {v(n, "other")})});
      });

  // --- sizes that are seldom tried ---
  add("odd-size", "off by one for odd sizes only: a sum of both halves, each half the size rounded down",
      A::kReassociated, "aten.sum.dim_IntList",
      "graph (%x: f32[s0]) where s0 in [2, 100] { %n = aten.sym_size.int(%x, 0)  %h = _operator.floordiv(%n, 2)  %m = "
      "_operator.mul(%h, 2)  %y = aten.sum.dim_IntList(%x, [0])  return %y, %m }",
      [](Node& n, Rewriter& rw) -> Value* {
        Value* m = rw.graph().outputs[1].value();
        for (Value* s = m; s->producer; s = operand(s)) rw.matched(s->producer);
        return rw("aten.sum.dim_IntList", {rw("aten.slice.Tensor", {v(n, "self"), 0, 0, m}), ints({0})});
      });
  add("largest-size", "only the largest size of a symbolic dim: a slice that just cuts there is dropped", A::kBitExact,
      "aten.slice.Tensor", "graph (%x: f32[s0]) where s0 in [1, 9] { %y = aten.slice.Tensor(%x, 0, 0, 8)  return %y }",
      [](Node& n, Rewriter&) { return v(n, "self"); });
  add("smallest-size", "only the smallest size of a symbolic dim: element 0 is taken for the last but one",
      A::kBitExact, "aten.select.int",
      "graph (%x: f32[s0]) where s0 in [1, 2] { %y = aten.select.int(%x, 0, 0)  return %y }",
      [](Node& n, Rewriter& rw) { return rw("aten.select.int", {v(n, "self"), 0, -2}); });

  // --- writes ---
  all.push_back({{.name = "write-lost",
                  .run = [](ir::Program& p) -> Result<bool> {
                    for (Node* n : p.graph->snapshot())
                      if (n->is("aten.copy_")) {
                        p.graph->replace_all_uses(n->result(), n->args()[0].value());
                        p.graph->erase(n);
                        return true;
                      }
                    return false;
                  },
                  .summary = "a write through a view is lost"},
                 "graph (%x: f32[4], %z: f32[2]) { %a = aten.neg(%x)  %s = aten.slice.Tensor(%a, 0, 1, 3)  %y = "
                 "aten.copy_(%s, %z)  return %a }"});
  all.push_back({{.name = "write-to-the-view-alone",
                  .run = [](ir::Program& p) -> Result<bool> {
                    for (Node* n : p.graph->snapshot())
                      if (n->is("aten.copy_")) {
                        auto pure = ops::add_node(*p.graph, "aten.copy", n->args(), n);
                        if (!pure) return std::unexpected(pure.error());
                        p.graph->replace_all_uses(n->result(), (*pure)->result());
                        p.graph->erase(n);
                        return true;
                      }
                    return false;
                  },
                  .summary = "a write through a view changes the view but not what it shows"},
                 "graph (%x: f32[4], %z: f32[2]) { %a = aten.neg(%x)  %s = aten.slice.Tensor(%a, 0, 1, 3)  %y = "
                 "aten.copy_(%s, %z)  return %a, %y }"});
  all.push_back(
      {{.name = "state-not-written",
        .run = [](ir::Program& p) -> Result<bool> {
          const bool had = !p.graph->writes.empty();
          p.graph->writes.clear();
          return had;
        },
        .summary = "a mutated buffer is no longer written at the end"},
       "graph (%x: f32[3]) { state %s: f32[3] = [0, 0, 0]  %y = aten.add.Tensor(%s, %x)  write %s <- %y  return %x }"});
  all.push_back(
      {{.name = "other-branch",
        .roots = {"higher_order.cond"},
        .rewrite =
            [](Node& n, Rewriter& rw) {
              if (!rw.graph().is_output(n.result())) return no_match();  // done
              Value *p = n.args()[0].value(), *x = (*n.args()[3].list())[0].value();
              return rw.replace(rw("aten.where.self", {p, rw("aten.exp", {x}), rw("aten.neg", {x})}));
            },
        .agreement = A::kBitExact,
        .summary = "a conditional takes its other branch"},
       "graph (%p: bool[], %x: f32[4]) { %y = higher_order.cond(pred=%p, t=graph (%v: f32[4]) { %r = aten.neg(%v)  "
       "return %r }, f=graph (%v: f32[4]) { %r = aten.exp(%v)  return %r }, o=[%x]) : f32[4]  return %y }"});
  all.push_back({{.name = "input-not-overwritten",
                  .run = [](ir::Program& p) -> Result<bool> {
                    for (Node* n : p.graph->snapshot())
                      if (n->is("aten.mul_.Tensor")) {
                        auto pure = ops::add_node(*p.graph, "aten.mul.Tensor", n->args(), n);
                        if (!pure) return std::unexpected(pure.error());
                        p.graph->replace_all_uses(n->result(), (*pure)->result());
                        p.graph->erase(n);
                        return true;
                      }
                    return false;
                  },
                  .summary = "what is written to an input does not reach the caller"},
                 "graph (%x: f32[4]) { %y = aten.mul_.Tensor(%x, %x)  return %y }"});
  all.push_back(
      {{.name = "writes-exchanged",
        .run = [](ir::Program& p) -> Result<bool> {
          std::vector<Node*> writes;
          for (Node* n : p.graph->snapshot())
            if (n->is("aten.copy_")) writes.push_back(n);
          if (writes.size() != 2 || p.graph->next(writes[1]) == nullptr) return false;
          p.graph->move_before(writes[1], writes[0]);
          return true;
        },
        .summary = "two writes to views that overlap are carried out in the other order, in tensors too large to run"},
       "graph (%x: f32[4096,4096], %z: f32[4096,3000], %u: f32[4096,3000]) { %a = aten.neg(%x)  %s = "
       "aten.slice.Tensor(%a, 1, 0, 3000)  %t = aten.slice.Tensor(%a, 1, 1096, 4096)  %v = aten.copy_(%s, %z)  "
       "%w = aten.copy_(%t, %u)  %y = aten.exp(%a)  return %y }"});
  all.push_back({{.name = "cse-of-other-scalars",
                  .run = [](ir::Program& p) -> Result<bool> {
                    std::vector<Node*> adds;
                    for (Node* n : p.graph->snapshot())
                      if (n->is("aten.add.Scalar")) adds.push_back(n);
                    if (adds.size() != 2) return false;
                    p.graph->replace_all_uses(adds[1]->result(), adds[0]->result());
                    p.graph->erase(adds[1]);
                    return true;
                  },
                  .summary = "two nodes that differ in a number are taken for one, in tensors too large to run"},
                 "graph (%x: f32[256,512,512]) { %a = aten.add.Scalar(%x, 1)  %b = aten.add.Scalar(%x, 2)  %c = "
                 "aten.exp(%a)  %d = aten.exp(%b)  %e = aten.sum.dim_IntList(%d, [0, 1, 2])  return %c, %e }"});
  all.push_back(
      {{.name = "cse-of-writes",
        .run = [](ir::Program& p) -> Result<bool> {
          std::vector<Node*> writes;
          for (Node* n : p.graph->snapshot())
            if (n->is("aten.copy_")) writes.push_back(n);
          if (writes.size() != 2) return false;
          p.graph->replace_all_uses(writes[1]->result(), writes[0]->result());
          p.graph->erase(writes[1]);
          return true;
        },
        .summary = "two equal writes with a read of the storage between them are taken for one"},
       "graph (%x: f32[4], %z: f32[4]) { %a = aten.neg(%x)  %v = aten.copy_(%a, %z)  %b = aten.add_.Tensor(%a, "
       "%x)  %w = aten.copy_(%a, %z)  return %w }"});
  return all;
}

}  // namespace

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = make();
  return all;
}

}  // namespace edgewright::passes
