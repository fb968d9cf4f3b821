// tests/read/archive.h - builds zips and edits the entries of others, so that tests can lie in exactly one place.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "read/pt2.h"
#include "read/zip.h"

namespace edgewright::read {

inline std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline std::string vector_path(const std::string& name) { return std::string(EW_TEST_DATA) + "/vectors/" + name; }

// Bytes with an owner, at an address of their own so that AddressSanitizer sees reads past the end.
struct Owned {
  std::shared_ptr<std::byte[]> bytes;
  size_t size;
  explicit Owned(const std::string& s) : bytes(new std::byte[s.size()]), size(s.size()) {
    std::memcpy(bytes.get(), s.data(), s.size());
  }
  std::span<const std::byte> span() const { return {bytes.get(), size}; }
};
inline auto read_text(const std::string& s, const ReadOptions& o = {}) {
  const Owned b(s);
  return read_pt2_bytes(b.span(), b.bytes, o);
}
inline Bytes as_bytes(const std::string& s) {
  const Owned b(s);
  return {b.span(), b.bytes, true};
}

using Entries = std::vector<std::pair<std::string, std::string>>;

inline Entries entries_of(const std::string& zip) {
  const Owned b(zip);
  const auto z = ZipArchive::open(b.span(), b.bytes);
  Entries out;
  if (z)
    for (const ZipEntry& e : (*z)->entries()) out.emplace_back(std::string(e.name), std::string((*z)->read(e)->text()));
  return out;
}

template <class T>
void put(std::string& s, T v) {
  s.append(reinterpret_cast<const char*>(&v), sizeof(T));
}

// What a central directory record says of an entry; tests change it to lie.
struct Record {
  std::string name;
  uint16_t method = 0, flags = 0;
  uint32_t crc = 0, compressed = 0, size = 0, header = 0;
};

// Stored entries. `lie` may change the records of the central directory before they are written.
template <class F>
std::string make_zip(const Entries& entries, F&& lie) {
  std::string out;
  std::vector<Record> records;
  for (const auto& [name, data] : entries) {
    Record r{name,
             0,
             0,
             crc32_of(std::as_bytes(std::span(data))),
             static_cast<uint32_t>(data.size()),
             static_cast<uint32_t>(data.size()),
             static_cast<uint32_t>(out.size())};
    put<uint32_t>(out, 0x04034b50);
    for (uint16_t v : {20, 0, 0, 0, 0}) put<uint16_t>(out, v);
    put(out, r.crc);
    put(out, r.compressed);
    put(out, r.size);
    put(out, static_cast<uint16_t>(name.size()));
    const size_t pad = (64 - (out.size() + 2 + name.size()) % 64) % 64;  // data aligned to 64
    put(out, static_cast<uint16_t>(pad));
    out += name + std::string(pad, '\0') + data;
    records.push_back(std::move(r));
  }
  lie(records);
  const size_t start = out.size();
  for (const Record& r : records) {
    put<uint32_t>(out, 0x02014b50);
    for (uint16_t v : {uint16_t{20}, uint16_t{20}, r.flags, r.method, uint16_t{0}, uint16_t{0}}) put<uint16_t>(out, v);
    put(out, r.crc);
    put(out, r.compressed);
    put(out, r.size);
    put(out, static_cast<uint16_t>(r.name.size()));
    for (int i = 0; i < 4; ++i) put<uint16_t>(out, 0);
    put<uint32_t>(out, 0);
    put(out, r.header);
    out += r.name;
  }
  const auto size = static_cast<uint32_t>(out.size() - start);
  put<uint32_t>(out, 0x06054b50);
  put<uint32_t>(out, 0);
  put(out, static_cast<uint16_t>(records.size()));
  put(out, static_cast<uint16_t>(records.size()));
  put(out, size);
  put(out, static_cast<uint32_t>(start));
  put<uint16_t>(out, 0);
  return out;
}
inline std::string make_zip(const Entries& entries) {
  return make_zip(entries, [](auto&) {});
}

// The entry whose name ends so.
inline std::string& entry(Entries& entries, std::string_view suffix) {
  for (auto& [name, data] : entries)
    if (name.ends_with(suffix)) return data;
  static std::string none;
  return none = "";
}
inline std::string replaced(std::string s, std::string_view from, std::string_view to) {
  const size_t at = s.find(from);
  if (at != std::string::npos) s.replace(at, from.size(), to);
  return s;
}

}  // namespace edgewright::read
