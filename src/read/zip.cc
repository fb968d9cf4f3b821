#include "read/zip.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "base/parallel.h"

namespace edgewright::read {

namespace {
constexpr uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50, kLocator64Signature = 0x07064b50;
constexpr uint32_t kCentralSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr size_t kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56, kCentralSize = 46, kLocalSize = 30;
constexpr uint16_t kEncrypted = 1, kSizesFollow = 8;
constexpr uint32_t kIn64 = 0xffffffff;

// Little-endian fields; the caller has checked that they lie inside.
template <class T>
T field(std::span<const std::byte> b, size_t at) {
  T v;
  std::memcpy(&v, b.data() + at, sizeof(T));
  return v;
}
uint16_t u16(std::span<const std::byte> b, size_t at) { return field<uint16_t>(b, at); }
uint32_t u32(std::span<const std::byte> b, size_t at) { return field<uint32_t>(b, at); }
uint64_t u64(std::span<const std::byte> b, size_t at) { return field<uint64_t>(b, at); }

// True where [offset, offset + size) lies inside `total`.
bool inside(uint64_t offset, uint64_t size, uint64_t total) { return offset <= total && size <= total - offset; }

std::string_view text(std::span<const std::byte> b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }

// The content of the zip64 extra field (id 1), if there is one.
std::optional<std::span<const std::byte>> zip64_extra(std::span<const std::byte> extra) {
  while (extra.size() >= 4) {
    const uint16_t id = u16(extra, 0), size = u16(extra, 2);
    if (size > extra.size() - 4) return std::nullopt;
    if (id == 1) return extra.subspan(4, size);
    extra = extra.subspan(4 + size);
  }
  return std::nullopt;
}

// Where the directory is; from the end record or its zip64 form.
struct Directory {
  uint64_t offset = 0, size = 0, count = 0;
};
Result<Directory> find_directory(std::span<const std::byte> b) {
  if (b.size() < kEndSize) return fail(Code::kMalformed, "not a zip archive: {} bytes are too few", b.size());
  // The end record stands last, but for a comment of at most 65535 bytes.
  const size_t lowest = b.size() - std::min<size_t>(b.size(), kEndSize + 0xffff);
  size_t end = b.size() - kEndSize;
  while (u32(b, end) != kEndSignature || u16(b, end + 20) != b.size() - end - kEndSize) {
    if (end == lowest) return fail(Code::kMalformed, "not a zip archive, or truncated: there is no end record");
    --end;
  }
  Directory d{u32(b, end + 16), u32(b, end + 12), u16(b, end + 10)};
  if (u16(b, end + 4) == 0xffff || d.offset == kIn64 || d.size == kIn64 || d.count == 0xffff) {
    if (end >= kLocator64Size && u32(b, end - kLocator64Size) == kLocator64Signature) {
      const uint64_t at = u64(b, end - kLocator64Size + 8);
      if (!inside(at, kEnd64Size, b.size()) || u32(b, at) != kEnd64Signature)
        return fail(Code::kMalformed, "the zip64 end record is not where its locator says");
      if (u32(b, at + 16) != 0 || u32(b, at + 20) != 0)
        return fail(Code::kUnsupported, "a zip archive over several disks");
      d = {u64(b, at + 48), u64(b, at + 40), u64(b, at + 32)};
      end = at;
    } else if (d.offset == kIn64 || d.size == kIn64) {
      return fail(Code::kMalformed, "the zip64 end record is missing");
    }
  } else if (u16(b, end + 4) != 0 || u16(b, end + 6) != 0) {
    return fail(Code::kUnsupported, "a zip archive over several disks");
  }
  if (!inside(d.offset, d.size, end)) return fail(Code::kMalformed, "the zip directory lies outside the file");
  if (d.count > d.size / kCentralSize)
    return fail(Code::kMalformed, "the zip directory of {} bytes cannot hold {} entries", d.size, d.count);
  return d;
}

// Compares the local header of `e` with the directory and finds the data.
Result<void> read_local(std::span<const std::byte> b, uint64_t directory, ZipEntry& e) {
  if (!inside(e.header, kLocalSize, directory) || u32(b, e.header) != kLocalSignature)
    return fail(Code::kMalformed, "zip entry '{}' has no local header at {}", e.name, e.header);
  const auto h = b.subspan(e.header);
  const uint16_t flags = u16(h, 6), name_size = u16(h, 26), extra_size = u16(h, 28);
  e.data = e.header + kLocalSize + name_size + extra_size;
  if (!inside(e.data, e.compressed, directory))
    return fail(Code::kMalformed, "zip entry '{}' of {} bytes reaches outside the file", e.name, e.compressed);
  if (text(h.subspan(kLocalSize, name_size)) != e.name || u16(h, 8) != e.method)
    return fail(Code::kMalformed, "zip entry '{}' differs from its local header", e.name);
  if (!(flags & kSizesFollow)) {
    uint64_t compressed = u32(h, 18), size = u32(h, 22);
    if (compressed == kIn64 || size == kIn64) {
      const auto x = zip64_extra(h.subspan(kLocalSize + name_size, extra_size));
      size_t at = 0;
      for (uint64_t* v : {&size, &compressed})
        if (*v == kIn64) {
          if (!x || x->size() < at + 8)
            return fail(Code::kMalformed, "zip entry '{}': its zip64 sizes are missing", e.name);
          *v = u64(*x, at);
          at += 8;
        }
    }
    if (compressed != e.compressed || size != e.size || u32(h, 14) != e.crc)
      return fail(Code::kMalformed, "zip entry '{}' differs in size or checksum from its local header", e.name);
  }
  return {};
}
}  // namespace

uint32_t crc32_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Result<std::shared_ptr<const ZipArchive>> ZipArchive::open(std::span<const std::byte> bytes,
                                                           std::shared_ptr<const void> owner) {
  std::shared_ptr<ZipArchive> z(new ZipArchive());
  z->bytes_ = bytes;
  z->owner_ = std::move(owner);
  EW_TRY(z->read_directory());
  return std::shared_ptr<const ZipArchive>(std::move(z));
}

Result<void> ZipArchive::read_directory() {
  EW_ASSIGN(const Directory dir, find_directory(bytes_));
  auto rest = bytes_.subspan(dir.offset, dir.size);
  entries_.reserve(dir.count);
  by_name_.reserve(dir.count);
  for (uint64_t i = 0; i < dir.count; ++i) {
    if (rest.size() < kCentralSize || u32(rest, 0) != kCentralSignature)
      return fail(Code::kMalformed, "zip directory entry {} is broken", i);
    const uint16_t flags = u16(rest, 8), name_size = u16(rest, 28), extra_size = u16(rest, 30),
                   comment_size = u16(rest, 32);
    const size_t total = kCentralSize + name_size + extra_size + comment_size;
    if (rest.size() < total) return fail(Code::kMalformed, "zip directory entry {} is truncated", i);
    ZipEntry e;
    e.name = text(rest.subspan(kCentralSize, name_size));
    e.method = u16(rest, 10);
    e.crc = u32(rest, 16);
    e.compressed = u32(rest, 20);
    e.size = u32(rest, 24);
    e.header = u32(rest, 42);
    if (e.name.find('\0') != std::string_view::npos)
      return fail(Code::kMalformed, "zip directory entry {} has a NUL in its name", i);
    // The zip64 field holds, in this order, those of the three that do not fit.
    if (e.size == kIn64 || e.compressed == kIn64 || e.header == kIn64) {
      const auto x = zip64_extra(rest.subspan(kCentralSize + name_size, extra_size));
      size_t at = 0;
      for (uint64_t* v : {&e.size, &e.compressed, &e.header})
        if (*v == kIn64) {
          if (!x || x->size() < at + 8)
            return fail(Code::kMalformed, "zip entry '{}': its zip64 sizes are missing", e.name);
          *v = u64(*x, at);
          at += 8;
        }
    }
    if (flags & kEncrypted) return fail(Code::kUnsupported, "zip entry '{}' is encrypted", e.name);
    if (e.method != 0 && e.method != 8)
      return fail(Code::kUnsupported, "zip entry '{}' uses compression method {}; stored (0) and deflate (8) are read",
                  e.name, e.method);
    if (e.method == 0 && e.compressed != e.size)
      return fail(Code::kMalformed, "stored zip entry '{}' claims {} bytes but holds {}", e.name, e.size, e.compressed);
    EW_TRY(read_local(bytes_, dir.offset, e));
    if (!by_name_.emplace(e.name, entries_.size()).second)
      return fail(Code::kMalformed, "zip entry '{}' occurs twice", e.name);
    entries_.push_back(e);
    rest = rest.subspan(total);
  }
  verified_.resize(entries_.size());
  std::vector<const ZipEntry*> order;
  order.reserve(entries_.size());
  for (const ZipEntry& e : entries_) order.push_back(&e);
  std::sort(order.begin(), order.end(), [](const ZipEntry* a, const ZipEntry* b) { return a->header < b->header; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i]->header < order[i - 1]->data + order[i - 1]->compressed)
      return fail(Code::kMalformed, "zip entries '{}' and '{}' overlap", order[i - 1]->name, order[i]->name);
  return {};
}

const ZipEntry* ZipArchive::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

namespace {
struct Inflater {
  z_stream s{};
  bool ready = false;
  Inflater() { ready = inflateInit2(&s, -MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (ready) inflateEnd(&s);
  }
};

// Grows as data arrive, so that a lying size costs nothing. nullopt where the stream is broken or not of that size.
std::optional<std::vector<std::byte>> inflate_all(std::span<const std::byte> in, uint64_t size) {
  Inflater z;
  if (!z.ready) return std::nullopt;
  std::vector<std::byte> out(std::min<uint64_t>(size, std::max<uint64_t>(in.size() * 4, 4096)));
  uint64_t used = 0, taken = 0;
  constexpr uint64_t kMost = 1u << 30;  // zlib counts in 32 bits
  for (;;) {
    const uint64_t have = std::min<uint64_t>(in.size() - taken, kMost),
                   room = std::min<uint64_t>(out.size() - used, kMost);
    z.s.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data() + taken));
    z.s.avail_in = static_cast<uInt>(have);
    std::byte spare;  // the end mark may follow when there is no room left
    z.s.next_out = reinterpret_cast<Bytef*>(room ? out.data() + used : &spare);
    z.s.avail_out = static_cast<uInt>(room ? room : 1);
    const int r = inflate(&z.s, Z_NO_FLUSH);
    const uint64_t made = (room ? room : 1) - z.s.avail_out;
    taken += have - z.s.avail_in;
    if (room == 0 && made > 0) return std::nullopt;
    used += made;
    if (r == Z_STREAM_END) break;
    if (r != Z_OK) return std::nullopt;
    if (used == out.size() && out.size() < size) out.resize(std::min<uint64_t>(size, out.size() * 2));
  }
  if (used != size || taken != in.size()) return std::nullopt;
  return out;
}
}  // namespace

