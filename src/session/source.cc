// src/session/source.cc - opens .pt2 files and graphs in text form.
#include "session/source.h"

#include <cstdio>

#include "format/pte.h"
#include "format/safetensors.h"
#include "ops/verify.h"
#include "read/pt2.h"
#include "session/convert.h"

namespace edgewright::session {
namespace {

Result<std::string> read_text(const std::string& path) {
  if (path == "-") {
    std::string all;
    char block[1 << 16];
    while (const size_t n = std::fread(block, 1, sizeof block, stdin)) all.append(block, n);
    return all;
  }
  EW_ASSIGN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

Result<FileKind> kind_of_file(const MappedFile& file) {
  const auto bytes = file.bytes();
  if (bytes.size() >= 2 && bytes[0] == std::byte{'P'} && bytes[1] == std::byte{'K'}) return FileKind::kPt2;
  if (pte::looks_like_pte(bytes)) return FileKind::kPte;
  return fail(Code::kMalformed, "{}: neither a .pt2 (a zip archive) nor a .pte{}", file.path(),
              bytes.empty() ? ": it is empty" : "");
}

Result<Source> open_pt2(const std::string& path, const std::string& model) {
  Source s;
  s.path = path;
  if (is_text(path)) {
    EW_ASSIGN(ir::Program p, open_text(path));
    s.programs.push_back(std::move(p));
    return s;
  }
  {
    EW_ASSIGN(const auto file, MappedFile::open(path));
    EW_ASSIGN(const FileKind kind, kind_of_file(*file));
    if (kind != FileKind::kPt2)
      return fail(Code::kUsage, "{}: a compiled program (.pte), where a .pt2 is wanted", path);
  }
  EW_ASSIGN(s.programs, read::read_pt2(path, {.model = model}));
  if (s.programs.empty()) return fail(Code::kMalformed, "{}: it holds no program", path);
  return s;
}

Result<ir::Program> open_text(const std::string& path) {
  EW_ASSIGN(const std::string text, read_text(path));
  std::vector<NamedTensor> sidecar;
  bool read = false;
  const ir::ParseContext context = ops::parse_context([&](std::string_view name) -> Result<ir::Tensor> {
    const std::string file = (is_text(path) ? path.substr(0, path.size() - 3) : path) + ".safetensors";
    if (!read) {
      EW_ASSIGN(sidecar, safetensors::read(file));
      read = true;
    }
    for (const NamedTensor& t : sidecar)
      if (t.name == name) return to_graph(t.tensor);
    return fail(Code::kMalformed, "@{} is not in {}", name, file);
  });
  auto parsed = ir::parse(text, context);
  if (!parsed) return with_note(std::move(parsed.error()), path);
  ir::Program p;
  p.graph = parsed->graph;
  p.ranges = parsed->ranges;
  p.path = path;
  for (ir::Value* v : p.graph->inputs()) p.inputs.push_back({v->name, v, {}, v->strides});
  for (const ir::Arg& out : p.graph->outputs) p.outputs.push_back({out.value() ? out.value()->name : ""});
  return p;
}

ir::Program clone(const ir::Program& p) {
  ir::Program copy = p;
  std::unordered_map<const ir::Value*, ir::Value*> map;
  copy.graph = p.graph->clone(&map);
  for (ir::InputLeaf& in : copy.inputs)
    if (in.value) in.value = map.at(in.value);
  return copy;
}

Result<const ir::Program*> find_method(const Source& s, const std::string& method) {
  std::string names;
  for (const ir::Program& p : s.programs) {
    if (method.empty() || p.method == method) return &p;
    names += (names.empty() ? "" : ", ") + p.method;
  }
  return fail(Code::kUsage, "{}: there is no method '{}' (there is: {})", s.path, method, names);
}

}  // namespace edgewright::session
