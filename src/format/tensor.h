// src/format/tensor.h - a dense C-order tensor in host memory, what safetensors and npy files hold. Depends on base.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/dtype.h"
#include "format/pieces.h"

namespace edgewright {

// `bytes` has exactly numel * size_of(dtype) bytes. They lie in `owner` (a mapped file or a buffer) when it is set, else the
// caller keeps them alive. The data may be unaligned for its dtype when it lies in a file: copy() gives an aligned one.
struct HostTensor {
  DType dtype = DType::f32;
  std::vector<int64_t> sizes;
  Bytes bytes;
  std::shared_ptr<const void> owner;

  int64_t numel() const { return checked_numel(sizes).value_or(0); }

  // Takes the buffer over.
  static HostTensor owned(DType dtype, std::vector<int64_t> sizes, std::vector<std::byte> data) {
    auto buffer = std::make_shared<const std::vector<std::byte>>(std::move(data));
    const Bytes bytes(*buffer);
    return {dtype, std::move(sizes), bytes, std::move(buffer)};
  }
  HostTensor copy() const { return owned(dtype, sizes, {bytes.begin(), bytes.end()}); }
};

struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

}  // namespace edgewright
