// src/ops/flip.cc - dims in reverse, and quarter turns made of it. Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

std::vector<int64_t> dims_of_flip(const Call& c) {
  return c.axes("dims", static_cast<int64_t>(c.tensor("self").rank()), false);
}
Result<Types> infer_types(const Call& c) {
  dims_of_flip(c);
  return Types{c.tensor("self")};
}
Result<Point> eval(const Call& c, size_t) {
  return move_point([dims = dims_of_flip(c), sizes = ir::static_sizes(c.tensor("self").shape)](Index at, int64_t* in) {
    std::copy(at.begin(), at.end(), in);
    for (int64_t d : dims) in[d] = sizes[static_cast<size_t>(d)] - 1 - at[static_cast<size_t>(d)];
    return 0;
  });
}
// A slice per element of each dim: for short dims (channels) only.
Result<void> lower(const ir::Node& n, XnnEmitter& out) {
  const ir::Value* v = self_of(n);
  if (!is_static(shape_of(v))) return fail(Code::kKeptOnHost, "XNNPACK's slice needs static sizes");
  std::vector<int64_t> dims = dims_of_flip(Call::of(n));
  std::erase_if(dims, [&](int64_t d) { return shape_of(v)[static_cast<size_t>(d)] == Dim(1); });
  if (dims.empty()) return out.copy(v, n.result());
  for (int64_t d : dims)
    if (shape_of(v)[static_cast<size_t>(d)].value() > static_cast<int64_t>(kMaxSlices))
      return fail(Code::kKeptOnHost, "a flip of {} elements would take as many slices",
                  shape_of(v)[static_cast<size_t>(d)].value());
  for (size_t i = 0; i < dims.size(); ++i) {
    std::vector<Cut> cuts;
    for (int64_t k = shape_of(v)[static_cast<size_t>(dims[i])].value(); k-- > 0;) cuts.push_back({k, 1});
    const ir::Value* to = i + 1 == dims.size() ? n.result() : out.temporary(*v->tensor());
    EW_TRY(emit_slices(out, v, to, dims[i], cuts));
    v = to;
  }
  return {};
}
// [fliplr.1] self has at least `least` dims.
OpDef along(const char* schema, int64_t dim, size_t least) {
  OpDef d;
  d.schema_text = schema;
  d.infer = [least](const Call& c) -> Result<Types> {
    if (c.tensor("self").rank() < least)
      c.error(fmt::format("[fliplr.1] self has {} dims, fewer than {}", c.tensor("self").rank(), least));
    return Types{c.tensor("self")};
  };
  d.decompose = becomes("aten.flip", [dim](const ir::Node& n, Builder&) -> std::vector<ir::Arg> {
    return {n.args()[0], ir::Arg::ints({dim})};
  });
  return d;
}

// [rot90.1] Two different dims.
Result<Types> infer_rot90(const Call& c) {
  TensorType t = c.tensor("self");
  const auto dims = c.axes("dims", static_cast<int64_t>(t.rank()), false);
  if (dims.size() != 2) {
    c.error(fmt::format("[rot90.1] {} dims where 2 are needed", dims.size()));
    return Types{t};
  }
  if (c.i("k") % 2 != 0) std::swap(t.shape[static_cast<size_t>(dims[0])], t.shape[static_cast<size_t>(dims[1])]);
  return Types{t};
}
Result<std::vector<ir::Value*>> turn(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const auto d = c.axes("dims", rank_of(self_of(n)), false);
  const int64_t k = (c.i("k") % 4 + 4) % 4;
  ir::Value* x = self_of(n);
  if (k == 0) return all(b, {x});
  if (k == 2) return all(b, {b("aten.flip", {x, ir::Arg::ints(d)})});
  ir::Value* y = b("aten.flip", {x, ir::Arg::ints({k == 1 ? d[1] : d[0]})});
  return all(b, {b("aten.transpose.int", {y, d[0], d[1]})});
}

}  // namespace

std::vector<OpDef> define_flip() {
  OpDef d;
  d.schema_text = "aten::flip(Tensor self, int[] dims) -> Tensor";
  d.infer = infer_types;
  d.eval = eval;
  d.lower = lower;
  d.stock = "aten::flip.out";
  OpDef turned;
  turned.schema_text = "aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor";
  turned.infer = infer_rot90;
  turned.decompose = turn;
  return {d, along("aten::fliplr(Tensor self) -> Tensor", 1, 2), along("aten::flipud(Tensor self) -> Tensor", 0, 1),
          turned};
}

}  // namespace edgewright::ops
