// src/ops/diagonal.cc - the diagonal of two dims as a new last dim. Depends on ops/view_rules.h.
#include <algorithm>

#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// [diagonal.1] dim1 and dim2 differ.
std::vector<Layout> diagonal(const Call& c, const Layout& base) {
  const int64_t rank = static_cast<int64_t>(base.sizes.size());
  const int64_t d1 = c.axis("dim1", rank), d2 = c.axis("dim2", rank), k = c.i("offset");
  if (rank < 2 || d1 == d2) {
    c.error(fmt::format("[diagonal.1] the diagonal of dims {} and {} of {}", d1, d2, rank));
    return {};
  }
  const Dim n1 = base.sizes[static_cast<size_t>(d1)], n2 = base.sizes[static_cast<size_t>(d2)];
  const Dim s1 = base.strides[static_cast<size_t>(d1)], s2 = base.strides[static_cast<size_t>(d2)];
  // max keeps an offset beyond the matrix from giving a negative size; sizes stay in int64 for any k.
  const auto less = [](const Dim& n, int64_t k) -> Dim {
    return n.is_constant() ? Dim(k >= n.value() ? 0 : n.value() - k) : max(n - Dim(k), 0);
  };
  const Dim length = k >= 0 ? min(n1, less(n2, k)) : min(less(n1, k == INT64_MIN ? INT64_MAX : -k), n2);
  Layout out = base;
  if (!(length == Dim(0))) out.offset = base.offset + (k >= 0 ? Dim(k) * s2 : Dim(-k) * s1);
  for (int64_t d : {std::max(d1, d2), std::min(d1, d2)}) {
    out.sizes.erase(out.sizes.begin() + d);
    out.strides.erase(out.strides.begin() + d);
  }
  out.sizes.push_back(length);
  out.strides.push_back(s1 + s2);
  return {out};
}
Result<ir::Value*> back(const ir::Node& n, size_t, ir::Value* base, ir::Value* written, Builder& b) {
  std::vector<ir::Arg> args{base, written};
  args.insert(args.end(), n.args().begin() + 1, n.args().end());
  return one(b, b("aten.diagonal_scatter", std::move(args)));
}

}  // namespace

std::vector<OpDef> define_diagonal() {
  OpDef d =
      view_op("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", diagonal, back);
  d.stock = "aten::diagonal_copy.out";
  return {d, twin_of("aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor", diagonal,
                     "aten.diagonal")};
}

}  // namespace edgewright::ops
