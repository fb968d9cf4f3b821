// src/session/source.h - opens the files that commands are given. Depends on base/file.h, read, ir.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "ir/graph.h"

namespace edgewright::session {

enum class FileKind : uint8_t { kPt2, kPte };
// By the first bytes. Errors: kMalformed for anything else.
Result<FileKind> kind_of_file(const MappedFile& file);

// The programs of a .pt2: each model of its archive is a method.
struct Source {
  std::string path;
  std::vector<ir::Program> programs;  // at least one
};
// A graph in text form (".ir") is a program as well.
inline bool is_text(const std::string& path) { return path.ends_with(".ir"); }
// "-": standard input. @names stand in NAME.safetensors beside NAME.ir. Errors: kMalformed with line and column.
Result<ir::Program> open_text(const std::string& path);

// `model`: that one alone; empty: all. Errors name the file: kMalformed, kUnsupported, kUsage (no such model; a .pte).
Result<Source> open_pt2(const std::string& path, const std::string& model);

// A deep copy, for whoever lets passes rewrite it in place; constants share their bytes.
ir::Program clone(const ir::Program& p);

// The program of this method; the first for "". Errors: kUsage.
Result<const ir::Program*> find_method(const Source& s, const std::string& method);

}  // namespace edgewright::session
