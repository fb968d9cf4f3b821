#include "judge.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "driver/compile.h"
#include "ir/text.h"
#include "session/convert.h"
#include "session/source.h"

namespace edgewright::random {
namespace {

using interp::Datum;

// The distance between 1 and the next number.
double epsilon(DType t) {
  return t == DType::f16 ? 0x1p-10 : t == DType::bf16 ? 0x1p-7 : t == DType::f64 ? 0x1p-52 : 0x1p-23;
}
// Beyond it squares and sums of squares may overflow.
double wild(DType t) { return t == DType::f16 ? 200 : 1e15; }

// Ops that choose among their operands' elements or round to integers: they add no error of their own.
bool is_exact(const ir::Node& n) {
  static const std::set<std::string_view> kExact = {"relu",
                                                    "maximum",
                                                    "minimum",
                                                    "max",
                                                    "min",
                                                    "amax",
                                                    "amin",
                                                    "aminmax",
                                                    "fmax",
                                                    "fmin",
                                                    "sort",
                                                    "topk",
                                                    "argsort",
                                                    "gather",
                                                    "index",
                                                    "_unsafe_index",
                                                    "index_select",
                                                    "take",
                                                    "take_along_dim",
                                                    "where",
                                                    "clamp",
                                                    "clamp_min",
                                                    "clamp_max",
                                                    "clip",
                                                    "relu6",
                                                    "hardtanh",
                                                    "abs",
                                                    "neg",
                                                    "negative",
                                                    "absolute",
                                                    "masked_fill",
                                                    "masked_select",
                                                    "masked_scatter",
                                                    "index_put",
                                                    "index_copy",
                                                    "index_fill",
                                                    "scatter",
                                                    "select_scatter",
                                                    "slice_scatter",
                                                    "diagonal_scatter",
                                                    "as_strided_scatter",
                                                    "round",
                                                    "floor",
                                                    "ceil",
                                                    "trunc",
                                                    "fix",
                                                    "sign",
                                                    "sgn",
                                                    "max_pool1d",
                                                    "max_pool2d",
                                                    "max_pool3d",
                                                    "max_pool2d_with_indices",
                                                    "adaptive_max_pool1d",
                                                    "adaptive_max_pool2d",
                                                    "embedding",
                                                    "median",
                                                    "cummax",
                                                    "cummin",
                                                    "threshold",
                                                    "full",
                                                    "full_like",
                                                    "fill",
                                                    "zero",
                                                    "copy",
                                                    "copysign",
                                                    "signbit",
                                                    "nan_to_num",
                                                    "hardshrink",
                                                    "heaviside",
                                                    "frac",
                                                    "dropout",
                                                    "_to_copy",
                                                    "to",
                                                    "type_as"};
  std::string_view name = n.name();
  const ops::OpDef* d = ops::def(n);
  if (d && d->functional) name = d->functional->name;
  if (!name.starts_with("aten.")) return false;
  name.remove_prefix(5);
  if (name.starts_with("index_put") && n.arg("accumulate") == ir::Arg(true)) return false;
  return kExact.contains(name.substr(0, name.find('.')));
}

// Between 0.0 and -0.0 a maximum or a minimum takes either.
bool chooses_zero(const ir::Node& n) {
  for (const char* s : {"max", "min", "relu", "clamp", "clip", "hardtanh", "round", "trunc", "floor", "ceil", "fix",
                        "frac", "sgn", "sign", "hardshrink"})
    if (n.name().find(s) != std::string::npos) return true;
  return false;
}

bool only_moves(const ir::Node& n) {
  const ops::OpDef* d = ops::def(n);
  if (!d) return false;
  if (!d->view_of.empty()) return true;
  if (d->functional || !d->eval) return false;
  const auto open = [](const ir::Value* v) { return v->tensor() && !ir::is_static(v->tensor()->shape); };
  const auto inputs = n.inputs();
  if (std::any_of(inputs.begin(), inputs.end(), open)) return false;  // a formula wants known sizes
  const auto p = ops::point(*d, ops::Call::of(n), 0);
  return p && p->move;
}

// Formulas that round once: their error is relative to their result. All others may have larger numbers on the way.
bool rounds_once(const ir::Node& n) {
  static const std::set<std::string_view> kOnce = {"add", "sub",        "mul", "div",   "exp",  "sqrt",
                                                   "log", "reciprocal", "pow", "rsub",  "tanh", "sin",
                                                   "cos", "sigmoid",    "erf", "rsqrt", "atan", "square"};
  std::string_view name = n.name();
  const ops::OpDef* d = ops::def(n);
  if (d && d->functional) name = d->functional->name;
  if (!name.starts_with("aten.")) return false;
  name.remove_prefix(5);
  name = name.substr(0, name.find('.'));
  // alpha makes an addition two operations
  if ((name == "add" || name == "sub" || name == "rsub") && n.args().size() > 2) return false;
  return kOnce.contains(name);
}

// Divides what is left of a subtraction by the little that it varies.
// Or multiplies the error of a coordinate by a slope.
bool amplifies(const ir::Node& n) {
  return n.name().find("norm") != std::string::npos || n.name().find("upsample") != std::string::npos ||
         n.name().find("grid_sampler") != std::string::npos;
}

double greatest(const ir::Tensor& t) {
  double m = 0;
  const ir::Tensor c = t.contiguous();
  for (int64_t i = 0; i < c.numel(); ++i) {
    const double v = std::fabs(ir::load_f(c.dtype, c.data, i));
    if (std::isfinite(v)) m = std::max(m, v);
  }
  return m;
}

bool has_nan(const ir::Tensor& t) {
  const ir::Tensor c = t.contiguous();
  for (int64_t i = 0; i < c.numel(); ++i)
    if (std::isnan(ir::load_f(c.dtype, c.data, i))) return true;
  return false;
}
bool has_infinity(const ir::Tensor& t) {
  const ir::Tensor c = t.contiguous();
  for (int64_t i = 0; i < c.numel(); ++i)
    if (std::isinf(ir::load_f(c.dtype, c.data, i))) return true;
  return false;
}

// Runs the program; with `noise`, every rounded result is moved.
class Runner {
 public:
  Runner(const ir::Program& p, uint64_t noise) : p_(p), noise_(noise), random_(noise) {
    for (const auto& n : p.graph->nodes())
      if (noise && !only_moves(*n) && !is_exact(*n)) noisy_.insert(n.get());
  }
  bool saw_wild = false, saw_nan = false;

