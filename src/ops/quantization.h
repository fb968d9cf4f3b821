// src/ops/quantization.h - what quantize and dequantize ops share: PyTorch's arithmetic step by step, and which scale and zero
// point belong to which element. Depends on ops/families.h.
//
// The q/dq ops of `quantized_decomposed` and `torchao` are compositions of PyTorch's elementwise ops, each of which rounds to
// its own dtype. One step earlier or later moves an integer by one; so each step is rounded here as there.
#pragma once

#include "ops/families.h"

namespace edgewright::ops {

// A result of one arithmetic op in dtype `t`, given exactly or in double: half types are computed in f32, then rounded.
inline double arithmetic(DType t, double v) {
  if (t == DType::f64) return v;
  if (t == DType::f32) return static_cast<float>(v);
  return cast_f(t, static_cast<double>(static_cast<float>(v)));
}
// A float cast to an int dtype: truncated. What does not fit into 32 bits (NaN, infinities, 2^31 and beyond) becomes INT32_MIN
// for dtypes of up to 32 bits, so 0 for the narrow ones.
int64_t cast_to_quantized(DType t, double v);
// The smallest and largest value of a dtype that holds quantized values; nullopt for any other dtype.
std::optional<std::pair<int64_t, int64_t>> quantized_range(DType t);

// Which parameter (by its row-major place) an element of a tensor of given sizes has: dim d in blocks of block[d], the
// parameter's place growing by stride[d] per block.
struct ParamBlocks {
  std::vector<int64_t> sizes, block, stride;

  // One parameter for all; one per index of a dim; parameters that broadcast against the tensor; one per block (block[d] must
  // divide sizes[d]).
  static ParamBlocks one(std::vector<int64_t> sizes);
  static ParamBlocks along(std::vector<int64_t> sizes, int64_t axis, int64_t count);
  static ParamBlocks broadcast(std::vector<int64_t> sizes, std::span<const int64_t> params);
  static ParamBlocks blocks(std::vector<int64_t> sizes, std::span<const int64_t> block);

  int64_t operator()(Index at) const {
    int64_t k = 0;
    for (size_t d = 0; d < at.size(); ++d) k += at[d] / block[d] * stride[d];
    return k;
  }
  // Calls f(first element, count, first parameter, step between parameters: 0 or another) for consecutive runs of elements that
  // together are the whole tensor, as long as possible.
  template <class F>
  void runs(F f) const;
};

// A scale, zero point or bound: a tensor operand, or a number.
struct QuantParam {
  int operand = -1;
  Scalar number;
  std::vector<int64_t> sizes;  // of the operand
  bool is_int = false;         // read by i()

  static QuantParam of(const Call& c, std::string_view param);
  bool is_none = false;
  // One that stands for all, as an operand of arithmetic in `t`: PyTorch takes it out as a Python number, which the kernel rounds.
  QuantParam as_scalar_for(DType t) && {
    is_scalar_for = t;
    return std::move(*this);
  }
  std::optional<DType> is_scalar_for;

  Index index(int64_t place, IndexBuffer& b) const {
    for (size_t d = sizes.size(); d-- > 0;) {
      b[d] = place % sizes[d];
      place /= sizes[d];
    }
    return {b.data(), sizes.size()};
  }
  // As f(): double or Bounded.
  template <class I>
  auto get(const I& in, int64_t place) const -> typename I::F {
    if (operand < 0) return rounded(number.f);
    IndexBuffer b;
    if (is_int) return rounded(static_cast<double>(in.i(operand, index(place, b))));
    typename I::F v = in.f(operand, index(place, b));
    if constexpr (std::is_same_v<typename I::F, Bounded>)
      v.v = rounded(v.v);
    else
      v = rounded(v);
    return v;
  }
  double rounded(double v) const {
    return is_scalar_for && *is_scalar_for != DType::f64 ? arithmetic(DType::f32, v) : v;
  }
  // All of them.
  std::vector<double> values(std::span<const ir::Tensor> in) const;
};

// clamp(round(x * (1 / scale)) + zero_point, lo, hi), cast to an int; or the zero point added before rounding.
// Each step's result is rounded to its dtype. NaN passes the clamp and is cast.
struct Quantizing {
  ParamBlocks blocks;
  QuantParam scale, zero_point, lo, hi;
  DType inverse = DType::f32, product = DType::f32, sum = DType::f32;
  bool adds_before_rounding = false;
  DType out = DType::i8;

  int64_t operator()(double x, double s, double z, double low, double high) const;
};
Point quantizing_point(Quantizing q, int input = 0);
void quantizing_whole(const Quantizing& q, std::span<const ir::Tensor> in, ir::Tensor& out);

// (x - zero_point) * scale: the difference in one dtype (an int's wraps), the product in another.
struct Dequantizing {
  ParamBlocks blocks;
  QuantParam scale, zero_point;  // zero_point may be none
  DType difference = DType::f32, product = DType::f32;
  DType out = DType::f32;

