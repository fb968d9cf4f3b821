// src/read/pt2.h - reads .pt2 files, as torch.export.save writes them, in every container layout of torch 2.5 to 2.15. Depends
// on base, ir, ops.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace edgewright::read {

struct ReadOptions {
  std::string model;  // read this model of an archive with several; empty reads all
};

// The programs of the file, in the archive's order; Program::method is the model's name, or "forward" for the default "model".
// Constants are views of the mapped file where it holds them uncompressed and aligned to their element.
// Untrusted bytes: errors are kMalformed for files that are damaged, lie or contradict themselves, kUnsupported for what is well formed
// but has no meaning here, kUsage where options.model is not in the file. Every message names the file.
Result<std::vector<ir::Program>> read_pt2(const std::string& path, const ReadOptions& options = {});

// The same from bytes; `owner` keeps them alive as long as any constant does.
Result<std::vector<ir::Program>> read_pt2_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                                const ReadOptions& options = {});

}  // namespace edgewright::read
