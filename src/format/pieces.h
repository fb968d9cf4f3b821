// src/format/pieces.h - bytes of a file yet to be written, as a list of borrowed and owned runs, so that mapped
// weights are streamed from where they lie. Depends on base/file.h.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "base/file.h"

namespace edgewright {

using Bytes = std::span<const std::byte>;

template <class T>
Bytes bytes_of(const std::vector<T>& v) {
  return std::as_bytes(std::span(v));
}

class Pieces {
 public:
  Pieces() = default;
  Pieces(Pieces&&) = default;
  Pieces& operator=(Pieces&&) = default;
  explicit Pieces(Bytes b) { borrow(b); }

  // The bytes must outlive this object.
  void borrow(Bytes b) {
    if (!b.empty()) runs_.push_back(b);
    size_ += b.size();
  }
  void own(std::vector<std::byte> b) { borrow(Bytes(owned_.emplace_back(std::move(b)))); }
  // Takes over all runs of another list; nothing is copied.
  void take(Pieces&& other) {
    owned_.splice(owned_.end(), other.owned_);
    runs_.insert(runs_.end(), other.runs_.begin(), other.runs_.end());
    size_ += other.size_;
    other = Pieces();
  }
  // Appends zeros until the size is a multiple of `alignment` (at least 1).
  void pad_to(uint64_t alignment) {
    static constexpr std::array<std::byte, 4096> kZeros{};
    uint64_t n = (alignment - size_ % alignment) % alignment;
    while (n > 0) {
      const uint64_t k = std::min<uint64_t>(n, kZeros.size());
      borrow(Bytes(kZeros).first(k));
      n -= k;
    }
  }

  uint64_t size() const { return size_; }
  const std::vector<Bytes>& runs() const { return runs_; }
  Result<void> write(FileWriter& out) const {
    for (Bytes b : runs_) EW_TRY(out.append(b));
    return {};
  }
  // One contiguous copy: for tests and for programs that are run without a file.
  std::vector<std::byte> join() const {
    std::vector<std::byte> all;
    all.reserve(size_);
    for (Bytes b : runs_) all.insert(all.end(), b.begin(), b.end());
    return all;
  }

 private:
  std::vector<Bytes> runs_;
  std::list<std::vector<std::byte>> owned_;  // a list: elements keep their address
  uint64_t size_ = 0;
};

}  // namespace edgewright
