// src/session/build.cc - compile, explain, opt.
#include "session/build.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>

#include "ir/text.h"
#include "session/source.h"

namespace edgewright::session {
namespace {

Result<void> expect_passes(const auto& names, const std::vector<passes::PassDef>& further = {}) {
  for (const std::string& n : names)
    if (!passes::find(n) && std::none_of(further.begin(), further.end(), [&](const auto& p) { return p.name == n; }))
      return fail(Code::kUsage, "there is no pass '{}' (edgewright opt --list names them)", n);
  return {};
}

}  // namespace

Result<driver::CompileReport> compile_files(const std::vector<std::string>& given,
                                            const std::vector<std::string>& methods, const std::string& output,
                                            const std::string& model, const driver::CompileOptions& o) {
  EW_TRY(expect_passes(o.disabled));
  EW_TRY(expect_passes(o.first));
  if (o.progress) o.progress("reading");
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::string> inputs = given;
  std::map<std::string, std::string> names;  // by file
  for (const std::string& m : methods) {
    const size_t at = m.find('=');
    if (at == std::string::npos || at == 0 || at + 1 == m.size())
      return fail(Code::kUsage, "--method {}: NAME=FILE is wanted", m);
    const std::string file = m.substr(at + 1);
    if (!names.emplace(file, m.substr(0, at)).second) return fail(Code::kUsage, "--method names {} twice", file);
    if (std::find(inputs.begin(), inputs.end(), file) == inputs.end()) inputs.push_back(file);
  }
  if (inputs.empty()) return fail(Code::kUsage, "nothing to compile: give a .pt2");
  std::vector<ir::Program> programs;
  std::vector<Source> sources;  // keeps what programs point into
  for (const std::string& input : inputs) {
    EW_ASSIGN(Source source, open_pt2(input, model));
    const auto name = names.find(input);
    if (name != names.end() && source.programs.size() > 1)
      return fail(Code::kUsage, "{} holds {} methods, --method gives one name", input, source.programs.size());
    for (ir::Program& p : source.programs) {
      if (name != names.end())
        p.method = name->second;
      else if (inputs.size() > 1 && source.programs.size() == 1)
        p.method = std::filesystem::path(input).stem().string();
      programs.push_back(std::move(p));
    }
    sources.push_back(std::move(source));
  }
  const double read_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  auto report = driver::compile_to_file(programs, output, o);
  if (!report) return with_note(std::move(report.error()), fmt::format("{}", fmt::join(inputs, ", ")));
  report->stages.insert(report->stages.begin(), {"read", read_ms});
  return report;
}

Result<driver::CompileReport> explain(const std::string& input, const std::string& model, const std::string& method,
                                      const driver::CompileOptions& o) {
  EW_TRY(expect_passes(o.disabled));
  EW_TRY(expect_passes(o.first));
  if (o.progress) o.progress("reading");
  EW_ASSIGN(const Source source, open_pt2(input, model));
  EW_ASSIGN(const ir::Program* program, find_method(source, method));
  std::vector<ir::Program> programs;
  programs.push_back(clone(*program));
  auto compiled = driver::compile(programs, o);
  if (!compiled) return with_note(std::move(compiled.error()), input);
  return std::move(compiled->report);
}

Result<std::string> optimize_text(const std::string& path, const std::vector<std::string>& names, passes::Verify verify,
                                  const std::vector<passes::PassDef>& further) {
  EW_TRY(expect_passes(names, further));
  EW_ASSIGN(ir::Program p, open_text(path));
  passes::PassLog log;
  passes::PassOptions o{.verify = verify, .disabled = {}};
  o.further = &further;
  o.reduce = false;  // this graph is the report
  const auto done = passes::run_passes(p, names, o, log);
  if (!done) return with_note(done.error(), path);
  for (const passes::Event& e : log.events)
    if (e.fault)
      return fail(Code::kInternal, "{}: pass {} at {}: {}; the rewrite was undone", path, e.pass, e.node, e.reason);
  return ir::print(*p.graph, {.ranges = &p.ranges});
}

}  // namespace edgewright::session
