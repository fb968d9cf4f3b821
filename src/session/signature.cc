// src/session/signature.cc - signatures of programs, and fitting inputs to them.
#include "session/signature.h"

#include <charconv>

#include "format/pte.h"
#include "interp/symbols.h"

namespace edgewright::session {
namespace {

using ir::Dim;

const char* name_of(LeafKind k) {
  switch (k) {
    case LeafKind::kTensor: return "a tensor";
    case LeafKind::kInt: return "an int";
    case LeafKind::kFloat: return "a float";
    case LeafKind::kBool: return "a bool";
    case LeafKind::kString: return "a string";
    case LeafKind::kNone: return "None";
  }
  return "?";
}

LeafKind kind_of(const Value& v) {
  constexpr LeafKind kinds[] = {LeafKind::kNone,  LeafKind::kTensor, LeafKind::kInt,
                                LeafKind::kFloat, LeafKind::kBool,   LeafKind::kString};
  return kinds[v.index()];
}

std::optional<Value> value_of(const ir::Arg& a) {
  if (a.is_none()) return Value();
  if (a.i()) return Value(*a.i());
  if (a.f()) return Value(*a.f());
  if (a.b()) return Value(*a.b());
  if (a.s()) return Value(*a.s());
  if (a.dtype()) return Value(std::string(name(*a.dtype())));
  return std::nullopt;
}

void set_type(LeafSpec& leaf, const ir::Type& t) {
  if (const auto* tensor = std::get_if<ir::TensorType>(&t)) {
    leaf.dtype = tensor->dtype;
    leaf.shape = tensor->shape;
    return;
  }
  const auto& scalar = std::get<ir::ScalarType>(t);
  leaf.kind = scalar.kind == ir::ScalarKind::kInt     ? LeafKind::kInt
              : scalar.kind == ir::ScalarKind::kFloat ? LeafKind::kFloat
                                                      : LeafKind::kBool;
  leaf.expr = scalar.expr;
}

void set_fixed(LeafSpec& leaf, const ir::Arg& a) {
  leaf.fixed = value_of(a);
  leaf.kind = leaf.fixed ? kind_of(*leaf.fixed) : LeafKind::kNone;
  leaf.may_be_omitted = true;
}

// "input 2 ('mask')".
std::string label(const Signature& s, size_t i) {
  return s.inputs[i].name.empty() ? fmt::format("input {}", i) : fmt::format("input {} ('{}')", i, s.inputs[i].name);
}

// Equal as Python has it, where 3 == 3.0; True is only True here.
bool same(const Value& a, const Value& b) {
  const auto number = [](const Value& v) -> std::optional<double> {
    if (const auto* i = std::get_if<int64_t>(&v)) return static_cast<double>(*i);
    if (const auto* f = std::get_if<double>(&v)) return *f;
    return std::nullopt;
  };
  const auto x = number(a), y = number(b);
  if (x && y) return *x == *y || (*x != *x && *y != *y);
  if (a.index() != b.index()) return false;
  if (const auto* t = std::get_if<bool>(&a)) return *t == std::get<bool>(b);
  if (const auto* t = std::get_if<std::string>(&a)) return *t == std::get<std::string>(b);
  return a.index() == 0;
}

// The leaf as the interpreter's rules know it; of a tensor its dtype and sizes alone.
interp::Datum outline(const Value& v) {
  if (const HostTensor* t = tensor_of(v)) return ir::Tensor{t->dtype, t->sizes, {}, nullptr, nullptr};
  if (const auto* i = std::get_if<int64_t>(&v)) return interp::int_datum(*i);
  if (const auto* f = std::get_if<double>(&v)) return interp::float_datum(*f);
  if (const auto* b = std::get_if<bool>(&v)) return interp::bool_datum(*b);
  return {};
}

ir::Type type_of(const LeafSpec& l) {
  if (l.kind == LeafKind::kTensor) return ir::TensorType{l.dtype, l.shape};
  const ir::ScalarKind kind = l.kind == LeafKind::kInt     ? ir::ScalarKind::kInt
                              : l.kind == LeafKind::kFloat ? ir::ScalarKind::kFloat
                                                           : ir::ScalarKind::kBool;
  return ir::ScalarType{kind, l.expr};
}

// A leaf from a value of a .pte.
struct LeafReader {
  Signature& s;
  std::string symbol;  // names the dims of this leaf
  LeafSpec operator()(const pte::Tensor& t) const {
    LeafSpec leaf;
    leaf.dtype = t.dtype;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      if (t.dynamism == pte::Dynamism::kStatic) {
        leaf.shape.emplace_back(t.sizes[d]);
        continue;
      }
      const std::string dim = fmt::format("{}d{}", symbol, d);
      s.ranges[dim] = {0, t.dynamism == pte::Dynamism::kUnbound ? ir::kMaxDim : t.sizes[d]};
      leaf.shape.push_back(Dim::symbol(dim));
    }
    return leaf;
  }
  // The file does not tell an int that the export fixed from one that varies: the runtime does.
  static LeafSpec scalar(LeafKind kind) {
    LeafSpec leaf;
    leaf.kind = kind;
    leaf.may_be_omitted = true;
    return leaf;
  }
  LeafSpec operator()(int64_t) const { return scalar(LeafKind::kInt); }
  LeafSpec operator()(double) const { return scalar(LeafKind::kFloat); }
  LeafSpec operator()(bool) const { return scalar(LeafKind::kBool); }
  LeafSpec operator()(const std::string& text) const {
    LeafSpec leaf = scalar(LeafKind::kString);
    leaf.fixed = text;
    return leaf;
  }
  template <class Other>
  LeafSpec operator()(const Other&) const {
    LeafSpec leaf = scalar(LeafKind::kNone);
    leaf.fixed = Value();
    return leaf;
  }
};

}  // namespace

