// src/runtime/value.h - what a method's instructions work on: tensors in planned memory and tagged values.
// Depends on base only. Nothing here allocates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"

namespace edgewright::runtime {

inline constexpr size_t kMaxRank = 16;  // stock's limit

// How a tensor's shape may change at run time; numbers as in the file (format/pte.h).
enum class Dynamism : uint8_t { kStatic = 0, kBound = 1, kUnbound = 2 };

// A dense tensor: strides follow from sizes and dim order.
struct Tensor {
  DType dtype = DType::f32;
  uint8_t rank = 0;
  Dynamism dynamism = Dynamism::kStatic;
  bool writable = false;                  // false for constants, which lie in the mapped file
  std::array<uint8_t, kMaxRank> order{};  // dimensions from outermost to innermost in memory
  std::array<int64_t, kMaxRank> sizes{};
  std::array<int64_t, kMaxRank> strides{};  // in elements
  std::byte* data = nullptr;
  uint64_t capacity = 0;  // bytes at data

  std::span<const int64_t> shape() const { return {sizes.data(), rank}; }
  int64_t numel() const {
    int64_t n = 1;
    for (int64_t s : shape()) n *= s;
    return n;
  }
  uint64_t bytes() const { return static_cast<uint64_t>(numel()) * size_of(dtype); }
  bool contiguous() const {  // C order
    for (uint8_t d = 0; d < rank; ++d)
      if (order[d] != d) return false;
    return true;
  }
  void set_strides() {
    int64_t step = 1;
    for (size_t i = rank; i-- > 0;) {
      strides[order[i]] = step;
      step *= sizes[order[i]] > 0 ? sizes[order[i]] : 1;
    }
  }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

enum class Tag : uint8_t {
  kNone,
  kInt,
  kBool,
  kDouble,
  kTensor,
  kString,
  kIntList,
  kDoubleList,
  kBoolList,
  kTensorList
};

// A tagged value. Lists point to storage that the method owns: int and tensor lists to the values they are made of
// (a tensor list element with Tag::kNone stands for an absent tensor).
struct EValue {
  Tag tag = Tag::kNone;
  uint32_t size = 0;  // of a list or string
  union {
    int64_t i = 0;
    bool b;
    double d;
    Tensor* tensor;
    const char* text;
    EValue* const* items;  // kIntList, kTensorList
    const double* doubles;
    const bool* bools;
  };

  bool is_none() const { return tag == Tag::kNone; }
};

}  // namespace edgewright::runtime
