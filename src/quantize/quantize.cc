#include "quantize/quantize.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "interp/interp.h"
#include "quantize/insert.h"

namespace edgewright::quantize {
namespace {

using interp::Datum;
using ir::Node;
using ir::Value;

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
// Values of the float program that are kept to be compared with those of the quantized one.
constexpr size_t kMostKept = size_t{1} << 29;

constexpr std::array<std::pair<std::string_view, Scheme>, 4> kSchemes{
    {{"dynamic-int8", Scheme::kDynamicInt8},
     {"dynamic-int8-int4g32", Scheme::kDynamicInt8Int4},
     {"static-int8", Scheme::kStaticInt8},
     {"weight-int8", Scheme::kWeightInt8}}};

struct Noise {
  double signal = 0, noise = 0, max_abs = 0;
  bool measured = false;
  // A pair that is not finite on both sides counts for nothing, unless only one of them is.
  void add(const ir::Tensor& is, const ir::Tensor& should) {
    if (is.sizes != should.sizes || is.dtype != should.dtype || !is_float(should.dtype)) return;
    const ir::Tensor a = is.contiguous(), b = should.contiguous();
    measured = true;
    for (int64_t i = 0; i < b.numel(); ++i) {
      const double x = ir::load_f(a.dtype, a.data, i), y = ir::load_f(b.dtype, b.data, i);
      if (!std::isfinite(y) && !std::isfinite(x)) continue;
      signal += y * y;
      noise += (x - y) * (x - y);
      max_abs = std::max(max_abs, std::fabs(x - y));
    }
  }
  double db() const {
    if (!measured) return kUnknown;
    return noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
  }
};

// Brings the program to the form that plan() reads: functional, simple ops, norms folded, weights constant.
const std::vector<std::string>& preparation() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> v;
    for (const std::string& pass : passes::default_pipeline()) {
      v.push_back(pass);
      if (pass == "fold-batch-norm") break;
    }
    v.insert(v.end(), {"fold-constants", "dead-code"});
    return v;
  }();
  return names;
}

Result<void> expect_float(const ir::Graph& g) {
  for (const auto& n : g.nodes())
    if (n->name().starts_with("quantized_decomposed.") || n->name().starts_with("torchao."))
      return fail(Code::kUnsupported, "the program is quantized already: {} is {}",
                  n->num_results() ? n->result()->name : "a node", n->name());
  return {};
}

// The pattern names the node, its module, or a module around it.
bool matches(const std::string& pattern, const Step& s) {
  const auto is = [&](const std::string& text) { return ::fnmatch(pattern.c_str(), text.c_str(), 0) == 0; };
  if (is(s.op->result()->name) || is(s.tail->result()->name)) return true;
  if (!s.op->origin) return false;
  if (is(s.op->origin->name)) return true;
  std::string path = s.op->origin->module_path;
  while (!path.empty()) {
    if (is(path)) return true;
    const size_t dot = path.rfind('.');
    path = dot == std::string::npos ? "" : path.substr(0, dot);
  }
  return false;
}

size_t constant_bytes(const ir::Graph& g) {
  size_t bytes = 0;
  for (const Value* v : g.constants()) {
    const bool half = v->users.size() > 0 && v->users[0]->is("quantized_decomposed.dequantize_per_channel_group") &&
                      v->users[0]->inputs()[0] == v;
    bytes += half ? (v->data->nbytes() + 1) / 2 : v->data->nbytes();
  }
  return bytes;
}

std::string form_of(const Step& s, Scheme scheme) {
  if (s.kind == Kind::kEmbedding) return "rows i8";
  if (s.kind == Kind::kCompute) return "i8";
  if (scheme == Scheme::kStaticInt8) return "static i8 x i8";
  if (scheme == Scheme::kWeightInt8 || s.kind == Kind::kConvolution) return "weight i8";
  return s.by_group ? "dynamic i8 x i4g32" : "dynamic i8 x i8";
}

