#include "driver/compile.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "driver/dump.h"
#include "ir/text.h"
#include "partition/partition.h"
#include "write/write.h"

namespace edgewright::driver {

namespace {

class Clock {
 public:
  explicit Clock(CompileReport& r, const CompileOptions& o) : report_(r), options_(o) {}
  void start(const std::string& stage) {
    if (options_.progress) options_.progress(stage);
    name_ = stage;
    begin_ = std::chrono::steady_clock::now();
  }
  void stop() {
    report_.stages.push_back(
        {name_, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin_).count()});
  }

 private:
  CompileReport& report_;
  const CompileOptions& options_;
  std::string name_;
  std::chrono::steady_clock::time_point begin_;
};

std::string dtype_of(const ir::Node& n) {
  if (n.num_results() == 0) return "";
  if (const auto* t = n.result()->tensor()) return std::string(name(t->dtype));
  return ir::str(n.result()->type);
}

// What an op's own rule forbids is refused here, before a pass makes of it what has no such rule. Where a size is known only at
// run time a rule may be unable to decide, which is no objection.
Result<void> obeys_rules(const ir::Graph& g) {
  const auto is_static = [](const ir::Value* v) { return !v->tensor() || ir::is_static(v->tensor()->shape); };
  for (const auto& n : g.nodes()) {
    const ops::OpDef* d = ops::def(*n);
    const std::vector<ir::Value*> inputs = n->inputs();
    if (!d || !std::all_of(inputs.begin(), inputs.end(), is_static)) continue;
    const auto types = ops::infer(*d, ops::Call::of(*n));
    if (types || types.error().code == Code::kInternal) continue;
    Error e = types.error();
    e.code = Code::kUnsupported;
    e.node = n->num_results() ? n->result()->name : n->name();
    if (n->origin) e.origin = n->origin->module_path + " " + n->origin->stack_trace;
    return std::unexpected(std::move(e));
  }
  return {};
}

void report_node(CompileReport& r, const ir::Node& n, std::optional<int> delegate, std::string reason,
                 std::string hint) {
  NodeReport x;
  x.name = n.num_results() ? n.result()->name : n.name();
  x.op = n.name();
  x.delegate = delegate;
  x.reason = std::move(reason);
  x.hint = std::move(hint);
  if (n.origin) {
    x.module = n.origin->module_path;
    x.source = n.origin->stack_trace;
  }
  x.dtype = dtype_of(n);
  r.nodes.push_back(std::move(x));
}

// Results that a pass cannot see through any more must stay addressable by name: they become outputs before anything runs.
void expose(ir::Program& p, const CompileOptions& o, CompileReport& r) {
  if (o.expose.empty()) return;
  const std::set<std::string> wanted(o.expose.begin(), o.expose.end());
  for (const auto& n : p.graph->nodes())
    for (size_t i = 0; i < n->num_results(); ++i) {
      ir::Value* v = n->result(i);
      if (!wanted.contains(v->name) || !v->tensor()) continue;
      p.graph->outputs.emplace_back(v);
      p.outputs.push_back({v->name});
      r.exposed.push_back(v->name);
    }
}

// A result that is an input, a constant or a buffer is copied: the caller owns what it gets. Written values likewise, so that
// writes in sequence do not see each other.
Result<void> copy_aliased_results(ir::Graph& g) {
  const auto own = [&](ir::Value*& v) -> Result<void> {
    if (v->kind == ir::ValueKind::kResult || !v->tensor()) return {};
    EW_ASSIGN(ir::Node * copy, ops::add_node(g, "aten.clone", {v}));
    v = copy->result();
    return {};
  };
  Result<void> r;
  for (ir::Arg& a : g.outputs)
    a.each_value([&](ir::Value*& v) {
      if (r) r = own(v);
    });
  for (ir::Write& w : g.writes)
    if (r && w.value != w.target) r = own(w.value);
  std::erase_if(g.writes, [](const ir::Write& w) { return w.value == w.target; });
  return r;
}

// Weights that passes only permuted are laid out now, one at a time, and what they were made from is let go.
void lay_out_constants(ir::Graph& g) {
  for (const auto& n : g.nodes())
    for (const ir::Arg& a : n->args())
      if (a.graph() && *a.graph()) lay_out_constants(**a.graph());
  for (ir::Value* v : g.constants())
    if (!v->data->is_contiguous()) *v->data = v->data->contiguous();
}

// What went wrong since event `first`, written where it can be found.
void report_faults(CompileReport& r, const CompileOptions& o, size_t first) {
  const std::string stem = !o.dump_dir.empty() ? o.dump_dir + "/" : o.fault_stem.empty() ? "" : o.fault_stem + ".";
  for (size_t i = first; i < r.passes.events.size(); ++i) {
    const passes::Event& e = r.passes.events[i];
    if (!e.fault) continue;
    FaultReport f{e.pass, e.node, e.nodes, e.module_path, e.source, e.reason, {}, {}};
    if (e.reduced) {
      f.graph = ir::print(*e.reduced->graph, {.origins = true, .ranges = &e.reduced->ranges});
      const std::string file = fmt::format("{}fault_{}", stem, r.faults.size() + 1);
      if (!stem.empty() && driver::dump(file, *e.reduced)) f.file = file + ".ir";  // without it the text above must do
    }
    r.faults.push_back(std::move(f));
  }
}

// What one method writes, another may only read: there, too, it is a state, not a constant that could be folded. For that the writes
// must be known in all methods before the passes begin in any.
Result<void> find_shared_state(std::vector<ir::Program>& programs, const CompileOptions& o, CompileReport& r) {
  std::map<std::string, const ir::Value*> states;
  for (ir::Program& p : programs) {
    EW_TRY(passes::run_passes(p, {"inline-graphs", "functionalize"}, {.verify = o.verify, .disabled = o.disabled},
                              r.passes));
    for (const ir::Value* v : p.graph->states()) states.emplace(v->name, v);
  }
  for (ir::Program& p : programs) {
    for (ir::Value* v : p.graph->constants()) {
      const auto it = states.find(v->name);
      if (it == states.end()) continue;
      const ir::Tensor a = v->data->contiguous(), b = it->second->data->contiguous();
      if (a.dtype != b.dtype || a.sizes != b.sizes ||
          !std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin()))
        continue;
      const std::string name = v->name;
      p.graph->rename(v, name + ".constant");
      ir::Value* state = p.graph->add_state(name, *v->data);
      p.graph->rename(state, name);
      state->strides = v->strides;
      p.graph->replace_all_uses(v, state);
    }
    p.graph->remove_unused_constants();
  }
  return {};
}

