// src/runtime/kernels/prim.cc - arithmetic on a program's own numbers: sizes and what is computed from them.
#include "runtime/kernels/common.h"
#include "runtime/kernels/tables.h"

namespace edgewright::runtime {
namespace {

void give(EValue& out, int64_t v) {
  out.tag = Tag::kInt;
  out.i = v;
}
void give(EValue& out, bool v) {
  out.tag = Tag::kBool;
  out.b = v;
}
void give(EValue& out, double v) {
  out.tag = Tag::kDouble;
  out.d = v;
}

Result<void> sym_size(Call& c) {
  const Tensor& x = c.in(0);
  const size_t d = c.axis(1, x.rank);
  EValue& out = c.slot(2);
  EW_TRY(c.ok());
  if (x.rank == 0) return c.fail(Code::kUsage, "a scalar has no sizes");
  give(out, x.sizes[d]);
  return {};
}
Result<void> sym_numel(Call& c) {
  const Tensor& x = c.in(0);
  EValue& out = c.slot(1);
  EW_TRY(c.ok());
  give(out, x.numel());
  return {};
}
Result<void> local_scalar(Call& c) {
  const Tensor& x = c.in(0);
  EValue& out = c.slot(1);
  EW_TRY(c.ok());
  if (x.numel() != 1 || !plain({&x})) return c.fail(Code::kUsage, "no single number");
  if (is_float(x.dtype))
    give(out, load_one<double>(x));
  else if (is_bool(x.dtype))
    give(out, load_one<int64_t>(x) != 0);
  else
    give(out, load_one<int64_t>(x));
  return {};
}

// Two numbers in, one out; double where either is one.
template <auto Op>
Result<void> arithmetic(Call& c) {
  const EValue &a = c.scalar(0), &b = c.scalar(1);
  EValue& out = c.slot(2);
  EW_TRY(c.ok());
  if (a.tag == Tag::kDouble || b.tag == Tag::kDouble)
    give(out, Op(scalar_as<double>(a), scalar_as<double>(b)));
  else
    give(out, Op(scalar_as<int64_t>(a), scalar_as<int64_t>(b)));
  return {};
}
int64_t wrap(uint64_t v) { return static_cast<int64_t>(v); }
constexpr auto kAdd = [](auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>)
    return wrap(uint64_t(a) + uint64_t(b));
  else
    return a + b;
};
constexpr auto kSub = [](auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>)
    return wrap(uint64_t(a) - uint64_t(b));
  else
    return a - b;
};
constexpr auto kMul = [](auto a, auto b) {
  if constexpr (std::is_integral_v<decltype(a)>)
    return wrap(uint64_t(a) * uint64_t(b));
  else
    return a * b;
};

Result<void> floordiv(Call& c) {
  const EValue &a = c.scalar(0), &b = c.scalar(1);
  EValue& out = c.slot(2);
  EW_TRY(c.ok());
  if (a.tag == Tag::kDouble || b.tag == Tag::kDouble) {
    give(out, std::floor(scalar_as<double>(a) / scalar_as<double>(b)));
    return {};
  }
  const int64_t x = scalar_as<int64_t>(a), y = scalar_as<int64_t>(b);
  if (y == 0 || (x == INT64_MIN && y == -1)) return c.fail(Code::kUsage, "{} divided by {}", x, y);
  give(out, x / y - (x % y != 0 && (x < 0) != (y < 0)));
  return {};
}
Result<void> mod(Call& c) {
  const int64_t x = c.integer(0), y = c.integer(1);
  EValue& out = c.slot(2);
  EW_TRY(c.ok());
  if (y == 0) return c.fail(Code::kUsage, "{} modulo 0", x);
  const int64_t r = y == -1 ? 0 : x % y;
  give(out, r != 0 && (r < 0) != (y < 0) ? r + y : r);
  return {};
}
Result<void> truediv(Call& c) {
  const double a = c.real(0), b = c.real(1);
  EValue& out = c.slot(2);
  EW_TRY(c.ok());
  give(out, a / b);
  return {};
}
template <auto Op>
Result<void> to_int(Call& c) {
  const double a = c.real(0);
  EValue& out = c.slot(1);
  EW_TRY(c.ok());
  give(out, store_as<int64_t>(static_cast<double>(Op(a))));
  return {};
}
Result<void> sym_float(Call& c) {
  const double a = c.real(0);
  EValue& out = c.slot(1);
  EW_TRY(c.ok());
  give(out, a);
  return {};
}
Result<void> neg(Call& c) {
  const EValue& a = c.scalar(0);
  EValue& out = c.slot(1);
  EW_TRY(c.ok());
  if (a.tag == Tag::kDouble)
    give(out, -a.d);
  else
    give(out, kSub(int64_t{0}, scalar_as<int64_t>(a)));
  return {};
}

// sym_int(float), sym_ite(condition, a, b), sym_not(bool)
Result<void> sym_ite(Call& c) {
  const bool yes = c.boolean(0);
  const EValue &a = c.scalar(1), &b = c.scalar(2);
  EValue& out = c.slot(3);
  EW_TRY(c.ok());
  const EValue v = yes ? a : b;
  out.tag = v.tag;
  out.i = v.i;
  return {};
}
Result<void> sym_not(Call& c) {
  const bool a = c.boolean(0);
  EValue& out = c.slot(1);
  EW_TRY(c.ok());
  give(out, !a);
  return {};
}