std::map<const Value*, Value*> by_value(const std::unordered_map<const Value*, Value*>& map) {
  return {map.begin(), map.end()};
}

class Quantizer {
 public:
  Quantizer(ir::Program& p, std::span<const Call> calls, const Options& o) : p_(p), calls_(calls), o_(o) {}

  Result<Report> run() {
    progress("preparing");
    EW_TRY(expect_float(*p_.graph));
    EW_TRY(passes::run_passes(p_, preparation(), {.verify = o_.verify, .disabled = o_.disabled, .after = {}},
                              report_.passes));
    p_.graph->remove_unused_constants();
    report_.calls = calls_.size();
    report_.weight_bytes_before = constant_bytes(*p_.graph);
    EW_TRY(keep_named());
    if (o_.scheme == Scheme::kStaticInt8) EW_TRY(calibrate());
    EW_TRY(measure());
    if (o_.min_sqnr)
      for (Layer& l : report_.layers)
        if (l.kept.empty() && l.sqnr_db < *o_.min_sqnr) {
          l.kept = fmt::format("{:.1f} dB are below {:g}", l.sqnr_db, *o_.min_sqnr);
          kept_.insert(l.node);
        }
    EW_TRY(insert());
    report_.weight_bytes_after = constant_bytes(*p_.graph);
    EW_TRY(compare());
    return std::move(report_);
  }

 private:
  void progress(const std::string& what) const {
    if (o_.progress) o_.progress(what);
  }

  Result<void> keep_named() {
    std::set<std::string> used;
    for (const Step& s : plan(*p_.graph, o_.scheme, {})) {
      if (!s.is_layer()) continue;
      if (s.weight && !all_finite(*s.weight->data))
        return fail(Code::kUsage, "{}: its weight {} is not finite", s.name(), s.weight->name);
      Layer l{.node = s.name(), .op = s.op->name(), .form = form_of(s, o_.scheme)};
      if (s.op->origin) {
        l.module = s.op->origin->module_path;
        l.source = s.op->origin->stack_trace;
      }
      l.sqnr_db = l.sqnr_through_db = kUnknown;
      if (s.weight) l.weight_bytes_before = l.weight_bytes_after = s.weight->data->nbytes();
      for (const std::string& pattern : o_.keep)
        if (matches(pattern, s)) {
          used.insert(pattern);
          l.kept = fmt::format("--keep {}", pattern);
          kept_.insert(l.node);
        }
      report_.layers.push_back(std::move(l));
    }
    for (const std::string& pattern : o_.keep)
      if (!used.contains(pattern)) return fail(Code::kUsage, "--keep {}: there is no such layer", pattern);
    return {};
  }

  // Runs all calls on `g`, a copy of the program's graph by `to` or, if null, that graph itself.
  Result<void> run_calls(const ir::Graph& g, const std::map<const Value*, Value*>* to,
                         const std::function<void(size_t call, const Node&, std::span<const Datum>)>& observe,
                         const std::function<void(size_t call, const interp::RunResult&)>& done) const {
    ir::Program p = p_;
    if (to) {
      p.graph = std::shared_ptr<ir::Graph>(p_.graph, const_cast<ir::Graph*>(&g));
      for (ir::InputLeaf& in : p.inputs)
        if (in.value) in.value = to->at(in.value);
    }
    interp::State state;
    for (size_t c = 0; c < calls_.size(); ++c) {
      interp::Options io;
      io.state = &state;
      if (observe) io.observe = [&](const Node& n, std::span<const Datum> results) { observe(c, n, results); };
      auto r = interp::run(p, calls_[c], io);
      if (!r) return with_note(std::move(r.error()), fmt::format("call {}", c));
      if (done) done(c, *r);
    }
    return {};
  }

