// src/format/npy.h - reads and writes NumPy .npy files. Depends on tensor.h, base/file.h.
#pragma once

#include "format/tensor.h"

namespace edgewright::npy {

// Versions 1 to 3, little-endian, C order mapped in place, Fortran order transposed into a copy.
// Errors: kMalformed; kUnsupported for big-endian, structured and object types.
Result<HostTensor> read(const std::string& path);
Result<HostTensor> parse(Bytes file, std::shared_ptr<const void> owner, const std::string& where);

// The file as pieces; the tensor's bytes are borrowed. kUnsupported for dtypes that NumPy has not (bf16, f8...).
Result<Pieces> build(const HostTensor& tensor);
Result<void> write(const std::string& path, const HostTensor& tensor);

}  // namespace edgewright::npy