namespace {
std::unexpected<Error> damaged(const ZipEntry& e) {
  return fail(Code::kMalformed, "zip entry '{}' is damaged: its checksum differs", e.name);
}
}  // namespace

Result<void> ZipArchive::verify(std::span<const ZipEntry* const> entries) const {
  std::atomic<const ZipEntry*> bad = nullptr;
  parallel_for(static_cast<int64_t>(entries.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const ZipEntry& e = *entries[static_cast<size_t>(i)];
      if (e.method != 0) continue;
      if (crc32_of(bytes_.subspan(e.data, e.compressed)) == e.crc)
        verified_[static_cast<size_t>(&e - entries_.data())] = 1;
      else
        bad = &e;
    }
  });
  if (const ZipEntry* e = bad.load()) return damaged(*e);
  return {};
}

Result<Bytes> ZipArchive::read(const ZipEntry& e) const {
  const auto raw = bytes_.subspan(e.data, e.compressed);
  Bytes out{raw, owner_, true};
  if (e.method == 8) {
    // Deflate cannot expand more than 1032 times.
    if (e.size / 1032 > e.compressed)
      return fail(Code::kMalformed, "zip entry '{}' claims {} bytes out of {}, more than deflate can hold", e.name,
                  e.size, e.compressed);
    const uint64_t limit = (uint64_t{256} << 20) + 32 * bytes_.size();
    if (e.size > limit - std::min(limit, inflated_))
      return fail(Code::kMalformed, "zip entry '{}' inflates to {} bytes, too many for an archive of {}", e.name,
                  e.size, bytes_.size());
    auto data = inflate_all(raw, e.size);
    if (!data)
      return fail(Code::kMalformed, "zip entry '{}' does not inflate to the {} bytes it claims", e.name, e.size);
    inflated_ += e.size;
    auto owned = std::make_shared<const std::vector<std::byte>>(std::move(*data));
    out = {std::span<const std::byte>(*owned), owned, false};
  }
  if (!verified_[static_cast<size_t>(&e - entries_.data())] && crc32_of(out.data) != e.crc) return damaged(e);
  return out;
}

}  // namespace edgewright::read
