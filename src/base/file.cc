#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace edgewright {

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(Code::kMalformed, "{}: cannot open: {}", path, std::strerror(errno));
  struct stat st{};
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    ::close(fd);
    return fail(Code::kMalformed, "{}: not a regular file", path);
  }
  std::shared_ptr<MappedFile> file(new MappedFile());
  file->path_ = path;
  file->size_ = static_cast<size_t>(st.st_size);
  if (file->size_ > 0) {
    void* p = mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) {
      const int err = errno;
      ::close(fd);
      file->size_ = 0;
      return fail(Code::kMalformed, "{}: cannot map: {}", path, std::strerror(err));
    }
    file->data_ = static_cast<const std::byte*>(p);
  }
  ::close(fd);
  return file;
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<std::byte*>(data_), size_);
}

namespace {
class FdWriter final : public FileWriter {
 public:
  FdWriter(int fd, const std::string& path) : fd_(fd), path_(path) {}
  Result<void> append(std::span<const std::byte> bytes) override {
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return fail(Code::kUsage, "{}: cannot write: {}", path_, std::strerror(errno));
      bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return {};
  }

 private:
  int fd_;
  const std::string& path_;
};
}  // namespace

Result<void> write_file(const std::string& path, const std::function<Result<void>(FileWriter&)>& fill) {
  // A device or pipe (say /dev/stdout) cannot be renamed over: write straight into it.
  struct stat st{};
  const bool exists = stat(path.c_str(), &st) == 0;
  if (exists && S_ISDIR(st.st_mode)) return fail(Code::kUsage, "{}: is a directory", path);
  const bool special = exists && !S_ISREG(st.st_mode);
  std::string temp = special ? path : path + ".XXXXXX";
  const int fd = special ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : mkstemp(temp.data());
  if (fd < 0) return fail(Code::kUsage, "{}: cannot create: {}", path, std::strerror(errno));
  FdWriter writer(fd, path);
  Result<void> r = fill(writer);
  if (!special) {
    const mode_t mask = umask(0);
    umask(mask);
    (void)fchmod(fd, exists ? (st.st_mode & 07777) : (0666 & ~mask));
  }
  if (::close(fd) != 0 && r) r = fail(Code::kUsage, "{}: cannot write: {}", path, std::strerror(errno));
  if (special) return r;
  if (r && std::rename(temp.c_str(), path.c_str()) != 0)
    r = fail(Code::kUsage, "{}: cannot rename: {}", path, std::strerror(errno));
  if (!r) ::unlink(temp.c_str());
  return r;
}

Result<void> write_file(const std::string& path, std::span<const std::byte> bytes) {
  return write_file(path, [&](FileWriter& w) { return w.append(bytes); });
}

}  // namespace edgewright
