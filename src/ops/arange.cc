// src/ops/arange.cc - start, start + step, ... below end. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

struct Arange {
  Scalar start, end, step{ir::ScalarKind::kInt, 1, 1.0};
};
bool has(const Call& c, const char* p) { return c.op().schema.index_of(p) >= 0; }
Arange arange(const Call& c) {
  Arange a;
  if (has(c, "start")) a.start = c.scalar("start");
  a.end = c.scalar("end");
  if (has(c, "step")) a.step = c.scalar("step");
  return a;
}
DType dtype(const Call& c, const Arange&) {
  if (const auto t = c.dtype("dtype")) return *t;
  for (const char* p : {"start", "end", "step"})
    if (has(c, p) && c.number_kind(p) == ir::ScalarKind::kFloat) return kDefaultFloat;
  return DType::i64;
}
// [arange.1] step is not 0 and leads from start to end; [arange.2] at most 2^40 elements.
Result<Types> shape_of(const Call& c) {
  const DType t = dtype(c, {});
  if (!is_number(t)) return fail(Code::kUnsupported, "[arange.1] dtype {}", name(t));
  bool ints = true;
  for (const char* p : {"start", "end", "step"})
    ints = ints && (!has(c, p) || c.number_kind(p) == ir::ScalarKind::kInt);
  if (ints) {
    const Dim start = has(c, "start") ? c.dim("start") : Dim(0), end = c.dim("end"),
              step = has(c, "step") ? c.dim("step") : Dim(1);
    if (!step.is_constant()) {
      const Dim n = floordiv(end - start + step - Dim(1), step);
      return Types{TensorType{t, {max(n, Dim(0))}}};
    }
    const int64_t s = step.value();
    if (s == 0) return fail(Code::kUnsupported, "[arange.1] step is 0");
    const Dim n = s == 1  ? end - start
                  : s > 0 ? floordiv(end - start + Dim(s - 1), step)
                          : floordiv(start - end + Dim(-s - 1), Dim(-s));
    if (n.is_constant() && (n.value() < 0 || n.value() > (int64_t{1} << 40)))
      return fail(Code::kUnsupported, "[arange.1] {} elements", n.value());
    return Types{TensorType{t, {n}}};
  }
  const Arange a = arange(c);
  const double n = std::ceil((a.end.f - a.start.f) / a.step.f);
  if (!(n >= 0 && n <= 0x1p40))
    return fail(Code::kUnsupported, "[arange.1] from {} to {} by {}", a.start.f, a.end.f, a.step.f);
  return Types{TensorType{t, {static_cast<int64_t>(n)}}};
}

}  // namespace

std::vector<OpDef> define_arange() {
  OpDef d;
  d.infer = shape_of;
  d.eval = [](const Call& c, size_t) -> Result<Point> {
    const Arange a = arange(c);
    if (is_float(dtype(c, a)))
      return float_point([start = a.start.f, step = a.step.f](const auto&, Index at) {
        using R = std::decay_t<decltype(start)>;
        return R(start + static_cast<double>(at[0]) * step);
      });
    return int_point([start = a.start, step = a.step](const In&, Index at) {
      return start.is_float() || step.is_float()
                 ? float_to_int(std::trunc(start.f) + static_cast<double>(at[0]) * std::trunc(step.f))
                 : wrap_add(start.i, wrap_mul(at[0], step.i));
    });
  };
  d.stock = "aten::arange.start_out";
  d.stock_args = [](const ir::Node& n) {
    const auto has = [&](const char* p) { return n.op().schema.index_of(p) >= 0; };
    return std::vector<ir::Arg>{has("start") ? n.arg("start") : ir::Arg(0), n.arg("end"),
                                has("step") ? n.arg("step") : ir::Arg(1)};
  };
  std::vector<OpDef> all;
  for (const char* head : {"arange(Scalar end", "arange.start(Scalar start, Scalar end",
                           "arange.start_step(Scalar start, Scalar end, Scalar step=1"}) {
    d.schema_text = fmt::format(
        "aten::{}, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> "
        "Tensor",
        head);
    all.push_back(d);
  }
  return all;
}

}  // namespace edgewright::ops
