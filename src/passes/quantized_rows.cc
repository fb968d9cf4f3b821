// src/passes/quantized_rows.cc - quantized-rows: rows of a dequantized table -> rows of the table, dequantized.
//   embedding(dequantize_per_tensor(w), i)                          -> dequantize_per_tensor(embedding(w, i))
//   embedding(dequantize_per_channel / _group / dequantize_affine(w), i) -> embedding_byte(w, scales, zero points, i)
// Both compute (w - zero point) * scale of the elements picked; the table itself is never made into floats. A constant table of
// 4-bit (2-bit) values that nothing else reads is packed two (four) to a byte: embedding_4bit, embedding_2bit.
#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "passes/pass_def.h"

namespace edgewright::passes {
namespace {

constexpr const char* kSpace = "quantized_decomposed.";

// A table of rows in groups, each with a scale and zero point.
struct Table {
  Node* node = nullptr;
  Value *elements = nullptr, *scales = nullptr, *zero_points = nullptr;
  int64_t groups = 1;
  bool wraps = false;  // the difference is taken in the elements' own dtype
  int64_t lo = 0, hi = 0;
};

std::optional<int64_t> constant_int(const Node& n, const char* param) {
  const auto v = ops::constant_number(n, param);
  return v && std::fabs(*v) <= 0x1p53 && *v == std::trunc(*v) ? std::optional(static_cast<int64_t>(*v)) : std::nullopt;
}

std::optional<Table> table_of(Value* v) {
  Node* n = v ? v->producer : nullptr;
  if (!n) return std::nullopt;
  const bool channel = n->is("quantized_decomposed.dequantize_per_channel"),
             group = n->is("quantized_decomposed.dequantize_per_channel_group"),
             affine = n->is("torchao.dequantize_affine");
  if (!channel && !group && !affine) return std::nullopt;
  Table t;
  t.node = n;
  t.elements = n->arg("input").value();
  t.scales = n->arg(affine ? "scale" : "scales").value();
  t.zero_points = n->arg(affine ? "zero_point" : "zero_points").value();
  const auto sizes = sizes_of(t.elements);
  if (!sizes || sizes->size() != 2 || (*sizes)[1] < 2) return std::nullopt;
  if (channel) {
    const auto axis = constant_int(*n, "axis");
    if (!axis || (*axis != 0 && *axis != -2)) return std::nullopt;
  } else if (group) {
    const auto g = constant_int(*n, "group_size");
    if (!g || *g < 2) return std::nullopt;
    t.groups = *g > (*sizes)[1] ? 1 : (*sizes)[1] / *g;
  } else {
    const ir::Arg block_size = n->arg("block_size");
    const auto* block = block_size.list();
    if (!block || block->size() != 2 || !(*block)[0].i() || !(*block)[1].i() || *(*block)[0].i() != 1 ||
        *(*block)[1].i() < 2)
      return std::nullopt;
    t.groups = (*sizes)[1] / *(*block)[1].i();
  }
  const auto scales = sizes_of(t.scales);
  if (!scales) return std::nullopt;
  int64_t count = 1;
  for (int64_t s : *scales) count *= s;
  if (count != (*sizes)[0] * t.groups) return std::nullopt;
  const auto lo = constant_int(*n, "quant_min"), hi = constant_int(*n, "quant_max");
  const bool is_signed = t.elements->tensor()->dtype == DType::i8;
  t.lo = lo.value_or(is_signed ? -128 : 0);
  t.hi = hi.value_or(is_signed ? 127 : 255);
  t.wraps = !affine && t.zero_points && size_of(t.zero_points->tensor()->dtype) < 4;
  return t;
}

// The elements with `bias` added, in `per_byte` bit fields: the first of four in the low bits, of two in the high ones.
ir::Tensor packed(const ir::Tensor& t, int per_byte) {
  const int64_t rows = t.sizes[0], width = t.sizes[1] / per_byte;
  const int bias = per_byte == 2 ? 8 : 2;
  const ir::Tensor dense = t.contiguous();
  const auto* x = reinterpret_cast<const int8_t*>(dense.data);
  ir::Tensor out = ir::Tensor::empty(DType::u8, {rows, width});
  auto* to = reinterpret_cast<uint8_t*>(out.mutable_data());
  for (int64_t k = 0; k < rows * width; ++k) {
    unsigned byte = 0;
    for (int j = 0; j < per_byte; ++j) {
      const auto v = static_cast<unsigned>(x[k * per_byte + j] + bias);
      byte |= v << (per_byte == 2 ? 4 * (1 - j) : 2 * j);
    }
    to[k] = static_cast<uint8_t>(byte);
  }
  return out;
}
// 8, or how few bits hold the elements of a constant that nothing else reads.
int bits_of(const Table& t) {
  const Value* v = t.elements;
  if (!v->is_constant() || v->tensor()->dtype != DType::i8 || v->users.size() != 1 || t.node->graph().is_output(v) ||
      !only_user(t.node->result()))
    return 8;
  const ir::Tensor dense = v->data->contiguous();
  const std::span<const int8_t> x(reinterpret_cast<const int8_t*>(dense.data), static_cast<size_t>(dense.numel()));
  const auto within = [&](int64_t lo, int64_t hi, int64_t per_byte) {
    return t.lo >= lo && t.hi <= hi && dense.sizes[1] % per_byte == 0 &&
           std::all_of(x.begin(), x.end(), [&](int8_t e) { return e >= lo && e <= hi; });
  };
  return within(-2, 1, 4) ? 2 : within(-8, 7, 2) ? 4 : 8;
}

Match rewrite(Node& n, Rewriter& rw) {
  Value *weight = n.arg("weight").value(), *indices = n.arg("indices").value();
  if (Node* d = producer(weight, "quantized_decomposed.dequantize_per_tensor")) {
    // What stands for an index outside of the table, 0, then is the same on both sides.
    const auto scale = ops::constant_number(*d, "scale");
    if (!scale || !std::isfinite(*scale) || constant_int(*d, "zero_point") != 0) return no_match("a zero point");
    rw.matched(d);
    std::vector<ir::Arg> args = d->args();
    args[0] = rw("aten.embedding", {d->arg("input"), indices});
    return rw.replace(rw("quantized_decomposed.dequantize_per_tensor", std::move(args)));
  }
  const auto t = table_of(weight);
  if (!t) return no_match();
  const DType dtype = t->elements->tensor()->dtype, scale = t->scales->tensor()->dtype,
              out = n.result()->tensor()->dtype;
  if (dtype != DType::i8 && dtype != DType::u8) return no_match("the table is not of bytes");
  if (scale != DType::f32 && scale != DType::f16) return no_match("the scales are neither f32 nor f16");
  // Zero points become numbers of the scales' dtype, which holds the difference exactly where they are bytes' own.
  Value* zeros = nullptr;
  if (t->zero_points) {
    if (!t->zero_points->is_constant()) return no_match("the zero points are computed");
    const std::vector<double> z = ops::to_doubles(*t->zero_points->data);
    if (std::any_of(z.begin(), z.end(), [](double v) { return v != 0; })) {
      if (t->wraps) return no_match("the difference may wrap");
      if (std::any_of(z.begin(), z.end(), [](double v) { return !(std::fabs(v) <= 255) || v != std::trunc(v); }))
        return no_match("zero points outside of the bytes");
      ir::Tensor made = ir::Tensor::empty(scale, t->zero_points->data->sizes);
      ops::store_block(scale, made.mutable_data(), 0, made.numel(), z.data());
      zeros = rw.constant(std::move(made), t->zero_points->name);
    } else if (out == DType::bf16 && t->node->is("torchao.dequantize_affine") && dtype == DType::u8) {
      return no_match("bf16 does not hold every byte");
    }
  }
  if (zeros && t->node->is("torchao.dequantize_affine") && out == DType::bf16)
    return no_match("the difference is taken in bf16");
  rw.matched(t->node);
  const int64_t rows = t->elements->data ? t->elements->data->sizes[0] : (*sizes_of(t->elements))[0];
  const std::vector<int64_t> shape = t->groups > 1 ? std::vector<int64_t>{rows, t->groups} : std::vector<int64_t>{rows};
  const auto shaped = [&](Value* v) -> Value* { return v && sizes_of(v) != shape ? rw.view(v, shape) : v; };
  if (indices->tensor()->dtype != DType::i64) indices = rw("aten._to_copy", {indices, DType::i64});
  const int bits = bits_of(*t);
  Value* elements = bits == 8 ? t->elements : rw.constant(packed(*t->elements->data, 8 / bits), t->elements->name);
  std::string op = std::string(kSpace) + (bits == 8   ? "embedding_byte"
                                          : bits == 4 ? "embedding_4bit"
                                                      : "embedding_2bit");
  const int64_t lo = bits == 8 ? t->lo : -(1 << (bits - 1)), hi = bits == 8 ? t->hi : (1 << (bits - 1)) - 1;
  std::vector<ir::Arg> args = {elements, shaped(t->scales), zeros ? ir::Arg(shaped(zeros)) : ir::Arg(), lo, hi,
                               indices};
  if (out != scale || bits < 8) {
    op += ".dtype";
    args.emplace_back(out);
  }
  return rw.replace(rw(op, std::move(args)));
}

}  // namespace
PassDef define_quantized_rows() {
  return {.name = "quantized-rows",
          .roots = {"aten.embedding"},
          .rewrite = rewrite,
          .agreement = Agreement::kBitExact,
          .summary = "embedding(dequantize(w), i) -> embedding_byte(w, ..., i)"};
}
}  // namespace edgewright::passes
