// src/format/flat.h - what both flatbuffer readers share: verification limits and a budget that keeps parsed structs within
// a multiple of the file's size (tables may be shared, so a small file can describe a huge tree). Private to src/format.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstring>
#include <memory>

#include "base/result.h"
#include "format/pieces.h"

namespace edgewright::flat {

inline constexpr uint32_t kMaxDepth = 64;
inline constexpr uint64_t kMaxFlatbuffer = uint64_t{1} << 31;
inline constexpr size_t kAlignment = 16;  // the largest force_align of the schemas

// The flatbuffer at an address that its scalars can be read from: the bytes themselves, or an aligned copy kept by `copy`.
inline Bytes aligned(Bytes b, std::unique_ptr<std::byte[]>& copy) {
  if (reinterpret_cast<uintptr_t>(b.data()) % kAlignment == 0) return b;
  copy.reset(new std::byte[b.size()]);  // operator new aligns to 16
  std::memcpy(copy.get(), b.data(), b.size());
  return Bytes(copy.get(), b.size());
}

template <class Root>
bool verify(Bytes b) {
  // Every table takes at least 6 bytes when not shared; sharing beyond that is no honest file.
  const auto tables = static_cast<uint32_t>(std::min<uint64_t>(b.size() / 4 + 64, UINT32_MAX));
  flatbuffers::Verifier v(reinterpret_cast<const uint8_t*>(b.data()), b.size(), kMaxDepth, tables);
  return v.VerifyBuffer<Root>(nullptr);
}

// Elements that may still be parsed.
class Budget {
 public:
  explicit Budget(uint64_t bytes) : left_(4 * bytes + 4096) {}
  bool take(uint64_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

 private:
  uint64_t left_;
};

inline uint32_t u32_at(Bytes b, size_t at) {
  uint32_t v;
  std::memcpy(&v, b.data() + at, 4);
  return v;
}
inline uint64_t u64_at(Bytes b, size_t at) {
  uint64_t v;
  std::memcpy(&v, b.data() + at, 8);
  return v;
}

template <class T>
uint32_t count(const flatbuffers::Vector<T>* v) {
  return v ? v->size() : 0;
}

inline std::string str(const flatbuffers::String* s) { return s ? std::string(s->c_str(), s->size()) : std::string(); }

// One scalar of a vector. The verifier does not look at the alignment of 8-byte elements.
template <class T>
T element(const flatbuffers::Vector<T>* v, uint32_t i) {
  T x;
  std::memcpy(&x, v->Data() + size_t{i} * sizeof(T), sizeof(T));
  return x;
}

// Copies a vector of scalars; false when the budget is spent.
template <class Out, class T>
bool copy(const flatbuffers::Vector<T>* from, std::vector<Out>& to, Budget& budget) {
  if (!budget.take(uint64_t{count(from)} * sizeof(Out))) return false;
  to.reserve(count(from));
  for (uint32_t i = 0; i < count(from); ++i) to.push_back(static_cast<Out>(element(from, i)));
  return true;
}

}  // namespace edgewright::flat
