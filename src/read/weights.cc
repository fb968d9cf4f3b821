#include "read/weights.h"

#include <unordered_set>

#include "base/checked.h"

namespace edgewright::read {

Result<DType> dtype_from_code(int64_t code) {
  switch (code) {
    case 1: return DType::u8;
    case 2: return DType::i8;
    case 3: return DType::i16;
    case 4: return DType::i32;
    case 5: return DType::i64;
    case 6: return DType::f16;
    case 7: return DType::f32;
    case 8: return DType::f64;
    case 9: return DType::c32;
    case 10: return DType::c64;
    case 11: return DType::c128;
    case 12: return DType::b8;
    case 13: return DType::bf16;
    case 28: return DType::u16;
    case 29: return DType::f8e4m3fn;
    case 30: return DType::f8e5m2;
    case 31: return DType::f8e4m3fnuz;
    case 32: return DType::f8e5m2fnuz;
    case 33: return fail(Code::kUnsupported, "dtype float8_e8m0fnu");
    case 34: return DType::u32;
    case 35: return DType::u64;
    default: return fail(Code::kMalformed, "dtype code {}", code);
  }
}

namespace {
Result<ir::Tensor> as_tensor(PyRef r) {
  if (const auto* t = r->as<ir::Tensor>()) return *t;
  const auto* refused = r->as<PyRefused>();
  return fail(Code::kUnsupported, "the file holds a pickled {}, and nothing is loaded from pickles but plain tensors",
              refused ? refused->what : "object");
}
}  // namespace

void Weights::add_parts(const std::string& name, PyRef r) {
  const auto* refused = r->as<PyRefused>();
  if (!refused || !refused->attributes) return;
  auto& into = parts_[name];
  for (const auto& [key, value] : refused->attributes->as<PyDict>()->items)
    if (const auto* attribute = key->as<std::string>(); attribute)
      if (const auto* t = value->as<ir::Tensor>()) into.insert_or_assign(*attribute, *t);
}

Result<void> Weights::add_torch_save(const Bytes& bytes) {
  if (bytes.data.empty()) return {};
  EW_ASSIGN(const Pickle p, read_torch_save(bytes));
  const auto* dict = p.root->as<PyDict>();
  if (!dict) return fail(Code::kMalformed, "a torch.save file that is not a dict of tensors");
  for (const auto& [key, value] : dict->items) {
    const auto* name = key->as<std::string>();
    if (!name) return fail(Code::kMalformed, "a tensor's name is not a string");
    auto t = as_tensor(value);
    if (!t) add_parts(*name, value);
    if (t)
      tensors_[*name] = std::move(*t);
    else
      refused_[*name] = std::move(t.error());
  }
  return {};
}

namespace {
// Sizes, strides and offsets of stored tensors are plain ints.
Result<int64_t> plain_int(JsonValue v, std::string_view what) {
  EW_ASSIGN(const auto u, as_union(v, what));
  if (u.first != "as_int") return fail(Code::kMalformed, "{} is not a plain int", what);
  return as_int(u.second, what);
}
Result<std::vector<int64_t>> plain_ints(JsonArray a, std::string_view what) {
  std::vector<int64_t> out;
  for (JsonValue v : a) {
    EW_ASSIGN(const int64_t i, plain_int(v, what));
    out.push_back(i);
  }
  return out;
}
}  // namespace

Result<ir::Tensor> Weights::from_config(const ZipArchive& zip, const std::string& name, JsonObject meta,
                                        const std::string& folder) {
  EW_ASSIGN(const std::string_view file, string_member(meta, "path_name"));
  const std::string path = folder + std::string(file);
  const ZipEntry* e = zip.find(path);
  if (!e) return fail(Code::kMalformed, "'{}' is missing", path);
  EW_ASSIGN(const JsonValue pickled, member(meta, "use_pickle"));
  EW_ASSIGN(const bool is_pickled, as_bool(pickled, "use_pickle"));
  if (is_pickled) {
    if (!maybe(meta, "tensor_meta")) return fail(Code::kUnsupported, "an object, not a tensor ('{}')", path);
    EW_ASSIGN(const Bytes b, zip.read(*e));
    EW_ASSIGN(const Pickle p, read_torch_save(b));
    add_parts(name, p.root);
    return as_tensor(p.root);
  }
  EW_ASSIGN(const JsonObject tensor, object_member(meta, "tensor_meta"));
  EW_ASSIGN(const JsonValue code, member(tensor, "dtype"));
  EW_ASSIGN(const int64_t dtype_code, as_int(code, "dtype"));
  EW_ASSIGN(const DType dtype, dtype_from_code(dtype_code));
  EW_ASSIGN(const JsonValue layout_value, member(tensor, "layout"));
  EW_ASSIGN(const int64_t layout, as_int(layout_value, "layout"));
  if (layout != 7) return fail(Code::kUnsupported, "a tensor that is not strided (layout {})", layout);
  EW_ASSIGN(const JsonArray sizes_json, array_member(tensor, "sizes"));
  EW_ASSIGN(const JsonArray strides_json, array_member(tensor, "strides"));
  EW_ASSIGN(auto sizes, plain_ints(sizes_json, "a size"));
  EW_ASSIGN(auto strides, plain_ints(strides_json, "a stride"));
  EW_ASSIGN(const JsonValue offset_value, member(tensor, "storage_offset"));
  EW_ASSIGN(const int64_t offset, plain_int(offset_value, "storage_offset"));
  auto [it, fresh] = files_.try_emplace(path);
  if (fresh) {
    auto b = zip.read(*e);
    if (!b) {
      files_.erase(it);
      return std::unexpected(std::move(b.error()));
    }
    it->second = std::move(*b);
  }
  if (it->second.data.empty() && checked_numel(sizes).value_or(1) != 0)
    return fail(Code::kUnsupported, "the file holds no data for it: the program was exported with fake weights");
  // One copy serves all views of a storage that is not aligned.
  it->second = aligned_for(dtype, std::move(it->second));
  return tensor_over(dtype, std::move(sizes), std::move(strides), offset, it->second);
}

Result<void> Weights::add_config(const ZipArchive& zip, std::string_view config, const std::string& folder) {
  EW_ASSIGN(const auto doc, parse_json(config));
  EW_ASSIGN(const JsonObject root, as_object(doc->root, "a weights config"));
  EW_ASSIGN(const JsonObject entries, object_member(root, "config"));
  std::unordered_set<const ZipEntry*> named;
  for (const auto [key, value] : entries) {
    JsonObject meta;
    JsonValue file;
    std::string_view path;
    if (!value.get(meta) && !meta.at_key("path_name").get(file) && !file.get(path))
      if (const ZipEntry* e = zip.find(folder + std::string(path))) named.insert(e);
  }
  EW_TRY(zip.verify(std::vector<const ZipEntry*>(named.begin(), named.end())));
  for (const auto [key, value] : entries) {
    std::string name(key);
    EW_ASSIGN(const JsonObject meta, as_object(value, "an entry of a weights config"));
    auto t = from_config(zip, name, meta, folder);
    if (t) {
      tensors_[std::move(name)] = std::move(*t);
    } else if (t.error().code == Code::kUnsupported) {
      refused_[std::move(name)] = std::move(t.error());
    } else {
      return with_note(std::move(t.error()), "tensor '" + name + "'");
    }
  }
  return {};
}

Result<ir::Tensor> Weights::find(std::string_view name) const {
  const std::string key(name);
  if (auto it = tensors_.find(key); it != tensors_.end()) return it->second;
  if (auto it = refused_.find(key); it != refused_.end()) return with_note(it->second, "tensor '" + key + "'");
  return fail(Code::kMalformed, "the file holds no tensor '{}'", name);
}

Result<ir::Tensor> Weights::part(std::string_view name, std::string_view attribute) const {
  if (const auto it = parts_.find(std::string(name)); it != parts_.end())
    if (const auto t = it->second.find(attribute); t != it->second.end()) return t->second;
  return fail(Code::kUnsupported, "tensor '{}': the file holds no plain tensor '{}' inside of it", name, attribute);
}

}  // namespace edgewright::read
