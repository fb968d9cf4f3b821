#include "quantize/plan.h"

#include <algorithm>
#include <array>

#include "quantize/weights.h"

namespace edgewright::quantize {
namespace {

using ir::Node;
using ir::Value;

template <class Names>
bool is_any(const Node& n, const Names& names) {
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return n.is(name); });
}
constexpr std::array kClamps{"aten.relu", "aten.relu6", "aten.hardtanh", "aten.clamp"};
// All elements of their operand, or some of them, at other places; zeros in between at most.
constexpr std::array kMoves{"aten.view",
                            "aten.reshape",
                            "aten._unsafe_view",
                            "aten.permute",
                            "aten.transpose.int",
                            "aten.t",
                            "aten.unsqueeze",
                            "aten.squeeze",
                            "aten.squeeze.dim",
                            "aten.squeeze.dims",
                            "aten.slice.Tensor",
                            "aten.select.int",
                            "aten.flatten.using_ints",
                            "aten.clone",
                            "aten.max_pool2d",
                            "aten.cat",
                            "aten.constant_pad_nd"};

bool is_activation(const Value* v) {
  return v && passes::is_f32(v) && v->kind != ir::ValueKind::kConstant && v->tensor()->rank() > 0;
}
Value* f32_constant(const ir::Arg& a) {
  Value* v = a.value();
  return v && v->is_constant() && passes::is_f32(v) && v->data->numel() > 0 ? v : nullptr;
}
bool is_one(const ir::Arg& a) { return (a.i() && *a.i() == 1) || (a.f() && *a.f() == 1); }

// The clamp that alone reads v and has constant bounds.
Node* clamp_behind(const ir::Graph& g, Node* n) {
  const Value* v = n->result();
  if (v->users.size() != 1 || g.is_output(v)) return n;
  Node* c = v->users[0];
  if (!is_any(*c, kClamps) || c->inputs().size() != 1) return n;
  return c;
}

std::optional<Step> weighted(Node& n, Scheme scheme) {
  Step s{.op = &n, .tail = &n};
  if (n.is("aten.convolution")) {
    s.kind = Kind::kConvolution;
    s.activations = {n.arg("input").value()};
    s.weight = f32_constant(n.arg("weight"));
    const ir::Arg transposed = n.arg("transposed");
    s.axis = transposed.b() && *transposed.b() ? 1 : 0;
    if (s.weight && s.weight->tensor()->rank() < 3) return std::nullopt;
  } else if (n.is("aten.linear")) {
    s.activations = {n.arg("input").value()};
    s.weight = f32_constant(n.arg("weight"));
  } else if (n.is("aten.mm") || n.is("aten.addmm")) {
    if (n.is("aten.addmm")) {
      const Value* bias = n.arg("self").value();
      if (!is_one(n.arg("alpha")) || !is_one(n.arg("beta")) || !bias || !bias->tensor() ||
          bias->tensor()->rank() != 1 || !(bias->tensor()->shape[0] == n.result()->tensor()->shape[1]))
        return std::nullopt;
    }
    s.activations = {n.arg(n.is("aten.mm") ? "self" : "mat1").value()};
    s.weight = f32_constant(n.arg("mat2"));
    s.axis = 1;
    s.transposed = true;
  } else if (n.is("aten.embedding")) {
    s.kind = Kind::kEmbedding;
    s.weight = f32_constant(n.arg("weight"));
    if (!s.weight || s.weight->tensor()->rank() != 2 || s.weight->data->sizes[1] < 2) return std::nullopt;
    return s;
  } else {
    return std::nullopt;
  }
  if (!s.weight || !is_activation(s.activations[0])) return std::nullopt;
  if (s.kind == Kind::kLinear && s.weight->tensor()->rank() != 2) return std::nullopt;
  s.by_group = scheme == Scheme::kDynamicInt8Int4 && s.kind == Kind::kLinear &&
               s.weight->data->sizes[s.transposed ? 0 : 1] % kGroup == 0;
  return s;
}

// The mean over height and width of an image.
bool is_image_mean(const Node& n) {
  if (!n.is("aten.mean.dim")) return false;
  const Value* x = n.inputs()[0];
  const ir::Arg dims = n.arg("dim");
  if (!x || !x->tensor() || x->tensor()->rank() != 4 || !dims.list()) return false;
  std::vector<int64_t> at;
  for (const ir::Arg& d : *dims.list())
    if (d.i()) at.push_back(*d.i() < 0 ? *d.i() + 4 : *d.i());
  std::sort(at.begin(), at.end());
  return at == std::vector<int64_t>{2, 3};
}

}  // namespace

std::vector<Step> plan(const ir::Graph& g, Scheme scheme, const std::set<std::string>& kept) {
  std::vector<Step> steps;
  std::set<const Value*> quantized;  // outputs of steps, under a static scheme
  std::set<const Node*> taken;
  const auto all_quantized = [&](const std::vector<Value*>& xs) {
    return !xs.empty() && std::all_of(xs.begin(), xs.end(), [&](Value* x) { return quantized.contains(x); });
  };
  for (const auto& owned : g.nodes()) {
    Node& n = *owned;
    if (n.num_results() == 0 || !passes::is_f32(n.result()) || taken.contains(&n)) continue;
    std::optional<Step> s = weighted(n, scheme);
    if (!s && scheme == Scheme::kStaticInt8 && n.num_results() == 1) {
      const std::vector<Value*> inputs = n.inputs();
      const bool plain = (n.is("aten.add.Tensor") || n.is("aten.sub.Tensor") || n.is("aten.mul.Tensor")) &&
                         inputs.size() == 2 && (n.op().schema.index_of("alpha") < 0 || is_one(n.arg("alpha")));
      const ir::Arg pad = n.is("aten.constant_pad_nd") ? n.arg("value") : ir::Arg();
      const bool pads_zero = pad.is_none() || (pad.f() && *pad.f() == 0) || (pad.i() && *pad.i() == 0);
      if ((plain || is_image_mean(n)) && all_quantized(inputs)) s = Step{.kind = Kind::kCompute, .op = &n, .tail = &n};
      if ((is_any(n, kMoves) || is_any(n, kClamps)) && pads_zero && all_quantized(inputs))
        s = Step{.kind = Kind::kMove, .op = &n, .tail = &n};
      if (s) s->activations = inputs;
    }
    if (!s || kept.contains(s->name())) continue;
    if (scheme == Scheme::kStaticInt8 && s->kind != Kind::kEmbedding) {
      if (s->is_layer()) s->tail = clamp_behind(g, &n);
      taken.insert(s->tail);
      quantized.insert(s->tail->result());
    }
    steps.push_back(std::move(*s));
  }
  return steps;
}

std::map<std::string, int> scale_classes(const std::vector<Step>& steps) {
  std::map<std::string, int> number;
  std::vector<int> parent;
  const auto of = [&](const Value* v) {
    const auto [it, is_new] = number.try_emplace(v->name, static_cast<int>(parent.size()));
    if (is_new) parent.push_back(it->second);
    return it->second;
  };
  const auto root = [&](int i) {
    while (parent[static_cast<size_t>(i)] != i) i = parent[static_cast<size_t>(i)];
    return i;
  };
  for (const Step& s : steps) {
    if (s.kind == Kind::kEmbedding) continue;
    const int out = of(s.tail->result());
    for (const Value* x : s.activations) {
      const int in = of(x);
      if (s.kind == Kind::kMove) parent[static_cast<size_t>(root(in))] = root(out);
    }
  }
  for (auto& [name, i] : number) i = root(i);
  return number;
}

}  // namespace edgewright::quantize
