// src/session/check.cc - check: both sides run, their outputs compared, and where they part.
#include "session/check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <string_view>

#include "interp/compare.h"
#include "interp/interp.h"
#include "ops/families.h"
#include "session/convert.h"
#include "session/loaded.h"

namespace edgewright::session {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// The step in which an output is quantized, where the program ends in a dequantize with a constant scale; 0 elsewhere. Another
// order of the same sums may round to the next step.
double step_of(const ir::Value* v) {
  static const std::set<std::string_view> kMoves = {
      "aten.view",       "aten.reshape",     "aten.permute",     "aten.transpose.int", "aten.flatten.using_ints",
      "aten.clone",      "aten.squeeze",     "aten.squeeze.dim", "aten.unsqueeze",     "aten.slice.Tensor",
      "aten.select.int", "aten.contiguous",  "aten.detach",      "aten.alias",         "aten.expand",
      "aten.t",          "aten.squeeze.dims"};
  while (v && v->producer && kMoves.contains(v->producer->name())) v = v->producer->inputs().front();
  if (!v || !v->producer || !v->producer->is("quantized_decomposed.dequantize_per_tensor")) return 0;
  const auto scale = ops::constant_number(*v->producer, "scale");
  return scale && std::isfinite(*scale) ? std::fabs(*scale) : 0;
}

// A result of a node of the original program.
struct Observed {
  std::string name;  // the value's, which is the exporter's
  const ir::Node* node = nullptr;
  Value value;
};

class Checker {
 public:
  Checker(const ir::Program& original, const ir::Program& compiled, const driver::CompileOptions& compile, int threads,
          const Tolerance& tolerance, const Progress& progress)
      : program_(original),
        compiled_(compiled),
        compile_(compile),
        threads_(threads),
        tolerance_(tolerance),
        progress_(progress) {}

  Result<CheckResult> run(const std::vector<CallInputs>& calls) {
    const Signature s = signature_of(program_);
    CheckResult r;
    r.calls = calls.size();
    progress_("compiling");
    const auto start = Clock::now();
    EW_ASSIGN(const auto model, compile_and_load(clone(compiled_), compile_, {.threads = threads_}));
    r.load_ms = model->load_ms();
    r.compile_ms = since(start) - r.load_ms;
    interp::State state;
    for (size_t c = 0; c < calls.size(); ++c) {
      progress_("running the compiled program");
      const auto run_start = Clock::now();
      EW_ASSIGN(const auto compiled, model->run(calls[c].inputs));
      r.run_ms += since(run_start);
      progress_("interpreting the program");
      const auto interpret_start = Clock::now();
      EW_ASSIGN(const auto interpreted, interpret(calls[c].inputs, state, nullptr));
      r.interpret_ms += since(interpret_start);
      compare_call(c, s, calls[c], compiled, interpreted, r);
    }
    const auto parted = std::find_if(r.outputs.begin(), r.outputs.end(), [](const OutputCheck& o) {
      return o.compiled_interpreter && !o.compiled_interpreter->agree;
    });
    if (parted == r.outputs.end()) return r;
    progress_("looking for the first node that differs");
    find_first(calls, parted->call, r);
    return r;
  }

 private:
  Result<std::vector<Value>> interpret(const std::vector<Value>& inputs, interp::State& state,
                                       std::vector<Observed>* observed) const {
    std::vector<interp::Datum> leaves;
    for (const Value& v : inputs) leaves.push_back(to_datum(v));
    interp::Options o;
    o.state = &state;
    if (observed)
      o.observe = [&](const ir::Node& n, std::span<const interp::Datum> results) {
        for (size_t i = 0; i < results.size(); ++i) {
          const ir::Tensor* t = interp::tensor(results[i]);
          // A copy: an in-place op may write to the storage later.
          if (t && is_float(t->dtype)) observed->push_back({n.result(i)->name, &n, to_host(*t).copy()});
        }
      };
    EW_ASSIGN(const auto result, interp::run(program_, leaves, o));
    std::vector<Value> outputs;
    for (const interp::Datum& d : result.outputs) outputs.push_back(to_value(d));
    return outputs;
  }

  void compare_call(size_t call, const Signature& s, const CallInputs& given, const std::vector<Value>& compiled,
                    const std::vector<Value>& interpreted, CheckResult& r) const {
    const std::map<size_t, Value> nothing;
    const auto& expected = given.expected ? *given.expected : nothing;
    auto against = compare_expected(call, s, compiled, expected, tolerance_);
    for (size_t i = 0; i < interpreted.size(); ++i) {
      auto it = std::find_if(against.begin(), against.end(), [&](const OutputCheck& o) { return o.output == i; });
      OutputCheck o;
      if (it != against.end()) {
        o = std::move(*it);
        if (!given.expected) o.compiled_expected.reset();
      } else {
        o.call = call;
        o.output = i;
        o.name = s.outputs[i].name;
        o.type = describe(compiled[i]);
      }
      const Tolerance tolerance = tolerance_of(i, interpreted[i]);
      o.compiled_interpreter = compare(compiled[i], interpreted[i], tolerance);
      if (const auto e = expected.find(i); e != expected.end()) {
        o.compiled_expected = compare(compiled[i], e->second, tolerance);
        o.interpreter_expected = compare(interpreted[i], e->second, tolerance);
      }
      r.outputs.push_back(std::move(o));
    }
  }

