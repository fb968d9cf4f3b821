// src/ops/out_dtype.cc - another op with its tensors converted to a common dtype first, and its result to a given one: what
// quantized programs in integer arithmetic are written in. Depends on ops/families.h.
//
// The arguments after `op` and `dtype` are that op's own, in order.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

constexpr size_t kFirst = 2;  // the first parameter that is the other op's

// "torch.ops.aten.mul.Tensor" -> its definition.
const OpDef* inner(std::string_view name) {
  if (name.starts_with("torch.ops.")) name.remove_prefix(10);
  if (name.ends_with(".default")) name.remove_suffix(8);
  const OpDef* d = find(name);
  return d && !d->functional && d->schema.num_results == 1 ? d : nullptr;
}
// All tensors and the result's dtype together; a Python float makes a float of ints.
std::optional<DType> common_dtype(const std::vector<DType>& tensors, bool has_float, DType result) {
  std::optional<DType> t = result;
  for (DType x : tensors) t = t ? promote(*t, x) : t;
  return t && has_float && !is_float(*t) ? kDefaultFloat : t;
}
// The arguments that the other op has parameters for.
std::vector<ir::Arg> inner_args(const std::vector<ir::Arg>& all, const OpDef& d) {
  const size_t n = std::min(all.size() - kFirst, d.schema.params.size());
  return {all.begin() + kFirst, all.begin() + static_cast<ptrdiff_t>(kFirst + n)};
}

// [out_dtype.1] The op is known, has one result, and takes the common dtype.
Result<Types> infer_types(const Call& c) {
  const OpDef* d = inner(c.str("op"));
  if (!d) return fail(Code::kUnsupported, "{}: [out_dtype.1] {} is not known here", c.name(), c.str("op"));
  const DType to = c.dtype("dtype").value_or(DType::i32);
  std::vector<DType> dtypes;
  bool has_float = false;
  std::vector<ir::Arg> args;
  for (const ir::Param& p : c.op().schema.params) {
    args.push_back(c.raw(p.name));
    has_float |= c.number_kind(p.name) == ir::ScalarKind::kFloat;
  }
  for (size_t k = 0; k < c.num_operands(); ++k) dtypes.push_back(c.type(static_cast<int>(k)).dtype);
  const auto common = common_dtype(dtypes, has_float, to);
  if (!common) return fail(Code::kUnsupported, "{}: [out_dtype.1] the dtypes do not combine", c.name());
  const Call call = Call::with(*d, inner_args(args, *d), [&](const ir::Value* v) -> Call::Known {
    for (size_t k = 0; k < c.num_operands(); ++k)
      if (c.value(static_cast<int>(k)) == v) {
        TensorType t = c.type(static_cast<int>(k));
        t.dtype = *common;
        return {t, std::nullopt};
      }
    return {v->type, std::nullopt};
  });
  EW_ASSIGN(Types types, infer(*d, call));
  auto* t = types.size() == 1 ? std::get_if<TensorType>(&types[0]) : nullptr;
  if (!t) return fail(Code::kUnsupported, "{}: [out_dtype.1] {} gives no tensor", c.name(), d->name);
  t->dtype = to;
  return types;
}

Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const OpDef* d = inner(*n.arg("op").s());
  std::vector<ir::Arg> all;
  for (const ir::Param& p : n.op().schema.params) all.push_back(n.arg(p.name));
  std::vector<ir::Arg> args = inner_args(all, *d);
  std::vector<DType> dtypes;
  bool has_float = false;
  for (const ir::Arg& a : args) {
    has_float |= a.f() != nullptr;
    a.each_value([&](const ir::Value* v) {
      if (v->tensor()) dtypes.push_back(v->tensor()->dtype);
    });
  }
  const DType to = n.result()->tensor()->dtype;
  const auto common = common_dtype(dtypes, has_float, to);
  const auto convert = [&](ir::Value* v, DType t) {
    return !v || v->tensor()->dtype == t ? v : b("aten._to_copy", {v, t});
  };
  for (ir::Arg& a : args)
    a.each_value([&](ir::Value*& v) {
      if (v->tensor()) v = convert(v, *common);
    });
  return b.done({convert(b(d->name, std::move(args)), to)});
}

}  // namespace

std::vector<OpDef> define_out_dtype() {
  OpDef d;
  // Enough for arithmetic, products, and convolutions.
  d.schema_text =
      "higher_order::out_dtype(str op, ScalarType dtype, Tensor a, Tensor? b=None, Tensor? c=None, int[]? d=None, "
      "int[]? "
      "e=None, int[]? f=None, bool g=False, int[]? h=None, int i=1) -> Tensor";
  d.infer = infer_types;
  d.decompose = decompose;
  return {d};
}

}  // namespace edgewright::ops
