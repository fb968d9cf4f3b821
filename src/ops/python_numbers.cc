// src/ops/python_numbers.cc - Python's operators on numbers, as exported programs compute sizes with them: _operator.*, torch.sym_*, math.*. Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

using ir::ScalarKind;
using Kinds = std::vector<ScalarKind>;
using KindRule = ScalarKind (*)(const Kinds&);
using DimRule = std::optional<Dim> (*)(const Call&);
// False where Python raises, or a number does not fit into 64 bits.
using Evaluate = bool (*)(const std::vector<Scalar>& x, Scalar& r);

Kinds kinds(const Call& c) {
  Kinds k;
  for (const ir::Param& p : c.op().schema.params) {
    const auto kind = c.number_kind(p.name);
    if (!kind) c.error(fmt::format("'{}' is not a number", p.name));
    k.push_back(kind.value_or(ScalarKind::kInt));
  }
  return k;
}

// --- kinds of results ---
ScalarKind wider(const Kinds& k) {
  return std::find(k.begin(), k.end(), ScalarKind::kFloat) != k.end() ? ScalarKind::kFloat : ScalarKind::kInt;
}
template <ScalarKind K>
ScalarKind always(const Kinds&) {
  return K;
}
ScalarKind bitwise(const Kinds& k) {
  return std::find(k.begin(), k.end(), ScalarKind::kInt) != k.end() ? ScalarKind::kInt : ScalarKind::kBool;
}
ScalarKind chosen(const Kinds& k) { return k[1] == k[2] ? k[1] : wider({k[1], k[2]}); }

// --- expressions of results ---
template <auto op>
std::optional<Dim> dims(const Call& c) {
  return op(c.dim("a"), c.dim("b"));
}
template <auto op>
std::optional<Dim> divisible(const Call& c) {
  const Dim b = c.dim("b");
  if (b == Dim(0)) return std::nullopt;
  return op(c.dim("a"), b);
}
std::optional<Dim> negated(const Call& c) { return Dim(0) - c.dim("a"); }
std::optional<Dim> same(const Call& c) { return c.dim(c.op().schema.params[0].name); }

// --- numbers ---
bool any_float(const std::vector<Scalar>& x) {
  return std::any_of(x.begin(), x.end(), [](const Scalar& s) { return s.is_float(); });
}
template <auto ints, auto floats>
bool both(const std::vector<Scalar>& x, Scalar& r) {
  if constexpr (!std::is_same_v<decltype(floats), std::nullptr_t>) {
    if (any_float(x)) {
      r.f = floats(x[0].f, x[1].f);
      return true;
    }
  } else if (any_float(x)) {
    return false;
  }
  r.i = ints(x[0].i, x[1].i);
  return true;
}
template <auto ints, auto floats>
bool divided(const std::vector<Scalar>& x, Scalar& r) {
  if (x[1].f == 0) return false;
  if constexpr (!std::is_same_v<decltype(ints), std::nullptr_t>)
    if (!any_float(x)) {
      r.i = ints(x[0].i, x[1].i);
      return true;
    }
  r.f = floats(x[0].f, x[1].f);
  return true;
}
template <auto ints, auto floats>
bool unary(const std::vector<Scalar>& x, Scalar& r) {
  r.f = floats(x[0].f);
  if constexpr (!std::is_same_v<decltype(ints), std::nullptr_t>)
    r.i = x[0].is_float() ? float_to_int(r.f) : ints(x[0].i);
  return true;
}
template <auto compares>
bool compare(const std::vector<Scalar>& x, Scalar& r) {
  r.i = any_float(x) ? compares(x[0].f, x[1].f) : compares(x[0].i, x[1].i);
  return true;
}
template <auto rounds>
bool to_int(const std::vector<Scalar>& x, Scalar& r) {
  r.i = x[0].is_float() ? float_to_int(rounds(x[0].f)) : x[0].i;
  return !x[0].is_float() || std::isfinite(x[0].f);
}
template <bool left>
bool shift(const std::vector<Scalar>& x, Scalar& r) {
  if (any_float(x) || x[1].i < 0 || x[1].i > 62) return false;
  r.i = left ? static_cast<int64_t>(static_cast<uint64_t>(x[0].i) << x[1].i) : x[0].i >> x[1].i;
  return true;
}
bool power(const std::vector<Scalar>& x, Scalar& r) {
  if (any_float(x)) {
    r.f = std::pow(x[0].f, x[1].f);
    return true;
  }
  if (x[1].i < 0) return false;  // a float in Python
  r.i = 1;
  for (int64_t base = x[0].i, e = x[1].i; e > 0; e >>= 1, base = wrap_mul(base, base))
    if (e & 1) r.i = wrap_mul(r.i, base);
  return true;
}
bool choose(const std::vector<Scalar>& x, Scalar& r) {
  r = x[0].f != 0 ? x[1] : x[2];
  return true;
}

}  // namespace