  Result<std::vector<Datum>> call(const Inputs& given) {
    interp::Options o;
    o.state = &state_;
    std::unordered_map<const ir::Value*, double> scale;
    std::set<const ir::Value*> infinite;
    for (size_t i = 0; i < given.size(); ++i)
      if (const auto* t = interp::tensor(given[i]); t && ops::is_number(t->dtype)) {
        scale[p_.inputs[i].value] = greatest(*t);
        saw_nan |= has_nan(*t);
        if (has_infinity(*t)) infinite.insert(p_.inputs[i].value);
        watch(*t);
      }
    for (const auto& all : {p_.graph->constants(), p_.graph->states()})
      for (const ir::Value* v : all)
        if (ops::is_number(v->data->dtype)) {
          scale[v] = greatest(*v->data);
          saw_nan |= has_nan(*v->data);
          if (has_infinity(*v->data)) infinite.insert(v);
        }
    o.observe = [&](const ir::Node& n, std::span<const Datum> results) {
      double in = 0;
      const auto inputs = n.inputs();
      for (const ir::Value* v : inputs)
        if (const auto it = scale.find(v); it != scale.end()) in = std::max(in, it->second);
      const bool from_infinity =
          std::any_of(inputs.begin(), inputs.end(), [&](const ir::Value* v) { return infinite.contains(v); });
      for (size_t i = 0; i < results.size(); ++i) {
        const auto* t = interp::tensor(results[i]);
        if (t && !is_float(t->dtype) && ops::is_number(t->dtype)) scale[n.result(i)] = greatest(*t);
        if (!t || !is_float(t->dtype)) continue;
        watch(*t);
        saw_nan |= has_nan(*t);
        if (has_infinity(*t)) {
          infinite.insert(n.result(i));
          // One that a division or an overflow made: another order of operations may make it a NaN.
          saw_wild |= !from_infinity && !is_exact(n) && !only_moves(n);
        }
        const double own = greatest(*t);
        scale[n.result(i)] = own;
        if (chooses_zero(n) && noise_ && !noisy_.contains(&n)) move(*t, 0, true);
        if (noisy_.contains(&n)) move(*t, rounds_once(n) ? 0 : std::max(in, own) * (amplifies(n) ? 16 : 1));
      }
    };
    EW_ASSIGN(auto r, interp::run(p_, given, o));
    std::vector<Datum> out;
    for (const Datum& d : r.outputs) {
      const auto* t = interp::tensor(d);
      out.push_back(t ? Datum(interp::private_copy(t->contiguous())) : d);
    }
    return out;
  }

