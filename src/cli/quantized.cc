#include "cli/quantized.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "cli/terminal.h"

namespace edgewright::cli {
namespace {

constexpr size_t kShown = 10;  // layers that cost most

std::string db(double v) {
  return std::isnan(v) ? "-" : std::isinf(v) ? (v > 0 ? "exact" : "no signal") : fmt::format("{:.1f} dB", v);
}

}  // namespace

void add_quantizing(CLI::App* c, session::QuantizeRequest& r) {
  c->add_option("--quantize", r.scheme,
                "dynamic-int8, dynamic-int8-int4g32, static-int8 or weight-int8: quantize the float program first")
      ->type_name("SCHEME");
  c->add_option("--calibrate", r.calibrate,
                "inputs to take scales from and to measure on: a .safetensors for each call, with keys as of --inputs")
      ->type_name("F...");
  c->add_option("--keep", r.keep, "layers that stay float: a shell pattern on node or module names")
      ->type_name("PATTERN")
      ->expected(1)
      ->take_all();
  c->add_option("--min-sqnr", r.min_sqnr, "layers whose signal-to-noise ratio is below this stay float")
      ->type_name("DB");
}

void print_quantized(const std::vector<session::QuantizedMethod>& methods) {
  for (const session::QuantizedMethod& m : methods) {
    const quantize::Report& r = m.report;
    const auto count = std::count_if(r.layers.begin(), r.layers.end(), [](const auto& l) { return l.kept.empty(); });
    say("quantized{}: {} of {} layers, weights {} -> {}\n", methods.size() > 1 ? " " + m.method : "", count,
        r.layers.size(), bytes_text(r.weight_bytes_before), bytes_text(r.weight_bytes_after));
    for (const quantize::OutputError& o : r.outputs)
      say("  {}output {:<22} {:>10} against the float program, largest difference {:.3g}\n",
          r.calls > 1 ? fmt::format("call {} ", o.call) : "", o.name, db(o.sqnr_db), o.max_abs);
    if (m.invented) say("  measured on inputs that were made up: give --calibrate for real ones\n");
    std::vector<const quantize::Layer*> worst;
    for (const quantize::Layer& l : r.layers)
      if (!std::isnan(l.sqnr_db)) worst.push_back(&l);
    std::stable_sort(worst.begin(), worst.end(), [](auto* a, auto* b) { return a->sqnr_db < b->sqnr_db; });
    if (worst.size() > kShown) worst.resize(kShown);
    if (!worst.empty()) say("  layers that cost most     alone   with all before\n");
    for (const quantize::Layer* l : worst)
      say("    {:<20} {:>10} {:>12}  {:<18} {}{}\n", l->node, db(l->sqnr_db), db(l->sqnr_through_db), l->form,
          l->kept.empty() ? "" : "stays float: " + l->kept,
          paint(Style::kDim, l->module.empty() ? "" : " [" + l->module + "]"));
    for (const quantize::Layer& l : r.layers)
      if (!l.kept.empty() && std::find(worst.begin(), worst.end(), &l) == worst.end())
        say("    {:<20} stays float: {}\n", l.node, l.kept);
  }
}

void write_quantized(session::JsonWriter& j, const std::vector<session::QuantizedMethod>& methods) {
  j.key("quantized").open('[');
  for (const session::QuantizedMethod& m : methods) {
    const quantize::Report& r = m.report;
    j.open('{').field("method", m.method).field("calls", r.calls).field("invented_inputs", m.invented);
    j.field("weight_bytes_before", r.weight_bytes_before).field("weight_bytes_after", r.weight_bytes_after);
    j.key("outputs").open('[');
    // An SQNR without any difference is null.
    for (const quantize::OutputError& o : r.outputs)
      j.open('{')
          .field("call", o.call)
          .field("name", o.name)
          .field("sqnr_db", o.sqnr_db)
          .field("max_abs", o.max_abs)
          .close('}');
    j.close(']').key("layers").open('[');
    for (const quantize::Layer& l : r.layers)
      j.open('{')
          .field("node", l.node)
          .field("op", l.op)
          .field("module", l.module)
          .field("source", l.source)
          .field("form", l.form)
          .field("quantized", l.kept.empty())
          .field("kept", l.kept)
          .field("sqnr_db", l.sqnr_db)
          .field("sqnr_through_db", l.sqnr_through_db)
          .field("weight_bytes_before", l.weight_bytes_before)
          .field("weight_bytes_after", l.weight_bytes_after)
          .close('}');
    j.close(']').close('}');
  }
  j.close(']');
}

}  // namespace edgewright::cli
