// src/runtime/kernels/create.cc - outputs made from scalars alone.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

Result<void> fill_with(Call& c, Tensor& out, const EValue& v) {
  if (!plain({&out})) return c.unsupported(out.dtype);
  visit_compute(compute_of(out.dtype), [&]<class C>(C) {
    const C value = scalar_as<C>(v, out.dtype);
    map<C, 0>(c.pool(), out, {}, [value] { return value; });
  });
  return {};
}

// full(size, value)
Result<void> full(Call& c) {
  const auto size = c.ints(0);
  const EValue& v = c.scalar(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  EW_TRY(c.resize(out, size.span()));
  return fill_with(c, out, v);
}

// zeros(size), ones(size); empty(size, memory_format) is zeros too.
template <int64_t value, size_t at>
Result<void> constant(Call& c) {
  const auto size = c.ints(0);
  Tensor& out = c.out(at);
  EW_TRY(c.ok());
  EW_TRY(c.resize(out, size.span()));
  EValue v;
  v.tag = Tag::kInt;
  v.i = value;
  return fill_with(c, out, v);
}

// full_like(self, value, memory_format), fill(self, value)
template <size_t at>
Result<void> full_like(Call& c) {
  const Tensor& x = c.in(0);
  const EValue& v = c.scalar(1);
  Tensor& out = c.out(at);
  EW_TRY(c.ok());
  EW_TRY(c.resize(out, x.shape()));
  return fill_with(c, out, v);
}

Result<void> fill_tensor(Call& c) {
  const Tensor &x = c.in(0), &v = c.in(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  if (v.numel() != 1) return c.fail(Code::kUsage, "fill with {} elements", v.numel());
  if (!plain({&v, &out})) return c.unsupported(v.dtype);
  EW_TRY(c.resize(out, x.shape()));
  visit_compute(compute_of(out.dtype), [&]<class C>(C) {
    const C value =
        compute_of(v.dtype) == Compute::kInt ? static_cast<C>(load_one<int64_t>(v)) : store_as<C>(load_one<double>(v));
    map<C, 0>(c.pool(), out, {}, [value] { return value; });
  });
  return {};
}

Result<void> scalar_tensor(Call& c) {
  const EValue& v = c.scalar(0);
  Tensor& out = c.out(1);
  EW_TRY(c.ok());
  EW_TRY(c.resize(out, {}));
  return fill_with(c, out, v);
}

// start + i * step, as many as fit before the end.
Result<void> range(Call& c, const EValue* start, const EValue& end, const EValue* step, Tensor& out) {
  EW_TRY(c.ok());
  if (!plain({&out})) return c.unsupported(out.dtype);
  const auto integral = [](const EValue* v) { return !v || v->tag != Tag::kDouble; };
  int64_t n;
  if (integral(start) && integral(&end) && integral(step)) {
    const int64_t a = start ? start->i : 0, b = scalar_as<int64_t>(end), s = step ? scalar_as<int64_t>(*step) : 1;
    const auto span = checked_add(b, -std::max(a, -INT64_MAX));
    if (s == 0 || !span || (s > 0 ? *span < 0 : *span > 0))
      return c.fail(Code::kUsage, "no range from {} to {} by {}", a, b, s);
    n = (*span + s - (s > 0 ? 1 : -1)) / s;
  } else {
    const double a = start ? scalar_as<double>(*start) : 0, b = scalar_as<double>(end),
                 s = step ? scalar_as<double>(*step) : 1;
    const double count = std::ceil((b - a) / s);
    if (!(count >= 0 && count < 1e15)) return c.fail(Code::kUsage, "no range from {} to {} by {}", a, b, s);
    n = static_cast<int64_t>(count);
  }
  EW_TRY(c.resize(out, std::span<const int64_t>(&n, 1)));
  if (compute_of(out.dtype) == Compute::kInt) {
    const int64_t a = start ? scalar_as<int64_t>(*start) : 0, s = step ? scalar_as<int64_t>(*step) : 1;
    for (int64_t i = 0; i < n; ++i) store_one<int64_t>(out, i * out.strides[0], a + i * s);
  } else {
    const double a = start ? scalar_as<double>(*start) : 0, s = step ? scalar_as<double>(*step) : 1;
    for (int64_t i = 0; i < n; ++i) store_one<double>(out, i * out.strides[0], a + static_cast<double>(i) * s);
  }
  return {};
}
Result<void> arange(Call& c) { return range(c, nullptr, c.scalar(0), nullptr, c.out(1)); }
Result<void> arange_start(Call& c) { return range(c, &c.scalar(0), c.scalar(1), &c.scalar(2), c.out(3)); }

constexpr Kernel kTable[] = {
    {"aten::arange.out", arange},
    {"aten::arange.start_out", arange_start},
    {"aten::empty.out", constant<0, 2>},
    {"aten::fill.Scalar_out", full_like<2>},
    {"aten::fill.Tensor_out", fill_tensor},
    {"aten::full.out", full},
    {"aten::full_like.out", full_like<3>},
    {"aten::ones.out", constant<1, 1>},
    {"aten::scalar_tensor.out", scalar_tensor},
    {"aten::zeros.out", constant<0, 1>},
    {"dim_order_ops::_empty_dim_order.out", constant<0, 2>},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kCreateKernels = kTable;
}  // namespace edgewright::runtime
