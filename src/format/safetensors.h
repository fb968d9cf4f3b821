// src/format/safetensors.h - reads and writes safetensors files. Depends on tensor.h, base/file.h; simdjson in the .cc.
// Layout: u64 header length, JSON header {name: {dtype, shape, data_offsets: [begin, end]}, __metadata__?}, data.
#pragma once

#include "format/tensor.h"

namespace edgewright::safetensors {

// Tensors in the order of the header, mapped in place. `where` names the file in messages.
// Errors: kMalformed (sizes, overlaps with the header, extents that disagree with shape and dtype, duplicate names),
// kUnsupported for a dtype that base/dtype.h has not.
Result<std::vector<NamedTensor>> read(const std::string& path);
Result<std::vector<NamedTensor>> parse(Bytes file, std::shared_ptr<const void> owner, const std::string& where);

// The file as pieces; the tensors' bytes are borrowed. Names must be distinct.
Pieces build(const std::vector<NamedTensor>& tensors);
Result<void> write(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace edgewright::safetensors
