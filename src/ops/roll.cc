// src/ops/roll.cc - elements moved along dims, those that fall off coming back at the other end. Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// [roll.1] One shift for each dim; without dims, one shift for the flattened tensor.
struct Rolls {
  std::vector<int64_t> dims, shifts;  // shifts in [0, size)
  bool flat = false;
};
Rolls rolls(const Call& c, const Shape& s) {
  Rolls r;
  r.flat = c.dims("dims").empty();
  std::vector<int64_t> shifts = c.ints("shifts");
  if (r.flat) {
    r.dims = {0};
    if (shifts.size() != 1) c.error(fmt::format("[roll.1] {} shifts without dims", shifts.size()));
  } else {
    // A dim may be named more than once: its shifts add up.
    for (int64_t d : c.ints("dims")) {
      const int64_t rank = std::max<int64_t>(static_cast<int64_t>(s.size()), 1);
      if (d < -rank || d >= rank) {
        c.error(fmt::format("'dims' holds {}, outside [{}, {}]", d, -rank, rank - 1));
        return {};
      }
      r.dims.push_back(d < 0 ? d + rank : d);
    }
    if (shifts.size() != r.dims.size())
      c.error(fmt::format("[roll.1] {} shifts for {} dims", shifts.size(), r.dims.size()));
  }
  shifts.resize(r.dims.size(), 0);
  for (size_t i = 0; i < shifts.size(); ++i) {
    const Dim n = r.flat ? numel(s) : s.empty() ? Dim(1) : s[static_cast<size_t>(r.dims[i])];
    const int64_t size = n.maybe().value_or(0);
    r.shifts.push_back(size == 0 ? 0 : (shifts[i] % size + size) % size);
  }
  return r;
}
Result<Types> infer_types(const Call& c) {
  rolls(c, c.tensor("self").shape);
  return Types{c.tensor("self")};
}
Result<Point> eval(const Call& c, size_t) {
  const Shape& s = c.tensor("self").shape;
  return move_point([r = rolls(c, s), sizes = ir::static_sizes(s)](Index at, int64_t* in) {
    if (r.flat) {
      int64_t i = 0, n = 1;
      for (size_t d = 0; d < sizes.size(); ++d) i = i * sizes[d] + at[d], n *= sizes[d];
      i = (i - r.shifts[0] + n) % n;
      for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) in[d] = i % sizes[d];
      return 0;
    }
    std::copy(at.begin(), at.end(), in);
    if (sizes.empty()) return 0;
    for (size_t k = 0; k < r.dims.size(); ++k) {
      const size_t d = static_cast<size_t>(r.dims[k]);
      in[d] = (in[d] - r.shifts[k] + sizes[d]) % sizes[d];
    }
    return 0;
  });
}
// One pair of slices per dim, the two parts exchanged.
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const ir::Value* v = self_of(n);
  if (!is_static(shape_of(v))) return fail(Code::kKeptOnHost, "XNNPACK's slice needs static sizes");
  const Rolls r = rolls(Call::of(n), shape_of(v));
  const bool flat = r.flat && rank_of(v) != 1;
  if (rank_of(v) == 0) return out.copy(v, n.result());
  std::vector<size_t> moving;
  for (size_t k = 0; k < r.dims.size(); ++k)
    if (r.shifts[k] != 0) moving.push_back(k);
  if (moving.empty()) return out.copy(v, n.result());
  TensorType t = *v->tensor();
  if (flat) {
    t.shape = {numel(t.shape)};
    const ir::Value* w = out.temporary(t);
    EW_TRY(out.static_reshape(v, w, t.shape));
    v = w;
  }
  for (size_t i = 0; i < moving.size(); ++i) {
    const int64_t d = r.dims[moving[i]], shift = r.shifts[moving[i]], size = t.shape[static_cast<size_t>(d)].value();
    const ir::Value* to = i + 1 == moving.size() && !flat ? n.result() : out.temporary(t);
    EW_TRY(emit_slices(out, v, to, d, {{size - shift, shift}, {0, size - shift}}));
    v = to;
  }
  return flat ? out.static_reshape(v, n.result(), shape_of(n.result())) : Result<void>{};
}

}  // namespace

std::vector<OpDef> define_roll() {
  OpDef d;
  d.schema_text = "aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor";
  d.infer = infer_types;
  d.eval = eval;
  d.lower = lower;
  d.stock = "aten::roll.out";
  return {d};
}

}  // namespace edgewright::ops
