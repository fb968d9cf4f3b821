#include "ir/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "base/checked.h"
#include "base/parallel.h"

namespace edgewright::ir {

int64_t Tensor::numel() const {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

std::vector<int64_t> contiguous_strides(std::span<const int64_t> sizes) {
  std::vector<int64_t> st(sizes.size());
  int64_t n = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    st[i] = n;
    n *= sizes[i] > 0 ? sizes[i] : 1;
  }
  return st;
}

bool Tensor::is_contiguous() const {
  int64_t n = 1;
  for (int64_t s : sizes)
    if (s == 0) return true;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != n) return false;
    n *= sizes[i];
  }
  return true;
}

namespace {
// Large tensors get pages of their own, huge ones where the system has them: far fewer page faults, and freed memory goes back.
constexpr size_t kHugePage = size_t{2} << 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr size_t kLarge = SIZE_MAX;  // the sanitizer watches its own allocator's memory
#else
constexpr size_t kLarge = 2 * kHugePage;
#endif

std::shared_ptr<std::byte> allocate_large(size_t n) {
  const size_t room = n + kHugePage;
  void* const all = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(all);
  auto* const aligned = begin + (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  (void)madvise(aligned, n / kHugePage * kHugePage, MADV_HUGEPAGE);
  return {aligned, [begin, room](std::byte*) { munmap(begin, room); }};
}
}  // namespace

Tensor Tensor::empty(DType dtype, std::vector<int64_t> sizes) {
  Tensor t;
  t.dtype = dtype;
  t.strides = contiguous_strides(sizes);
  t.sizes = std::move(sizes);
  const size_t n = std::max<size_t>(t.nbytes(), 1);
  if (n >= kLarge) {
    auto p = allocate_large(n);
    t.data = p.get();
    t.owner = std::move(p);
    return t;
  }
  std::shared_ptr<std::byte> p(static_cast<std::byte*>(::operator new(n, std::align_val_t(64))),
                               [](std::byte* q) { ::operator delete(q, std::align_val_t(64)); });
  t.data = p.get();
  t.owner = std::move(p);
  return t;
}

namespace {
// All elements of `from` (of rank 1 or more), in row-major order; large tensors by all threads.
template <size_t width>
void copy_rows(const Tensor& from, std::byte* to) {
  constexpr int64_t kGrain = 1 << 18;  // elements
  const int64_t inner = from.sizes.back(), step = from.strides.back() * static_cast<int64_t>(width);
  const size_t rows_rank = from.sizes.size() - 1;
  parallel_for(from.numel() / inner, std::max<int64_t>(1, kGrain / inner), [&](int64_t begin, int64_t end) {
    std::vector<int64_t> index(rows_rank);
    for (int64_t d = static_cast<int64_t>(rows_rank), rest = begin; d-- > 0;) {
      const auto k = static_cast<size_t>(d);
      index[k] = rest % from.sizes[k];
      rest /= from.sizes[k];
    }
    std::byte* out = to + begin * inner * static_cast<int64_t>(width);
    for (int64_t row = begin; row < end; ++row) {
      const std::byte* in = from.data + from.offset_of(index) * static_cast<int64_t>(width);
      for (int64_t i = 0; i < inner; ++i, in += step, out += width) std::memcpy(out, in, width);
      for (size_t d = rows_rank; d-- > 0;) {
        if (++index[d] < from.sizes[d]) break;
        index[d] = 0;
      }
    }
  });
}
}  // namespace

Tensor Tensor::contiguous() const {
  if (is_contiguous()) {
    Tensor t = *this;
    t.strides = contiguous_strides(sizes);
    return t;
  }
  Tensor t = empty(dtype, sizes);
  switch (size_of(dtype)) {
    case 1: copy_rows<1>(*this, t.mutable_data()); break;
    case 2: copy_rows<2>(*this, t.mutable_data()); break;
    case 4: copy_rows<4>(*this, t.mutable_data()); break;
    case 8: copy_rows<8>(*this, t.mutable_data()); break;
    default: copy_rows<16>(*this, t.mutable_data()); break;
  }
  return t;
}

Result<Tensor> Tensor::from_storage(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                                    int64_t offset, std::span<const std::byte> storage,
                                    std::shared_ptr<const void> owner) {
  if (sizes.size() != strides.size())
    return fail(Code::kMalformed, "{} sizes but {} strides", sizes.size(), strides.size());
  const auto n = checked_numel(sizes);
  if (!n) return fail(Code::kMalformed, "tensor sizes are negative or overflow");
  const int64_t width = static_cast<int64_t>(size_of(dtype));
  int64_t last = offset;
  bool ok = offset >= 0;
  if (*n > 0)
    for (size_t i = 0; ok && i < sizes.size(); ++i) {
      const auto span = checked_mul(sizes[i] - 1, strides[i]);
      const auto sum = span && strides[i] >= 0 ? checked_add(last, *span) : std::nullopt;
      ok = sum.has_value();
      if (ok) last = *sum;
    }
  const auto end = ok ? checked_mul(last + (*n > 0 ? 1 : 0), width) : std::nullopt;
  if (!end || *end > static_cast<int64_t>(storage.size()))
    return fail(Code::kMalformed, "tensor of {} bytes per element reaches outside its storage of {} bytes", width,
                storage.size());
  Tensor t;
  t.dtype = dtype;
  t.sizes = std::move(sizes);
  t.strides = std::move(strides);
  t.data = storage.data() + offset * width;
  t.owner = std::move(owner);
  return t;
}

namespace {
template <class T>
T get(const std::byte* data, int64_t at) {
  T v;
  std::memcpy(&v, data + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return v;
}
template <class T>
void put(std::byte* data, int64_t at, T v) {
  std::memcpy(data + at * static_cast<int64_t>(sizeof(T)), &v, sizeof(T));
}
}  // namespace

double load_f(DType t, const std::byte* d, int64_t at) {
  switch (t) {
    case DType::f32: return get<float>(d, at);
    case DType::f64: return get<double>(d, at);
    case DType::f16: return half_to_float(get<uint16_t>(d, at));
    case DType::bf16: return bf16_to_float(get<uint16_t>(d, at));
    case DType::u64: return static_cast<double>(get<uint64_t>(d, at));
    default: return static_cast<double>(load_i(t, d, at));
  }
}
int64_t load_i(DType t, const std::byte* d, int64_t at) {
  switch (t) {
    case DType::u8: return get<uint8_t>(d, at);
    case DType::i8: return get<int8_t>(d, at);
    case DType::i16: return get<int16_t>(d, at);
    case DType::u16: return get<uint16_t>(d, at);
    case DType::i32: return get<int32_t>(d, at);
    case DType::u32: return get<uint32_t>(d, at);
    case DType::i64:
    case DType::u64: return get<int64_t>(d, at);
    case DType::b8: return get<uint8_t>(d, at) != 0;
    case DType::f32:
    case DType::f64:
    case DType::f16:
    case DType::bf16: {
      const double v = load_f(t, d, at);  // as a C cast, with what it leaves undefined made INT64_MIN, as x86 has it
      return v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : INT64_MIN;
    }
    default: check_failed("dtype is readable as a number", std::source_location::current());
  }
}
void store_f(DType t, std::byte* d, int64_t at, double v) {
  switch (t) {
    case DType::f32: return put(d, at, static_cast<float>(v));
    case DType::f64: return put(d, at, v);
    case DType::f16: return put(d, at, double_to_half(v));
    case DType::bf16: return put(d, at, double_to_bf16(v));
    case DType::b8: return put<uint8_t>(d, at, v != 0);
    default: return store_i(t, d, at, v >= -0x1p63 && v < 0x1p63 ? static_cast<int64_t>(v) : INT64_MIN);
  }
}
void store_i(DType t, std::byte* d, int64_t at, int64_t v) {
  switch (t) {
    case DType::u8:
    case DType::i8: return put(d, at, static_cast<uint8_t>(v));
    case DType::i16:
    case DType::u16: return put(d, at, static_cast<uint16_t>(v));
    case DType::i32:
    case DType::u32: return put(d, at, static_cast<uint32_t>(v));
    case DType::i64:
    case DType::u64: return put(d, at, v);
    case DType::b8: return put<uint8_t>(d, at, v != 0);
    case DType::f32: return put(d, at, static_cast<float>(v));
    case DType::f64: return put(d, at, static_cast<double>(v));
    case DType::f16:
    case DType::bf16: return store_f(t, d, at, static_cast<double>(v));
    default: check_failed("dtype is writable as a number", std::source_location::current());
  }
}

}  // namespace edgewright::ir
