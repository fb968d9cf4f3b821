// src/cli/run.cc - run, check, bench: prints outputs, comparisons and times. Depends on session.
#include <algorithm>
#include <cmath>

#include "cli/commands.h"
#include "cli/quantized.h"
#include "cli/terminal.h"
#include "session/bench.h"
#include "session/check.h"
#include "session/execute.h"
#include "session/json.h"

namespace edgewright::cli {
namespace {

using session::Measure;
using session::OutputCheck;
using session::Value;

constexpr int64_t kShown = 6;       // elements of a tensor that a person is shown
constexpr int64_t kJsonShown = 64;  // tensors up to this size are in the JSON whole

session::Options options_of(const RunArgs& a, const driver::CompileOptions& compile) {
  session::Options o;
  o.threads = a.threads;
  o.model = a.model;
  o.compile = &compile;
  if (!a.methods.empty()) o.method = a.methods.front();
  return o;
}

session::CallFiles files_of(const RunArgs& a) {
  session::CallFiles f;
  f.inputs = a.inputs;
  f.expected = a.expected;
  f.scalars = a.scalars;
  f.methods = a.methods;
  return f;
}

std::string element(const HostTensor& t, int64_t i) {
  if (is_bool(t.dtype)) return session::element_i(t, i) ? "True" : "False";
  if (is_int(t.dtype)) return fmt::format("{}", session::element_i(t, i));
  if (is_float(t.dtype)) return fmt::format("{:.6g}", session::element_f(t, i));
  return "?";
}

std::string preview(const Value& v) {
  const HostTensor* t = session::tensor_of(v);
  if (!t) return session::describe(v);
  std::vector<std::string> shown;
  for (int64_t i = 0; i < std::min(kShown, t->numel()); ++i) shown.push_back(element(*t, i));
  return fmt::format("{} [{}{}]", session::describe(v), fmt::join(shown, ", "), t->numel() > kShown ? ", ..." : "");
}

void write_value(session::JsonWriter& j, const Value& v) {
  const HostTensor* t = session::tensor_of(v);
  if (const auto* i = std::get_if<int64_t>(&v)) return void(j.field("value", *i));
  if (const auto* f = std::get_if<double>(&v)) return void(j.field("value", *f));
  if (const auto* b = std::get_if<bool>(&v)) return void(j.field("value", *b));
  if (const auto* s = std::get_if<std::string>(&v)) return void(j.field("value", *s));
  if (!t) return void(j.field("value", nullptr));
  j.field("dtype", name(t->dtype)).key("shape").open('[');
  for (const int64_t s : t->sizes) j.value(s);
  j.close(']');
  if (t->numel() > kJsonShown || !(is_float(t->dtype) || is_int(t->dtype) || is_bool(t->dtype))) return;
  j.key("elements").open('[');
  for (int64_t i = 0; i < t->numel(); ++i) {
    if (is_bool(t->dtype)) {
      j.value(session::element_i(*t, i) != 0);
    } else if (is_float(t->dtype)) {
      j.value(session::element_f(*t, i));
    } else {
      j.value(session::element_i(*t, i));
    }
  }
  j.close(']');
}

std::string sqnr_text(double db) {
  return std::isinf(db) ? "exact" : std::isnan(db) ? "" : fmt::format("{:.1f} dB", db);
}

void print_measure(const OutputCheck& o, const char* sides, const std::optional<Measure>& m, bool several_calls) {
  if (!m) return;
  const std::string which =
      several_calls ? fmt::format("call {} output {}", o.call, o.output) : fmt::format("output {}", o.output);
  say("  {:<12} {:<18} {:<26} {} max abs {:.2e}  max rel {:.2e}  {}\n", which, o.type, sides,
      m->agree ? paint(Style::kGood, "agree ") : paint(Style::kBad, "DIFFER"), m->max_abs, m->max_rel,
      sqnr_text(m->sqnr_db));
  if (!m->agree) say("      {}\n", m->problem);
}

void write_measure(session::JsonWriter& j, std::string_view key, const std::optional<Measure>& m) {
  j.key(key);
  if (!m) return void(j.value(nullptr));
  j.open('{')
      .field("agree", m->agree)
      .field("max_abs", m->max_abs)
      .field("max_rel", m->max_rel)
      .field("sqnr_db", m->sqnr_db);
  j.field("differing", m->differing).field("problem", m->problem).close('}');
}

void write_checks(session::JsonWriter& j, const std::vector<OutputCheck>& all) {
  j.key("outputs").open('[');
  for (const OutputCheck& o : all) {
    j.open('{')
        .field("call", o.call)
        .field("output", o.output)
        .field("name", o.name)
        .field("type", o.type)
        .field("agree", o.agree());
    write_measure(j, "compiled_interpreter", o.compiled_interpreter);
    write_measure(j, "compiled_expected", o.compiled_expected);
    write_measure(j, "interpreter_expected", o.interpreter_expected);
    j.close('}');
  }
  j.close(']');
}

std::string first_problem(const std::vector<OutputCheck>& all) {
  for (const OutputCheck& o : all)
    for (const auto* m : {&o.compiled_interpreter, &o.compiled_expected, &o.interpreter_expected})
      if (*m && !(*m)->agree) return fmt::format("call {} output {}: {}", o.call, o.output, (*m)->problem);
  return {};
}

// What is said on stderr where results disagree: one line, like an error.
void report_difference(const std::string& file, const std::string& problem) {
  std::fprintf(stderr, "%s %s: out of tolerance: %s\n", paint(Style::kBad, "error:", stderr).c_str(), file.c_str(),
               problem.c_str());
}

}  // namespace

Result<int> run(const RunArgs& a) {
  driver::CompileOptions compile;
  std::vector<session::QuantizedMethod> quantized;
  EW_TRY(session::request_quantizing(compile, a.quantize, quantized));
  session::RunResult r;
  {
    ProgressLine progress;
    EW_ASSIGN(r, session::execute(a.input, options_of(a, compile), files_of(a), {a.atol, a.rtol}, a.outputs,
                                  [&](const std::string& s) { progress(s); }));
  }
  const bool agree = std::all_of(r.checks.begin(), r.checks.end(), [](const OutputCheck& o) { return o.agree(); });
  if (a.json) {
    session::JsonWriter j;
    j.open('{').field("load_ms", r.load_ms).key("calls").open('[');
    for (const session::CallResult& call : r.calls) {
      j.open('{').field("run_ms", call.milliseconds).key("outputs").open('[');
      for (const Value& v : call.outputs) {
        j.open('{');
        write_value(j, v);
        j.close('}');
      }
      j.close(']').close('}');
    }
    j.close(']');
    if (!a.expected.empty()) {
      j.field("agree", agree).key("compared").open('{');
      write_checks(j, r.checks);
      j.close('}');
    }
    say("{}", j.close('}').take());
  } else {
    for (size_t i = 0; i < r.calls.size(); ++i) {
      say("{}{} in {}\n", r.calls.size() > 1 ? fmt::format("call {}: ", i) : "", a.input,
          time_text(r.calls[i].milliseconds));
      for (size_t k = 0; k < r.calls[i].outputs.size(); ++k)
        say("  output {:<3} {}\n", k, preview(r.calls[i].outputs[k]));
    }
    for (const OutputCheck& o : r.checks) print_measure(o, "expected", o.compiled_expected, r.calls.size() > 1);
    for (const std::string& path : a.outputs) say("wrote {}\n", path);
  }
  if (agree) return 0;
  std::fflush(stdout);
  report_difference(a.input, first_problem(r.checks));
  return exit_status(Code::kMismatch);
}

Result<int> check(const RunArgs& a) {
  driver::CompileOptions compile;
  compile.first = a.first;
  std::vector<session::QuantizedMethod> quantized;
  EW_TRY(session::request_quantizing(compile, a.quantize, quantized));
  session::CheckResult r;
  {
    ProgressLine progress;
    session::CallFiles files = files_of(a);
    files.invent = true;
    EW_ASSIGN(r, session::check(a.input, options_of(a, compile), files, {a.atol, a.rtol},
                                [&](const std::string& s) { progress(s); }));
  }
  if (a.json) {
    session::JsonWriter j;
    j.open('{');
    if (!quantized.empty()) write_quantized(j, quantized);
    j.field("agree", r.agree()).field("calls", r.calls).field("invented_inputs", r.invented);
    j.field("compile_ms", r.compile_ms)
        .field("load_ms", r.load_ms)
        .field("interpret_ms", r.interpret_ms)
        .field("run_ms", r.run_ms);
    write_checks(j, r.outputs);
    j.key("first_difference");
    if (r.first) {
      j.open('{')
          .field("node", r.first->node)
          .field("op", r.first->op)
          .field("module", r.first->module)
          .field("source", r.first->source);
      write_measure(j, "measure", r.first->measure);
      j.close('}');
    } else {
      j.value(nullptr);
    }
    say("{}", j.close('}').take());
  } else {
    say("{}: {} call{}{}; compiled in {}, loaded in {}, ran in {}, interpreted in {}\n", a.input, r.calls,
        r.calls == 1 ? "" : "s", r.invented ? " with inputs made up (give --inputs for real ones)" : "",
        time_text(r.compile_ms), time_text(r.load_ms), time_text(r.run_ms), time_text(r.interpret_ms));
    print_quantized(quantized);
    for (const OutputCheck& o : r.outputs) {
      print_measure(o, "compiled / interpreter", o.compiled_interpreter, r.calls > 1);
      print_measure(o, "compiled / expected", o.compiled_expected, r.calls > 1);
      print_measure(o, "interpreter / expected", o.interpreter_expected, r.calls > 1);
    }
    if (r.first) {
      say("first node that differs: {} ({})\n", paint(Style::kBold, r.first->node), r.first->op);
      if (!r.first->module.empty()) say("  module  {}\n", r.first->module);
      if (!r.first->source.empty()) say("  source  {}\n", r.first->source);
      say("  {}\n", r.first->measure.problem);
    } else if (!r.no_first.empty()) {
      say("{}\n", r.no_first);
    } else if (r.agree()) {
      say("{}\n", paint(Style::kGood, "everything agrees"));
    }
  }
  if (r.agree()) return 0;
  std::fflush(stdout);
  report_difference(a.input, first_problem(r.outputs));
  return exit_status(Code::kMismatch);
}

Result<int> bench(const BenchArgs& a) {
  driver::CompileOptions compile;
  std::vector<session::QuantizedMethod> quantized;
  EW_TRY(session::request_quantizing(compile, a.quantize, quantized));
  session::Options o;
  o.compile = &compile;
  o.threads = a.threads;
  o.model = a.model;
  o.method = a.method;
  o.profile = a.profile;
  session::CallFiles files;
  if (!a.inputs.empty()) files.inputs = {a.inputs};
  files.scalars = a.scalars;
  files.invent = true;
  session::BenchResult r;
  {
    ProgressLine progress;
    progress("measuring");
    EW_ASSIGN(r, session::bench(a.input, o, files, a.seconds));
  }
  if (a.json) {
    session::JsonWriter j;
    j.open('{')
        .field("median_ms", r.median_ms)
        .field("min_ms", r.min_ms)
        .field("p90_ms", r.p90_ms)
        .field("mean_ms", r.mean_ms);
    j.field("runs", r.runs).field("load_ms", r.load_ms);
    if (r.compile_ms) j.field("compile_ms", *r.compile_ms);
    j.field("peak_rss_mb", r.peak_rss_mb).field("arena_bytes", r.arena_bytes).field("threads", a.threads);
    if (a.profile) {
      j.key("profile").open('[');
      for (const auto& s : r.profile) {
        j.open('{').field("name", s.name).key("delegate");
        s.delegate < 0 ? j.value(nullptr) : j.value(s.delegate);
        j.field("count", s.count).field("ms", s.ms).close('}');
      }
      j.close(']');
    }
    say("{}", j.close('}').take());
    return 0;
  }
  say("{}: {} (least {}, 90 % within {}) over {} runs with {} thread{}\n", a.input,
      paint(Style::kBold, time_text(r.median_ms)), time_text(r.min_ms), time_text(r.p90_ms), r.runs,
      a.threads ? fmt::format("{}", a.threads) : "all", a.threads == 1 ? "" : "s");
  if (r.compile_ms) say("  compiled in {}\n", time_text(*r.compile_ms));
  say("  loaded in {}; peak memory of the process {:.1f} MB, of it {} planned\n", time_text(r.load_ms), r.peak_rss_mb,
      bytes_text(r.arena_bytes));
  for (const auto& s : r.profile)
    say("  {:>9}  {:>4} x {}{}\n", time_text(s.ms), s.count, s.name,
        s.delegate < 0 ? "" : fmt::format(", delegate {}", s.delegate));
  return 0;
}

}  // namespace edgewright::cli