 private:
  void watch(const ir::Tensor& t) { saw_wild |= greatest(t) > wild(t.dtype); }
  // `zeros`: the sign of zeros alone.
  void move(const ir::Tensor& t, double scale, bool zeros = false) {
    // The observed tensor is the interpreter's own; views of constants and inputs are no results of noisy nodes.
    auto* data = const_cast<std::byte*>(t.data);
    const auto visit = [&](int64_t at) {
      const double v = ir::load_f(t.dtype, t.data, at);
      if (!std::isfinite(v)) return;
      if (zeros && v != 0) return;
      // A zero may come with either sign.
      if (v == 0 && scale == 0) return ir::store_f(t.dtype, data, at, random_() % 2 ? 0.0 : -0.0);
      const double r = static_cast<double>(random_() >> 11) * 0x1p-52 - 1;
      ir::store_f(t.dtype, data, at, v + 2 * epsilon(t.dtype) * r * std::max(std::fabs(v), scale));
    };
    std::vector<int64_t> at(t.sizes.size(), 0);
    if (t.numel() == 0) return;
    do visit(t.offset_of(at));
    while (ops::next_index(at, t.sizes));
  }

  const ir::Program& p_;
  const uint64_t noise_;
  std::mt19937_64 random_;
  std::set<const ir::Node*> noisy_;
  interp::State state_;
};

std::string place(const std::vector<int64_t>& sizes, int64_t i) {
  std::vector<int64_t> at(sizes.size());
  for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) at[d] = i % sizes[d];
  return fmt::format("[{}]", fmt::join(at, ","));
}

constexpr int kNoisyRuns = 6;

}  // namespace

ir::Program program_of(std::shared_ptr<ir::Graph> graph, ir::SymbolRanges ranges) {
  ir::Program p;
  p.graph = std::move(graph);
  p.ranges = std::move(ranges);
  for (ir::Value* v : p.graph->inputs()) p.inputs.push_back({v->name, v, {}, v->strides});
  for (const ir::Arg& out : p.graph->outputs) p.outputs.push_back({out.value() ? out.value()->name : ""});
  return p;
}
ir::Program program_of(const ir::Parsed& parsed) { return program_of(parsed.graph->clone(), parsed.ranges); }

Result<std::vector<std::vector<Datum>>> interpret(const ir::Program& p, const Sample& s) {
  Runner r(p, 0);
  std::vector<std::vector<Datum>> out;
  for (const Inputs& in : s.calls) {
    EW_ASSIGN(auto one, r.call(in));
    out.push_back(std::move(one));
  }
  return out;
}