  // The range of every value that a step quantizes, over all calls.
  Result<void> calibrate() {
    if (calls_.empty()) return fail(Code::kUsage, "a static scheme takes its scales from calibration inputs");
    progress("calibrating");
    std::set<std::string> wanted;
    for (const auto& [name, i] : scale_classes(plan(*p_.graph, o_.scheme, kept_))) wanted.insert(name);
    Result<void> ok;
    const auto see = [&](const Value& v, const ir::Tensor& t) {
      if (!ok || !wanted.contains(v.name) || t.dtype != DType::f32) return;
      const ir::Tensor x = t.contiguous();
      const auto* at = reinterpret_cast<const float*>(x.data);
      auto& [lo, hi] = ranges_.try_emplace(v.name, 0.0F, 0.0F).first->second;
      for (int64_t i = 0; i < x.numel(); ++i) {
        if (!std::isfinite(at[i])) {
          ok = fail(Code::kUsage, "calibration: a value is {}", at[i]);
          ok.error().node = v.name;
          if (v.producer && v.producer->origin) ok.error().origin = v.producer->origin->module_path;
          return;
        }
        lo = std::min(lo, at[i]);
        hi = std::max(hi, at[i]);
      }
    };
    for (const Call& call : calls_)
      for (size_t i = 0; i < call.size() && i < p_.inputs.size(); ++i)
        if (const ir::Tensor* t = interp::tensor(call[i]); t && p_.inputs[i].value) see(*p_.inputs[i].value, *t);
    EW_TRY(run_calls(*p_.graph, nullptr,
                     [&](size_t, const Node& n, std::span<const Datum> results) {
                       for (size_t i = 0; i < results.size(); ++i)
                         if (const ir::Tensor* t = interp::tensor(results[i])) see(*n.result(i), *t);
                     },
                     {}));
    return ok;
  }

  // Scales of a plan: one for each class.
  void choose(const std::vector<Step>& steps) {
    classes_ = scale_classes(steps);
    std::map<int, std::pair<float, float>> of_class;
    for (const auto& [name, i] : classes_) {
      const auto it = ranges_.find(name);
      const auto [lo, hi] = it == ranges_.end() ? std::pair(0.0F, 0.0F) : it->second;
      auto& c = of_class.try_emplace(i, 0.0F, 0.0F).first->second;
      c = {std::min(c.first, lo), std::max(c.second, hi)};
    }
    params_.clear();
    for (const auto& [i, range] : of_class) params_[i] = of_range(range.first, range.second);
  }

  // Each layer by itself, on the float program's values.
  Result<void> measure() {
    std::unordered_map<const Value*, Value*> copied;
    const auto g = p_.graph->clone(&copied);
    const std::vector<Step> steps = plan(*g, o_.scheme, kept_);
    choose(steps);
    Inserter inserter(*g, o_.scheme, weights_, classes_, params_);
    std::map<const Value*, std::string> ours, theirs;  // outputs -> layer
    for (const Step& s : steps) {
      EW_ASSIGN(const Value* y, inserter.add(s));
      if (!s.is_layer()) continue;
      ours[y] = s.name();
      theirs[s.tail->result()] = s.name();
    }
    if (calls_.empty()) return {};
    progress("measuring layers");
    std::map<std::string, Noise> noise;
    std::map<std::string, ir::Tensor> last;
    const auto to = by_value(copied);
    EW_TRY(run_calls(
        *g, &to,
        [&](size_t call, const Node& n, std::span<const Datum> results) {
          if (results.size() != 1) return;
          const ir::Tensor* t = interp::tensor(results[0]);
          if (!t) return;
          if (const auto it = theirs.find(n.result()); it != theirs.end()) {
            last[it->second] = *t;
            if (kept_bytes_ + t->nbytes() <= kMostKept) {
              kept_bytes_ += t->nbytes();
              float_values_[{call, it->second}] = t->contiguous();
            }
          } else if (const auto at = ours.find(n.result()); at != ours.end()) {
            noise[at->second].add(*t, last[at->second]);
          }
        },
        [&](size_t, const interp::RunResult& r) { float_outputs_.push_back(r.outputs); }));
    for (Layer& l : report_.layers)
      if (const auto it = noise.find(l.node); it != noise.end()) l.sqnr_db = it->second.db();
    return {};
  }

