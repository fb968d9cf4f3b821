// src/ir/tensor.h - a strided host tensor over shared bytes: constants, and the interpreter's values. Depends on base.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"

namespace edgewright::ir {

// Sizes and strides in elements; `data` points at element 0 (storage offset applied). Copies share bytes.
// Invariant (made by whoever builds one, checked by from_storage): every element lies inside the owned bytes.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes, strides;
  const std::byte* data = nullptr;
  std::shared_ptr<const void> owner;  // keeps `data` alive: an allocation or a mapped file

  int64_t numel() const;
  size_t nbytes() const { return static_cast<size_t>(numel()) * size_of(dtype); }
  bool is_contiguous() const;
  // Bytes of a contiguous tensor.
  std::span<const std::byte> bytes() const { return {data, nbytes()}; }
  // Writable bytes of a tensor that was just made by `empty` and is not shared yet.
  std::byte* mutable_data() { return const_cast<std::byte*>(data); }
  // Same elements, contiguous; shares bytes where it already is.
  Tensor contiguous() const;
  int64_t offset_of(std::span<const int64_t> index) const {
    int64_t o = 0;
    for (size_t i = 0; i < index.size(); ++i) o += index[i] * strides[i];
    return o;
  }

  // Uninitialized, contiguous; allocates.
  static Tensor empty(DType dtype, std::vector<int64_t> sizes);
  // A view of `storage` at `offset` elements. Errors: kMalformed where an element would lie outside, sizes are negative or overflow.
  static Result<Tensor> from_storage(DType dtype, std::vector<int64_t> sizes, std::vector<int64_t> strides,
                                     int64_t offset, std::span<const std::byte> storage,
                                     std::shared_ptr<const void> owner);
};

std::vector<int64_t> contiguous_strides(std::span<const int64_t> sizes);

// One element, converted: floats (and ints) to double; ints and bools to int64. `at` is an element offset from data.
// Complex and quantized dtypes are not readable this way.
double load_f(DType t, const std::byte* data, int64_t at);
int64_t load_i(DType t, const std::byte* data, int64_t at);
// Rounds once to the dtype (floats: nearest even; ints: wraps as PyTorch's casts on two's complement; bool: != 0).
void store_f(DType t, std::byte* data, int64_t at, double v);
void store_i(DType t, std::byte* data, int64_t at, int64_t v);

}  // namespace edgewright::ir
