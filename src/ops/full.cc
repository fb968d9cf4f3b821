// src/ops/full.cc - tensors filled with one number: full, zeros, ones, empty (zeros here) and their *_like and new_* forms, scalar_tensor. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

// [full.1] Sizes are not negative; a number dtype.
Result<Types> checked(const Call& c, DType t, Shape shape) {
  for (const Dim& d : shape)
    if (d.is_constant() && d.value() < 0) return fail(Code::kUnsupported, "{}: [full.1] size {}", c.name(), d.value());
  if (!is_number(t)) return fail(Code::kUnsupported, "{}: [full.1] dtype {}", c.name(), name(t));
  return Types{TensorType{t, std::move(shape)}};
}
// dtype: as given, else of `self`, else of the value (floats and values from nowhere f32).
DType dtype_or_default(const Call& c) {
  if (const auto t = c.dtype("dtype")) return *t;
  if (c.op().schema.index_of("self") >= 0) return c.tensor("self").dtype;
  for (const char* p : {"fill_value", "s"})
    if (c.op().schema.index_of(p) >= 0)
      // scalar_tensor's default is f32 whatever the number is; full's is the number's own.
      return *p == 's' ? kDefaultFloat : dtype_of(c.number_kind(p).value_or(ir::ScalarKind::kFloat));
  return kDefaultFloat;
}
Result<Types> sized(const Call& c) { return checked(c, dtype_or_default(c), c.dims("size")); }
Result<Types> like(const Call& c) { return checked(c, dtype_or_default(c), c.tensor("self").shape); }
Result<Types> scalar(const Call& c) { return checked(c, dtype_or_default(c), {}); }

std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> becomes_full(int v) {
  return [v](const ir::Node& n, Builder& b) {
    return b.done({b("aten.full", {n.arg("size"), v, n.result()->tensor()->dtype})});
  };
}
std::function<Result<std::vector<ir::Value*>>(const ir::Node&, Builder&)> becomes_full_like(int v) {
  return [v](const ir::Node& n, Builder& b) {
    return b.done({b("aten.full_like", {n.arg("self"), v, n.result()->tensor()->dtype})});
  };
}

}  // namespace

std::vector<OpDef> define_full() {
  const char* kTail = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None";
  const auto schema = [&](const char* head, const char* more = "") {
    return fmt::format("aten::{}, *, {}{}) -> Tensor", head, kTail, more);
  };
  const char* kFormat = ", MemoryFormat? memory_format=None";
  const auto zero = [](const Call&) { return Scalar{}; };
  const auto one = [](const Call&) { return Scalar{ir::ScalarKind::kInt, 1, 1.0}; };
  const auto value = [](const Call& c) { return c.scalar("fill_value"); };
  std::vector<OpDef> all;
  const auto add = [&](std::string text, auto infer, Scalar (*fill)(const Call&), const char* stock = "") -> OpDef& {
    all.push_back(filled(std::move(text), infer, fill));
    all.back().stock = stock;
    return all.back();
  };
  add(schema("full(SymInt[] size, Scalar fill_value"), sized, value, "aten::full.out").stock_args =
      [](const ir::Node& n) { return std::vector<ir::Arg>{n.arg("size"), n.arg("fill_value")}; };
  add(schema("zeros(SymInt[] size"), sized, zero).decompose = becomes_full(0);
  add(schema("ones(SymInt[] size"), sized, one).decompose = becomes_full(1);
  add(schema("empty.memory_format(SymInt[] size", kFormat), sized, zero).decompose = becomes_full(0);
  add(schema("empty_permuted(SymInt[] size, int[] physical_layout"), sized, zero).decompose = becomes_full(0);
  add(schema("empty_strided(SymInt[] size, SymInt[] stride"), sized, zero).decompose = becomes_full(0);
  add(schema("full_like(Tensor self, Scalar fill_value", kFormat), like, value, "aten::full_like.out").stock_args =
      [](const ir::Node& n) { return std::vector<ir::Arg>{n.arg("self"), n.arg("fill_value"), ir::Arg()}; };
  add(schema("zeros_like(Tensor self", kFormat), like, zero).decompose = becomes_full_like(0);
  add(schema("ones_like(Tensor self", kFormat), like, one).decompose = becomes_full_like(1);
  add(schema("empty_like(Tensor self", kFormat), like, zero).decompose = becomes_full_like(0);
  add(schema("new_full(Tensor self, SymInt[] size, Scalar fill_value"), sized, value).decompose = [](const ir::Node& n,
                                                                                                     Builder& b) {
    return b.done({b("aten.full", {n.arg("size"), n.arg("fill_value"), n.result()->tensor()->dtype})});
  };
  add(schema("new_zeros(Tensor self, SymInt[] size"), sized, zero).decompose = becomes_full(0);
  add(schema("new_ones(Tensor self, SymInt[] size"), sized, one).decompose = becomes_full(1);
  add(schema("new_empty(Tensor self, SymInt[] size"), sized, zero).decompose = becomes_full(0);
  add(schema("new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride"), sized, zero).decompose = becomes_full(0);
  add(schema("scalar_tensor(Scalar s"), scalar, [](const Call& c) { return c.scalar("s"); }).decompose =
      [](const ir::Node& n, Builder& b) {
        return b.done({b("aten.full", {ir::ArgList{}, n.arg("s"), n.result()->tensor()->dtype})});
      };
  return all;
}

}  // namespace edgewright::ops