// et_view(self, size, out): the output becomes a view of the input's memory.
Result<void> et_view(Call& c) {
  const Tensor& x = c.in(0);
  const auto sizes = c.ints(1);
  Tensor& out = c.out(2);
  EW_TRY(c.ok());
  Shape s;
  s.rank = sizes.size();
  s.v = sizes.v;
  int64_t known = 1;
  int open = -1;
  for (size_t d = 0; d < s.rank; ++d) {
    if (s[d] == -1 && open < 0)
      open = static_cast<int>(d);
    else
      known = s[d] < 0 ? -1 : checked_mul(known, s[d]).value_or(-1);
    if (known < 0) return c.fail(Code::kUsage, "no shape: [{}]", fmt::join(sizes.span(), ", "));
  }
  if (open < 0 ? known != x.numel() : known == 0 || x.numel() % known != 0)
    return c.fail(Code::kUsage, "no view of {} elements", x.numel());
  if (open >= 0) s[static_cast<size_t>(open)] = x.numel() / known;
  if (x.dtype != out.dtype || !x.contiguous() || !out.contiguous())
    return c.fail(Code::kUnsupported, "a view of another element type or layout");
  if (out.dynamism == Dynamism::kUnbound) return c.fail(Code::kUnsupported, "a view without bound");
  EW_TRY(c.resize(out, s.span()));
  if (out.data != x.data && x.bytes() > 0)
    std::memmove(out.data, x.data, x.bytes());  // where the plan gave it memory of its own
  return {};
}

template <auto Op>
Result<void> compare(Call& c) {
  const EValue &a = c.scalar(0), &b = c.scalar(1);
  EValue& out = c.slot(2);
  EW_TRY(c.ok());
  if (a.tag == Tag::kDouble || b.tag == Tag::kDouble)
    give(out, static_cast<bool>(Op(scalar_as<double>(a), scalar_as<double>(b))));
  else
    give(out, static_cast<bool>(Op(scalar_as<int64_t>(a), scalar_as<int64_t>(b))));
  return {};
}

// et_copy_index(list tensor, value, index): list[index] = value along dim 0, growing it; how map and scan collect results.
Result<void> copy_index(Call& c) {
  Tensor& to = c.out(0);
  const Tensor& from = c.in(1);
  const int64_t index = c.integer(2);
  EW_TRY(c.ok());
  bool fits = to.rank == from.rank + 1 && to.dtype == from.dtype && index >= 0;
  for (size_t d = 0; fits && d < from.rank; ++d) fits = to.sizes[d + 1] == from.sizes[d];
  if (!fits) return c.fail(Code::kUsage, "item {} does not fit its list", index);
  if (to.dynamism != Dynamism::kStatic || index >= to.sizes[0]) {  // item 0 begins a new list
    Shape s = shape_of(to);
    s[0] = index + 1;
    EW_TRY(c.resize(to, s.span()));
  }
  Tensor place = to;
  place.data += index * to.strides[0] * static_cast<int64_t>(size_of(to.dtype));
  place.rank = from.rank;
  for (size_t d = 0; d < from.rank; ++d) {
    place.sizes[d] = from.sizes[d];
    place.strides[d] = to.strides[d + 1];
  }
  copy_view(c.pool(), place, from, 0, from.strides);
  return {};
}

constexpr Kernel kTable[] = {
    {"aten::_local_scalar_dense", local_scalar},
    {"aten::sym_numel", sym_numel},
    {"aten::sym_size.int", sym_size},
    {"executorch_prim::add.Scalar", arithmetic<kAdd>},
    {"executorch_prim::ceil.Scalar", to_int<[](double v) { return std::ceil(v); }>},
    {"executorch_prim::eq.Scalar", compare<[](auto a, auto b) { return a == b; }>},
    {"executorch_prim::et_copy_index.tensor", copy_index},
    {"executorch_prim::et_view.default", et_view},
    {"executorch_prim::floordiv.Scalar", floordiv},
    {"executorch_prim::floordiv.int", floordiv},
    {"executorch_prim::ge.Scalar", compare<[](auto a, auto b) { return (a >= b); }>},
    {"executorch_prim::gt.Scalar", compare<[](auto a, auto b) { return (a > b); }>},
    {"executorch_prim::le.Scalar", compare<[](auto a, auto b) { return a <= b; }>},
    {"executorch_prim::lt.Scalar", compare<[](auto a, auto b) { return a < b; }>},
    {"executorch_prim::mod.Scalar", mod},
    {"executorch_prim::mod.int", mod},
    {"executorch_prim::mul.Scalar", arithmetic<kMul>},
    {"executorch_prim::neg.Scalar", neg},
    {"executorch_prim::round.Scalar", to_int<[](double v) { return std::nearbyint(v); }>},
    {"executorch_prim::sub.Scalar", arithmetic<kSub>},
    {"executorch_prim::sym_float.Scalar", sym_float},
    {"executorch_prim::sym_int.Scalar", to_int<[](double v) { return std::trunc(v); }>},
    {"executorch_prim::sym_ite.Scalar", sym_ite},
    {"executorch_prim::sym_max.Scalar", arithmetic<[](auto a, auto b) { return (a > b) ? a : b; }>},
    {"executorch_prim::sym_min.Scalar", arithmetic<[](auto a, auto b) { return a < b ? a : b; }>},
    {"executorch_prim::sym_not.Scalar", sym_not},
    {"executorch_prim::truediv.Scalar", truediv},
    {"executorch_prim::trunc.Scalar", to_int<[](double v) { return std::trunc(v); }>},
};
static_assert(sorted_by_name(kTable));

}  // namespace
const std::span<const Kernel> kPrimKernels = kTable;
}  // namespace edgewright::runtime
