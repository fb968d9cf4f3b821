// src/cli/compile.cc - compile, explain, opt: prints what the compiler did. Depends on session, driver's report.
#include <algorithm>
#include <map>

#include "cli/commands.h"
#include "cli/quantized.h"
#include "cli/terminal.h"
#include "session/build.h"
#include "session/json.h"

namespace edgewright::cli {
namespace {

using driver::CompileReport;
using driver::NodeReport;

// Reads "local", "strict", "off"; the parser let nothing else through.
passes::Verify verify_of(const std::string& s) {
  return s == "off" ? passes::Verify::kOff : s == "strict" ? passes::Verify::kStrict : passes::Verify::kLocal;
}

driver::CompileOptions options_of(const std::vector<std::string>& disabled, const std::vector<std::string>& first,
                                  const std::string& verify) {
  driver::CompileOptions o;
  o.disabled = {disabled.begin(), disabled.end()};
  o.first = first;
  o.verify = verify_of(verify);
  return o;
}

void write_nodes(session::JsonWriter& j, const CompileReport& r) {
  j.key("nodes").open('[');
  for (const NodeReport& n : r.nodes) {
    j.open('{').field("name", n.name).field("op", n.op).key("delegate");
    if (n.delegate) {
      j.value(*n.delegate);
    } else {
      j.value(nullptr);
    }
    j.field("reason", n.reason)
        .field("hint", n.hint)
        .field("module", n.module)
        .field("source", n.source)
        .field("dtype", n.dtype)
        .close('}');
  }
  j.close(']');
}

// Rewrites that were refused with a reason, and those that failed their check.
void write_events(session::JsonWriter& j, const passes::PassLog& log) {
  j.key("passes").open('[');
  for (const passes::PassStats& s : log.stats)
    j.open('{')
        .field("pass", s.pass)
        .field("ms", s.milliseconds)
        .field("applied", s.applied)
        .field("unjudged", s.unjudged)
        .close('}');
  j.close(']').key("refused").open('[');
  for (const passes::Event& e : log.events)
    if (!e.applied)
      j.open('{')
          .field("pass", e.pass)
          .field("node", e.node)
          .field("reason", e.reason)
          .field("module", e.module_path)
          .field("source", e.source)
          .field("fault", e.fault)
          .close('}');
  j.close(']').field("faults", log.faults);
}

// Each with what shows it: "graph" in text form, "file" where it was written.
void write_faults(session::JsonWriter& j, const CompileReport& r) {
  j.key("fault_reports").open('[');
  for (const driver::FaultReport& f : r.faults) {
    j.open('{').field("pass", f.pass).field("node", f.node).key("nodes").open('[');
    for (const std::string& n : f.nodes) j.value(n);
    j.close(']')
        .field("module", f.module)
        .field("source", f.source)
        .field("reason", f.reason)
        .field("graph", f.graph)
        .field("file", f.file)
        .close('}');
  }
  j.close(']');
}

void write_strings(session::JsonWriter& j, std::string_view key, const std::vector<std::string>& items) {
  j.key(key).open('[');
  for (const std::string& s : items) j.value(s);
  j.close(']');
}

std::string where(const std::string& module, const std::string& source) {
  std::string s = module;
  if (!source.empty()) s += (s.empty() ? "" : ", ") + source;
  return s.empty() ? s : "  [" + s + "]";
}

int delegated(const CompileReport& r) {
  return static_cast<int>(
      std::count_if(r.nodes.begin(), r.nodes.end(), [](const NodeReport& n) { return n.delegate.has_value(); }));
}

void print_delegation(const CompileReport& r, size_t at_most) {
  say("delegated to XNNPACK: {} of {} nodes, in {} delegate{}\n", delegated(r), r.nodes.size(), r.delegates,
      r.delegates == 1 ? "" : "s");
  std::map<std::string, int> counts;
  for (const NodeReport& n : r.nodes)
    if (n.delegate) ++counts[n.op];
  std::vector<std::string> texts;
  for (const auto& [op, count] : counts) texts.push_back(count > 1 ? fmt::format("{} x {}", count, op) : op);
  if (!texts.empty()) say("  {}\n", fmt::join(texts, ", "));
  size_t shown = 0;
  for (const NodeReport& n : r.nodes) {
    if (n.delegate) continue;
    if (shown++ == 0) say("not delegated:\n");
    if (shown > at_most) continue;
    say("  {:<24} {:<28} {}{}{}\n", n.name, n.op, n.reason, n.hint.empty() ? "" : "; " + n.hint,
        paint(Style::kDim, where(n.module, n.source)));
  }
  if (shown > at_most) say("  ... and {} more (edgewright explain lists them)\n", shown - at_most);
}

void print_faults(const CompileReport& r) {
  for (const driver::FaultReport& f : r.faults) {
    say("{} pass {} at {}: {}; the rewrite was undone, the result is right{}\n",
        paint(Style::kBad, "a fault of edgewright, please report it:"), f.pass, f.node, f.reason,
        paint(Style::kDim, where(f.module, f.source)));
    if (f.nodes.size() > 1) say("  it would have replaced {}\n", fmt::join(f.nodes, ", "));
    if (!f.file.empty())
      say("  `edgewright opt {} --pass {}` shows it\n", f.file, f.pass);
    else if (!f.graph.empty())
      say("  `edgewright opt GRAPH.ir --pass {}` shows it, with this as GRAPH.ir:\n{}", f.pass, f.graph);
  }
}

}  // namespace

Result<int> compile(const CompileArgs& a) {
  driver::CompileOptions o = options_of(a.disable, a.first, a.verify);
  o.target = a.target == "stock" ? driver::Target::kStock
             : a.target == "own" ? driver::Target::kOwn
                                 : driver::Target::kPreferStock;
  o.dump_dir = a.dump;
  o.custom_ops = {a.custom_ops.begin(), a.custom_ops.end()};
  CompileReport r;
  std::vector<session::QuantizedMethod> quantized;
  {
    ProgressLine progress;
    o.progress = [&](const std::string& stage) { progress(stage); };
    EW_TRY(session::request_quantizing(o, a.quantize, quantized));
    EW_ASSIGN(r, session::compile_files(a.inputs, a.methods, a.output, a.model, o));
  }
  double total = 0;
  for (const driver::StageTime& s : r.stages) total += s.milliseconds;
  if (a.json) {
    session::JsonWriter j;
    j.open('{')
        .field("output", a.output)
        .field("file_bytes", r.file_bytes)
        .field("weight_bytes", r.weight_bytes)
        .field("arena_bytes", r.arena_bytes);
    j.field("total_ms", total).key("stages").open('[');
    for (const driver::StageTime& s : r.stages)
      j.open('{').field("name", s.name).field("ms", s.milliseconds).close('}');
    j.close(']').field("delegates", r.delegates).field("delegated_nodes", delegated(r));
    write_strings(j, "needs_own_runtime", r.needs_own_runtime);
    write_events(j, r.passes);
    write_faults(j, r);
    write_nodes(j, r);
    if (!quantized.empty()) write_quantized(j, quantized);
    say("{}", j.close('}').take());
    return r.passes.faults ? exit_status(Code::kInternal) : 0;
  }
  say("{} -> {}: {} ({} weights), {} of memory at run time\n", fmt::join(a.inputs, ", "), paint(Style::kBold, a.output),
      bytes_text(r.file_bytes), bytes_text(r.weight_bytes), bytes_text(r.arena_bytes));
  for (const driver::StageTime& s : r.stages) say("  {:<24} {:>10}\n", s.name, time_text(s.milliseconds));
  say("  {:<24} {:>10}\n", "in all", time_text(total));
  print_quantized(quantized);
  print_delegation(r, 12);
  if (r.needs_own_runtime.empty()) {
    say("the stock ExecuTorch runtime loads this file\n");
  } else {
    say("this file needs edgewright's own runtime:\n");
    for (const std::string& reason : r.needs_own_runtime) say("  {}\n", reason);
  }
  print_faults(r);
  return r.passes.faults ? exit_status(Code::kInternal) : 0;
}

Result<int> explain(const ExplainArgs& a) {
  driver::CompileOptions o = options_of(a.disable, a.first, "");
  CompileReport r;
  std::vector<session::QuantizedMethod> quantized;
  {
    ProgressLine progress;
    o.progress = [&](const std::string& stage) { progress(stage); };
    EW_TRY(session::request_quantizing(o, a.quantize, quantized));
    EW_ASSIGN(r, session::explain(a.input, a.model, a.method, o));
  }
  if (a.json) {
    session::JsonWriter j;
    j.open('{').field("delegates", r.delegates).field("delegated_nodes", delegated(r));
    write_nodes(j, r);
    if (!quantized.empty()) write_quantized(j, quantized);
    write_events(j, r.passes);
    write_faults(j, r);
    write_strings(j, "needs_own_runtime", r.needs_own_runtime);
    say("{}", j.close('}').take());
    return 0;
  }
  print_quantized(quantized);
  print_delegation(r, r.nodes.size());
  std::vector<std::string> seen;
  for (const passes::Event& e : r.passes.events) {
    if (e.applied || e.fault) continue;
    if (seen.empty()) say("rewrites that were refused:\n");
    const std::string line = fmt::format("  {:<24} {:<24} {}{}\n", e.pass, e.node, e.reason,
                                         e.module_path.empty() ? "" : paint(Style::kDim, "  [" + e.module_path + "]"));
    if (std::find(seen.begin(), seen.end(), line) == seen.end()) say("{}", seen.emplace_back(line));
  }
  print_faults(r);
  return 0;
}

Result<int> opt(const OptArgs& a) {
  if (a.list) {
    for (const passes::PassDef& p : passes::table()) say("{:<32} {}\n", p.name, p.summary);
    return 0;
  }
  EW_ASSIGN(const std::string text, session::optimize_text(a.input, a.passes, verify_of(a.verify)));
  say("{}", text);
  return 0;
}

}  // namespace edgewright::cli
