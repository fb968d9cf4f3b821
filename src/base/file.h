// src/base/file.h - mapped input files and all-or-nothing output files. Depends on base/result.h.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace edgewright {

// A file mapped read-only. Bytes stay valid as long as the object lives. Movable by shared_ptr only.
class MappedFile {
 public:
  // Errors: kMalformed when the file cannot be opened, is a directory, or cannot be mapped. An empty file maps to an empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  MappedFile() = default;
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Writes through `append` calls into a temporary file beside `path`, then renames it over `path`.
// On any failure (also of `fill`) the temporary file is removed and `path` is as it was.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
};
Result<void> write_file(const std::string& path, const std::function<Result<void>(FileWriter&)>& fill);
Result<void> write_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace edgewright