Result<write::Written> build(std::vector<ir::Program>& programs, const CompileOptions& o, CompileReport& r) {
  Clock clock(r, o);
  if (!o.dump_dir.empty() && ::mkdir(o.dump_dir.c_str(), 0777) != 0 && errno != EEXIST)
    return fail(Code::kUsage, "{}: cannot create: {}", o.dump_dir, std::strerror(errno));
  int serial = 0;
  const auto dump_stage = [&](const std::string& stage, const ir::Program& p) -> Result<void> {
    if (o.dump_dir.empty()) return {};
    const std::string stem =
        fmt::format("{}/{:02d}_{}{}", o.dump_dir, serial++, programs.size() > 1 ? p.method + "_" : "", stage);
    return driver::dump(stem, p);
  };
  int delegates = 0;
  if (programs.size() > 1) {
    std::set<std::string> names;
    for (const ir::Program& p : programs)
      if (!names.insert(p.method).second) return fail(Code::kUsage, "two methods are named '{}'", p.method);
    EW_TRY(find_shared_state(programs, o, r));
  }
  for (ir::Program& p : programs) {
    if (o.prepare) {
      clock.start("prepare");
      const size_t events = r.passes.events.size();
      EW_TRY(o.prepare(p, r.passes));
      report_faults(r, o, events);
      clock.stop();
    }
    expose(p, o, r);
    EW_TRY(dump_stage("read", p));
    EW_TRY(obeys_rules(*p.graph));
    clock.start("passes");
    passes::PassOptions po{.verify = o.verify, .disabled = o.disabled, .after = dump_stage};
    po.further = &o.further;
    if (o.progress) po.progress = [&](const std::string& pass) { o.progress("pass " + pass); };
    const size_t events = r.passes.events.size();
    std::vector<std::string> order = o.first;
    for (const std::string& name : o.pipeline.empty() ? passes::default_pipeline() : o.pipeline) order.push_back(name);
    auto ok = passes::run_passes(p, order, po, r.passes);
    report_faults(r, o, events);
    if (!ok) {
      if (!r.faults.empty() && !r.faults.back().file.empty())
        return with_note(std::move(ok.error()), "shown by " + r.faults.back().file);
      return std::unexpected(std::move(ok.error()));
    }
    EW_TRY(copy_aliased_results(*p.graph));
    lay_out_constants(*p.graph);
    clock.stop();
    clock.start("partition");
    EW_ASSIGN(const partition::PartitionResult parts, partition::partition(*p.graph));
    std::map<const ir::Node*, const partition::Refusal*> refused;
    for (const auto& x : parts.refusals) refused[x.at] = &x;
    const std::function<void(const ir::Graph&)> report = [&](const ir::Graph& g) {
      for (const auto& n : g.nodes()) {
        if (n->is("xnn.delegate")) {
          for (const auto& inner : (*n->args()[1].graph())->nodes()) report_node(r, *inner, delegates, "", "");
          ++delegates;
          continue;
        }
        const auto it = refused.find(n.get());
        report_node(r, *n, std::nullopt, it == refused.end() ? "" : it->second->reason,
                    it == refused.end() ? "" : it->second->hint);
        for (const ir::Arg& a : n->args())
          if (a.graph() && *a.graph()) report(**a.graph());
      }
    };
    report(*p.graph);
    clock.stop();
    EW_TRY(dump_stage("partition", p));
  }
  r.delegates = delegates;
  clock.start("lower");
  EW_ASSIGN(write::Written w, write::write_programs(programs, o.custom_ops));
  clock.stop();
  r.weight_bytes = w.weight_bytes;
  r.arena_bytes = w.arena_bytes;
  r.file_bytes = w.file.size();
  r.needs_own_runtime = w.needs_own_runtime;
  if (o.target == Target::kStock && !r.needs_own_runtime.empty())
    return fail(Code::kUnsupported, "the stock runtime cannot load this program: {}", r.needs_own_runtime.front());
  return w;
}

}  // namespace

Result<Compiled> compile(std::vector<ir::Program>& programs, const CompileOptions& o) {
  Compiled c;
  EW_ASSIGN(const write::Written w, build(programs, o, c.report));
  c.bytes = w.file.join();
  return c;
}

Result<CompileReport> compile_to_file(std::vector<ir::Program>& programs, const std::string& path,
                                      const CompileOptions& options) {
  CompileReport r;
  CompileOptions o = options;
  if (o.fault_stem.empty()) o.fault_stem = path;
  EW_ASSIGN(const write::Written w, build(programs, o, r));
  Clock clock(r, o);
  clock.start("write");
  EW_TRY(write_file(path, [&](FileWriter& f) { return w.file.write(f); }));
  clock.stop();
  return r;
}

}  // namespace edgewright::driver
