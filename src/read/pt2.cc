#include "read/pt2.h"

#include "base/file.h"
#include "read/program.h"
#include "read/zip.h"

// Format facts. Up to torch 2.7: a flat zip of serialized_exported_program.json, serialized_state_dict.pt, serialized_constants.pt,
// serialized_example_inputs.pt, version. From 2.8 on (torch/export/pt2_archive): below one top folder, archive_format ("pt2"),
// archive_version ("0"), byteorder, models/<name>.json, data/weights, data/constants, data/sample_inputs/<name>.pt.

namespace edgewright::read {

namespace {
Result<Bytes> read_optional(const ZipArchive& zip, const std::string& name) {
  const ZipEntry* e = zip.find(name);
  if (!e) return Bytes{};
  auto b = zip.read(*e);
  if (!b) return with_note(std::move(b.error()), name);
  return b;
}
Result<Bytes> read_required(const ZipArchive& zip, const std::string& name) {
  if (!zip.find(name)) return fail(Code::kMalformed, "'{}' is missing", name);
  return read_optional(zip, name);
}

Result<ir::Program> program_from(const ZipArchive& zip, const std::string& json_name, const Weights& weights,
                                 const std::string& samples_name) {
  EW_ASSIGN(const Bytes text, read_required(zip, json_name));
  auto doc = parse_json(text.text());
  if (!doc) return with_note(std::move(doc.error()), json_name);
  EW_ASSIGN(const Bytes samples, read_optional(zip, samples_name));
  return build_program((*doc)->root, weights, samples);
}

Result<ir::Program> read_flat(const ZipArchive& zip) {
  Weights weights;
  for (const char* name : {"serialized_state_dict.pt", "serialized_constants.pt"}) {
    EW_ASSIGN(const Bytes b, read_required(zip, name));
    if (auto r = weights.add_torch_save(b); !r) return with_note(std::move(r.error()), name);
  }
  return program_from(zip, "serialized_exported_program.json", weights, "serialized_example_inputs.pt");
}

// Weights or constants of one model: a config with raw files, or (torch 2.8) one torch.save file.
Result<void> add_tensors(const ZipArchive& zip, const std::string& folder, const std::string& config,
                         const std::string& pickled, Weights& weights) {
  if (zip.find(pickled)) {
    EW_ASSIGN(const Bytes b, read_required(zip, pickled));
    if (auto r = weights.add_torch_save(b); !r) return with_note(std::move(r.error()), pickled);
    return {};
  }
  EW_ASSIGN(const Bytes b, read_required(zip, config));
  if (auto r = weights.add_config(zip, b.text(), folder); !r) return with_note(std::move(r.error()), config);
  return {};
}

Result<ir::Program> read_model(const ZipArchive& zip, const std::string& root, const std::string& model) {
  Weights weights;
  const std::string w = root + "data/weights/", c = root + "data/constants/";
  EW_TRY(add_tensors(zip, w, w + model + "_weights_config.json", w + model + ".pt", weights));
  EW_TRY(add_tensors(zip, c, c + model + "_constants_config.json", c + model + ".pt", weights));
  return program_from(zip, root + "models/" + model + ".json", weights, root + "data/sample_inputs/" + model + ".pt");
}

Result<std::vector<ir::Program>> read_archive(const ZipArchive& zip, const std::string& root,
                                              const ReadOptions& options) {
  EW_ASSIGN(const Bytes format, read_required(zip, root + "archive_format"));
  if (format.text() != "pt2") return fail(Code::kUnsupported, "archive format '{}'", format.text().substr(0, 32));
  EW_ASSIGN(const Bytes version, read_required(zip, root + "archive_version"));
  if (version.text() != "0") return fail(Code::kUnsupported, "archive version '{}'", version.text().substr(0, 32));
  EW_ASSIGN(const Bytes order, read_optional(zip, root + "byteorder"));
  if (!order.data.empty() && order.text() != "little")
    return fail(Code::kUnsupported, "byte order '{}'", order.text().substr(0, 32));

  const std::string prefix = root + "models/";
  std::vector<std::string> models;
  bool compiled = false;
  for (const ZipEntry& e : zip.entries()) {
    if (e.name.starts_with(prefix) && e.name.ends_with(".json"))
      models.emplace_back(e.name.substr(prefix.size(), e.name.size() - prefix.size() - 5));
    compiled |= e.name.starts_with(root + "data/aotinductor/");
  }
  if (models.empty())
    return compiled ? fail(Code::kUnsupported,
                           "the archive holds compiled libraries (AOTInductor) only, no exported program")
                    : fail(Code::kMalformed, "the archive holds no models/*.json");
  if (!options.model.empty()) {
    std::string all;
    bool found = false;
    for (const std::string& m : models) {
      all += (all.empty() ? "" : ", ") + m;
      found |= m == options.model;
    }
    if (!found) return fail(Code::kUsage, "there is no model '{}'; there are: {}", options.model, all);
    models = {options.model};
  }
  std::vector<ir::Program> out;
  for (const std::string& m : models) {
    auto p = read_model(zip, root, m);
    if (!p)
      return models.size() > 1 ? with_note(std::move(p.error()), "model '" + m + "'")
                               : std::unexpected(std::move(p.error()));
    p->method = m == "model" ? "forward" : m;
    out.push_back(std::move(*p));
  }
  return out;
}
}  // namespace

Result<std::vector<ir::Program>> read_pt2_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                                                const ReadOptions& options) {
  EW_ASSIGN(const auto zip, ZipArchive::open(bytes, std::move(owner)));
  if (zip->find("serialized_exported_program.json")) {
    if (!options.model.empty() && options.model != "model" && options.model != "forward")
      return fail(Code::kUsage, "there is no model '{}': the file holds one, without a name", options.model);
    EW_ASSIGN(ir::Program p, read_flat(*zip));
    std::vector<ir::Program> out;
    out.push_back(std::move(p));
    return out;
  }
  for (const ZipEntry& e : zip->entries()) {
    if (e.name != "archive_format" && !e.name.ends_with("/archive_format")) continue;
    const std::string root(e.name.substr(0, e.name.size() - std::string_view("archive_format").size()));
    if (root.find('/') == root.rfind('/')) return read_archive(*zip, root, options);
  }
  for (const ZipEntry& e : zip->entries())
    if (e.name.ends_with("/data.pkl") || e.name == "data.pkl")
      return fail(Code::kUnsupported, "a torch.save or TorchScript file, not what torch.export.save writes");
  return fail(Code::kMalformed,
              "a zip archive, but not a .pt2: it holds neither archive_format nor serialized_exported_program.json");
}

Result<std::vector<ir::Program>> read_pt2(const std::string& path, const ReadOptions& options) {
  EW_ASSIGN(const auto file, MappedFile::open(path));
  auto r = read_pt2_bytes(file->bytes(), file, options);
  if (!r) return with_note(std::move(r.error()), path);
  for (ir::Program& p : *r) p.path = path;
  return r;
}

}  // namespace edgewright::read