std::vector<OpDef> define_python_numbers() {
  std::vector<OpDef> all;
  const auto add = [&](const char* schema, KindRule kind, DimRule dim, Evaluate evaluate,
                       const char* stock = "") -> OpDef& {
    OpDef d;
    d.schema_text = schema;
    d.infer = [kind, dim](const Call& c) -> Result<Types> {
      const auto k = kinds(c);
      ir::ScalarType t{kind(k), std::nullopt};
      if (dim && std::none_of(k.begin(), k.end(), [](ir::ScalarKind x) { return x == ir::ScalarKind::kFloat; }))
        t.expr = dim(c);
      return Types{std::move(t)};
    };
    d.numbers = [kind, evaluate](const Call& c, std::span<const ir::Tensor>) -> Result<std::vector<Scalar>> {
      std::vector<Scalar> x;
      for (const ir::Param& p : c.op().schema.params) x.push_back(c.scalar(p.name));
      Scalar r;
      if (!evaluate(x, r)) return fail(Code::kUnsupported, "{}: division by zero, or a number out of range", c.name());
      r.kind = kind(kinds(c));
      if (r.kind == ir::ScalarKind::kFloat)
        r.i = 0;
      else
        r.f = static_cast<double>(r.i);
      return std::vector<Scalar>{r};
    };
    d.stock = stock;
    all.push_back(std::move(d));
    return all.back();
  };
  // Arithmetic.
  add("_operator::add(Scalar a, Scalar b) -> Scalar", wider, dims<[](const Dim& a, const Dim& b) { return a + b; }>,
      both<wrap_add, [](double a, double b) { return a + b; }>, "executorch_prim::add.Scalar");
  add("_operator::sub(Scalar a, Scalar b) -> Scalar", wider, dims<[](const Dim& a, const Dim& b) { return a - b; }>,
      both<wrap_sub, [](double a, double b) { return a - b; }>, "executorch_prim::sub.Scalar");
  add("_operator::mul(Scalar a, Scalar b) -> Scalar", wider, dims<[](const Dim& a, const Dim& b) { return a * b; }>,
      both<wrap_mul, [](double a, double b) { return a * b; }>, "executorch_prim::mul.Scalar");
  add("_operator::floordiv(Scalar a, Scalar b) -> Scalar", wider,
      divisible<[](const Dim& a, const Dim& b) { return floordiv(a, b); }>,
      divided<int_div_floor, [](double a, double b) { return std::floor(a / b); }>, "executorch_prim::floordiv.Scalar");
  add("_operator::mod(Scalar a, Scalar b) -> Scalar", wider,
      divisible<[](const Dim& a, const Dim& b) { return mod(a, b); }>,
      divided<[](int64_t a, int64_t b) { return wrap_sub(a, wrap_mul(int_div_floor(a, b), b)); },
              [](double a, double b) { return a - b * std::floor(a / b); }>,
      "executorch_prim::mod.Scalar");
  add("_operator::truediv(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kFloat>, nullptr,
      divided<nullptr, [](double a, double b) { return a / b; }>, "executorch_prim::truediv.Scalar");
  add("_operator::pow(Scalar a, Scalar b) -> Scalar", wider, dims<[](const Dim& a, const Dim& b) { return pow(a, b); }>,
      power)
      .decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    // Small constant exponents only.
    const ir::Arg exponent = n.arg("b");
    const auto* e = exponent.i();
    if (!e || *e < 2 || *e > 4 || !n.arg("a").value()) return std::vector<ir::Value*>{};
    ir::Value* r = b("_operator.mul", {n.arg("a"), n.arg("a")});
    for (int64_t k = 2; k < *e; ++k) r = b("_operator.mul", {r, n.arg("a")});
    return b.done({r});
  };
  add("_operator::neg(Scalar a) -> Scalar", wider, negated,
      unary<[](int64_t a) { return wrap_sub(0, a); }, [](double a) { return -a; }>, "executorch_prim::neg.Scalar");
  add("_operator::pos(Scalar a) -> Scalar", wider, same, unary<[](int64_t a) { return a; }, [](double a) { return a; }>)
      .decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    return n.arg("a").value() ? b.done({n.arg("a").value()}) : std::vector<ir::Value*>{};
  };
  add("_operator::lshift(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kInt>, nullptr, shift<true>).decompose =
      [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const ir::Arg bits = n.arg("b");
    const auto* e = bits.i();
    if (!e || *e < 0 || *e > 62) return std::vector<ir::Value*>{};
    return b.done({b("_operator.mul", {n.arg("a"), int64_t{1} << *e})});
  };
  add("_operator::rshift(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kInt>, nullptr, shift<false>)
      .decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const ir::Arg bits = n.arg("b");
    const auto* e = bits.i();
    if (!e || *e < 0 || *e > 62) return std::vector<ir::Value*>{};
    return b.done({b("_operator.floordiv", {n.arg("a"), int64_t{1} << *e})});
  };
  // Comparisons and logic.
  add("_operator::eq(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kBool>, nullptr,
      compare<[](auto a, auto b) { return a == b; }>, "executorch_prim::eq.Scalar");
  add("_operator::ne(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kBool>, nullptr,
      compare<[](auto a, auto b) { return a != b; }>)
      .decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    return b.done({b("torch.sym_not", {b("_operator.eq", {n.arg("a"), n.arg("b")})})});
  };
  add("_operator::lt(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kBool>, nullptr,
      compare<[](auto a, auto b) { return a < b; }>, "executorch_prim::lt.Scalar");
  add("_operator::le(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kBool>, nullptr,
      compare<[](auto a, auto b) { return a <= b; }>, "executorch_prim::le.Scalar");
  add("_operator::gt(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kBool>, nullptr,
      compare<[](auto a, auto b) { return (a > b); }>, "executorch_prim::gt.Scalar");
  add("_operator::ge(Scalar a, Scalar b) -> Scalar", always<ir::ScalarKind::kBool>, nullptr,
      compare<[](auto a, auto b) { return a >= b; }>, "executorch_prim::ge.Scalar");
  add("_operator::and_(Scalar a, Scalar b) -> Scalar", bitwise, nullptr,
      both<[](int64_t a, int64_t b) { return a & b; }, nullptr>)
      .decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    if (bitwise(kinds(Call::of(n))) != ScalarKind::kBool) return std::vector<ir::Value*>{};
    return b.done({b("torch.sym_ite", {n.arg("a"), n.arg("b"), false})});
  };
  add("_operator::or_(Scalar a, Scalar b) -> Scalar", bitwise, nullptr,
      both<[](int64_t a, int64_t b) { return a | b; }, nullptr>)
      .decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    if (bitwise(kinds(Call::of(n))) != ScalarKind::kBool) return std::vector<ir::Value*>{};
    return b.done({b("torch.sym_ite", {n.arg("a"), true, n.arg("b")})});
  };
  add("torch::sym_not(Scalar a) -> Scalar", always<ir::ScalarKind::kBool>, nullptr,
      unary<[](int64_t a) -> int64_t { return a == 0; }, [](double a) -> double { return a == 0; }>,
      "executorch_prim::sym_not.Scalar");
  add("torch::sym_max(Scalar a, Scalar b) -> Scalar", wider, dims<[](const Dim& a, const Dim& b) { return max(a, b); }>,
      both<[](int64_t a, int64_t b) { return std::max(a, b); }, [](double a, double b) { return std::max(a, b); }>,
      "executorch_prim::sym_max.Scalar");
  add("torch::sym_min(Scalar a, Scalar b) -> Scalar", wider, dims<[](const Dim& a, const Dim& b) { return min(a, b); }>,
      both<[](int64_t a, int64_t b) { return std::min(a, b); }, [](double a, double b) { return std::min(a, b); }>,
      "executorch_prim::sym_min.Scalar");
  add("torch::sym_ite(Scalar b, Scalar t, Scalar f) -> Scalar", chosen, nullptr, choose,
      "executorch_prim::sym_ite.Scalar");
  // Conversions.
  add("torch::sym_float(Scalar a) -> Scalar", always<ir::ScalarKind::kFloat>, nullptr,
      unary<nullptr, [](double a) { return a; }>, "executorch_prim::sym_float.Scalar");
  add("torch::sym_sqrt(Scalar a) -> Scalar", always<ir::ScalarKind::kFloat>, nullptr,
      unary<nullptr, [](double a) { return std::sqrt(a); }>);
  add("torch::sym_int(Scalar a) -> Scalar", always<ir::ScalarKind::kInt>, same,
      to_int<[](double a) { return std::trunc(a); }>, "executorch_prim::sym_int.Scalar");
  add("math::trunc(Scalar x) -> Scalar", always<ir::ScalarKind::kInt>, same,
      to_int<[](double a) { return std::trunc(a); }>, "executorch_prim::trunc.Scalar");
  add("math::ceil(Scalar x) -> Scalar", always<ir::ScalarKind::kInt>, same,
      to_int<[](double a) { return std::ceil(a); }>, "executorch_prim::ceil.Scalar");
  add("math::floor(Scalar x) -> Scalar", always<ir::ScalarKind::kInt>, same,
      to_int<[](double a) { return std::floor(a); }>)
      .decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    return b.done({b("torch.sym_int", {b("_operator.floordiv", {n.arg("x"), 1})})});
  };
  add("builtins::round(Scalar number) -> Scalar", always<ir::ScalarKind::kInt>, same,
      to_int<[](double a) { return std::nearbyint(a); }>, "executorch_prim::round.Scalar");

  OpDef sum;
  sum.schema_text = "torch::sym_sum(Scalar[] args) -> Scalar";
  sum.infer = [](const Call& c) -> Result<Types> {
    Dim total = 0;
    for (const Dim& d : c.dims("args")) total = total + d;
    return Types{ir::ScalarType{ir::ScalarKind::kInt, total}};
  };
  sum.numbers = [](const Call& c, std::span<const ir::Tensor>) -> Result<std::vector<Scalar>> {
    int64_t total = 0;
    for (int64_t i : c.ints("args")) total = wrap_add(total, i);
    return std::vector<Scalar>{{ir::ScalarKind::kInt, total, static_cast<double>(total)}};
  };
  sum.decompose = [](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const ir::Arg list = n.arg("args");
    if (!list.list() || list.list()->size() < 2) return std::vector<ir::Value*>{};
    ir::Arg total = list.list()->front();
    for (size_t k = 1; k < list.list()->size(); ++k) total = b("_operator.add", {total, (*list.list())[k]});
    return b.done({total.value()});
  };
  all.push_back(std::move(sum));
  return all;
}

}  // namespace edgewright::ops
