// src/runtime/kernels/common.h - what kernels share: element access, dtype dispatch, broadcasting loops. Depends on
// runtime/kernel.h, strided.h, pthreadpool. Private to src/runtime/kernels.
//
// Element-wise kernels compute in one of three types, whatever the tensors hold: float (f32, f16, bf16), double (f64) and
// int64_t (ints and bool), in blocks that are converted on the way in and out. That is what PyTorch computes too: half types
// in float, and integer results are equal modulo 2^n.
#pragma once

#include <pthreadpool.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/checked.h"
#include "runtime/kernel.h"
#include "runtime/strided.h"

namespace edgewright::runtime {

// Storage types of elements that C++ has no type for.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};
struct Bool {
  uint8_t v;
};

// f(T{}) for the storage type of a dtype; false where there is none (complex, f8, quantized).
template <class F>
bool visit_storage(DType t, F&& f) {
  switch (t) {
    case DType::f32: f(float{}); return true;
    case DType::f64: f(double{}); return true;
    case DType::f16: f(Half{}); return true;
    case DType::bf16: f(BFloat16{}); return true;
    case DType::i8: f(int8_t{}); return true;
    case DType::u8: f(uint8_t{}); return true;
    case DType::i16: f(int16_t{}); return true;
    case DType::u16: f(uint16_t{}); return true;
    case DType::i32: f(int32_t{}); return true;
    case DType::u32: f(uint32_t{}); return true;
    case DType::i64: f(int64_t{}); return true;
    case DType::u64: f(uint64_t{}); return true;
    case DType::b8: f(Bool{}); return true;
    default: return false;
  }
}

// Float to int as the processor does it: truncated; what does not fit becomes the lowest 64- or 32-bit int and then wraps.
template <class T, class C>
inline T to_int(C v) {
  if constexpr (sizeof(T) == 8) {
    if (!(v >= static_cast<C>(-9223372036854775808.0) && v < static_cast<C>(9223372036854775808.0)))
      return static_cast<T>(INT64_MIN);
    return static_cast<T>(static_cast<int64_t>(v));
  } else {
    if (!(v > static_cast<C>(-2147483904.0) && v < static_cast<C>(2147483648.0))) {
      if (std::is_same_v<T, uint32_t> && v >= 0 && v < static_cast<C>(4294967296.0))
        return static_cast<T>(static_cast<int64_t>(v));
      return static_cast<T>(INT32_MIN);
    }
    return static_cast<T>(static_cast<int32_t>(v < static_cast<C>(-2147483648.0) ? static_cast<C>(-2147483648.0) : v));
  }
}

template <class C, class T>
inline C load_as(T v) {
  if constexpr (std::is_same_v<T, Half>)
    return load_as<C>(half_to_float(v.bits));
  else if constexpr (std::is_same_v<T, BFloat16>)
    return load_as<C>(bf16_to_float(v.bits));
  else if constexpr (std::is_same_v<T, Bool>)
    return static_cast<C>(v.v != 0);
  else if constexpr (std::is_integral_v<C> && std::is_floating_point_v<T>)
    return to_int<C>(v);
  else
    return static_cast<C>(v);
}

template <class T, class C>
inline T store_as(C v) {
  if constexpr (std::is_same_v<T, Half>)
    return {double_to_half(static_cast<double>(v))};
  else if constexpr (std::is_same_v<T, BFloat16>)
    return {double_to_bf16(static_cast<double>(v))};
  else if constexpr (std::is_same_v<T, Bool>)
    return {static_cast<uint8_t>(v != C{0})};
  else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<C>)
    return to_int<T>(v);
  else
    return static_cast<T>(v);
}

// What element-wise kernels compute in for tensors of a dtype.
enum class Compute : uint8_t { kFloat, kDouble, kInt };
inline bool has_compute(DType t) { return is_float(t) || is_int(t) || is_bool(t); }
inline Compute compute_of(DType t) {
  return t == DType::f64 ? Compute::kDouble : is_float(t) ? Compute::kFloat : Compute::kInt;
}
// f(C{}) with float, double or int64_t.
template <class F>
auto visit_compute(Compute c, F&& f) {
  switch (c) {
    case Compute::kFloat: return f(float{});
    case Compute::kDouble: return f(double{});
    default: return f(int64_t{});
  }
}
template <class C>
constexpr DType native_dtype = std::is_same_v<C, float>    ? DType::f32
                               : std::is_same_v<C, double> ? DType::f64
                                                           : DType::i64;

