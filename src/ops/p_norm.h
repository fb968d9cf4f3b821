// src/ops/p_norm.h - the p-norm of a run of numbers, shared by norms and distances. Depends on ops/dense.h.
#pragma once

#include "ops/dense.h"

namespace edgewright::ops {

// (sum |x|^p)^(1/p); p = 0 counts what is not zero, +-inf takes the largest or smallest magnitude.
template <class R>
R p_norm(std::span<const R> x, double p) {
  if (std::isinf(p)) {
    if (x.empty()) return R(0.0);
    R best = num::abs(x[0]);
    for (const R& v : x) best = p > 0 ? num::maximum(best, num::abs(v)) : num::minimum(best, num::abs(v));
    return best;
  }
  Sum<R> s;
  for (const R& v : x) {
    if (p == 0)
      s.add(num::unless_certain(R(num::value(v) != 0 ? 1.0 : 0.0), num::certain(v, 0)));
    else if (p == 1)
      s.add(num::abs(v));
    else if (p == 2)
      s.add(v * v);
    else
      s.add(num::pow(num::abs(v), p));
  }
  if (p == 0 || p == 1) return s.get();
  return p == 2 ? num::sqrt(s.get()) : num::pow(s.get(), 1 / p);
}

}  // namespace edgewright::ops
