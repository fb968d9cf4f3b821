// src/ops/embedding_bag.cc - aten.embedding_bag and its native forms: sums, means or maxima of the rows that each bag names.
// The other three results (the bag of each index, the size of each bag, where each maximum stands) serve gradients; they are what
// the CPU kernel gives without a gradient, down to those that a plain sum of contiguous rows leaves empty or zero.
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

  // PyTorch's kernel for whole rows. As a sum it notes nothing of its bags. It alone ends the last bag where the offsets end, and a
  // mean still divides by what lies between that bag's start and the end of the indices.
  bool by_rows(DType t) const {
    return mode != kMax && !padding && (t == DType::f32 || t == DType::f16 || t == DType::bf16);
  }
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
  const TensorType &w = c.type(b.weight), &i = c.type(b.indices), &o = c.type(b.offsets);
  const DType t = i.dtype == DType::i64 || o.dtype == DType::i64 ? DType::i64 : DType::i32;
  const Dim sized = b.mode == kSum && c.name() != "aten._embedding_bag" ? o.shape[0] : b.count;
  return Types{TensorType{w.dtype, {b.count, w.shape[1]}},
               TensorType{t, {b.mode == kSum && b.by_rows(w.dtype) ? Dim(0) : i.shape[0]}}, TensorType{t, {sized}},
               TensorType{t, b.mode == kMax ? Shape{b.count, w.shape[1]} : Shape{sized}}};
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
  std::vector<int64_t> bag_of(static_cast<size_t>(out[1].numel())), sizes(static_cast<size_t>(out[2].numel())),
      places(static_cast<size_t>(out[3].numel()));
  const bool by_rows = b.by_rows(c.type(b.weight).dtype);
  const auto misplaced = [] {
    return fail(Code::kUsage, "[embedding_bag.6] offsets must go up from 0 within the indices");
  };
  if (!offsets.empty() && (offsets.front() != 0 || offsets.back() > n)) return misplaced();
  for (int64_t bag = 0; bag < bags; ++bag) {
    const int64_t begin = offsets[static_cast<size_t>(bag)],
                  next = bag + 1 < bags ? offsets[static_cast<size_t>(bag + 1)] : n,
                  end = b.last && by_rows ? offsets[static_cast<size_t>(bag + 1)] : next;
    if (begin > end || next > n) return misplaced();
    int64_t taken = 0;
    double* row = y.data() + bag * width;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t r = at[static_cast<size_t>(i)];
      if (r < 0 || r >= rows) return fail(Code::kUsage, "[embedding_bag.6] index {} outside [0, {})", r, rows);
      if (b.padding == r) continue;
      const double s = scale.empty() ? 1 : scale[static_cast<size_t>(i)];
      for (int64_t k = 0; k < width; ++k) {
        const double v = s * w[static_cast<size_t>(r * width + k)];
        if (b.mode != kMax) {
          row[k] += v;
        } else if (taken == 0 || row[k] < v) {  // a NaN counts only where it comes first
          row[k] = v;
          places[static_cast<size_t>(bag * width + k)] = r;
        }
      }
      ++taken;
    }
    if (by_rows) taken = next - begin;
    if (!bag_of.empty()) std::fill(bag_of.begin() + begin, bag_of.begin() + next, bag);
    if (b.mode == kMean && taken > 0)
      for (int64_t k = 0; k < width; ++k) row[k] /= static_cast<double>(taken);
    if (b.mode != kSum) sizes[static_cast<size_t>(bag)] = taken;
  }
  assign(out[0], y);
  assign(out[1], bag_of);
  assign(out[2], sizes);
  assign(out[3], b.mode == kMean ? sizes : places);
  return {};
}

// Membership of each index in each bag as a matrix; then a product, or a masked maximum.
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Bags g = read(c);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  const auto operand = [&](int k) { return const_cast<ir::Value*>(c.value(k)); };
  for (size_t k = 1; k < n.num_results(); ++k)
    if (!n.result(k)->users.empty() || n.graph().is_output(n.result(k))) return std::vector<ir::Value*>{};
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
  const auto column = [&](ir::Value* v, int64_t begin) {
    return b("aten.unsqueeze", {b("aten.slice.Tensor", {v, 0, begin, begin + bags, 1}), 1});
  };
  const auto members = [&](ir::Value* ends) {
    ir::Value* in = b("aten.logical_and", {b("aten.ge.Tensor", {place, column(offsets, 0)}),
                                           b("aten.lt.Tensor", {place, column(ends, 1)})});
    return g.padding ? b("aten.logical_and", {in, b("aten.ne.Scalar", {operand(g.indices), *g.padding})}) : in;
  };
  ir::Value* starts = g.last ? b("aten.slice.Tensor", {offsets, 0, 0, bags, 1}) : offsets;
  ir::Value* counted = members(b("aten.cat", {ir::Arg::values({starts, b.constant(end, "end")})}));
  ir::Value* member = g.last && g.by_rows(t) ? members(offsets) : counted;
  ir::Value* rows = b("aten.embedding", {operand(g.weight), operand(g.indices)});
  if (g.scales >= 0) rows = b("aten.mul.Tensor", {rows, b("aten.unsqueeze", {operand(g.scales), 1})});
  ir::Value* y;
  ir::Value* ones = b("aten.to.dtype", {member, t});
  if (g.mode == kMax) {
    // A NaN is passed over, unless it is the first of its bag.
    ir::Value *in_bag = b("aten.unsqueeze", {member, 2}), *each = b("aten.unsqueeze", {rows, 0}),
              *nan = b("aten.isnan", {each});
    ir::Value* first = b("aten.eq.Scalar", {b("aten.cumsum", {b("aten.to.dtype", {member, DType::i64}), 1}), 1});
    first = b("aten.unsqueeze", {b("aten.logical_and", {first, member}), 2});
    ir::Value* counts = b("aten.logical_and", {in_bag, b("aten.logical_not", {nan})});
    y = b("aten.amax", {b("aten.where.self", {counts, each, b.scalar(t, -INFINITY)}), ir::Arg::ints({1})});
    y = b("aten.masked_fill.Scalar", {y, b("aten.any.dim", {b("aten.logical_and", {first, nan}), 1, false}), NAN});
    y = b("aten.masked_fill.Scalar", {y, b("aten.logical_not", {b("aten.any.dim", {member, 1, true})}), 0});
  } else {
    y = b("aten.mm", {ones, rows});
    if (g.mode == kMean)
      y = b("aten.div.Tensor",
            {y, b("aten.clamp_min",
                  {b("aten.sum.dim_IntList", {b("aten.to.dtype", {counted, t}), ir::Arg::ints({1}), true}), 1})});
  }
  std::vector<ir::Value*> out{y};
  for (size_t k = 1; k < n.num_results(); ++k) {  // nobody reads them
    const TensorType& t = *n.result(k)->tensor();
    std::vector<int64_t> sizes;
    for (const Dim& d : t.shape) sizes.push_back(d.maybe().value_or(0));
    ir::Tensor zeros = ir::Tensor::empty(t.dtype, std::move(sizes));
    std::fill_n(zeros.mutable_data(), zeros.nbytes(), std::byte{0});
    out.push_back(b.constant(std::move(zeros), "unread"));
  }
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