Result<Reference> reference(const ir::Program& p, const Sample& s) {
  Reference ref;
  Runner exact(p, 0);
  for (const Inputs& in : s.calls) {
    EW_ASSIGN(auto out, exact.call(in));
    std::vector<Expected> call;
    for (Datum& d : out) {
      Expected e{std::move(d), {}};
      if (const auto* t = interp::tensor(e.value)) e.slack.assign(static_cast<size_t>(t->numel()), 0.0);
      call.push_back(std::move(e));
    }
    ref.calls.push_back(std::move(call));
  }
  ref.wild = exact.saw_wild;
  ref.nan = exact.saw_nan;
  ref.quantized = std::any_of(p.graph->nodes().begin(), p.graph->nodes().end(), [](const auto& n) {
    return n->name().find("quantize") != std::string::npos || n->name().starts_with("xnn.q");
  });
  for (uint64_t k = 1; k <= kNoisyRuns; ++k) {
    Runner noisy(p, k);
    for (size_t c = 0; c < s.calls.size(); ++c) {
      auto out = noisy.call(s.calls[c]);
      // Noise may move an index out of bounds or a size: then nothing can be said.
      if (!out) {
        ref.wild = true;
        return ref;
      }
      for (size_t i = 0; i < out->size(); ++i) {
        Expected& e = ref.calls[c][i];
        const auto *a = interp::tensor(e.value), *b = interp::tensor((*out)[i]);
        if (!a || !b) continue;
        if (a->sizes != b->sizes) {
          ref.wild = true;
          return ref;
        }
        for (int64_t j = 0; j < a->numel(); ++j) {
          double& slack = e.slack[static_cast<size_t>(j)];
          if (!is_float(a->dtype)) {
            if (ops::is_number(a->dtype) && ir::load_i(a->dtype, a->data, j) != ir::load_i(b->dtype, b->data, j))
              slack = INFINITY;
            continue;
          }
          const double x = ir::load_f(a->dtype, a->data, j), y = ir::load_f(b->dtype, b->data, j);
          if (std::isfinite(x) && std::isfinite(y))
            slack = std::max(slack, std::fabs(x - y));
          else if (!(x == y || (x != x && y != y)))
            slack = INFINITY;
        }
      }
    }
  }
  // A few draws find about the typical effect; the worst is a few times that. A tensor that moves at all was rounded.
  for (auto& call : ref.calls)
    for (Expected& e : call) {
      const auto* t = interp::tensor(e.value);
      if (!t || !is_float(t->dtype)) continue;
      if (std::none_of(e.slack.begin(), e.slack.end(), [](double s) { return s > 0; })) continue;
      for (int64_t j = 0; j < t->numel(); ++j) {
        double& slack = e.slack[static_cast<size_t>(j)];
        slack = 6 * slack + 4 * epsilon(t->dtype) * std::fabs(ir::load_f(t->dtype, t->data, j)) +
                (t->dtype == DType::f16 ? 0x1p-22 : 1e-37);
      }
    }
  return ref;
}

