#include "format/npy.h"

#include <charconv>
#include <cstring>
#include <optional>

namespace edgewright::npy {
namespace {

constexpr size_t kMaxRank = 64;

struct DTypeName {
  DType dtype;
  std::string_view code;  // kind and size; byte order stands before it
};
constexpr DTypeName kNames[] = {
    {DType::b8, "b1"},  {DType::i8, "i1"},  {DType::u8, "u1"},  {DType::i16, "i2"},   {DType::u16, "u2"},
    {DType::i32, "i4"}, {DType::u32, "u4"}, {DType::i64, "i8"}, {DType::u64, "u8"},   {DType::f16, "f2"},
    {DType::f32, "f4"}, {DType::f64, "f8"}, {DType::c64, "c8"}, {DType::c128, "c16"},
};

// The text after `'key':` of the header's dict literal, without leading blanks; nullopt if the key is not there.
std::optional<std::string_view> after_key(std::string_view header, std::string_view key) {
  for (char quote : {'\'', '"'}) {
    const std::string want = std::string(1, quote) + std::string(key) + quote;
    size_t at = header.find(want);
    if (at == std::string_view::npos) continue;
    at = header.find_first_not_of(" \t\n", at + want.size());
    if (at == std::string_view::npos || header[at] != ':') return std::nullopt;
    at = header.find_first_not_of(" \t\n", at + 1);
    if (at == std::string_view::npos) return std::nullopt;
    return header.substr(at);
  }
  return std::nullopt;
}

Result<std::vector<int64_t>> shape_of(std::string_view s) {
  std::vector<int64_t> sizes;
  if (s.empty() || s[0] != '(') return fail(Code::kMalformed, "shape is no tuple");
  size_t i = 1;
  while (true) {
    i = s.find_first_not_of(" ,", i);
    if (i == std::string_view::npos) return fail(Code::kMalformed, "shape is no tuple");
    if (s[i] == ')') return sizes;
    int64_t v = 0;
    const auto [end, error] = std::from_chars(s.data() + i, s.data() + s.size(), v);
    if (error != std::errc() || v < 0 || sizes.size() == kMaxRank)
      return fail(Code::kMalformed, "shape is no tuple of sizes");
    sizes.push_back(v);
    i = static_cast<size_t>(end - s.data());
    if (i < s.size() && s[i] == 'L') ++i;  // written by Python 2
  }
}

// Copies a Fortran-order array into C order.
HostTensor from_fortran(const HostTensor& t) {
  const size_t item = size_of(t.dtype), rank = t.sizes.size();
  std::vector<std::byte> data(t.bytes.size());
  std::vector<int64_t> index(rank, 0);
  std::vector<int64_t> stride(rank, 1);
  for (size_t d = 1; d < rank; ++d) stride[d] = stride[d - 1] * t.sizes[d - 1];
  for (int64_t at = 0, n = t.numel(); at < n; ++at) {
    int64_t from = 0;
    for (size_t d = 0; d < rank; ++d) from += index[d] * stride[d];
    std::memcpy(data.data() + static_cast<size_t>(at) * item, t.bytes.data() + static_cast<size_t>(from) * item, item);
    for (size_t d = rank; d-- > 0 && ++index[d] == t.sizes[d];) index[d] = 0;
  }
  return HostTensor::owned(t.dtype, t.sizes, std::move(data));
}

}  // namespace

Result<HostTensor> parse(Bytes file, std::shared_ptr<const void> owner, const std::string& where) {
  const auto malformed = [&](std::string_view why) {
    return fail(Code::kMalformed, "{}: not an .npy file: {}", where, why);
  };
  if (file.size() < 10 || std::memcmp(file.data(), "\x93NUMPY", 6) != 0) return malformed("no magic");
  const auto major = static_cast<int>(file[6]);
  if (major < 1 || major > 3) return fail(Code::kUnsupported, "{}: .npy version {}", where, major);
  const size_t width = major == 1 ? 2 : 4;
  if (file.size() < 8 + width) return malformed("truncated");
  uint32_t length = 0;
  std::memcpy(&length, file.data() + 8, width);
  if (length > file.size() - 8 - width) return malformed("truncated header");
  const std::string_view header(reinterpret_cast<const char*>(file.data()) + 8 + width, length);
  const auto descr = after_key(header, "descr"), fortran = after_key(header, "fortran_order"),
             shape = after_key(header, "shape");
  if (!descr || !fortran || !shape) return malformed("descr, fortran_order or shape is missing");
  if (descr->empty() || ((*descr)[0] != '\'' && (*descr)[0] != '"'))
    return fail(Code::kUnsupported, "{}: structured element type", where);
  const size_t quote = descr->find((*descr)[0], 1);
  if (quote == std::string_view::npos || quote < 3) return malformed("descr");
  const std::string_view code = descr->substr(1, quote - 1);
  HostTensor t;
  bool known = false;
  for (const DTypeName& n : kNames)
    if (code.substr(1) == n.code && (code[0] == '<' || code[0] == '|' || (code[0] == '>' && size_of(n.dtype) == 1)))
      t.dtype = n.dtype, known = true;
  if (!known) return fail(Code::kUnsupported, "{}: element type '{}'", where, code);
  auto sizes = shape_of(*shape);
  if (!sizes) return with_note(std::move(sizes.error()), where);
  t.sizes = std::move(*sizes);
  const auto numel = checked_numel(t.sizes);
  const auto bytes = numel ? checked_mul(*numel, static_cast<int64_t>(size_of(t.dtype))) : std::nullopt;
  const Bytes data = file.subspan(8 + width + length);
  if (!bytes || static_cast<uint64_t>(*bytes) > data.size()) return malformed("the data is shorter than the shape");
  t.bytes = data.first(static_cast<size_t>(*bytes));
  t.owner = std::move(owner);
  if (fortran->starts_with("True")) return from_fortran(t);
  if (!fortran->starts_with("False")) return malformed("fortran_order");
  return t;
}

Result<HostTensor> read(const std::string& path) {
  EW_ASSIGN(auto file, MappedFile::open(path));
  return parse(file->bytes(), file, path);
}

Result<Pieces> build(const HostTensor& t) {
  std::string_view code;
  for (const DTypeName& n : kNames)
    if (n.dtype == t.dtype) code = n.code;
  if (code.empty()) return fail(Code::kUnsupported, "NumPy has no element type for {}", name(t.dtype));
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", size_of(t.dtype) == 1 ? '|' : '<',
                  code, fmt::join(t.sizes, ", "), t.sizes.size() == 1 ? "," : "");
  header.append(63 - (10 + header.size()) % 64, ' ');  // header, newline and all: a multiple of 64
  header += '\n';
  std::vector<std::byte> head(10 + header.size());
  std::memcpy(head.data(), "\x93NUMPY\x01\x00", 8);
  const auto length = static_cast<uint16_t>(header.size());
  std::memcpy(head.data() + 8, &length, 2);
  std::memcpy(head.data() + 10, header.data(), header.size());
  Pieces out;
  out.own(std::move(head));
  out.borrow(t.bytes);
  return out;
}

Result<void> write(const std::string& path, const HostTensor& tensor) {
  EW_ASSIGN(const Pieces pieces, build(tensor));
  return write_file(path, [&](FileWriter& w) { return pieces.write(w); });
}

}  // namespace edgewright::npy
