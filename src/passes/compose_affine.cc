// src/passes/compose_affine.cc - compose-affine: the plain ops that torchao's quantization decomposes into -> the op again.
//   clamp((max(amax(x), 0) - min(amin(x), 0)) / (hi - lo), eps)         -> choose_qparams_affine(x), its scale
//   cast(clamp(lo - round(min(amin(x), 0) / that scale), lo, hi))       -> the same, its zero point
//   cast(clamp(round(x * (1 / scale)) + zero_point, lo, hi))            -> quantize_affine(x, scale, zero_point)
//   (cast(q) - cast(zero_point)) * scale, q quantized here or a constant -> dequantize_affine(q, scale, zero_point)
//   view(quantize/dequantize(view(x))) with a dim split in blocks       -> the same on x
// Each side takes the same steps in the same dtypes. As ops they keep weights in their bits, and XNNPACK has nodes for them.
#include <algorithm>
#include <cmath>

#include "ops/quantization.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

constexpr const char *kQuantize = "torchao.quantize_affine", *kDequantize = "torchao.dequantize_affine",
                     *kChoose = "torchao.choose_qparams_affine";

DType dtype_of(const Value* v) { return v->tensor()->dtype; }
std::optional<double> number(const Node& n, std::string_view param) {
  const ir::Arg a = n.arg(param);
  if (a.i()) return static_cast<double>(*a.i());
  if (a.f()) return *a.f();
  return a.value() ? ops::constant_number(n, param) : std::nullopt;
}
ir::Arg bound(double v) { return static_cast<int64_t>(v); }  // of ints
bool is_bound(double v) { return std::fabs(v) <= 0x1p31 && v == std::trunc(v); }
Value* operand(const Node* n, std::string_view param) { return n ? n->arg(param).value() : nullptr; }
// All zeros, made in whichever way.
bool is_zero(const Value* v) {
  if (!v) return false;
  if (v->is_constant()) {
    const std::vector<double> x = ops::to_doubles(*v->data);
    return std::all_of(x.begin(), x.end(), [](double e) { return e == 0 && !std::signbit(e); });
  }
  const Node* n = v->producer;
  if (!n) return false;
  if (n->is("aten.zeros_like") || n->is("aten.zeros")) return true;
  return (n->is("aten.full_like") || n->is("aten.full")) && number(*n, "fill_value") == 0.0;
}
bool has_alpha_1(const Node& n) { return number(n, "alpha").value_or(1) == 1; }

// Parameters that broadcast against x with dims of 1 or x's own: blocks that are whole dims or single elements.
std::optional<std::vector<int64_t>> blocks_of(const Value* x, const Value* param) {
  const ir::Shape &s = x->tensor()->shape, &p = param->tensor()->shape;
  if (s.size() != p.size() || s.empty()) return std::nullopt;
  std::vector<int64_t> block;
  for (size_t d = 0; d < s.size(); ++d) {
    if (p[d] == s[d]) {
      block.push_back(1);
    } else if (p[d] == ir::Dim(1) && s[d].is_constant() && s[d].value() > 1) {
      block.push_back(s[d].value());
    } else {
      return std::nullopt;
    }
  }
  return block;
}
bool same_shape(const Value* a, const Value* b) { return a->tensor()->shape == b->tensor()->shape; }

// What a parameter is before it was shaped to broadcast: the ops take it in any shape.
Value* unshaped(Value* v, Rewriter& rw) {
  while (v && v->producer && (v->producer->is("aten.view") || v->producer->is("aten.unsqueeze"))) {
    rw.matched(v->producer);
    v = v->producer->inputs()[0];
  }
  return v;
}