// n elements `stride` apart, converted. Defined in common.cc for the three compute types.
template <class C>
void load_block(DType t, const std::byte* from, int64_t stride, size_t n, C* to);
template <class C>
void store_block(DType t, std::byte* to, int64_t stride, size_t n, const C* from);

// One element of any dtype.
template <class C>
C load_one(const Tensor& t, int64_t at = 0) {
  C v{};
  load_block<C>(t.dtype, t.data + at * static_cast<int64_t>(size_of(t.dtype)), 1, 1, &v);
  return v;
}
template <class C>
void store_one(Tensor& t, int64_t at, C v) {
  store_block<C>(t.dtype, t.data + at * static_cast<int64_t>(size_of(t.dtype)), 1, 1, &v);
}

template <class C>
C scalar_as(const EValue& v) {
  switch (v.tag) {
    case Tag::kDouble: return store_as<C>(v.d);
    case Tag::kBool: return static_cast<C>(v.b);
    default: return static_cast<C>(v.i);
  }
}

// As an element of a tensor: any fraction is True.
template <class C>
C scalar_as(const EValue& v, DType t) {
  return t == DType::b8 && v.tag == Tag::kDouble ? static_cast<C>(v.d != 0) : scalar_as<C>(v);
}

// PyTorch's type promotion. Category order: bool < int < float; a 0-d tensor or scalar of no higher category does not count.
DType promote(DType a, DType b);
DType result_type(const Tensor& a, const Tensor& b);
DType result_type(const Tensor& a, const EValue& scalar);

// f(begin, end) over [0, n), on the pool where there is one and n is worth it (more than `grain`).
template <class F>
void parallel_for(pthreadpool* pool, int64_t n, int64_t grain, F&& f) {
  if (!pool || n <= grain) {
    if (n > 0) f(int64_t{0}, n);
    return;
  }
  const auto threads = static_cast<int64_t>(pthreadpool_get_threads_count(pool));
  const int64_t tile = std::max(grain, (n + 4 * threads - 1) / (4 * threads));
  using Fn = std::remove_reference_t<F>;
  pthreadpool_parallelize_1d_tile_1d(
      pool,
      [](void* context, size_t begin, size_t count) {
        (*static_cast<Fn*>(context))(static_cast<int64_t>(begin), static_cast<int64_t>(begin + count));
      },
      const_cast<std::remove_const_t<Fn>*>(&f), static_cast<size_t>(n), static_cast<size_t>(tile), 0);
}

// Strides of `t` for iterating a shape it broadcasts to; 0 where it repeats.
using Strides = std::array<int64_t, kMaxRank>;
Strides broadcast_strides(const Tensor& t, std::span<const int64_t> shape);

// The shape two tensors broadcast to; false if they do not.
struct Shape {
  std::array<int64_t, kMaxRank> v{};
  size_t rank = 0;
  std::span<const int64_t> span() const { return {v.data(), rank}; }
  int64_t& operator[](size_t i) { return v[i]; }
  int64_t operator[](size_t i) const { return v[i]; }
};
Shape shape_of(const Tensor& t);
bool broadcast(Shape& into, const Tensor& t);
// Resizes `out` to what the inputs broadcast to.
Result<void> resize_broadcast(Call& c, Tensor& out, std::initializer_list<const Tensor*> inputs);

// A loop nest over N operands of one shape, dims joined where all operands allow it, the last operand's fastest dim innermost.
template <size_t N>
struct Nest {
  size_t rank = 0;
  std::array<int64_t, kMaxRank + 1> sizes{};
  std::array<std::array<int64_t, N>, kMaxRank + 1> strides{};  // by dim, then operand
  int64_t total = 1;

