// src/passes/fuse_clamp.cc - fuse-clamp: clamp(op(x)) -> op(x) with bounds, for ops whose XNNPACK node carries an output clamp.
//   relu, relu6, hardtanh, clamp over xnn.conv2d, depthwise_conv2d, deconv2d, fully_connected, the poolings, add, sub, mul, div
// The op must have no other user: its unclamped value would be lost. Bounds are attributes of the node, with their meaning in eval.
#include <algorithm>
#include <map>

#include "ops/xnn_quant.h"
#include "ops/xnn_support.h"
#include "passes/clamp_bounds.h"

namespace edgewright::passes {

std::optional<std::pair<double, double>> clamp_bounds(const Node& n) {
  const auto number = [&](std::string_view param, double otherwise) -> std::optional<double> {
    const ir::Arg a = n.arg(param);
    if (a.is_none()) return otherwise;
    if (a.f()) return static_cast<float>(*a.f());
    if (a.i()) return static_cast<float>(*a.i());
    return std::nullopt;
  };
  if (n.is("aten.relu")) return std::pair(0.0, static_cast<double>(INFINITY));
  if (n.is("aten.relu6")) return std::pair(0.0, 6.0);
  std::optional<double> lo, hi;
  if (n.is("aten.hardtanh")) {
    lo = number("min_val", 0);
    hi = number("max_val", 0);
  } else {
    lo = number("min", -INFINITY);
    hi = number("max", INFINITY);
  }
  if (!lo || !hi || std::isnan(*lo) || std::isnan(*hi)) return std::nullopt;
  return std::pair(*lo, *hi);
}

namespace {

// clamp(xnn.q_op(x)) of the integers: the node's own bounds are of what they stand for.
Match of_integers(Node& n, Node& op, Rewriter& rw) {
  const ir::Schema& s = op.op().schema;
  if (s.index_of("min") < 0) return no_match("its node has no bounds");
  if (!only_user(op.result())) return no_match("the unclamped value has another user");
  const auto b = clamp_bounds(n);
  const ir::Arg lo = op.arg("min"), hi = op.arg("max");
  if (!b || !lo.f() || !hi.f()) return no_match("its bounds are not constants");
  const ops::Quantization q = ops::attribute_of(op, "y");
  const auto real = [&](double stored) { return (stored - static_cast<double>(q.zero_point)) * q.scale; };
  // What lies at the ends of i8 bounds nothing.
  const double least = b->first <= -128 ? *lo.f() : std::max(*lo.f(), real(b->first));
  const double most = b->second >= 127 ? *hi.f() : std::min(*hi.f(), real(b->second));
  if (!(static_cast<float>(least) < static_cast<float>(most))) return no_match("XNNPACK needs min < max");
  std::vector<ir::Arg> args;
  for (const ir::Param& p : s.params) args.push_back(op.arg(p.name));
  args[static_cast<size_t>(s.index_of("min"))] = least;
  args[static_cast<size_t>(s.index_of("max"))] = most;
  rw.matched(&op);
  Value* y = rw(op.name(), std::move(args));
  std::string reason;
  if (y && !ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  return rw.replace(y);
}

Match rewrite(Node& n, Rewriter& rw) {
  static const std::map<std::string_view, std::string_view> kWithClamp = {
      {"xnn.conv2d", "xnn.conv2d"},
      {"xnn.depthwise_conv2d", "xnn.depthwise_conv2d"},
      {"xnn.deconv2d", "xnn.deconv2d"},
      {"xnn.fully_connected", "xnn.fully_connected"},
      {"xnn.qd_fully_connected", "xnn.qd_fully_connected"},
      {"xnn.qw_fully_connected", "xnn.qw_fully_connected"},
      {"xnn.qd_conv2d", "xnn.qd_conv2d"},
      {"xnn.qd_deconv2d", "xnn.qd_deconv2d"},
      {"xnn.max_pool2d", "xnn.max_pool2d"},
      {"xnn.avg_pool2d", "xnn.avg_pool2d"},
      {"xnn.global_avg_pool2d", "xnn.global_avg_pool2d"},
      {"aten.add.Tensor", "xnn.add"},
      {"aten.sub.Tensor", "xnn.sub"},
      {"aten.mul.Tensor", "xnn.mul"},
      {"aten.div.Tensor", "xnn.div"}};
  Value* x = n.inputs()[0];
  Node* op = x->producer;
  if (op && ops::form_of(x) == ops::Form::kQuantized) return of_integers(n, *op, rw);
  if (!op || !is_f32(x)) return no_match();
  const auto form = kWithClamp.find(op->name());
  if (form == kWithClamp.end()) return no_match();
  if (!only_user(x)) return no_match("the unclamped value has another user");
  const auto b = clamp_bounds(n);
  if (!b) return no_match("its bounds are not constants");
  if (!(b->first < b->second)) return no_match("XNNPACK needs min < max");
  std::vector<ir::Arg> args;
  if (form->first != form->second) {
    if (op->op().schema.index_of("alpha") >= 0) {
      const ir::Arg alpha = op->arg("alpha");
      if (!((alpha.i() && *alpha.i() == 1) || (alpha.f() && *alpha.f() == 1))) return no_match("alpha is not 1");
    }
    for (Value* v : op->inputs())
      if (!is_f32(v)) return no_match("an operand is not f32");
    args = {op->args()[0], op->args()[1], b->first, b->second};
  } else {
    const ir::Schema& s = op->op().schema;
    const auto at = static_cast<size_t>(s.index_of("min"));
    const ir::Arg lo = op->arg("min"), hi = op->arg("max");
    if (!lo.f() || !hi.f() || *lo.f() != -INFINITY || *hi.f() != INFINITY) return no_match("it is clamped already");
    args = op->args();
    for (size_t i = args.size(); i < at; ++i) args.push_back(op->arg(s.params[i].name));
    args.resize(std::max(args.size(), at + 2));
    args[at] = b->first;
    args[at + 1] = b->second;
  }
  rw.matched(op);
  Value* y = rw(form->second, std::move(args));
  std::string reason;
  if (y && !ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  return rw.replace(y);
}

}  // namespace
PassDef define_fuse_clamp() {
  return {.name = "fuse-clamp",
          .roots = {"aten.relu", "aten.relu6", "aten.hardtanh", "aten.clamp"},
          .rewrite = rewrite,
          .agreement = Agreement::kEqual,
          .summary = "clamp(op(x)) -> op(x) with bounds"};
}
}  // namespace edgewright::passes
