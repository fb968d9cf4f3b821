// src/ops/tril.cc - one triangle of matrices (tril, triu) and where it lies (tril_indices, triu_indices). Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

// Element (row, col) is in the upper triangle if col - row >= k, in the lower if col - row <= k.
bool inside(bool upper, int64_t row, int64_t col, int64_t k) { return upper ? col - row >= k : col - row <= k; }

// [tril.1] self has at least two dims.
Result<Types> infer_types(const Call& c) {
  if (c.tensor("self").rank() < 2)
    c.error(fmt::format("[tril.1] self has {} dims, fewer than 2", c.tensor("self").rank()));
  return Types{c.tensor("self")};
}
auto eval(bool upper) {
  return [upper](const Call& c, size_t) -> Result<Point> {
    return move_point([upper, k = c.i("diagonal")](Index at, int64_t* in) {
      if (!inside(upper, at[at.size() - 2], at[at.size() - 1], k)) return kFill;
      std::copy(at.begin(), at.end(), in);
      return 0;
    });
  };
}
// A choice by a constant mask.
auto as_where(bool upper) {
  return [upper](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const Shape& s = shape_of(self_of(n));
    const DType t = self_of(n)->tensor()->dtype;
    if (!s[s.size() - 2].is_constant() || !s[s.size() - 1].is_constant() || !is_number(t))
      return std::vector<ir::Value*>{};
    const int64_t rows = s[s.size() - 2].value(), cols = s[s.size() - 1].value(), k = Call::of(n).i("diagonal");
    ir::Tensor mask = ir::Tensor::empty(DType::b8, {rows, cols});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        ir::store_i(DType::b8, mask.mutable_data(), i * cols + j, inside(upper, i, j, k));
    ir::Tensor zero = ir::Tensor::empty(t, {});
    std::memset(zero.mutable_data(), 0, size_of(t));
    return all(b, {b("aten.where.self",
                     {b.constant(std::move(mask), "triangle"), self_of(n), b.constant(std::move(zero), "zero")})});
  };
}

// --- [2, count] row and column indices, row by row ---
constexpr int64_t kMaxSide = 1 << 15;
std::vector<int64_t> places(const Call& c, bool upper) {
  const int64_t rows = c.i("row"), cols = c.i("col"), k = c.i("offset");
  if (rows < 0 || cols < 0 || rows > kMaxSide || cols > kMaxSide) {
    c.error(fmt::format("[triu_indices.1] a matrix of {} by {}", rows, cols));
    return {};
  }
  std::vector<int64_t> r, col;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      if (inside(upper, i, j, k)) r.push_back(i), col.push_back(j);
  r.insert(r.end(), col.begin(), col.end());
  return r;
}
// [triu_indices.2] dtype is i32 or i64.
DType index_dtype(const Call& c) {
  const DType t = c.dtype("dtype").value_or(DType::i64);
  if (t != DType::i64 && t != DType::i32) c.error(fmt::format("[triu_indices.2] indices as {}", name(t)));
  return t;
}
OpDef indices(const char* schema, bool upper) {
  OpDef d;
  d.schema_text = schema;
  d.infer = [upper](const Call& c) -> Result<Types> {
    return Types{TensorType{index_dtype(c), {2, static_cast<int64_t>(places(c, upper).size() / 2)}}};
  };
  d.whole = [upper](const Call& c, std::span<const ir::Tensor>, std::span<ir::Tensor> out) -> Result<void> {
    const auto p = places(c, upper);
    store_block(out[0].dtype, out[0].mutable_data(), 0, static_cast<int64_t>(p.size()), p.data());
    return {};
  };
  // A constant, once it is known.
  d.decompose = [upper](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const Call c = Call::of(n);
    const auto p = places(c, upper);
    ir::Tensor t = ir::Tensor::empty(index_dtype(c), {2, static_cast<int64_t>(p.size() / 2)});
    store_block(t.dtype, t.mutable_data(), 0, static_cast<int64_t>(p.size()), p.data());
    return all(b, {b.constant(std::move(t), "triangle")});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_tril() {
  OpDef lower, upper;
  lower.schema_text = "aten::tril(Tensor self, SymInt diagonal=0) -> Tensor";
  upper.schema_text = "aten::triu(Tensor self, SymInt diagonal=0) -> Tensor";
  lower.infer = upper.infer = infer_types;
  lower.eval = eval(false);
  upper.eval = eval(true);
  lower.stock = "aten::tril.out";
  upper.decompose = as_where(true);
  return {lower, upper,
          indices("aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, "
                  "Device? device=None, bool? pin_memory=None) -> Tensor",
                  false),
          indices("aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=None, Layout? layout=None, "
                  "Device? device=None, bool? pin_memory=None) -> Tensor",
                  true)};
}

}  // namespace edgewright::ops
