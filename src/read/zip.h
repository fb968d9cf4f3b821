// src/read/zip.h - a zip archive in memory, read without copying what is stored. Depends on base; zlib inflates.
//
// Format facts: PKWARE APPNOTE 6.3 (central directory, zip64). Methods 0 (stored) and 8 (deflated); single disk; no
// encryption. The central directory rules; each local header must agree with it. Entries may not overlap or repeat a name,
// so that what is in an archive has one reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace edgewright::read {

// Bytes and what keeps them alive: the mapped file, or an allocation of their own.
struct Bytes {
  std::span<const std::byte> data;
  std::shared_ptr<const void> owner;
  bool mapped = true;  // a view into the archive's own bytes
  std::string_view text() const { return {reinterpret_cast<const char*>(data.data()), data.size()}; }
};

struct ZipEntry {
  std::string_view name;  // into the archive's bytes
  uint16_t method = 0;
  uint32_t crc = 0;
  uint64_t compressed = 0, size = 0;
  uint64_t header = 0, data = 0;  // offsets of the local header and of the data
};

class ZipArchive {
 public:
  // Reads the directory; `owner` keeps `bytes` alive. Errors: kMalformed where the directory or a local header is broken, lies,
  // repeats a name or overlaps; kUnsupported for encryption, other methods and archives over several disks.
  static Result<std::shared_ptr<const ZipArchive>> open(std::span<const std::byte> bytes,
                                                        std::shared_ptr<const void> owner);

  const std::vector<ZipEntry>& entries() const { return entries_; }
  const ZipEntry* find(std::string_view name) const;
  // The content, its checksum compared. Stored: a view, no copy. Deflated: inflated into an allocation of its own.
  // Errors: kMalformed for a wrong checksum or size, and where all that was inflated so far exceeds
  // 256 MiB + 32 times the archive. Not thread-safe.
  Result<Bytes> read(const ZipEntry& e) const;
  // Compares the checksums of stored entries on all cores; read() then need not do it again. Errors: as read().
  Result<void> verify(std::span<const ZipEntry* const> entries) const;

 private:
  ZipArchive() = default;
  Result<void> read_directory();
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::vector<ZipEntry> entries_;
  std::unordered_map<std::string_view, size_t> by_name_;
  mutable uint64_t inflated_ = 0;
  mutable std::vector<uint8_t> verified_;  // per entry
};

// CRC-32 as zip has it.
uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace edgewright::read
