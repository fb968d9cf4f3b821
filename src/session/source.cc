// src/session/source.cc - opens .pt2 files.
#include "session/source.h"

#include "format/pte.h"
#include "read/pt2.h"

namespace edgewright::session {

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
