// src/ops/choose_qparams.cc - scale and zero point for a whole tensor, or for each row of it. Depends on ops/choosing.h.
#include "ops/choosing.h"

namespace edgewright::ops {
namespace {

Shape row_shape(const Call& c) {
  Shape s = c.type(0).shape;
  if (s.empty())
    c.error("[choose_qparams.1] input has no dims");
  else
    s.back() = Dim(1);
  return s;
}
std::vector<int64_t> whole_block(const Call& c) { return ir::static_sizes(c.type(0).shape); }
std::vector<int64_t> row_block(const Call& c) {
  std::vector<int64_t> block(c.type(0).rank(), 1);
  if (!block.empty()) block.back() = std::max<int64_t>(ir::static_sizes(c.type(0).shape).back(), 1);
  return block;
}
double nonnegative(double hi) { return num::maximum(hi, 0.0); }
double nonpositive(double lo) { return num::minimum(lo, 0.0); }

// ---- choose_qparams.tensor ----

// [choose_qparams.2] quant_min <= 0 <= quant_max, quant_min < quant_max. PyTorch raises where an element is NaN; here the scale
// is NaN then.
Result<Types> infer_tensor(const Call& c) {
  check_quantizable(c, "input");
  const DType t = c.dtype("dtype").value_or(DType::i8);
  if (!quantized_range(t)) c.error(fmt::format("[quantize.2] {} holds no quantized values here", name(t)));
  if (!(c.i("quant_min") <= 0 && c.i("quant_max") >= 0 && c.i("quant_min") < c.i("quant_max")))
    c.error(fmt::format("[choose_qparams.2] quant_min {} and quant_max {}", c.i("quant_min"), c.i("quant_max")));
  return Types{TensorType{DType::f64, {Dim(1)}}, TensorType{DType::i64, {Dim(1)}}};
}
// The range is taken in the input's dtype, the rest in f32.
Choosing asymmetric(const Call& c) {
  const DType t = c.type(0).dtype;
  const double qmin = c.f("quant_min"), qmax = c.f("quant_max"), eps = static_cast<float>(c.f("eps"));
  const auto choose = [=](double lo, double hi) -> Choosing::Chosen {
    lo = nonpositive(lo);
    const double range = arithmetic(t, nonnegative(hi) - lo);
    const double scale = num::maximum(arithmetic(t, range / static_cast<double>(static_cast<float>(qmax - qmin))), eps);
    const int64_t shift = cast_to_quantized(DType::i32, std::nearbyint(arithmetic(DType::f32, lo / scale)));
    const auto zero = static_cast<double>(cast_i(DType::i32, wrap_sub(static_cast<int64_t>(qmin), shift)));
    return {scale, std::min(std::max(zero, qmin), qmax)};
  };
  return {ParamBlocks::blocks(whole_block(c), whole_block(c)), choose, 1 / (qmax - qmin)};
}
Choosing symmetric(const Call& c) {
  const DType t = c.type(0).dtype;
  const double qmin = c.f("quant_min"), qmax = c.f("quant_max"), eps = static_cast<float>(c.f("eps"));
  const double zero = c.dtype("dtype") == DType::u8 ? 128 : 0;
  const auto choose = [=](double lo, double hi) -> Choosing::Chosen {
    const double most = num::maximum(-nonpositive(lo), nonnegative(hi));
    return {num::maximum(arithmetic(t, most / static_cast<double>(static_cast<float>((qmax - qmin) / 2))), eps), zero};
  };
  return {ParamBlocks::blocks(whole_block(c), whole_block(c)), choose, 2 / (qmax - qmin)};
}

// ---- per token ----

// The dtypes that the exporter writes; PyTorch's own results are f32 where the input is symmetric.
Result<Types> infer_rows(const Call& c) {
  check_quantizable(c, "input");
  const Shape s = row_shape(c);
  return Types{TensorType{DType::f64, s}, TensorType{DType::i64, s}};
}
Result<Types> infer_symmetric_rows(const Call& c) {
  if (c.dtype("dtype") != DType::i8) c.error("[choose_qparams.3] dtype is not i8");
  return infer_rows(c);
}
// Of the two ends of the range the one whose image is nearer to an end of the ints fixes the zero point.
Choosing asymmetric_rows(const Call& c) {
  const DType t = c.type(0).dtype;
  const auto choose = [t](double lo, double hi) -> Choosing::Chosen {
    constexpr double qmin = -128, qmax = 127;
    lo = nonpositive(lo);
    hi = nonnegative(hi);
    const double eps = cast_f(t, 0x1p-23);
    const double scale = num::maximum(arithmetic(t, arithmetic(t, hi - lo) / (qmax - qmin)), eps);
    const double low = arithmetic(t, lo / scale), high = arithmetic(t, hi / scale);
    const double sum = arithmetic(t, arithmetic(t, qmin + low) + arithmetic(t, qmax + high));
    const double zero = sum > 0 ? arithmetic(t, qmin - low) : arithmetic(t, qmax - high);
    if (zero != zero) return {scale, static_cast<double>(INT64_MIN)};
    return {scale, std::nearbyint(std::min(std::max(zero, qmin), qmax))};
  };
  return {ParamBlocks::blocks(whole_block(c), row_block(c)), choose, 1.0 / 255};
}
Choosing symmetric_rows(const Call& c) {
  const DType t = c.type(0).dtype == DType::f16 ? DType::f32 : c.type(0).dtype;
  const auto choose = [t](double lo, double hi) -> Choosing::Chosen {
    const double most = num::maximum(std::fabs(lo), std::fabs(hi));
    return {arithmetic(t, num::maximum(most, cast_f(t, 1e-5)) / 127), 0};
  };
  return {ParamBlocks::blocks(whole_block(c), row_block(c)), choose, 1.0 / 127};
}

}  // namespace

std::vector<OpDef> define_choose_qparams() {
  return {choosing_op("quantized_decomposed::choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float "
                      "eps, ScalarType dtype) -> (Tensor, Tensor)",
                      infer_tensor, asymmetric, "quantized_decomposed::choose_qparams.Tensor_out"),
          choosing_op("quantized_decomposed::choose_qparams_symmetric.tensor(Tensor input, int quant_min, int "
                      "quant_max, float eps, ScalarType dtype) -> (Tensor, Tensor)",
                      infer_tensor, symmetric, "quantized_decomposed::choose_qparams_symmetric.Tensor_out"),
          choosing_op("quantized_decomposed::choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, "
                      "Tensor)",
                      infer_symmetric_rows, symmetric_rows, "quantized_decomposed::choose_qparams_per_token.out"),
          choosing_op("quantized_decomposed::choose_qparams_per_token_asymmetric(Tensor input, ScalarType dtype) -> "
                      "(Tensor, Tensor)",
                      infer_rows, asymmetric_rows, "quantized_decomposed::choose_qparams_per_token_asymmetric.out"),
          choosing_op("quantized_decomposed::_choose_qparams_per_token_asymmetric_impl(Tensor input, ScalarType "
                      "dtype) -> (Tensor, Tensor)",
                      infer_rows, asymmetric_rows, "quantized_decomposed::choose_qparams_per_token_asymmetric.out")};
}

}  // namespace edgewright::ops