// cast(clamp(round(x * (1 / scale)) + zero_point, lo, hi))
Match quantize(Node& n, Rewriter& rw) {
  const DType t = dtype_of(n.result());
  const auto range = ops::quantized_range(t);
  Node* clamp = producer(operand(&n, "self"), "aten.clamp");
  if (!range || t == DType::u16 || !clamp) return no_match();
  Node* add = producer(operand(clamp, "self"), "aten.add.Tensor");
  Node* round = producer(operand(add, "self"), "aten.round");
  Node* mul = producer(operand(round, "self"), "aten.mul.Tensor");
  Value *x = operand(mul, "self"), *inverse = operand(mul, "other"), *zero = operand(add, "other");
  if (!x || !inverse || !zero || !has_alpha_1(*add)) return no_match();
  Node* one = producer(inverse, "aten.mul.Tensor");  // 1.0 * reciprocal(scale)
  if (one && (operand(one, "other") || number(*one, "other") != 1.0)) return no_match("not an inverse");
  Node* reciprocal = producer(one ? operand(one, "self") : inverse, "aten.reciprocal");
  Value* scale = operand(reciprocal, "self");
  const auto lo = number(*clamp, "min"), hi = number(*clamp, "max");
  if (!scale || !lo || !hi || !is_bound(*lo) || !is_bound(*hi)) return no_match();
  if (*lo < static_cast<double>(range->first) || *hi > static_cast<double>(range->second))
    return no_match("the bounds leave the dtype's range");
  const DType in = dtype_of(x);
  if ((in != DType::f32 && in != DType::f16 && in != DType::bf16) || !is_float(dtype_of(scale)))
    return no_match("not floats");
  const auto block = blocks_of(x, scale);
  if (!block || !same_shape(scale, zero)) return no_match("scales that are not one for each block");
  for (Node* m : {clamp, add, round, mul, one, reciprocal})
    if (m) rw.matched(m);
  return rw.replace(
      rw(kQuantize, {x, ir::Arg::ints(*block), unshaped(scale, rw), unshaped(zero, rw), t, bound(*lo), bound(*hi)}));
}

// (cast(q) - cast(zero_point)) * scale
Match dequantize(Node& n, Rewriter& rw) {
  Value *difference = operand(&n, "self"), *scale = operand(&n, "other");
  if (!difference || !scale) return no_match();
  Node* sub = producer(difference, "aten.sub.Tensor");
  Node* cast = producer(sub ? operand(sub, "self") : difference, "aten._to_copy");
  Node* zero_cast = producer(operand(sub, "other"), "aten._to_copy");
  if (!cast || (sub && (!zero_cast || !has_alpha_1(*sub)))) return no_match();
  Value *q = operand(cast, "self"), *zero = operand(zero_cast, "self");
  const DType t = dtype_of(cast->result());
  if ((dtype_of(q) != DType::i8 && dtype_of(q) != DType::u8) || !is_float(t) || t == DType::f64 ||
      !is_float(dtype_of(scale)) || dtype_of(n.result()) != t)
    return no_match();
  if (zero && (!is_int(dtype_of(zero)) || dtype_of(zero_cast->result()) != t)) return no_match();
  const Node* from = q->producer;
  while (from && from->is("aten.view")) from = from->inputs()[0]->producer;
  const Value* source = q;
  while (source->producer && source->producer->is("aten.view")) source = source->producer->inputs()[0];
  if (!source->is_constant() && !(from && from->is(kQuantize))) return no_match("nothing quantized it");
  const auto block = blocks_of(q, scale);
  if (!block || !same_shape(n.result(), q) || (zero && !same_shape(scale, zero)))
    return no_match("scales that are not one for each block");
  // The bounds are hints; those of 4 bits say that constants can be packed.
  double lo = dtype_of(q) == DType::i8 ? -128 : 0, hi = dtype_of(q) == DType::i8 ? 127 : 255;
  if (source->is_constant() && dtype_of(q) == DType::i8) {
    const ir::Tensor dense = source->data->contiguous();
    const auto* e = reinterpret_cast<const int8_t*>(dense.data);
    if (std::all_of(e, e + dense.numel(), [](int8_t v) { return v >= -8 && v <= 7; })) {
      lo = -8;
      hi = 7;
    }
  }
  for (Node* m : {sub, cast, zero_cast})
    if (m) rw.matched(m);
  return rw.replace(
      rw(kDequantize, {q, ir::Arg::ints(*block), unshaped(scale, rw), zero ? ir::Arg(unshaped(zero, rw)) : ir::Arg(),
                       dtype_of(q), bound(lo), bound(hi), t}));
}

