// src/ops/embedding_byte.cc - rows of a quantized table as floats; also packed, two or four elements to a byte. Each row has
// groups of equal size with a scale and zero point of their own. Depends on ops/quantization.h.
//
// 4 bits: the first of two elements in the high half, 8 added to each. 2 bits: the first of four in the low bits, 2 added.
#include "ops/dense.h"
#include "ops/quantization.h"

namespace edgewright::ops {
namespace {

struct Table {
  int bits = 8;
  bool is_signed = true;
  int64_t rows = 0, width = 0, groups = 1;
  Dequantizing dequantizing;
  int64_t element(int64_t byte, int64_t column) const {
    if (bits == 4) return (column % 2 == 0 ? byte >> 4 & 15 : byte & 15) - 8;
    if (bits == 2) return (byte >> (2 * (column % 4)) & 3) - 2;
    return byte;
  }
  int64_t per_byte() const { return 8 / bits; }
};

// Packed tables without "dtype" give f32 where the exporter runs, and the scales' dtype in eager mode.
DType result_dtype(const Call& c, int bits) {
  const DType scale = c.tensor("weight_scales").dtype;
  if (c.op().schema.index_of("dtype") >= 0) return c.dtype("dtype").value_or(scale);
  return bits < 8 ? DType::f32 : scale;
}
// [embedding_byte.1] weight is a matrix of bytes; u8 where packed. [embedding_byte.2] weight_scales has a row, or an element, for
// each row. [embedding_byte.3] zero points have the scales' dtype and shape. [embedding_byte.4] Groups divide a row.
// [embedding_byte.5] Packed elements have their full range.
Result<Types> infer_types(const Call& c, int bits) {
  const TensorType &w = c.tensor("weight"), &s = c.tensor("weight_scales"), &i = c.tensor("indices");
  const DType out = result_dtype(c, bits);
  if (!is_float(out)) c.error(fmt::format("[dequantize.2] dtype is {}", name(out)));
  TensorType t{out, i.shape};
  if (i.dtype != DType::i64 && i.dtype != DType::i32)
    c.error(fmt::format("[embedding_byte.6] indices are {}", name(i.dtype)));
  if (w.rank() != 2 || (w.dtype != DType::u8 && (w.dtype != DType::i8 || bits < 8))) {
    c.error(fmt::format("[embedding_byte.1] weight is {}", ir::str(Type(w))));
    return Types{t};
  }
  const Dim width = w.shape[1] * Dim(8 / bits);
  t.shape.push_back(width);
  if ((s.rank() != 1 && s.rank() != 2) || !is_float(s.dtype) || s.dtype == DType::f64 || differ(s.shape[0], w.shape[0]))
    c.error(fmt::format("[embedding_byte.2] weight_scales is {}", ir::str(Type(s))));
  if (c.has("weight_zero_points")) {
    const TensorType& z = c.tensor("weight_zero_points");
    if (z.dtype != s.dtype || differ(ir::numel(z.shape), ir::numel(s.shape)))
      c.error(fmt::format("[embedding_byte.3] weight_zero_points is {}", ir::str(Type(z))));
  }
  const auto columns = width.maybe(), groups = s.rank() == 2 ? s.shape[1].maybe() : std::optional<int64_t>(1);
  if (columns && groups && (*groups < 1 || *columns % *groups != 0 || *columns / *groups <= 1))
    c.error(fmt::format("[embedding_byte.4] {} groups in a row of {}", *groups, *columns));
  if (bits < 8 && (c.i("weight_quant_min") != -(1 << (bits - 1)) || c.i("weight_quant_max") != (1 << (bits - 1)) - 1))
    c.error(fmt::format("[embedding_byte.5] {} bits from {} to {}", bits, c.i("weight_quant_min"),
                        c.i("weight_quant_max")));
  return Types{t};
}
Table table_of(const Call& c, int bits) {
  Table t;
  t.bits = bits;
  const std::vector<int64_t> w = ir::static_sizes(c.tensor("weight").shape),
                             s = ir::static_sizes(c.tensor("weight_scales").shape);
  t.rows = w[0];
  t.width = w[1] * t.per_byte();
  t.groups = s.size() == 2 ? s[1] : 1;
  Dequantizing& d = t.dequantizing;
  d.scale = QuantParam::of(c, "weight_scales");
  d.zero_point = QuantParam::of(c, "weight_zero_points");
  d.out = result_dtype(c, bits);
  d.product = c.tensor("weight_scales").dtype;  // floats, so every difference with them is one
  d.difference = d.zero_point.is_none ? DType::i8 : d.product;
  return t;
}

OpDef embedding(std::string schema, int bits, std::string stock) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [bits](const Call& c) { return infer_types(c, bits); };
  d.eval = [bits](const Call& c, size_t) -> Result<Point> {
    return float_point([t = table_of(c, bits), indices = c.operand("indices")](const auto& in, Index at) {
      using R = typename std::decay_t<decltype(in)>::F;
      const int64_t row = in.i(indices, at.first(at.size() - 1)), column = at.back();
      if (row < 0 || row >= t.rows) return R(0.0);  // as in aten.embedding; an error where whole tensors are computed
      const std::array<int64_t, 2> from{row, column / t.per_byte()};
      const Dequantizing& q = t.dequantizing;
      const int64_t x = t.element(in.i(0, from), column), k = row * t.groups + column / (t.width / t.groups);
      const R s = q.scale.get(in, k), z = q.zero_point.is_none ? R(0.0) : q.zero_point.get(in, k);
      return q.element(x, s, z);
    });
  };
  d.whole = [bits](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Table t = table_of(c, bits);
    if (c.failed()) return {};
    const Dequantizing& q = t.dequantizing;
    const ir::Tensor w = in[0].contiguous();
    const std::vector<int64_t> indices = to_ints(in[static_cast<size_t>(c.operand("indices"))]);
    const std::vector<double> scale = q.scale.values(in),
                              zero = q.zero_point.is_none ? std::vector(scale.size(), 0.0) : q.zero_point.values(in);
    std::vector<double> row(static_cast<size_t>(t.width));
    int64_t to = 0;
    for (int64_t i : indices) {
      if (i < 0 || i >= t.rows) return fail(Code::kUsage, "{}: index {} in a table of {} rows", c.name(), i, t.rows);
      for (int64_t column = 0; column < t.width; ++column) {
        const auto k = static_cast<size_t>(i * t.groups + column / (t.width / t.groups));
        const int64_t byte = ir::load_i(w.dtype, w.data, (i * t.width + column) / t.per_byte());
        row[static_cast<size_t>(column)] = q(t.element(byte, column), scale[k], zero[k]);
      }
      store_block(out[0].dtype, out[0].mutable_data(), to, t.width, row.data());
      to += t.width;
    }
    return {};
  };
  d.stock = std::move(stock);
  d.stock_limit = [bits](const ir::Node& n) -> std::string {
    const DType out = n.result()->tensor()->dtype, scale = n.arg("weight_scales").value()->tensor()->dtype;
    const ir::Value* zero = n.arg("weight_zero_points").value();
    if (zero && zero->tensor()->dtype != out)
      return fmt::format("the stock kernel takes {} zero points, these are {}", name(out), name(zero->tensor()->dtype));
    if (n.op().schema.index_of("dtype") < 0 && scale != out)
      return fmt::format("the stock kernel takes {} scales, these are {}", name(out), name(scale));
    if (bits == 8 && n.arg("indices").value()->tensor()->dtype != DType::i64)
      return "the stock kernel takes i64 indices";
    return "";
  };
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_embedding_byte() {
  std::vector<OpDef> ops;
  for (const auto& [bits, name] : {std::pair{8, "embedding_byte"}, {4, "embedding_4bit"}, {2, "embedding_2bit"}}) {
    const std::string full = fmt::format("quantized_decomposed::{}", name);
    const char* params =
        "(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
        "Tensor indices";
    ops.push_back(embedding(full + params + ") -> Tensor", bits, full + ".out"));
    ops.push_back(
        embedding(full + ".dtype" + params + ", *, ScalarType? dtype=None) -> Tensor", bits, full + ".dtype_out"));
  }
  return ops;
}

}  // namespace edgewright::ops