  // Both sides again up to the call that differs, now with the values of nodes in view. An element of a value in the middle may
  // be small beside what it was summed from, so that bounds there are relative to the value's greatest element.
  void find_first(const std::vector<CallInputs>& calls, size_t call, CheckResult& r) const {
    interp::State state;
    std::vector<Observed> observed;
    for (size_t c = 0; c <= call; ++c) {
      observed.clear();
      if (!interpret(calls[c].inputs, state, c == call ? &observed : nullptr)) return;
    }
    std::vector<std::string> names;
    for (const Observed& o : observed) names.push_back(o.name);
    if (auto first = first_of(calls, call, observed, names)) {
      r.first = std::move(first);
      return;
    }
    // With every value in view nothing differs, so it is a fusion or a delegate as a whole: expose one node at a time, by halves.
    size_t lo = 0, hi = names.size();
    while (lo < hi) {
      const size_t middle = (lo + hi) / 2;
      if (auto first = first_of(calls, call, observed, {names[middle]})) {
        r.first = std::move(first);
        hi = middle;
      } else {
        lo = middle + 1;
      }
    }
    if (!r.first)
      r.no_first =
          "no single node leaves its bound when its value is looked at: the difference arises where nodes are computed "
          "together";
  }

  std::optional<FirstDifference> first_of(const std::vector<CallInputs>& calls, size_t call,
                                          const std::vector<Observed>& observed,
                                          const std::vector<std::string>& names) const {
    driver::CompileOptions o = compile_;
    o.expose = names;
    o.dump_dir.clear();
    auto model = compile_and_load(clone(compiled_), o, {.threads = threads_});
    if (!model) return std::nullopt;
    std::vector<Value> outputs;
    for (size_t c = 0; c <= call; ++c) {
      auto one = (*model)->run_all(calls[c].inputs);
      if (!one) return std::nullopt;
      outputs = std::move(*one);
    }
    std::map<std::string, const Value*> by_name;
    const auto& exposed = (*model)->report()->exposed;
    for (size_t i = 0; i < exposed.size(); ++i) by_name[exposed[i]] = &outputs[program_.outputs.size() + i];
    for (const Observed& value : observed) {
      const auto it = by_name.find(value.name);
      if (it == by_name.end()) continue;
      Measure m = compare(*it->second, value.value, scaled(value.value));
      if (m.agree) continue;
      const ir::Origin origin = value.node->origin ? *value.node->origin : ir::Origin();
      return FirstDifference{origin.name.empty() ? value.name : origin.name, value.node->name(), origin.module_path,
                             origin.stack_trace, std::move(m)};
    }
    return std::nullopt;
  }

  // As given; one step, where none is and the output is quantized.
  Tolerance tolerance_of(size_t output, const Value& value) const {
    const HostTensor* t = tensor_of(value);
    if (tolerance_.atol || !t || !is_float(t->dtype) || output >= program_.graph->outputs.size()) return tolerance_;
    const double step = step_of(program_.graph->outputs[output].value());
    return {std::max(interp::default_tolerance(t->dtype).atol, 1.001 * step), tolerance_.rtol};
  }

  Tolerance scaled(const Value& reference) const {
    const HostTensor& t = *tensor_of(reference);
    double greatest = 1;
    for (int64_t i = 0; i < t.numel(); ++i) {
      const double v = std::abs(ir::load_f(t.dtype, t.bytes.data(), i));
      if (std::isfinite(v)) greatest = std::max(greatest, v);
    }
    return {tolerance_.atol.value_or(interp::default_tolerance(t.dtype).atol) * greatest, tolerance_.rtol};
  }

  const ir::Program &program_, &compiled_;
  const driver::CompileOptions& compile_;
  const int threads_;
  const Tolerance& tolerance_;
  const Progress& progress_;
};

}  // namespace

Result<CheckResult> check_program(const ir::Program& original, const ir::Program& compiled,
                                  const std::vector<CallInputs>& calls, const driver::CompileOptions& compile,
                                  int threads, const Tolerance& tolerance, const Progress& progress) {
  return Checker(original, compiled, compile, threads, tolerance, progress).run(calls);
}

Result<CheckResult> check(const std::string& path, const Options& options, const CallFiles& files,
                          const Tolerance& tolerance, const Progress& progress) {
  progress("reading " + path);
  EW_ASSIGN(const Source source, open_pt2(path, options.model));
  EW_ASSIGN(const ir::Program* program, find_method(source, options.method));
  const Signature s = signature_of(*program);
  std::optional<std::vector<Value>> samples;
  if (program->sample_inputs) samples = to_values(*program->sample_inputs);
  auto calls = gather(s, files, samples);
  if (!calls) return with_note(std::move(calls.error()), path);
  driver::CompileOptions compile = options.compile ? *options.compile : driver::CompileOptions();
  ir::Program prepared;
  if (compile.prepare) {  // then that is the program which both sides run
    prepared = clone(*program);
    passes::PassLog log;
    if (auto ok = compile.prepare(prepared, log); !ok) return with_note(std::move(ok.error()), path);
    compile.prepare = {};
    program = &prepared;
  }
  auto r = check_program(*program, *program, *calls, compile, options.threads, tolerance, progress);
  if (!r) return with_note(std::move(r.error()), path);
  r->invented = files.inputs.empty() && !samples &&
                std::any_of(s.inputs.begin(), s.inputs.end(), [](const LeafSpec& l) { return !l.may_be_omitted; });
  return r;
}

}  // namespace edgewright::session