  Nest(std::span<const int64_t> shape, const std::array<Strides, N>& operands) {
    for (int64_t s : shape) total *= s;
    // Order dims by the last operand's stride (outputs are dense, so this is its memory order).
    for (size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == 1) continue;
      size_t at = rank++;
      for (; at > 0 && strides[at - 1][N - 1] < operands[N - 1][d]; --at) {
        sizes[at] = sizes[at - 1];
        strides[at] = strides[at - 1];
      }
      sizes[at] = shape[d];
      for (size_t k = 0; k < N; ++k) strides[at][k] = operands[k][d];
    }
    size_t m = 0;
    for (size_t d = 0; d < rank; ++d) {
      bool join = m > 0;
      for (size_t k = 0; join && k < N; ++k) join = strides[m - 1][k] == strides[d][k] * sizes[d];
      if (join) {
        sizes[m - 1] *= sizes[d];
        strides[m - 1] = strides[d];
      } else {
        sizes[m] = sizes[d];
        strides[m++] = strides[d];
      }
    }
    rank = m;
    if (rank == 0) {
      sizes[0] = 1;
      strides[0].fill(1);
      rank = 1;
    }
  }

  // body(offsets in elements, n) for each innermost run inside [begin, end) of the flattened nest.
  template <class Body>
  void run(int64_t begin, int64_t end, Body&& body) const {
    if (begin >= end) return;  // also where a size is 0
    const size_t inner = rank - 1;
    std::array<int64_t, kMaxRank + 1> index{};
    std::array<int64_t, N> at{};
    int64_t rest = begin;
    for (size_t d = rank; d-- > 0;) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (size_t k = 0; k < N; ++k) at[k] += index[d] * strides[d][k];
    }
    for (int64_t i = begin; i < end;) {
      const int64_t n = std::min(sizes[inner] - index[inner], end - i);
      body(at, n);
      i += n;
      // Step to the beginning of the next run.
      for (size_t k = 0; k < N; ++k) at[k] -= index[inner] * strides[inner][k];
      index[inner] = 0;
      for (size_t d = inner; d-- > 0;) {
        for (size_t k = 0; k < N; ++k) at[k] += strides[d][k];
        if (++index[d] < sizes[d]) break;
        for (size_t k = 0; k < N; ++k) at[k] -= sizes[d] * strides[d][k];
        index[d] = 0;
      }
    }
  }
};

// out[i] = f(in0[i], in1[i], ...) in compute type C; out has its final shape, inputs broadcast to it.
// f takes N values of C and returns C (comparisons return 0 or 1).
template <class C, size_t N, class F>
void map(pthreadpool* pool, Tensor& out, const std::array<const Tensor*, N>& in, F f) {
  if (out.numel() == 0) return;
  std::array<Strides, N + 1> strides;
  for (size_t k = 0; k < N; ++k) strides[k] = broadcast_strides(*in[k], out.shape());
  strides[N] = out.strides;
  const Nest<N + 1> nest(out.shape(), strides);
  const auto& step = nest.strides[nest.rank - 1];
  constexpr int64_t kBlock = 256;
  parallel_for(pool, nest.total, 32768, [&](int64_t begin, int64_t end) {
    C buffer[N + 1][kBlock];
    nest.run(begin, end, [&](const std::array<int64_t, N + 1>& at, int64_t n) {
      for (int64_t done = 0; done < n; done += kBlock) {
        const int64_t m = std::min(kBlock, n - done);
        const C* from[N];
        for (size_t k = 0; k < N; ++k) {
          const std::byte* p = in[k]->data + (at[k] + done * step[k]) * static_cast<int64_t>(size_of(in[k]->dtype));
          from[k] = buffer[k];
          if (in[k]->dtype == native_dtype<C> && step[k] == 1)
            from[k] = reinterpret_cast<const C*>(p);
          else
            load_block<C>(in[k]->dtype, p, step[k], static_cast<size_t>(m), buffer[k]);
        }
        std::byte* q = out.data + (at[N] + done * step[N]) * static_cast<int64_t>(size_of(out.dtype));
        const bool direct = out.dtype == native_dtype<C> && step[N] == 1;
        C* to = direct ? reinterpret_cast<C*>(q) : buffer[N];
        for (int64_t i = 0; i < m; ++i) {
          if constexpr (N == 0)
            to[i] = f();
          else if constexpr (N == 1)
            to[i] = f(from[0][i]);
          else if constexpr (N == 2)
            to[i] = f(from[0][i], from[1][i]);
          else if constexpr (N == 3)
            to[i] = f(from[0][i], from[1][i], from[2][i]);
          else
            to[i] = f(from[0][i], from[1][i], from[2][i], from[3][i]);
        }
        if (!direct) store_block<C>(out.dtype, q, step[N], static_cast<size_t>(m), to);
      }
    });
  });
}

// Copies with conversion: out[i] = in[i] for a view of `in` given by strides and offset (in elements).
void copy_view(pthreadpool* pool, Tensor& out, const Tensor& in, int64_t offset, const Strides& strides);

// C-order strides of a shape.
Strides dense_strides(std::span<const int64_t> sizes);

// An element-wise operation of fixed compute type needs this of its tensors.
inline bool plain(std::initializer_list<const Tensor*> ts) {
  for (const Tensor* t : ts)
    if (!has_compute(t->dtype)) return false;
  return true;
}

}  // namespace edgewright::runtime
