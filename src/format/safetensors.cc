#include "format/safetensors.h"

#include <simdjson.h>

#include <cstring>
#include <set>

namespace edgewright::safetensors {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;  // the reference implementation's own limit
constexpr size_t kMaxRank = 64;

struct DTypeName {
  DType dtype;
  const char* name;
};
constexpr DTypeName kNames[] = {
    {DType::f64, "F64"}, {DType::f32, "F32"},          {DType::f16, "F16"},        {DType::bf16, "BF16"},
    {DType::i64, "I64"}, {DType::i32, "I32"},          {DType::i16, "I16"},        {DType::i8, "I8"},
    {DType::u64, "U64"}, {DType::u32, "U32"},          {DType::u16, "U16"},        {DType::u8, "U8"},
    {DType::b8, "BOOL"}, {DType::f8e4m3fn, "F8_E4M3"}, {DType::f8e5m2, "F8_E5M2"}, {DType::c64, "C64"},
};

Result<HostTensor> entry(simdjson::dom::element e, Bytes data) {
  std::string_view dtype;
  simdjson::dom::array shape, offsets;
  uint64_t begin = 0, end = 0;
  if (e["dtype"].get(dtype) || e["shape"].get(shape) || e["data_offsets"].get(offsets) || offsets.size() != 2 ||
      offsets.at(0).get(begin) || offsets.at(1).get(end))
    return fail(Code::kMalformed, "dtype, shape or data_offsets is missing or no such thing");
  HostTensor t;
  bool known = false;
  for (const DTypeName& n : kNames)
    if (dtype == n.name) t.dtype = n.dtype, known = true;
  if (!known) return fail(Code::kUnsupported, "dtype '{}'", dtype);
  if (shape.size() > kMaxRank) return fail(Code::kMalformed, "{} dimensions", shape.size());
  for (simdjson::dom::element d : shape) {
    int64_t size = 0;
    if (d.get(size) || size < 0) return fail(Code::kMalformed, "a size is no natural number");
    t.sizes.push_back(size);
  }
  const auto numel = checked_numel(t.sizes);
  const auto bytes = numel ? checked_mul(*numel, static_cast<int64_t>(size_of(t.dtype))) : std::nullopt;
  if (begin > end || end > data.size())
    return fail(Code::kMalformed, "data_offsets [{}, {}] are not inside {} bytes of data", begin, end, data.size());
  if (!bytes || static_cast<uint64_t>(*bytes) != end - begin)
    return fail(Code::kMalformed, "data_offsets [{}, {}] disagree with the shape", begin, end);
  t.bytes = data.subspan(begin, end - begin);
  return t;
}

// A name as a JSON string.
std::string json_string(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

Result<std::vector<NamedTensor>> parse(Bytes file, std::shared_ptr<const void> owner, const std::string& where) {
  uint64_t length = 0;
  if (file.size() >= 8) std::memcpy(&length, file.data(), 8);
  if (file.size() < 8 || length > file.size() - 8 || length > kMaxHeader)
    return fail(Code::kMalformed, "{}: not a safetensors file: header of {} bytes in a file of {}", where, length,
                file.size());
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (const auto error = parser.parse(reinterpret_cast<const char*>(file.data()) + 8, length).get(root))
    return fail(Code::kMalformed, "{}: header: {}", where, simdjson::error_message(error));
  const Bytes data = file.subspan(8 + length);
  std::vector<NamedTensor> tensors;
  std::set<std::string_view> names;
  for (const auto& [key, value] : root) {
    if (key == "__metadata__") continue;
    if (!names.insert(key).second) return fail(Code::kMalformed, "{}: '{}' occurs twice", where, key);
    auto t = entry(value, data);
    if (!t) return with_note(std::move(t.error()), fmt::format("{}: '{}'", where, key));
    t->owner = owner;
    tensors.push_back({std::string(key), std::move(*t)});
  }
  return tensors;
}

Result<std::vector<NamedTensor>> read(const std::string& path) {
  EW_ASSIGN(auto file, MappedFile::open(path));
  return parse(file->bytes(), file, path);
}

Pieces build(const std::vector<NamedTensor>& tensors) {
  std::string header = "{";
  uint64_t at = 0;
  for (const auto& [name, t] : tensors) {
    const char* dtype = "U8";
    for (const DTypeName& n : kNames)
      if (t.dtype == n.dtype) dtype = n.name;
    header +=
        fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}", header.size() > 1 ? "," : "",
                    json_string(name), dtype, fmt::join(t.sizes, ","), at, at + t.bytes.size());
    at += t.bytes.size();
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');  // so that the data begins aligned
  std::vector<std::byte> head(8 + header.size());
  const uint64_t length = header.size();
  std::memcpy(head.data(), &length, 8);
  std::memcpy(head.data() + 8, header.data(), header.size());
  Pieces out;
  out.own(std::move(head));
  for (const NamedTensor& t : tensors) out.borrow(t.tensor.bytes);
  return out;
}

Result<void> write(const std::string& path, const std::vector<NamedTensor>& tensors) {
  const Pieces pieces = build(tensors);
  return write_file(path, [&](FileWriter& w) { return pieces.write(w); });
}

}  // namespace edgewright::safetensors