std::string LeafSpec::str() const {
  if (fixed) return describe(*fixed) + " (fixed)";
  if (kind == LeafKind::kString) return "string";
  return kind == LeafKind::kNone ? "None" : ir::str(type_of(*this));
}

Signature signature_of(const ir::Program& p) {
  Signature s;
  s.method = p.method;
  s.ranges = p.ranges;
  s.expression_ranges = p.expression_ranges;
  for (const ir::InputLeaf& in : p.inputs) {
    LeafSpec& leaf = s.inputs.emplace_back();
    leaf.name = in.name;
    if (in.value) {
      set_type(leaf, in.value->type);
    } else {
      set_fixed(leaf, in.fixed);
    }
  }
  for (size_t i = 0; i < p.outputs.size(); ++i) {
    LeafSpec& leaf = s.outputs.emplace_back();
    leaf.name = p.outputs[i].name;
    const ir::Arg& a = p.graph->outputs[i];
    if (const ir::Value* v = a.value()) {
      set_type(leaf, v->type);
    } else {
      set_fixed(leaf, a);
    }
  }
  return s;
}

Signature signature_of(const pte::Plan& plan) {
  Signature s;
  s.method = plan.name;
  const auto leaves = [&](const std::vector<int32_t>& indices, char side, std::vector<LeafSpec>& into) {
    for (size_t i = 0; i < indices.size(); ++i)
      into.push_back(
          std::visit(LeafReader{s, fmt::format("{}{}", side, i)}, plan.values[static_cast<size_t>(indices[i])]));
  };
  leaves(plan.inputs, 'i', s.inputs);
  leaves(plan.outputs, 'o', s.outputs);
  return s;
}

Result<ir::SymbolValues> check(const Signature& s, const std::vector<Value>& inputs) {
  if (inputs.size() != s.inputs.size())
    return fail(Code::kUsage, "the program takes {} inputs, {} are given", s.inputs.size(), inputs.size());
  interp::Symbols symbols;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const LeafSpec& spec = s.inputs[i];
    const Value& v = inputs[i];
    if (spec.fixed) {
      if (!same(*spec.fixed, v))
        return fail(Code::kUsage, "{} was fixed to {} by the export, {} is given", label(s, i), describe(*spec.fixed),
                    describe(v));
    } else if (!spec.may_be_omitted || !std::holds_alternative<std::monostate>(v)) {
      if (kind_of(v) != spec.kind)
        return fail(Code::kUsage, "{} is {}, {} is given", label(s, i), name_of(spec.kind), describe(v));
      if (spec.kind != LeafKind::kString) EW_TRY(symbols.bind(type_of(spec), outline(v), label(s, i), Code::kUsage));
    }
  }
  EW_TRY(symbols.settle(Code::kUsage));
  EW_TRY(symbols.check(s.ranges, s.expression_ranges));
  return symbols.values();
}

Result<std::vector<Value>> place(const Signature& s, const Inputs& given) {
  std::vector<std::optional<Value>> leaves(s.inputs.size());
  for (const auto& [i, v] : given.by_number) {
    if (i >= leaves.size()) return fail(Code::kUsage, "there is no input {}: the program takes {}", i, leaves.size());
    leaves[i] = v;
  }
  size_t next = 0;
  for (const HostTensor& t : given.in_order) {
    while (next < leaves.size() && s.inputs[next].kind != LeafKind::kTensor) ++next;
    if (next == leaves.size())
      return fail(Code::kUsage, "{} tensors are given, more than the program takes", given.in_order.size());
    leaves[next++] = t;
  }
  for (const auto& [key, v] : given.by_key) {
    size_t at = leaves.size();
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), at);
    if (error != std::errc() || end != key.data() + key.size()) {
      at = 0;
      while (at < leaves.size() && (s.inputs[at].name != key || key.empty())) ++at;
    }
    if (at >= leaves.size()) return fail(Code::kUsage, "--input {}: there is no such input", key);
    if (leaves[at]) return fail(Code::kUsage, "--input {}: {} is given already", key, label(s, at));
    const LeafKind want = s.inputs[at].kind;
    if (want == LeafKind::kTensor)
      return fail(Code::kUsage, "--input {}: {} is a tensor; give it by --inputs", key, label(s, at));
    const auto* i = std::get_if<int64_t>(&v);
    leaves[at] = want == LeafKind::kFloat && i ? Value(static_cast<double>(*i)) : v;
  }
  std::vector<Value> all;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const LeafSpec& spec = s.inputs[i];
    if (!leaves[i] && !spec.may_be_omitted) return fail(Code::kUsage, "{}, {}, is missing", label(s, i), spec.str());
    all.push_back(leaves[i] ? *leaves[i] : spec.fixed.value_or(Value()));
  }
  EW_TRY(check(s, all));
  return all;
}

}  // namespace edgewright::session
