// pt2_dump: shows what the reader made of .pt2 files; with --summary, one line per file for going over many.
#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "read/pt2.h"

using namespace edgewright;

namespace {
std::string str(const ir::Arg& a) {
  if (a.is_none()) return "None";
  if (const ir::Value* v = a.value()) return "%" + v->name;
  if (a.i()) return fmt::format("{}", *a.i());
  if (a.f()) return fmt::format("{}f", *a.f());
  if (a.b()) return *a.b() ? "True" : "False";
  if (a.s()) return "\"" + *a.s() + "\"";
  if (a.dtype()) return std::string(name(*a.dtype()));
  if (a.graph()) return "graph " + (*a.graph())->name;
  std::string s = "[";
  for (const ir::Arg& x : *a.list()) s += (s.size() > 1 ? ", " : "") + str(x);
  return s + "]";
}

std::string strides(const std::vector<int64_t>& s) {
  return s.empty() ? "" : fmt::format(" strides [{}]", fmt::join(s, ","));
}

void dump(const ir::Graph& g, const std::string& indent) {
  for (const ir::Value* v : g.inputs())
    fmt::print("{}input %{}: {}{}\n", indent, v->name, ir::str(v->type), strides(v->strides));
  for (const auto& list : {g.constants(), g.states()})
    for (const ir::Value* v : list)
      fmt::print("{}{} %{}: {}{}\n", indent, v->is_constant() ? "const" : "state", v->name, ir::str(v->type),
                 strides(v->data->strides));
  for (const auto& n : g.nodes()) {
    std::string line;
    for (size_t i = 0; i < n->num_results(); ++i)
      line += fmt::format("{}%{}: {}", i ? ", " : "", n->result(i)->name, ir::str(n->result(i)->type));
    line += fmt::format("{}{}(", line.empty() ? "" : " = ", n->name());
    for (size_t i = 0; i < n->args().size(); ++i)
      line += fmt::format("{}{}={}", i ? ", " : "", n->op().schema.params[i].name, str(n->args()[i]));
    fmt::print("{}{}){}\n", indent, line, n->op().is_unknown ? "  # unknown op" : "");
    if (n->origin)
      fmt::print("{}    # {} | {} ({}) | {}\n", indent, n->origin->name, n->origin->module_path, n->origin->module_type,
                 n->origin->stack_trace);
    for (const ir::Arg& a : n->args())
      if (a.graph()) {
        fmt::print("{}  graph {}\n", indent, (*a.graph())->name);
        dump(**a.graph(), indent + "    ");
      }
  }
  for (const ir::Write& w : g.writes) fmt::print("{}write %{} <- %{}\n", indent, w.target->name, w.value->name);
  for (const ir::Arg& a : g.outputs) fmt::print("{}output {}\n", indent, str(a));
}

void dump(const ir::Program& p) {
  fmt::print("method {} (torch {})\n  in {}\n  out {}\n", p.method, p.torch_version, p.in_spec, p.out_spec);
  for (const auto& l : p.inputs)
    fmt::print("  leaf {}: {}{}\n", l.name, l.value ? "%" + l.value->name : "fixed " + str(l.fixed),
               strides(l.strides));
  for (const auto& [s, r] : p.ranges) fmt::print("  {} in [{}, {}]\n", s, r.lo, r.hi);
  for (const auto& [d, r] : p.expression_ranges) fmt::print("  {} in [{}, {}]\n", d.str(), r.lo, r.hi);
  if (p.sample_inputs)
    for (const auto& leaf : p.sample_inputs->leaves) {
      if (const auto* t = std::get_if<ir::Tensor>(&leaf))
        fmt::print("  sample {}[{}]{}\n", name(t->dtype), fmt::join(t->sizes, ","), strides(t->strides));
      else
        fmt::print("  sample of kind {}\n", leaf.index());
    }
  dump(*p.graph, "  ");
  for (size_t i = 0; i < p.outputs.size(); ++i) fmt::print("  output leaf {}\n", p.outputs[i].name);
}

size_t count_unknown(const ir::Graph& g) {
  size_t n = 0;
  for (const auto& node : g.nodes()) n += node->op().is_unknown;
  return n;
}
}  // namespace

int main(int argc, char** argv) {
  const bool summary = argc > 1 && !std::strcmp(argv[1], "--summary");
  int failures = 0;
  for (int i = summary ? 2 : 1; i < argc; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto r = read::read_pt2(argv[i]);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (!r) {
      ++failures;
      fmt::print("REFUSED {} {}\n", exit_status(r.error().code), r.error().str());
      continue;
    }
    for (const ir::Program& p : *r) {
      if (summary)
        fmt::print("OK {:.2f} ms {} nodes, {} unknown, {} constants, {} states, {} samples {}\n", ms,
                   p.graph->nodes().size(), count_unknown(*p.graph), p.graph->constants().size(),
                   p.graph->states().size(), p.sample_inputs ? p.sample_inputs->leaves.size() : 0, argv[i]);
      else
        dump(p);
    }
  }
  return failures ? 1 : 0;
}