// The op on x where a dim of it was split in blocks by a view before and put together after.
Match through_views(Node& n, Rewriter& rw) {
  Value* inner = operand(&n, "self");
  if (!inner || !inner->producer || (!inner->producer->is(kQuantize) && !inner->producer->is(kDequantize)))
    return no_match();
  Node* op = inner->producer;
  Node* view = producer(operand(op, "input"), "aten.view");
  Value* x = operand(view, "self");
  if (!x || !same_shape(x, n.result())) return no_match();
  const auto sizes = sizes_of(x), split = sizes_of(view->result());
  const ir::Arg block_arg = op->arg("block_size");
  if (!sizes || !split || !block_arg.list()) return no_match();
  // Each dim of x is one dim of the split, or two: the number of blocks, in blocks of 1, and a whole block.
  std::vector<int64_t> block;
  size_t at = 0;
  for (int64_t size : *sizes) {
    if (at >= split->size()) return no_match("dims are put together");
    const auto b = [&](size_t k) { return *(*block_arg.list())[k].i(); };
    if ((*split)[at] == size) {
      block.push_back(b(at++));
    } else if (at + 1 < split->size() && (*split)[at] * (*split)[at + 1] == size && b(at) == 1 &&
               b(at + 1) == (*split)[at + 1]) {
      block.push_back(b(at + 1));
      at += 2;
    } else {
      return no_match("dims are put together");
    }
  }
  if (at != split->size()) return no_match("dims are put together");
  rw.matched(op);
  rw.matched(view);
  std::vector<ir::Arg> args = op->args();
  args[0] = x;
  args[1] = ir::Arg::ints(block);
  return rw.replace(rw(op->name(), std::move(args)));
}

// What a scale is made of, as choose_qparams_affine(ASYMMETRIC) makes it.
struct Range {
  Value* x = nullptr;
  Value* lo = nullptr;  // min(amin(x), 0)
  double span = 0, eps = 0;
  std::vector<Node*> nodes;
  std::vector<int64_t> block;
};
// with(of(x over the dims), 0), and the nodes of it.
Node* extreme(Value* v, const char* with, const char* of, std::vector<Node*>& nodes) {
  Node* n = producer(v, with);
  Node* m = producer(operand(n, "self"), of);
  Value* zero = operand(n, "other");
  if (!m || !is_zero(zero)) return nullptr;
  nodes.insert(nodes.end(), {n, m});
  if (zero->producer) nodes.push_back(zero->producer);
  return m;
}
// Blocks that are the dims which a reduction of x takes away.
std::optional<std::vector<int64_t>> reduced_blocks(const Node& n, const Value* x) {
  const ir::Arg keep = n.arg("keepdim"), dims = n.arg("dim");
  if ((keep.b() && *keep.b()) || !dims.list() || dims.list()->empty()) return std::nullopt;
  const ir::Shape& s = x->tensor()->shape;
  std::vector<int64_t> block(s.size(), 1);
  for (const ir::Arg& a : *dims.list()) {
    if (!a.i()) return std::nullopt;
    const auto d = static_cast<size_t>(*a.i() < 0 ? *a.i() + static_cast<int64_t>(s.size()) : *a.i());
    if (d >= s.size() || !s[d].is_constant() || s[d].value() < 2) return std::nullopt;
    block[d] = s[d].value();
  }
  return block;
}
std::optional<Range> range_of(Node* clamp) {
  if (!clamp || !clamp->is("aten.clamp") || !clamp->arg("max").is_none()) return std::nullopt;
  Node* div = producer(operand(clamp, "self"), "aten.div.Tensor");
  Node* sub = producer(operand(div, "self"), "aten.sub.Tensor");
  const auto eps = number(*clamp, "min");
  const auto span = div ? number(*div, "other") : std::nullopt;
  if (!sub || !eps || !span || !has_alpha_1(*sub)) return std::nullopt;
  std::vector<Node*> nodes{clamp, div, sub};
  Node *hi = extreme(operand(sub, "self"), "aten.maximum", "aten.amax", nodes),
       *lo = extreme(operand(sub, "other"), "aten.minimum", "aten.amin", nodes);
  if (!hi || !lo || operand(hi, "self") != operand(lo, "self")) return std::nullopt;
  Range r{operand(lo, "self"), operand(sub, "other"), *span, *eps, std::move(nodes), {}};
  const auto block = reduced_blocks(*lo, r.x);
  if (!block || reduced_blocks(*hi, r.x) != block) return std::nullopt;
  r.block = *block;
  const DType t = dtype_of(r.x);
  if (t != DType::f32 && t != DType::f16 && t != DType::bf16) return std::nullopt;
  return r;
}
// cast(clamp(lo - round(min(amin(x), 0) / scale), lo, hi)), from the division on.
struct ZeroPoint {
  Node *cast = nullptr, *clamp = nullptr, *sub = nullptr, *round = nullptr, *div = nullptr;
  double lo = 0, hi = 0;
};
std::optional<ZeroPoint> zero_point_of(Node* cast) {
  ZeroPoint z;
  z.cast = cast;
  z.clamp = producer(operand(cast, "self"), "aten.clamp");
  z.sub = producer(operand(z.clamp, "self"), "aten.sub.Tensor");
  z.round = producer(operand(z.sub, "other"), "aten.round");
  z.div = producer(operand(z.round, "self"), "aten.div.Tensor");
  if (!z.div || !operand(z.div, "other") || !has_alpha_1(*z.sub)) return std::nullopt;
  const auto lo = number(*z.clamp, "min"), hi = number(*z.clamp, "max");
  if (!lo || !hi || !is_bound(*lo) || !is_bound(*hi) || operand(z.sub, "self") || number(*z.sub, "self") != *lo)
    return std::nullopt;
  z.lo = *lo;
  z.hi = *hi;
  return z;
}
// The next node of a chain, where a value has one user of that op.
Node* follow(Value* v, std::string_view op) {
  for (Node* user : v->users)
    if (user->is(op)) return user;
  return nullptr;
}

