// src/ops/embedding_bag.cc - aten.embedding_bag and its native forms: sums, means or maxima of the rows that each bag names.
// The other three results serve gradients only; they are given as empty.
#include "ops/dense.h"

namespace edgewright::ops {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  int weight, indices, offsets, scales;
  int64_t mode;
  bool last;  // offsets end with the end of the last bag
  std::optional<int64_t> padding;
  Dim count = 0;
};
Bags read(const Call& c) {
  Bags b{c.operand("weight"),
         c.operand("indices"),
         c.operand("offsets"),
         c.operand("per_sample_weights"),
         c.i("mode"),
         c.flag("include_last_offset"),
         {},
         0};
  const TensorType &w = c.type(b.weight), &i = c.type(b.indices), &o = c.type(b.offsets);
  if (w.rank() != 2 || !is_float(w.dtype)) c.error("[embedding_bag.1] weight must be a float matrix");
  if (i.rank() != 1 || o.rank() != 1 || !is_int(i.dtype) || !is_int(o.dtype))
    c.error("[embedding_bag.2] indices and offsets must be int vectors");
  if (b.mode < kSum || b.mode > kMax) c.error(fmt::format("[embedding_bag.3] mode {}", b.mode));
  if (b.scales >= 0 && (b.mode != kSum || c.type(b.scales).rank() != 1 || c.type(b.scales).dtype != w.dtype))
    c.error("[embedding_bag.4] per_sample_weights go with sums only");
  if (c.op().schema.index_of("padding_idx") >= 0 && c.has("padding_idx")) {
    int64_t p = c.i("padding_idx");
    // The composite form counts from the end; the native forms take -1 as none.
    if (p < 0 && c.name() == "aten.embedding_bag.padding_idx")
      p += w.shape.empty() ? 0 : w.shape[0].maybe().value_or(0);
    if (p >= 0) b.padding = p;
  }
  if (c.failed()) return b;
  b.count = b.last ? o.shape[0] - Dim(1) : o.shape[0];
  if (b.count.is_constant() && b.count.value() < 0) c.error("[embedding_bag.5] offsets are empty");
  return b;
}

Result<Types> rule(const Call& c) {
  const Bags b = read(c);
  if (c.failed()) return Types{};
  const TensorType &w = c.type(b.weight), none{DType::i64, {0}};
  return Types{TensorType{w.dtype, {b.count, w.shape[1]}}, none, none, none};
}

Result<void> whole(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const Bags b = read(c);
  if (c.failed()) return {};
  const std::vector<double> w = to_doubles(in[static_cast<size_t>(b.weight)]);
  const std::vector<int64_t> at = to_ints(in[static_cast<size_t>(b.indices)]),
                             offsets = to_ints(in[static_cast<size_t>(b.offsets)]);
  const std::vector<double> scale =
      b.scales >= 0 ? to_doubles(in[static_cast<size_t>(b.scales)]) : std::vector<double>();
  const int64_t rows = in[static_cast<size_t>(b.weight)].sizes[0], width = in[static_cast<size_t>(b.weight)].sizes[1],
                n = static_cast<int64_t>(at.size()), bags = b.count.value();
  if (!scale.empty() && scale.size() != at.size())
    return fail(Code::kUsage, "[embedding_bag.4] as many weights as indices are needed");
  std::vector<double> y(static_cast<size_t>(bags * width), 0.0);
  for (int64_t bag = 0; bag < bags; ++bag) {
    const int64_t begin = offsets[static_cast<size_t>(bag)],
                  end = bag + 1 < static_cast<int64_t>(offsets.size()) ? offsets[static_cast<size_t>(bag + 1)] : n;
    if (begin < 0 || end > n || begin > end)
      return fail(Code::kUsage, "[embedding_bag.6] offsets are not in order or outside the indices");
    int64_t taken = 0;
    double* row = y.data() + bag * width;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = at[static_cast<size_t>(i)];
      if (r < 0 || r >= rows) return fail(Code::kUsage, "[embedding_bag.6] index {} outside [0, {})", r, rows);
      if (b.padding == r) continue;
      const double s = scale.empty() ? 1 : scale[static_cast<size_t>(i)];
      for (int64_t k = 0; k < width; ++k) {
        const double v = s * w[static_cast<size_t>(r * width + k)];
        if (b.mode != kMax)
          row[k] += v;
        else
          row[k] = taken == 0 ? v : num::maximum(row[k], v);
      }
      ++taken;
    }
    if (b.mode == kMean && taken > 0)
      for (int64_t k = 0; k < width; ++k) row[k] /= static_cast<double>(taken);
  }
  assign(out[0], y);
  return {};
}

