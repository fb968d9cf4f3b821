// src/cli/inspect.cc - inspect: prints what a file holds. Depends on session.
#include "session/inspect.h"

#include <numeric>

#include "cli/commands.h"
#include "cli/terminal.h"
#include "session/json.h"

namespace edgewright::cli {
namespace {

using session::DelegateInfo;
using session::Inspection;
using session::LeafSpec;
using session::MethodInfo;
using session::OpCount;

std::string range_text(const ir::Range& r) {
  return r.hi == ir::kMaxDim ? fmt::format("{} or more", r.lo) : fmt::format("{} to {}", r.lo, r.hi);
}

void write_leaves(session::JsonWriter& j, std::string_view key, const std::vector<LeafSpec>& leaves) {
  j.key(key).open('[');
  for (const LeafSpec& l : leaves) {
    j.open('{').field("name", l.name).field("type", l.str());
    if (l.kind == session::LeafKind::kTensor) {
      j.field("dtype", name(l.dtype)).key("shape").open('[');
      for (const ir::Dim& d : l.shape) {
        if (d.is_constant()) {
          j.value(d.value());
        } else {
          j.value(d.str());
        }
      }
      j.close(']');
    }
    j.field("fixed", l.fixed.has_value()).close('}');
  }
  j.close(']');
}

void write_counts(session::JsonWriter& j, std::string_view key, const std::vector<OpCount>& counts) {
  j.key(key).open('{');
  for (const OpCount& c : counts) j.field(c.op, c.count);
  j.close('}');
}

void write_json(const Inspection& i, bool graph) {
  session::JsonWriter j;
  j.open('{').field("kind", i.kind).field("file_bytes", i.file_bytes);
  if (i.kind == "pt2") j.field("torch", i.torch_version).field("sample_inputs", i.has_sample_inputs);
  j.field("constants", i.constants).field("constant_bytes", i.constant_bytes).key("methods").open('[');
  for (const MethodInfo& m : i.methods) {
    j.open('{').field("name", m.signature.method);
    write_leaves(j, "inputs", m.signature.inputs);
    write_leaves(j, "outputs", m.signature.outputs);
    j.field("in_spec", m.in_spec).field("out_spec", m.out_spec).key("ranges").open('{');
    for (const auto& [symbol, r] : m.signature.ranges) {
      j.key(symbol).open('[').value(r.lo);
      if (r.hi == ir::kMaxDim) {
        j.value(nullptr);
      } else {
        j.value(r.hi);
      }
      j.close(']');
    }
    j.close('}');
    write_counts(j, "ops", m.ops);
    j.field("mutable_buffers", m.mutable_buffers);
    if (i.kind == "pte") {
      j.key("arena").open('[');
      for (const int64_t b : m.arena) j.value(b);
      j.close(']').key("delegates").open('[');
      for (const DelegateInfo& d : m.delegates) {
        j.open('{').field("id", d.id).field("payload_bytes", d.payload_bytes).field("constant_bytes", d.constant_bytes);
        write_counts(j, "nodes", d.nodes);
        j.key("graph").open('[');
        for (const std::string& line : d.graph) j.value(line);
        j.close(']').field("problem", d.problem).close('}');
      }
      j.close(']');
    }
    if (graph && !m.graph.empty()) j.field("graph", m.graph);
    j.close('}');
  }
  j.close(']');
  say("{}", j.close('}').take());
}

void print_leaves(const char* title, const std::vector<LeafSpec>& leaves) {
  for (size_t k = 0; k < leaves.size(); ++k) say("  {} {:<3} {:<28} {}\n", title, k, leaves[k].str(), leaves[k].name);
}

void print_counts(const char* indent, const std::vector<OpCount>& counts) {
  for (const OpCount& c : counts) say("{}{:>5} x {}\n", indent, c.count, c.op);
}

void print_text(const std::string& path, const Inspection& i, bool graph) {
  say("{}: {}, {}{}\n", path, i.kind == "pt2" ? "exported program" : "compiled program", bytes_text(i.file_bytes),
      i.torch_version.empty() ? "" : ", written by torch " + i.torch_version);
  say("  {} constants, {}{}\n", i.constants, bytes_text(i.constant_bytes),
      i.has_sample_inputs ? "; with sample inputs" : "");
  for (const MethodInfo& m : i.methods) {
    say("{} {}\n", paint(Style::kBold, "method"), m.signature.method);
    print_leaves("input ", m.signature.inputs);
    print_leaves("output", m.signature.outputs);
    for (const auto& [symbol, r] : m.signature.ranges) say("  {} is {}\n", symbol, range_text(r));
    if (m.mutable_buffers) say("  {} mutable buffers\n", m.mutable_buffers);
    if (i.kind == "pte")
      say("  {} of planned memory\n",
          bytes_text(static_cast<uint64_t>(std::accumulate(m.arena.begin(), m.arena.end(), int64_t{0}))));
    say("  {}:\n", i.kind == "pt2" ? "ops" : "instructions");
    print_counts("  ", m.ops);
    for (size_t k = 0; k < m.delegates.size(); ++k) {
      const DelegateInfo& d = m.delegates[k];
      say("  delegate {}: {}, {} with {} of constants\n", k, d.id, bytes_text(d.payload_bytes),
          bytes_text(d.constant_bytes));
      if (!d.problem.empty()) say("    {}\n", d.problem);
      if (graph) {
        for (const std::string& line : d.graph) say("    {}\n", line);
      } else {
        print_counts("    ", d.nodes);
      }
    }
    if (graph && !m.graph.empty()) say("{}\n", m.graph);
  }
}

}  // namespace

Result<int> inspect(const InspectArgs& a) {
  EW_ASSIGN(const Inspection i, session::inspect(a.input, a.model, a.graph));
  if (a.json) {
    write_json(i, a.graph);
  } else {
    print_text(a.input, i, a.graph);
  }
  return 0;
}

}  // namespace edgewright::cli