// The scale, where a zero point is made of it: that says which ints the range is for.
Match scale(Node& n, Rewriter& rw) {
  const auto r = range_of(&n);
  if (!r) return no_match();
  for (Node* user : n.result()->users) {
    if (!user->is("aten.div.Tensor") || operand(user, "self") != r->lo) continue;
    Node* m = user;
    for (const char* op : {"aten.round", "aten.sub.Tensor", "aten.clamp", "aten._to_copy"})
      m = m ? follow(m->result(), op) : nullptr;
    const auto z = m ? zero_point_of(m) : std::nullopt;
    if (!z || z->div != user || z->hi - z->lo != r->span) continue;
    const DType zero = dtype_of(z->cast->result());
    if (!ops::quantized_range(zero)) continue;
    // The dtype that the values are for is not said; the narrowest that has them all.
    const auto target = z->lo >= -128 && z->hi <= 127 ? DType::i8 : z->lo >= 0 && z->hi <= 255 ? DType::u8 : DType::i32;
    for (Node* x : r->nodes)
      if (x != &n) rw.matched(x);
    return rw.replace(rw.multi(kChoose, {r->x, std::string("ASYMMETRIC"), ir::Arg::ints(r->block), target, bound(z->lo),
                                         bound(z->hi), r->eps, dtype_of(r->x), zero, false})
                          .at(0));
  }
  return no_match();
}
// The zero point, where its scale already is the op's.
Match zero_point(Node& n, Rewriter& rw) {
  const auto z = zero_point_of(&n);
  Value* of = z ? operand(z->div, "other") : nullptr;
  Node* choose = producer(of, kChoose);
  if (!choose || of->result_index != 0) return no_match();
  std::vector<Node*> nodes{z->clamp, z->sub, z->round, z->div, choose};
  Node* lo = extreme(operand(z->div, "self"), "aten.minimum", "aten.amin", nodes);
  Value* x = operand(choose, "input");
  if (!lo || operand(lo, "self") != x || number(*choose, "quant_min") != z->lo ||
      number(*choose, "quant_max") != z->hi || !(choose->arg("zero_point_dtype") == ir::Arg(dtype_of(n.result()))))
    return no_match();
  const auto block = reduced_blocks(*lo, x);
  if (!block || !(choose->arg("block_size") == ir::Arg::ints(*block))) return no_match();
  for (Node* m : nodes) rw.matched(m);
  return rw.replace(rw.multi(kChoose, choose->args()).at(1));
}

Match rewrite(Node& n, Rewriter& rw) {
  if (n.num_results() != 1 || !n.result()->tensor()) return no_match();
  if (n.is("aten._to_copy")) {
    Match m = quantize(n, rw);
    return m.applied || m.failure ? m : zero_point(n, rw);
  }
  if (n.is("aten.mul.Tensor")) return dequantize(n, rw);
  if (n.is("aten.view")) return through_views(n, rw);
  return scale(n, rw);
}

}  // namespace
PassDef define_compose_affine() {
  return {.name = "compose-affine",
          .roots = {"aten._to_copy", "aten.mul.Tensor", "aten.view", "aten.clamp"},
          .rewrite = rewrite,
          .agreement = Agreement::kBitExact,
          .summary =
              "the plain ops of torchao's quantization -> quantize_affine, dequantize_affine, choose_qparams_affine"};
}
}  // namespace edgewright::passes
