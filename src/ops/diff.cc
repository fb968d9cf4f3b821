// src/ops/diff.cc - aten.diff: n times each element's difference from the one before it along a dim; of bools, whether they differ.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

// The operands along the dim, in order: prepend, self, append.
struct Parts {
  int64_t dim = 0, order = 1;
  std::vector<int> operands;
  Dim size = 0;  // before differences are taken
};
// [diff.1] n is not negative. [diff.2] the parts agree in dtype and in every other dim. [diff.3] self has dims.
Parts parts_of(const Call& c) {
  Parts p;
  const TensorType& x = c.tensor("self");
  p.order = c.i("n");
  if (p.order < 0) c.error("[diff.1] n is negative");
  if (x.rank() == 0) {
    c.error("[diff.3] a 0-dim tensor has no neighbours");
    return p;
  }
  p.dim = c.axis("dim", static_cast<int64_t>(x.rank()));
  for (const char* param : {"prepend", "self", "append"}) {
    const int k = c.operand(param);
    if (k < 0) continue;
    const TensorType& t = c.type(k);
    bool fits = t.dtype == x.dtype && t.rank() == x.rank();
    for (size_t d = 0; fits && d < t.rank(); ++d)
      fits = d == static_cast<size_t>(p.dim) || !differ(t.shape[d], x.shape[d]);
    if (!fits) {
      c.error(fmt::format("[diff.2] {} does not go with self", param));
      return p;
    }
    p.operands.push_back(k);
    p.size = p.size + t.shape[static_cast<size_t>(p.dim)];
  }
  return p;
}

Result<Types> rule(const Call& c) {
  const Parts p = parts_of(c);
  TensorType t = c.tensor("self");
  if (c.failed()) return Types{};
  const Dim left = p.size - Dim(p.order);
  t.shape[static_cast<size_t>(p.dim)] = left.is_constant() && left.value() < 0 ? Dim(0) : left;
  return Types{t};
}

Result<Point> eval(const Call& c, size_t) {
  const Parts p = parts_of(c);
  if (c.failed()) return Point{};
  const auto dim = static_cast<size_t>(p.dim);
  std::vector<int64_t> sizes;
  for (int k : p.operands) sizes.push_back(c.type(k).shape[dim].value());
  // Calls f(operand, index) for the element at position `at` of the row of all parts.
  const auto pick = [=](Index at, int64_t position, auto f) {
    IndexBuffer index;
    std::copy(at.begin(), at.end(), index.begin());
    size_t part = 0;
    while (position >= sizes[part]) position -= sizes[part++];
    index[dim] = position;
    return f(p.operands[part], Index(index.data(), at.size()));
  };
  const DType t = c.tensor("self").dtype;
  const auto order = static_cast<size_t>(p.order);
  const auto differences = [=](Index at, auto element, auto subtract) {
    auto row = std::vector{pick(at, at[dim], element)};
    for (size_t k = 1; k <= order; ++k) row.push_back(pick(at, at[dim] + static_cast<int64_t>(k), element));
    for (size_t step = 0; step < order; ++step)
      for (size_t k = 0; k + step < order; ++k) row[k] = subtract(row[k + 1], row[k]);
    return row[0];
  };
  if (is_float(t))
    return float_point([=](const auto& in, Index at) {
      return differences(
          at, [&](int k, Index i) { return in.f(k, i); }, [](const auto& a, const auto& b) { return a - b; });
    });
  return int_point([=](const In& in, Index at) {
    return differences(
        at, [&](int k, Index i) { return in.i(k, i); },
        [&](int64_t a, int64_t b) {
          return is_bool(t) ? a ^ b : static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
        });
  });
}

Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Parts p = parts_of(c);
  if (c.failed()) return std::vector<ir::Value*>{};
  ir::ArgList parts;
  for (const char* param : {"prepend", "self", "append"})
    if (ir::Value* v = n.arg(param).value()) parts.push_back(v);
  ir::Value* x = parts.size() == 1 ? parts[0].value() : b("aten.cat", {parts, p.dim});
  const char* subtract = is_bool(c.tensor("self").dtype) ? "aten.logical_xor" : "aten.sub.Tensor";
  for (int64_t k = 0; k < p.order && !(p.size == Dim(k)) && !b.failed(); ++k)
    x = b(subtract, {b("aten.slice.Tensor", {x, p.dim, 1}), b("aten.slice.Tensor", {x, p.dim, 0, -1})});
  return b.done({p.order == 0 && parts.size() == 1 ? b("aten.clone", {x}) : x});
}

}  // namespace

std::vector<OpDef> define_diff() {
  OpDef d;
  d.schema_text = "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor";
  d.infer = rule;
  d.eval = eval;
  d.decompose = decompose;
  d.agreement = Agreement::kReassociated;
  return {d};
}

}  // namespace edgewright::ops
