// src/ops/weight_norm.cc - aten._weight_norm, _weight_norm_interface: v scaled so that each slice along `dim` has length g
// (dim -1: v as a whole).
#include "ops/p_norm.h"

namespace edgewright::ops {
namespace {

// The dims that a length goes over.
std::vector<int64_t> folded(const Call& c) {
  const int64_t rank = c.rank("v"), d = c.i("dim") == -1 ? -1 : c.axis("dim", rank);
  std::vector<int64_t> dims;
  for (int64_t k = 0; k < rank; ++k)
    if (k != d) dims.push_back(k);
  return dims;
}

Result<Types> rule(size_t results, const Call& c) {
  const TensorType &v = c.tensor("v"), &g = c.tensor("g");
  if (!is_float(v.dtype) || v.dtype != g.dtype) c.error("[weight_norm.1] v and g must have one float dtype");
  const std::vector<int64_t> dims = folded(c);
  if (c.failed()) return Types{};
  const Shape norms = FoldedDims(dims, v.rank(), true).shape(v.shape);
  const Shape both = broadcast(c, norms, g.shape);
  if (both.size() != norms.size()) c.error("[weight_norm.2] g does not fit");
  Types t{v};
  if (results == 2) t.push_back(TensorType{v.dtype, norms});
  return t;
}

Result<Point> eval(const Call& c, size_t r) {
  const Shape shape = c.tensor("v").shape;
  const FoldedDims dims(folded(c), shape.size(), true);
  const std::vector<int64_t> g = ir::static_sizes(c.tensor("g").shape);
  return float_point([=](const auto& in, Index at) {
    using R = typename std::decay_t<decltype(in)>::F;
    std::vector<R> row;
    IndexBuffer norm;
    std::copy(at.begin(), at.end(), norm.begin());
    for (int64_t d : dims.folded) norm[static_cast<size_t>(d)] = 0;
    dims.each(shape, Index(norm.data(), at.size()), [&](Index k) { row.push_back(in.f(0, k)); });
    const R length = p_norm(std::span<const R>(row), 2);
    if (r == 1) return length;
    IndexBuffer to;
    return in.f(0, at) * (in.f(1, broadcast_index(at, g, to)) / length);
  });
}

OpDef definition(std::string schema, size_t results) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [=](const Call& c) { return rule(results, c); };
  d.eval = eval;
  d.decompose = [=](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const Call c = Call::of(n);
    const std::vector<int64_t> dims = folded(c);
    if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
    ir::Value* length = b("aten.linalg_vector_norm", {n.arg("v"), 2, ir::Arg::ints(dims), true});
    std::vector<ir::Value*> out{b("aten.mul.Tensor", {n.arg("v"), b("aten.div.Tensor", {n.arg("g"), length})})};
    if (results == 2) out.push_back(length);
    return b.done(out);
  };
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_weight_norm() {
  return {definition("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", 1),
          definition("aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", 2)};
}
}  // namespace edgewright::ops
