// src/ops/linspace.cc - steps numbers from start to end, evenly; logspace: powers of a base with such exponents. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_linspace() {
  OpDef d;
  d.schema_text =
      "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? "
      "device=None, bool? pin_memory=None) -> Tensor";
  // [linspace.1] steps is not negative.
  d.infer = [](const Call& c) -> Result<Types> {
    const Dim n = c.dim("steps");
    const DType t = c.dtype("dtype").value_or(kDefaultFloat);
    if ((n.is_constant() && n.value() < 0) || !is_number(t))
      return fail(Code::kUnsupported, "[linspace.1] {} steps of {}", n.str(), name(t));
    return Types{TensorType{t, {n}}};
  };
  d.eval = [](const Call& c, size_t) -> Result<Point> {
    const int64_t n = c.i("steps");
    const double start = c.f("start"), end = c.f("end"), step = n > 1 ? (end - start) / static_cast<double>(n - 1) : 0;
    // From both ends, so that the last one is end itself.
    const auto at = [=](Index i) {
      return i[0] < n / 2 || n == 1 ? start + step * static_cast<double>(i[0])
                                    : end - step * static_cast<double>(n - 1 - i[0]);
    };
    const DType t = c.dtype("dtype").value_or(kDefaultFloat);
    if (is_float(t))
      return float_point([at](const auto& in, Index i) { return typename std::decay_t<decltype(in)>::F(at(i)); });
    return int_point([at](const In&, Index i) { return float_to_int(at(i)); });
  };
  OpDef log = d;
  log.schema_text =
      "aten::logspace(Scalar start, Scalar end, int steps, float base=10.0, *, ScalarType? dtype=None, Layout? "
      "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor";
  log.eval = [](const Call& c, size_t) -> Result<Point> {
    const int64_t n = c.i("steps");
    const double start = c.f("start"), end = c.f("end"), base = c.f("base"),
                 step = n > 1 ? (end - start) / static_cast<double>(n - 1) : 0;
    const auto at = [=](Index i) {
      return std::pow(base, i[0] < n / 2 || n == 1 ? start + step * static_cast<double>(i[0])
                                                   : end - step * static_cast<double>(n - 1 - i[0]));
    };
    if (is_float(c.dtype("dtype").value_or(kDefaultFloat)))
      return float_point([at](const auto& in, Index i) { return typename std::decay_t<decltype(in)>::F(at(i)); });
    return int_point([at](const In&, Index i) { return float_to_int(at(i)); });
  };
  return {std::move(d), std::move(log)};
}

}  // namespace edgewright::ops