  double operator()(int64_t x, double s, double z) const;
  // The same with the error that scale and zero point bring along; the integer is exact.
  double element(int64_t x, double s, double z) const { return (*this)(x, s, z); }
  Bounded element(int64_t x, Bounded s, Bounded z) const;
};
Point dequantizing_point(Dequantizing d, int input = 0);
void dequantizing_whole(const Dequantizing& d, std::span<const ir::Tensor> in, ir::Tensor& out);

// Definitions from a function that resolves the call (concrete sizes; errors are recorded in the call).
OpDef quantizing_op(std::string schema, std::function<Result<Types>(const Call&)> infer,
                    std::function<Quantizing(const Call&)> resolve, std::string stock = "");
OpDef dequantizing_op(std::string schema, std::function<Result<Types>(const Call&)> infer,
                      std::function<Dequantizing(const Call&)> resolve, std::string stock = "");

// The parameters of an op with `axis`, and one for each index of it ("scales").
ParamBlocks per_channel_blocks(const Call& c);
// The dtypes of the steps where scales and zero points are tensors: PyTorch's promotion, `input` being the dtype that the input
// is converted to first.
void promote_steps(const Call& c, Quantizing& q, DType input, std::string_view scales, std::string_view zero_points);
void promote_steps(const Call& c, Dequantizing& d, std::string_view scales, std::string_view zero_points);
// Of ops with "scales" and "zero_points" that are tensors: "quant_min", "quant_max" and "dtype" say the rest; `computed` is the
// dtype in which the input is multiplied.
Quantizing quantizing_by_lists(const Call& c, ParamBlocks blocks, DType computed, bool adds_before_rounding);
// `out_dtype` names the parameter with the result's dtype, f32 where it is None.
Dequantizing dequantizing_by_lists(const Call& c, ParamBlocks blocks, std::string_view out_dtype);
// The result type of a dequantize of operand 0; records [quantize.2] and [dequantize.2].
Types dequantized_type(const Call& c, std::string_view out_dtype);

// Why the stock kernel cannot run the node: it ends the process where dtypes are not those that it was written for.
// For nodes with quantize's, dequantize's and choose_qparams' parameters.
std::string stock_limit_of_quantize(const ir::Node& n);
std::string stock_limit_of_dequantize(const ir::Node& n);
std::string stock_limit_of_choosing(const ir::Node& n);

// ---- constraints, recorded in the call ----

// [quantize.1] the dtype is f32, f16 or bf16.
void check_quantizable(const Call& c, std::string_view param);
// [quantize.2] the dtype can hold quantized values; [quantize.3] quant_min and quant_max lie in its range. For ops whose bounds
// are constant ints.
void check_quantized(const Call& c, DType t);
// [dequantize.1] the input has the dtype that `dtype` names.
void check_quantized_input(const Call& c, std::string_view param, std::string_view dtype);
// [quantize.4] one element each.
void check_one_element(const Call& c, std::initializer_list<std::string_view> params);
// [quantize.5] `axis` is a dim, and there are as many scales and zero points (a vector each) as it is long, or one.
void check_per_channel(const Call& c);

// ---- implementation ----

template <class F>
void ParamBlocks::runs(F f) const {
  int64_t total = 1;
  for (int64_t n : sizes) total *= n;
  if (total == 0) return;
  // Trailing dims within which the parameter stays the same are one run; if there is none, the last dim's elements have
  // parameters `step` apart, or come in blocks.
  size_t outer = sizes.size();
  int64_t run = 1, inner_blocks = 1, step = 0;
  const auto is_constant = [&](size_t d) { return stride[d] == 0 || block[d] >= sizes[d]; };
  while (outer > 0 && is_constant(outer - 1)) run *= sizes[--outer];
  if (outer > 0) {  // this dim varies
    const size_t d = --outer;
    if (run == 1 && block[d] == 1) {
      run = sizes[d];
      step = stride[d];
    } else {
      run *= block[d];
      inner_blocks = sizes[d] / block[d];
      // Blocks of elements that vary at step 1 do not occur: block > 1, or a constant tail.
    }
    const int64_t between = inner_blocks > 1 ? stride[d] : 0;
    std::vector<int64_t> at(outer, 0);
    int64_t first = 0;
    do {
      int64_t place = 0;
      for (size_t k = 0; k < outer; ++k) place += at[k] / block[k] * stride[k];
      for (int64_t b = 0; b < inner_blocks; ++b, first += run) f(first, run, place + b * between, step);
    } while (next_index(at, {sizes.data(), outer}));
    return;
  }
  f(int64_t{0}, run, int64_t{0}, int64_t{0});
}

}  // namespace edgewright::ops