  Result<void> insert() {
    progress("quantizing");
    const std::vector<Step> steps = plan(*p_.graph, o_.scheme, kept_);
    choose(steps);
    Inserter inserter(*p_.graph, o_.scheme, weights_, classes_, params_);
    std::map<std::string, Layer*> by_name;
    for (Layer& l : report_.layers) by_name[l.node] = &l;
    std::set<std::string> done;
    for (const Step& s : steps) {
      const std::string layer = s.is_layer() ? s.name() : "";
      const bool by_group = s.by_group;
      const size_t elements = s.weight ? static_cast<size_t>(s.weight->data->numel()) : 0;
      const size_t scales = !s.weight  ? 0
                            : by_group ? elements / kGroup
                                       : static_cast<size_t>(s.weight->data->sizes[static_cast<size_t>(s.axis)]);
      EW_ASSIGN(const Value* y, inserter.replace(s));
      if (layer.empty()) continue;
      done.insert(layer);
      outputs_[y] = layer;
      const auto it = by_name.find(layer);
      if (it != by_name.end() && elements)
        it->second->weight_bytes_after = (by_group ? elements / 2 : elements) + scales * sizeof(float);
    }
    inserter.finish();
    // What lies between layers that stayed float is float, too.
    for (Layer& l : report_.layers)
      if (l.kept.empty() && !done.contains(l.node)) l.kept = "its inputs stay float";
    p_.graph->remove_unused_constants();
    return ir::verify_structure(*p_.graph);
  }

  Result<void> compare() {
    if (calls_.empty()) return {};
    progress("measuring the program");
    std::map<std::string, Noise> noise;
    EW_TRY(run_calls(
        *p_.graph, nullptr,
        [&](size_t call, const Node& n, std::span<const Datum> results) {
          if (results.size() != 1) return;
          const auto at = outputs_.find(n.result());
          const ir::Tensor* t = interp::tensor(results[0]);
          if (!t || at == outputs_.end()) return;
          if (const auto it = float_values_.find({call, at->second}); it != float_values_.end())
            noise[at->second].add(*t, it->second);
        },
        [&](size_t call, const interp::RunResult& r) {
          for (size_t i = 0; i < r.outputs.size(); ++i) {
            const ir::Tensor *is = interp::tensor(r.outputs[i]), *should = interp::tensor(float_outputs_[call][i]);
            if (!is || !should || !is_float(should->dtype)) continue;
            Noise n;
            n.add(*is, *should);
            report_.outputs.push_back(
                {call, i < p_.outputs.size() ? p_.outputs[i].name : std::to_string(i), n.db(), n.max_abs});
          }
        }));
    for (Layer& l : report_.layers)
      if (const auto it = noise.find(l.node); it != noise.end()) l.sqnr_through_db = it->second.db();
    return {};
  }

  ir::Program& p_;
  std::span<const Call> calls_;
  const Options& o_;
  Report report_;
  std::set<std::string> kept_;
  std::map<std::string, std::pair<float, float>> ranges_;
  std::map<std::string, int> classes_;
  std::map<int, QParams> params_;
  WeightCache weights_;
  size_t kept_bytes_ = 0;
  std::map<std::pair<size_t, std::string>, ir::Tensor> float_values_;
  std::vector<std::vector<Datum>> float_outputs_;
  std::map<const Value*, std::string> outputs_;  // of layers in the quantized program
};

}  // namespace

Result<Scheme> scheme_of(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [text, scheme] : kSchemes) {
    if (text == name) return scheme;
    names.push_back(text);
  }
  return fail(Code::kUsage, "there is no scheme '{}' (there is: {})", name, fmt::join(names, ", "));
}

Result<Report> quantize(ir::Program& p, std::span<const Call> calls, const Options& o) {
  return Quantizer(p, calls, o).run();
}

}  // namespace edgewright::quantize