std::optional<std::string> compare(const Reference& r, const std::vector<std::vector<Datum>>& got) {
  for (size_t c = 0; c < r.calls.size(); ++c) {
    if (c >= got.size() || got[c].size() != r.calls[c].size())
      return fmt::format("call {} has another number of outputs", c);
    for (size_t i = 0; i < r.calls[c].size(); ++i) {
      const Expected& e = r.calls[c][i];
      const std::string where = fmt::format("call {} output {}: ", c, i);
      const auto *a = interp::tensor(e.value), *b = interp::tensor(got[c][i]);
      if (!a || !b) {
        const auto *x = interp::number(e.value), *y = interp::number(got[c][i]);
        if (x && y && (x->kind != y->kind || !(x->f == y->f || (x->f != x->f && y->f != y->f)) || x->i != y->i))
          return where + interp::describe(got[c][i]) + " instead of " + interp::describe(e.value);
        if (e.value.index() != got[c][i].index())
          return where + interp::describe(got[c][i]) + " instead of " + interp::describe(e.value);
        continue;
      }
      if (a->dtype != b->dtype || a->sizes != b->sizes)
        return where + interp::describe(got[c][i]) + " instead of " + interp::describe(e.value);
      if (!ops::is_number(a->dtype)) continue;
      const ir::Tensor g = b->contiguous();
      for (int64_t j = 0; j < a->numel(); ++j) {
        const double slack = e.slack[static_cast<size_t>(j)];
        if (std::isinf(slack) || (r.quantized && is_float(a->dtype))) continue;
        if (!is_float(a->dtype)) {
          const int64_t x = ir::load_i(a->dtype, a->data, j), y = ir::load_i(g.dtype, g.data, j);
          if (std::abs(x - y) > (r.quantized && size_of(a->dtype) == 1 ? 1 : 0))
            return fmt::format("{}{} is {} instead of {}", where, place(a->sizes, j), y, x);
          continue;
        }
        const double x = ir::load_f(a->dtype, a->data, j), y = ir::load_f(g.dtype, g.data, j);
        if (x == y || (x != x && y != y)) continue;
        if (std::isfinite(x) && std::isfinite(y) && std::fabs(x - y) <= slack) continue;
        return fmt::format("{}{} is {:.9g} instead of {:.9g}, {:.3g} is allowed", where, place(a->sizes, j), y, x,
                           slack);
      }
    }
  }
  return std::nullopt;
}

Verdict judge(const ir::Program& p, const Sample& s, const Reference& r, const driver::CompileOptions& o) {
  auto model = session::compile_and_load(session::clone(p), o, {.threads = 1});
  if (!model) {
    const Error& e = model.error();
    if (e.code == Code::kUnsupported) return {Outcome::kRefused, e.str()};
    return {Outcome::kWrong, fmt::format("status {}: {}", exit_status(e.code), e.str())};
  }
  for (const passes::Event& e : (*model)->report()->passes.events)
    if (e.fault) return {Outcome::kWrong, fmt::format("pass {} at {}: {}", e.pass, e.node, e.reason)};
  std::vector<std::vector<Datum>> got;
  for (const Inputs& in : s.calls) {
    std::vector<session::Value> values;
    for (const Datum& d : in) values.push_back(session::to_value(d));
    auto out = (*model)->run(values);
    if (!out) {
      // PyTorch refuses that too; the interpreter gives 0.
      if (out.error().str().find("division by zero") != std::string::npos)
        return {Outcome::kUnjudged, out.error().str()};
      if (out.error().code == Code::kUnsupported) return {Outcome::kRefused, "running: " + out.error().str()};
      return {Outcome::kWrong, fmt::format("running: status {}: {}", exit_status(out.error().code), out.error().str())};
    }
    std::vector<Datum> one;
    for (const session::Value& v : *out) {
      Datum d = session::to_datum(v);
      if (const auto* t = interp::tensor(d)) d = interp::private_copy(*t);
      one.push_back(std::move(d));
    }
    got.push_back(std::move(one));
  }
  if (auto difference = compare(r, got)) {
    // XNNPACK's products and windows clamp by minimum and maximum, which lose a NaN.
    if (r.wild || (r.nan && (*model)->report()->delegates > 0)) return {Outcome::kUnjudged, *difference};
    return {Outcome::kWrong, *difference};
  }
  return {r.wild ? Outcome::kUnjudged : Outcome::kRight, ""};
}

Verdict judge(const ir::Program& p, const Sample& s) {
  const auto r = reference(p, s);
  if (!r) return {Outcome::kWrong, "the interpreter: " + r.error().str()};
  return judge(p, s, *r);
}

}  // namespace edgewright::random
