// src/ops/quantize_affine.cc - torchao's quantization by blocks: a scale and zero point for every block of block_size[d] elements
// along each dim d, stored in row-major order of the blocks. quantize_affine, dequantize_affine, choose_qparams_affine.
// Depends on ops/choosing.h, ops/plain_blocks.h.
#include "ops/choosing.h"
#include "ops/dense.h"
#include "ops/plain_blocks.h"

namespace edgewright::ops {
namespace {

// [affine.1] As many block sizes as dims; each divides its dim.
std::vector<int64_t> block_sizes(const Call& c) {
  std::vector<int64_t> block = c.ints("block_size");
  const TensorType& x = c.tensor("input");
  if (block.size() != x.rank()) {
    c.error(fmt::format("[affine.1] {} block sizes for {} dims", block.size(), x.rank()));
    block.assign(x.rank(), 1);
  }
  for (size_t d = 0; d < block.size(); ++d) {
    const auto n = x.shape[d].maybe();
    if (block[d] < 1 || (n && block[d] != *n && *n % block[d] != 0))
      c.error(fmt::format("[affine.1] blocks of {} in dim {} of {}", block[d], d, ir::str(Type(x))));
    block[d] = std::max<int64_t>(block[d], 1);
  }
  return block;
}
Dim block_count(const Dim& n, int64_t block) { return n == Dim(block) ? Dim(1) : floordiv(n, Dim(block)); }
// [affine.2] A scale and zero point for every block.
void check_params(const Call& c) {
  const std::vector<int64_t> block = block_sizes(c);
  Dim count(1);
  for (size_t d = 0; d < block.size(); ++d) count = count * block_count(c.tensor("input").shape[d], block[d]);
  for (std::string_view p : {"scale", "zero_point"})
    if (c.has(p) && differ(ir::numel(c.tensor(p).shape), count))
      c.error(fmt::format("[affine.2] {} is {}, there are {} blocks", p, ir::str(Type(c.tensor(p))), count.str()));
}
ParamBlocks blocks(const Call& c) {
  return ParamBlocks::blocks(ir::static_sizes(c.tensor("input").shape), block_sizes(c));
}
// A bound, or the end of the dtype's range.
QuantParam bound(const Call& c, std::string_view param, int64_t otherwise) {
  QuantParam p = QuantParam::of(c, param);
  if (p.is_none) p.number = Scalar{ir::ScalarKind::kInt, otherwise, static_cast<double>(otherwise)};
  p.is_none = false;
  return p;
}
std::pair<double, double> bounds(const Call& c, DType t) {
  const auto range = quantized_range(t).value_or(std::pair<int64_t, int64_t>{0, 1});
  return {bound(c, "quant_min", range.first).number.f, bound(c, "quant_max", range.second).number.f};
}
// [affine.3] The bounds lie in the dtype's range.
void check_bounds(const Call& c, DType t) {
  const auto range = quantized_range(t);
  if (!range || t == DType::u16) return c.error(fmt::format("[quantize.2] {} holds no quantized values here", name(t)));
  const auto [lo, hi] = bounds(c, t);
  if (lo < static_cast<double>(range->first) || hi > static_cast<double>(range->second))
    c.error(fmt::format("[affine.3] quant_min {} and quant_max {} leave the range of {}", lo, hi, name(t)));
}

Result<Types> infer_quantize(const Call& c) {
  const DType t = c.dtype("output_dtype").value_or(DType::i8);
  check_quantizable(c, "input");
  check_bounds(c, t);
  if (!c.has("zero_point")) c.error("[affine.4] zero_point is None");
  check_params(c);
  return Types{TensorType{t, c.tensor("input").shape}};
}
Quantizing quantize(const Call& c) {
  const DType t = c.dtype("output_dtype").value_or(DType::i8);
  const auto range = quantized_range(t).value_or(std::pair<int64_t, int64_t>{0, 1});
  Quantizing q{.blocks = blocks(c),
               .scale = QuantParam::of(c, "scale"),
               .zero_point = QuantParam::of(c, "zero_point"),
               .lo = bound(c, "quant_min", range.first),
               .hi = bound(c, "quant_max", range.second),
               .out = t};
  promote_steps(c, q, c.tensor("input").dtype, "scale", "zero_point");
  return q;
}

Result<Types> infer_dequantize(const Call& c) {
  check_quantized_input(c, "input", "input_dtype");
  check_bounds(c, c.tensor("input").dtype);
  const DType out = c.dtype("output_dtype").value_or(DType::f32);
  if (!is_float(out) || out == DType::f64) c.error(fmt::format("[dequantize.2] output_dtype is {}", name(out)));
  check_params(c);
  return Types{TensorType{out, c.tensor("input").shape}};
}
// The difference is taken in the result's dtype, after both sides have been converted to it.
Dequantizing dequantize(const Call& c) {
  const DType out = c.dtype("output_dtype").value_or(DType::f32);
  const DType scale = c.tensor("scale").dtype;
  if (!is_float(scale)) c.error(fmt::format("[quantize.6] scale is {}", name(scale)));
  return {.blocks = blocks(c),
          .scale = QuantParam::of(c, "scale"),
          .zero_point = QuantParam::of(c, "zero_point"),
          .difference = out,
          .product = promote(out, scale).value_or(out),
          .out = out};
}

// Dims that are one block fall away unless keepdim; a dim in blocks of 1 stays, also of size 1. Where nothing is reduced, amin
// and amax reduce everything.
std::vector<int64_t> chosen_blocks(const Call& c) {
  std::vector<int64_t> block = block_sizes(c);
  if (std::all_of(block.begin(), block.end(), [](int64_t b) { return b == 1; })) {
    const Shape& s = c.tensor("input").shape;
    for (size_t d = 0; d < s.size(); ++d) {
      if (!s[d].maybe()) c.error("[affine.1] blocks of 1 in a dim of unknown size");
      block[d] = std::max<int64_t>(s[d].maybe().value_or(1), 1);
    }
  }
  return block;
}
// [affine.5] mapping_type is SYMMETRIC, SYMMETRIC_NO_CLIPPING_ERR or ASYMMETRIC.
Result<Types> infer_choose(const Call& c) {
  if (!c.has("input")) return fail(Code::kUnsupported, "{}: [affine.6] input is None", c.name());
  check_quantizable(c, "input");
  const std::string mapping = c.str("mapping_type");
  if (mapping != "SYMMETRIC" && mapping != "SYMMETRIC_NO_CLIPPING_ERR" && mapping != "ASYMMETRIC")
    c.error(fmt::format("[affine.5] mapping_type {}", mapping));
  check_bounds(c, c.dtype("target_dtype").value_or(DType::i8));
  const TensorType& x = c.tensor("input");
  const std::vector<int64_t> block = chosen_blocks(c), given = block_sizes(c);
  Shape s;
  for (size_t d = 0; d < block.size(); ++d) {
    const Dim count = block_count(x.shape[d], block[d]);
    if (c.flag("keepdim") || (block[d] == 1 && given == block) || !(x.shape[d] == Dim(block[d]))) s.push_back(count);
  }
  const DType scale = c.dtype("scale_dtype").value_or(x.dtype);
  const DType zero = c.dtype("zero_point_dtype").value_or(mapping == "ASYMMETRIC" ? DType::i32 : x.dtype);
  if (!is_float(scale) || !is_number(zero))
    c.error(fmt::format("[affine.7] scale_dtype {}, zero_point_dtype {}", name(scale), name(zero)));
  return Types{TensorType{scale, s}, TensorType{zero, s}};
}
// In the input's dtype throughout.
Choosing choose(const Call& c) {
  const DType t = c.tensor("input").dtype;
  const auto [qmin, qmax] = bounds(c, c.dtype("target_dtype").value_or(DType::i8));
  const std::string mapping = c.str("mapping_type");
  const DType scale_dtype = c.dtype("scale_dtype").value_or(t);
  const DType zero_dtype = c.dtype("zero_point_dtype").value_or(mapping == "ASYMMETRIC" ? DType::i32 : t);
  const double smallest_normal = t == DType::f16 ? 0x1p-14 : 0x1p-126;
  const double eps = cast_f(t, c.has("eps") ? c.f("eps") : smallest_normal);
  const auto number = [](double v) { return static_cast<double>(static_cast<float>(v)); };
  const bool asymmetric = mapping == "ASYMMETRIC", clips = mapping == "SYMMETRIC";
  const auto choose = [=, qmin = qmin, qmax = qmax](double lo, double hi) -> Choosing::Chosen {
    lo = num::minimum(lo, 0.0);
    hi = num::maximum(hi, 0.0);
    double scale, zero;
    if (asymmetric) {
      scale = arithmetic(t, arithmetic(t, hi - lo) / number(qmax - qmin));
    } else if (clips) {
      scale = arithmetic(t, num::maximum(-lo, hi) / number((qmax - qmin) / 2));
    } else {
      const double low = arithmetic(t, lo / number(qmin)), high = arithmetic(t, hi / number(qmax));
      scale = low > high ? low : high;
    }
    scale = num::maximum(scale, eps);
    if (asymmetric) {
      zero = arithmetic(t, qmin - std::nearbyint(arithmetic(t, lo / scale)));
      if (zero == zero) zero = std::min(std::max(zero, cast_f(t, qmin)), cast_f(t, qmax));
    } else {
      zero = cast_f(t, std::trunc((qmax + qmin + 1) / 2));
    }
    zero = is_float(zero_dtype) ? cast_f(zero_dtype, zero) : static_cast<double>(cast_to_quantized(zero_dtype, zero));
    return {cast_f(scale_dtype, scale), zero};
  };
  return {ParamBlocks::blocks(ir::static_sizes(c.tensor("input").shape), chosen_blocks(c)), choose, 2 / (qmax - qmin)};
}

// ---- in plain ops: what is left of these once XNNPACK has taken what it can ----

Result<std::vector<ir::Value*>> plain_quantize(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const auto [lo, hi] = bounds(c, n.result()->tensor()->dtype);
  return plain_quantizing(n, b, block_sizes(c), {.scale = "scale", .zero_point = "zero_point", .lo = lo, .hi = hi});
}
Result<std::vector<ir::Value*>> plain_dequantize(const ir::Node& n, Builder& b) {
  return plain_dequantizing(n, b, block_sizes(Call::of(n)),
                            {.scale = "scale", .zero_point = "zero_point", .in_result = true});
}
Result<std::vector<ir::Value*>> plain_choose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const std::vector<int64_t> given = block_sizes(c);
  PlainBlocks p(n, b, chosen_blocks(c), std::all_of(given.begin(), given.end(), [](int64_t k) { return k == 1; }));
  const bool keepdim = c.flag("keepdim");
  if (c.failed() || !p.ok() || (keepdim && !ir::is_static(n.result()->tensor()->shape)))
    return std::vector<ir::Value*>{};
  const DType t = c.tensor("input").dtype;
  const auto [qmin, qmax] = bounds(c, c.dtype("target_dtype").value_or(DType::i8));
  const std::string mapping = c.str("mapping_type");
  const double eps = cast_f(t, c.has("eps") ? c.f("eps") : t == DType::f16 ? 0x1p-14 : 0x1p-126);
  ir::Value *x = p.input(), *nothing = b.scalar(t, 0);
  const auto extreme = [&](const char* of, const char* with) {
    ir::Value* v = p.reduced().empty() ? x : b(of, {x, ir::Arg::ints(p.reduced())});
    return b(with, {v, nothing});
  };
  ir::Value *lo = extreme("aten.amin", "aten.minimum"), *hi = extreme("aten.amax", "aten.maximum"), *scale, *zero;
  if (mapping == "ASYMMETRIC") {
    scale = b("aten.div.Tensor", {b("aten.sub.Tensor", {hi, lo}), qmax - qmin});
  } else if (mapping == "SYMMETRIC") {
    scale = b("aten.div.Tensor", {b("aten.maximum", {b("aten.neg", {lo}), hi}), (qmax - qmin) / 2});
  } else {
    ir::Value *low = b("aten.div.Tensor", {lo, qmin}), *high = b("aten.div.Tensor", {hi, qmax});
    scale = b("aten.where.self", {b("aten.gt.Tensor", {low, high}), low, high});
  }
  scale = b("aten.clamp", {scale, eps, ir::Arg()});
  const DType zero_dtype = n.result(1)->tensor()->dtype;
  if (mapping == "ASYMMETRIC") {
    zero = b("aten.add.Tensor", {b("aten.neg", {b("aten.round", {b("aten.div.Tensor", {lo, scale})})}), qmin});
    zero = p.cast(b("aten.clamp", {zero, qmin, qmax}), zero_dtype);
  } else {
    zero = p.cast(b("aten.full_like", {scale, std::trunc((qmax + qmin + 1) / 2)}), zero_dtype);
  }
  scale = p.cast(scale, n.result()->tensor()->dtype);
  const auto kept = [&](ir::Value* v) {
    return keepdim ? b("aten.view", {v, ir::Arg::ints(ir::static_sizes(n.result()->tensor()->shape))}) : v;
  };
  return b.done({kept(scale), kept(zero)});
}

}  // namespace

std::vector<OpDef> define_quantize_affine() {
  // The stock runtime has no kernels for these: expand-affine decomposes what is left of them. An output_dtype that is left away is f32.
  return {
      with_decompose(
          quantizing_op("torchao::quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
                        "ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor",
                        infer_quantize, quantize, "torchao::quantize_affine.out"),
          plain_quantize),
      with_decompose(
          dequantizing_op("torchao::dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? "
                          "zero_point, ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, "
                          "ScalarType? output_dtype=None) -> Tensor",
                          infer_dequantize, dequantize, "torchao::dequantize_affine.out"),
          plain_dequantize),
      with_decompose(
          choosing_op("torchao::choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType "
                      "target_dtype, Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? "
                      "scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
                      infer_choose, choose, "torchao::choose_qparams_affine.out"),
          plain_choose)};
}

}  // namespace edgewright::ops
