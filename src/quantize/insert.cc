#include "quantize/insert.h"

#include <algorithm>

namespace edgewright::quantize {

using ir::Arg;
using ir::Node;
using ir::Value;

namespace {

constexpr int64_t kLo = -128, kHi = 127;

ir::Tensor transposed(const ir::Tensor& t) {
  ir::Tensor r = t;
  std::swap(r.sizes[0], r.sizes[1]);
  std::swap(r.strides[0], r.strides[1]);
  return r.contiguous();
}

}  // namespace

Result<Value*> Inserter::fixed(Value* x, const QParams& p, Node* before, std::shared_ptr<const ir::Origin> origin) {
  const std::vector<Arg> rest{static_cast<double>(p.scale), p.zero_point, kLo, kHi, DType::i8};
  const auto args = [&](Value* v) {
    std::vector<Arg> a{v};
    a.insert(a.end(), rest.begin(), rest.end());
    return a;
  };
  EW_ASSIGN(Node * q, ops::add_node(g_, "quantized_decomposed.quantize_per_tensor", args(x), before, origin));
  EW_ASSIGN(Node * d,
            ops::add_node(g_, "quantized_decomposed.dequantize_per_tensor", args(q->result()), before, origin));
  return d->result();
}

Result<Value*> Inserter::activation(Value* x, Node* before) {
  if (scheme_ == Scheme::kWeightInt8) return x;
  // The output of a step is quantized already.
  if (stands_for_.contains(x)) return x;
  if (const auto it = done_.find(x); it != done_.end()) return it->second;
  const auto origin = before->origin;
  Value* y = nullptr;
  if (scheme_ == Scheme::kStaticInt8) {
    EW_ASSIGN(y, fixed(x, params_of(x), before, origin));
  } else {
    EW_ASSIGN(Node * choose, ops::add_node(g_, "quantized_decomposed.choose_qparams_per_token_asymmetric",
                                           {x, DType::i8}, before, origin));
    Value *scale = choose->result(0), *zero = choose->result(1);
    EW_ASSIGN(Node * q, ops::add_node(g_, "quantized_decomposed.quantize_per_token",
                                      {x, scale, zero, kLo, kHi, DType::i8}, before, origin));
    EW_ASSIGN(Node * d, ops::add_node(g_, "quantized_decomposed.dequantize_per_token",
                                      {q->result(), scale, zero, kLo, kHi, DType::i8, DType::f32}, before, origin));
    y = d->result();
  }
  done_[x] = y;
  return y;
}

Result<Value*> Inserter::weight(const Step& s, Node* before) {
  const std::string key = fmt::format("{}/{}/{}/{}", s.weight->name, s.axis, s.transposed, s.by_group);
  auto made = weights_.find(key);
  if (made == weights_.end()) {
    const ir::Tensor w = s.transposed ? transposed(*s.weight->data) : *s.weight->data;
    made = weights_.emplace(key, s.by_group ? by_group(w, kGroup) : by_channel(w, s.transposed ? 0 : s.axis)).first;
  }
  auto& [integers, scales] = consts_[key];
  if (!integers) {
    integers = g_.add_constant(s.weight->name + (s.by_group ? "_i4" : "_i8"), made->second.values);
    scales = g_.add_constant(s.weight->name + "_scale", made->second.scales);
  }
  if (s.kind == Kind::kEmbedding) {
    EW_ASSIGN(Node * n, ops::add_node(g_, "quantized_decomposed.embedding_byte",
                                      {integers, scales, Arg(), kLo, kHi, s.op->arg("indices")}, before, s.op->origin));
    return n->result();
  }
  if (s.by_group) {
    EW_ASSIGN(Node * n,
              ops::add_node(g_, "quantized_decomposed.dequantize_per_channel_group",
                            {integers, scales, Arg(), -8, 7, DType::i8, kGroup, DType::f32}, before, s.op->origin));
    return n->result();
  }
  EW_ASSIGN(Node * n, ops::add_node(g_, "quantized_decomposed.dequantize_per_channel",
                                    {integers, scales, Arg(), s.transposed ? 0 : s.axis, -127, 127, DType::i8}, before,
                                    s.op->origin));
  return n->result();
}

Result<Value*> Inserter::add(const Step& s) {
  Node* op = s.op;
  Node* after = g_.next(s.tail);  // what is added reads what stands between op and its clamp
  if (s.kind == Kind::kEmbedding) {
    EW_ASSIGN(Value * rows, weight(s, after));
    return rows;
  }
  std::map<Value*, Value*> with;
  const bool by_weight = s.kind == Kind::kConvolution && scheme_ != Scheme::kStaticInt8;
  Value* first = nullptr;
  for (Value* x : s.activations) {
    if (const auto it = replaced_.find(x); it != replaced_.end()) x = it->second;
    if (!first) first = x;
    EW_ASSIGN(Value * y, by_weight ? Result<Value*>(x) : activation(x, op));
    with[x] = y;
  }
  Node* n = nullptr;
  if (s.weight) {
    EW_ASSIGN(Value * w, weight(s, after));
    if (s.kind == Kind::kLinear) {
      const Arg bias = op->is("aten.mm") ? Arg() : op->arg(op->is("aten.addmm") ? "self" : "bias");
      EW_ASSIGN(n, ops::add_node(g_, "aten.linear", {with.at(first), w, bias}, after, op->origin));
    } else {
      with[s.weight] = w;
    }
  }
  const auto substituted = [&](const Node& like, const std::map<Value*, Value*>& by) {
    std::vector<Arg> args = like.args();
    for (Arg& a : args)
      a.each_value([&](Value*& v) {
        if (const auto it = by.find(v); it != by.end()) v = it->second;
      });
    return args;
  };
  if (!n) {
    EW_ASSIGN(n, ops::add_node(g_, op->name(), substituted(*op, with), after, op->origin));
  }
  Value* y = n->result();
  if (s.tail != op) {
    EW_ASSIGN(Node * clamp,
              ops::add_node(g_, s.tail->name(), substituted(*s.tail, {{op->result(), y}}), after, s.tail->origin));
    y = clamp->result();
  }
  if (scheme_ != Scheme::kStaticInt8) return y;
  return fixed(y, params_of(s.tail->result()), after, s.tail->origin);
}

Result<Value*> Inserter::replace(const Step& s) {
  EW_ASSIGN(Value * y, add(s));
  Value* old = s.tail->result();
  if (scheme_ == Scheme::kStaticInt8 && s.kind != Kind::kEmbedding) stands_for_[y] = old->name;
  g_.replace_all_uses(old, y);
  replaced_[old] = y;
  if (s.tail != s.op) old_.emplace_back(s.op, nullptr);
  old_.emplace_back(s.tail, y);
  return y;
}

void Inserter::finish() {
  for (auto it = old_.rbegin(); it != old_.rend(); ++it) {
    const auto [node, y] = *it;
    const std::string name = node->result()->name;
    g_.erase(node);
    if (y) g_.rename(y, name);
  }
  old_.clear();
}

}  // namespace edgewright::quantize
