// src/ops/pick_rules.h - results whose elements are elements of operands, chosen by position or by the values of int operands.
// Depends on ops/{op_def,view_rules}.h.
#pragma once

#include <cstring>

#include "ops/view_rules.h"

namespace edgewright::ops {

// What a pick answers instead of an operand.
inline constexpr int kFill = -1;     // the fill value
inline constexpr int kOutside = -2;  // an index that lies outside: an error where whole tensors are computed

// The int operands of a call, for picks over whole tensors.
class IntOperands {
 public:
  explicit IntOperands(std::span<const ir::Tensor> in) : in_(in) {}
  int64_t i(int operand, Index at) const {
    const ir::Tensor& t = in_[static_cast<size_t>(operand)];
    return ir::load_i(t.dtype, t.data, t.offset_of(at));
  }

 private:
  std::span<const ir::Tensor> in_;
};

inline std::vector<size_t> ranks_of(const Call& c) {
  std::vector<size_t> r;
  for (size_t k = 0; k < c.num_operands(); ++k) r.push_back(c.type(static_cast<int>(k)).rank());
  return r;
}

// `pick(ints, at, x) -> operand`: writes the operand's index to x; ints.i(operand, index) reads int operands.
// The result's dtype is `t`; elements of operands of other dtypes are converted.
template <class Pick>
Result<Point> picked_point(const Call& c, DType t, Pick pick, Scalar fill = {}) {
  if (is_float(t)) {
    return float_point([pick, fill, ranks = ranks_of(c)](const auto& in, Index at) ->
                       typename std::decay_t<decltype(in)>::F {
                         IndexBuffer x{};
                         const int k = pick(in, at, x.data());
                         if (k < 0) return fill.f;
                         return in.f(k, Index{x.data(), ranks[static_cast<size_t>(k)]});
                       });
  }
  if (is_int(t) || is_bool(t)) {
    return int_point([pick, fill, ranks = ranks_of(c)](const In& in, Index at) -> int64_t {
      IndexBuffer x{};
      const int k = pick(in, at, x.data());
      return k < 0 ? fill.i : in.i(k, Index{x.data(), ranks[static_cast<size_t>(k)]});
    });
  }
  return fail(Code::kUnsupported, "{}: no element-wise meaning for {}", c.name(), name(t));
}

// The whole result, where every operand that is picked from has the result's dtype. `out` is allocated.
template <class Pick, class Ints>
Result<void> picked_whole(const Call& c, std::span<const ir::Tensor> in, ir::Tensor& out, const Ints& ints, Pick pick) {
  const size_t width = size_of(out.dtype);
  std::byte* to = out.mutable_data();
  std::vector<int64_t> at(out.sizes.size(), 0);
  const int64_t n = out.numel();
  for (int64_t done = 0; done < n; ++done, to += width) {
    IndexBuffer x{};
    const int k = pick(ints, Index{at}, x.data());
    if (k == kOutside) return fail(Code::kUsage, "{}: an index lies outside its dim", c.name());
    if (k == kFill) {
      std::memset(to, 0, width);
    } else {
      const ir::Tensor& from = in[static_cast<size_t>(k)];
      std::memcpy(to, from.data + from.offset_of(Index{x.data(), from.sizes.size()}) * static_cast<int64_t>(width),
                  width);
    }
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < out.sizes[d]) break;
      at[d] = 0;
    }
  }
  return {};
}

// Data movement by position: a move point where all operands have the result's dtype, a converting one elsewhere.
template <class Move>
Result<Point> moved_point(const Call& c, DType t, Move move, Scalar fill = {}) {
  bool same = true;
  for (size_t k = 0; k < c.num_operands(); ++k) same &= c.type(static_cast<int>(k)).dtype == t;
  if (same) return move_point(move, fill);
  return picked_point(c, t, [move](const auto&, Index at, int64_t* x) { return move(at, x); }, fill);
}

// A number as an element of dtype `t` holds it.
inline Scalar as_element(DType t, Scalar s) {
  if (is_bool(t)) return {ir::ScalarKind::kBool, s.f != 0, s.f != 0 ? 1.0 : 0.0};
  if (is_int(t) && s.is_float())
    return {ir::ScalarKind::kInt, s.f == s.f && std::fabs(s.f) < 0x1p63 ? static_cast<int64_t>(s.f) : INT64_MIN, s.f};
  return s;
}

// `r` in [0, n) with negatives counted from the end where `wrap`; -1 where it lies outside.
inline int64_t checked_index(int64_t r, int64_t n, bool wrap) {
  if (wrap && r < 0) r += n;
  return r < 0 || r >= n ? -1 : r;
}

// "[op.n]" that the operand holds indices: i32 or i64 (or any int where `any_int`).
inline void check_index_dtype(const Call& c, std::string_view param, const char* label) {
  const DType t = c.tensor(param).dtype;
  if (t != DType::i64 && t != DType::i32)
    c.error(fmt::format("{} '{}' holds {}, not i32 or i64", label, param, name(t)));
}

// An OpDef from a pick made of a concrete call: `make(c) -> pick`.
template <class Make>
OpDef picking(const char* schema, Result<Types> (*infer)(const Call&), Make make, const char* stock) {
  OpDef d;
  d.schema_text = schema;
  d.infer = infer;
  d.eval = [make](const Call& c, size_t) { return picked_point(c, c.type(0).dtype, make(c)); };
  d.whole = [make](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
    return picked_whole(c, in, out[0], IntOperands(in), make(c));
  };
  d.stock = stock;
  return d;
}

}  // namespace edgewright::ops
