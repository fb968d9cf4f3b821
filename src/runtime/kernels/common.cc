#include "runtime/kernels/common.h"

namespace edgewright::runtime {
namespace {

int category(DType t) { return is_bool(t) ? 0 : is_int(t) ? 1 : 2; }

}  // namespace

template <class C>
void load_block(DType t, const std::byte* from, int64_t stride, size_t n, C* to) {
  const bool known = visit_storage(t, [&]<class T>(T) {
    const T* p = reinterpret_cast<const T*>(from);
    if (stride == 1) {
      for (size_t i = 0; i < n; ++i) to[i] = load_as<C>(p[i]);
    } else if (stride == 0) {
      std::fill_n(to, n, load_as<C>(p[0]));
    } else {
      for (size_t i = 0; i < n; ++i) to[i] = load_as<C>(p[static_cast<int64_t>(i) * stride]);
    }
  });
  EW_CHECK(known);
}

template <class C>
void store_block(DType t, std::byte* to, int64_t stride, size_t n, const C* from) {
  const bool known = visit_storage(t, [&]<class T>(T) {
    T* p = reinterpret_cast<T*>(to);
    if (stride == 1) {
      for (size_t i = 0; i < n; ++i) p[i] = store_as<T>(from[i]);
    } else {
      for (size_t i = 0; i < n; ++i) p[static_cast<int64_t>(i) * stride] = store_as<T>(from[i]);
    }
  });
  EW_CHECK(known);
}

template void load_block<float>(DType, const std::byte*, int64_t, size_t, float*);
template void load_block<double>(DType, const std::byte*, int64_t, size_t, double*);
template void load_block<int64_t>(DType, const std::byte*, int64_t, size_t, int64_t*);
template void store_block<float>(DType, std::byte*, int64_t, size_t, const float*);
template void store_block<double>(DType, std::byte*, int64_t, size_t, const double*);
template void store_block<int64_t>(DType, std::byte*, int64_t, size_t, const int64_t*);

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (category(a) != category(b)) return category(a) > category(b) ? a : b;
  if (category(a) == 2) {
    if (a == DType::f64 || b == DType::f64) return DType::f64;
    return DType::f32;  // also f16 with bf16
  }
  const size_t sa = size_of(a), sb = size_of(b);
  const bool ua = !is_signed_int(a), ub = !is_signed_int(b);
  if (ua == ub) return sa > sb ? a : b;
  // u8 with a signed type: a signed type that holds both.
  const size_t su = ua ? sa : sb, ss = ua ? sb : sa;
  if (ss > su) return ua ? b : a;
  return su == 1 ? DType::i16 : su == 2 ? DType::i32 : DType::i64;
}

DType result_type(const Tensor& a, const Tensor& b) {
  const bool za = a.rank == 0, zb = b.rank == 0;
  if (za == zb) return promote(a.dtype, b.dtype);
  const DType dim = za ? b.dtype : a.dtype, zero = za ? a.dtype : b.dtype;
  return category(zero) > category(dim) ? promote(dim, zero) : dim;
}

DType result_type(const Tensor& a, const EValue& s) {
  const int wanted = s.tag == Tag::kDouble ? 2 : s.tag == Tag::kBool ? 0 : 1;
  if (wanted <= category(a.dtype)) return a.dtype;
  return wanted == 2 ? DType::f32 : DType::i64;
}

Strides broadcast_strides(const Tensor& t, std::span<const int64_t> shape) {
  Strides s{};
  for (size_t d = 0; d < t.rank; ++d) s[shape.size() - t.rank + d] = t.sizes[d] == 1 ? 0 : t.strides[d];
  return s;
}

Strides dense_strides(std::span<const int64_t> sizes) {
  Strides s{};
  int64_t step = 1;
  for (size_t d = sizes.size(); d-- > 0; step *= sizes[d]) s[d] = step;
  return s;
}

Shape shape_of(const Tensor& t) {
  Shape s;
  s.rank = t.rank;
  s.v = t.sizes;
  return s;
}

bool broadcast(Shape& into, const Tensor& t) {
  if (t.rank > into.rank) {
    Shape wider;
    wider.rank = t.rank;
    for (size_t d = 0; d < t.rank; ++d) wider[d] = d < t.rank - into.rank ? 1 : into[d - (t.rank - into.rank)];
    into = wider;
  }
  for (size_t d = 1; d <= t.rank; ++d) {
    int64_t& have = into[into.rank - d];
    const int64_t size = t.sizes[t.rank - d];
    if (have == size || size == 1) continue;
    if (have != 1) return false;
    have = size;
  }
  return true;
}

Result<void> resize_broadcast(Call& c, Tensor& out, std::initializer_list<const Tensor*> inputs) {
  Shape s;
  for (const Tensor* t : inputs)
    if (!broadcast(s, *t))
      return c.fail(Code::kUsage, "shapes do not broadcast: [{}] into [{}]", fmt::join(t->shape(), ", "),
                    fmt::join(s.span(), ", "));
  return c.resize(out, s.span());
}

void copy_view(pthreadpool* pool, Tensor& out, const Tensor& in, int64_t offset, const Strides& strides) {
  if (out.numel() == 0) return;
  const auto item = static_cast<int64_t>(size_of(in.dtype));
  if (in.dtype == out.dtype) {
    copy_strided(out.data, out.strides.data(), in.data + offset * item, strides.data(), out.shape(), size_of(in.dtype));
    return;
  }
  const Nest<2> nest(out.shape(), {strides, out.strides});
  const auto& step = nest.strides[nest.rank - 1];
  // Through the widest type of the destination's kind.
  const bool to_int = compute_of(out.dtype) == Compute::kInt, from_int = compute_of(in.dtype) == Compute::kInt;
  parallel_for(pool, nest.total, 65536, [&](int64_t begin, int64_t end) {
    constexpr int64_t kBlock = 256;
    nest.run(begin, end, [&](const std::array<int64_t, 2>& at, int64_t n) {
      for (int64_t done = 0; done < n; done += kBlock) {
        const auto m = static_cast<size_t>(std::min(kBlock, n - done));
        const std::byte* p = in.data + (offset + at[0] + done * step[0]) * item;
        std::byte* q = out.data + (at[1] + done * step[1]) * static_cast<int64_t>(size_of(out.dtype));
        if (to_int && from_int) {
          int64_t b[kBlock];
          load_block<int64_t>(in.dtype, p, step[0], m, b);
          store_block<int64_t>(out.dtype, q, step[1], m, b);
        } else if (from_int &&
                   out.dtype == DType::f32) {  // an int64 converts to float in one rounding only when straight
          float b[kBlock];
          load_block<float>(in.dtype, p, step[0], m, b);
          store_block<float>(out.dtype, q, step[1], m, b);
        } else {
          double b[kBlock];
          load_block<double>(in.dtype, p, step[0], m, b);
          store_block<double>(out.dtype, q, step[1], m, b);
        }
      }
    });
  });
}

}  // namespace edgewright::runtime