// Membership of each index in each bag as a matrix; then a product, or a masked maximum.
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Bags g = read(c);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  const auto operand = [&](int k) { return const_cast<ir::Value*>(c.value(k)); };
  const Shape& is = c.type(g.indices).shape;
  if (!is[0].is_constant() || !g.count.is_constant() || g.count.value() * is[0].value() > (1 << 22) ||
      is[0].value() == 0 || g.count.value() == 0)
    return std::vector<ir::Value*>{};
  const int64_t count = is[0].value(), bags = g.count.value();
  const DType t = c.type(g.weight).dtype, offset_type = c.type(g.offsets).dtype;
  ir::Tensor positions = ir::Tensor::empty(offset_type, {1, count});
  for (int64_t i = 0; i < count; ++i) ir::store_i(offset_type, positions.mutable_data(), i, i);
  ir::Tensor end = ir::Tensor::empty(offset_type, {1});
  ir::store_i(offset_type, end.mutable_data(), 0, count);
  ir::Value *offsets = operand(g.offsets), *place = b.constant(positions, "positions");
  ir::Value* ends = g.last ? offsets : b("aten.cat", {ir::Arg::values({offsets, b.constant(end, "end")})});
  const auto column = [&](ir::Value* v, int64_t begin) {
    return b("aten.unsqueeze", {b("aten.slice.Tensor", {v, 0, begin, begin + bags, 1}), 1});
  };
  ir::Value* member = b("aten.logical_and", {b("aten.ge.Tensor", {place, column(offsets, 0)}),
                                             b("aten.lt.Tensor", {place, column(ends, 1)})});
  if (g.padding) member = b("aten.logical_and", {member, b("aten.ne.Scalar", {operand(g.indices), *g.padding})});
  ir::Value* rows = b("aten.embedding", {operand(g.weight), operand(g.indices)});
  if (g.scales >= 0) rows = b("aten.mul.Tensor", {rows, b("aten.unsqueeze", {operand(g.scales), 1})});
  ir::Value* y;
  ir::Value* ones = b("aten.to.dtype", {member, t});
  if (g.mode == kMax) {
    ir::Value* in_bag = b("aten.unsqueeze", {member, 2});
    y = b("aten.amax",
          {b("aten.where.self", {in_bag, b("aten.unsqueeze", {rows, 0}), b.scalar(t, -INFINITY)}), ir::Arg::ints({1})});
    y = b("aten.masked_fill.Scalar", {y, b("aten.logical_not", {b("aten.any.dim", {member, 1, true})}), 0});
  } else {
    y = b("aten.mm", {ones, rows});
    if (g.mode == kMean)
      y = b("aten.div.Tensor",
            {y, b("aten.clamp_min", {b("aten.sum.dim_IntList", {ones, ir::Arg::ints({1}), true}), 1})});
  }
  std::vector<ir::Value*> out{y};
  for (int i = 0; i < 3; ++i) out.push_back(b.constant(ir::Tensor::empty(DType::i64, {0}), "empty"));
  return b.done(out);
}

OpDef definition(std::string schema) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = rule;
  d.whole = whole;
  d.decompose = decompose;
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_embedding_bag() {
  const std::string four = " -> (Tensor, Tensor, Tensor, Tensor)";
  const std::string native =
      "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
      "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1)" +
      four;
  return {definition("aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool "
                     "scale_grad_by_freq=False, int mode=0, bool sparse=False, "
                     "Tensor? per_sample_weights=None, bool include_last_offset=False)" +
                     four),
          definition("aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool "
                     "scale_grad_by_freq, int mode, bool sparse, "
                     "Tensor? per_sample_weights, bool include_last_offset, int? padding_idx)" +
                     four),
          definition("aten::_embedding_bag" + native), definition("aten::_embedding_bag_forward_only" + native)};
}
}  // namespace edgewright::ops
