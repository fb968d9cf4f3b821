#include "passes/validate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "base/parallel.h"
#include "interp/compare.h"
#include "interp/interp.h"
#include "interp/lazy.h"

namespace edgewright::passes {

namespace {

uint64_t mix(uint64_t x) {  // splitmix64's finalizer
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// About normal: the sum of four uniform numbers, scaled to variance 1.
double normal(uint64_t h) {
  double s = 0;
  for (int i = 0; i < 4; ++i) s += static_cast<double>((h >> (16 * i)) & 0xffff) / 65535.0 - 0.5;
  return s * 1.7320508075688772;
}

constexpr int64_t kDense = 1 << 14;       // boundary tensors up to this many elements lie row after row
constexpr size_t kPoolSlack = 8191;       // windows start anywhere in here, so that two boundary tensors differ
constexpr int64_t kAllElements = 24;      // results up to this size are compared whole
constexpr size_t kChosenElements = 5;     // of larger ones: first, last, and some in between
constexpr size_t kCheapElements = 40;     // as many where all of them cost little: seldom numbers are met more often
constexpr int64_t kCheap = 250;           // element operations
constexpr int64_t kMaxElements = 100000;  // evaluated one by one in a round
constexpr int64_t kSmallRange = 64;       // of a symbolic dim, whose largest value is tried too
constexpr int64_t kMaxWhole = 1 << 18;    // element operations of a graph that is judged whole
constexpr int64_t kMaxRounds = 100;       // of a loop in a graph that is judged whole
constexpr int64_t kMaxInterpreted = 1 << 22;  // elements given to a region that is interpreted
constexpr int64_t kPoolPeriod = 65521;
constexpr int64_t kMaxPool = int64_t{1} << 26;

template <class... Args>
Verdict found(fmt::format_string<Args...> f, Args&&... args) {
  return {fmt::format(f, std::forward<Args>(args)...), true};
}
Verdict unjudged() { return {std::nullopt, false}; }

using Given = std::vector<std::pair<const Value*, interp::Datum>>;

// Both regions on whole tensors, in the interpreter's own arithmetic (double, rounded to the dtype at each node): the errors of one
// rounding per node are all that may part them, so they are held to 1e-4 of the result's largest element.
bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}
bool equal(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

// Exact promises are held exactly.
Verdict compare_tensors(const std::string& name, const ir::Tensor& before, const ir::Tensor& after, Agreement promise) {
  const ir::Tensor x = before.contiguous(), y = after.contiguous();
  if (x.sizes != y.sizes || x.dtype != y.dtype) return found("{} has another shape or dtype after", name);
  if (!is_float(x.dtype) && !is_int(x.dtype) && !is_bool(x.dtype)) return unjudged();
  double scale = 0;
  if (promise >= Agreement::kReassociated && is_float(x.dtype))
    for (int64_t i = 0; i < x.numel(); ++i)
      if (const double v = std::fabs(ir::load_f(x.dtype, x.data, i)); std::isfinite(v)) scale = std::max(scale, v);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = ir::load_f(x.dtype, x.data, i), q = ir::load_f(y.dtype, y.data, i);
    const bool agree = promise <= Agreement::kEqual
                           ? (promise == Agreement::kEqual ? equal(p, q) : same_bits(p, q))
                           : std::isnan(p) == std::isnan(q) &&
                                 !(std::isfinite(p) && std::isfinite(q) && std::fabs(p - q) > 1e-4 * scale);
    if (!agree) return found("{} at element {} of {}: {} before, {} after", name, i, x.numel(), p, q);
  }
  return {};
}

Verdict compare_whole(const Region& region, const Given& given) {
  interp::Lazy lazy;
  for (const auto& [v, d] : given) lazy.set(v, d);
  for (const auto& [before, after] : region.results) {
    const auto a = lazy.dense(before), b = lazy.dense(after);
    if (!a) return unjudged();
    if (!b) return found("the replacement of {} cannot be evaluated: {}", before->name, b.error().str());
    if (Verdict v = compare_tensors(before->name, *a, *b, region.promise); v.fault) return v;
  }
  return {};
}

// One side of a region on the interpreter.
Result<interp::Datum> run_side(const Region& region, const Value* of, bool before, const Given& given) {
  std::unordered_map<const Value*, Value*> copied;
  const auto g = region.graph->clone(&copied);
  g->outputs = {ir::Arg(copied.at(of))};
  auto nodes = g->snapshot();
  for (size_t i = nodes.size(); i-- > 0;) {  // what the other side alone has; of one's own side everything stays
    const bool own = before == (i < region.removed.size());
    bool used = false;
    for (size_t r = 0; r < nodes[i]->num_results(); ++r)
      used |= !nodes[i]->result(r)->users.empty() || nodes[i]->result(r) == copied.at(of);
    if (!own && !used) g->erase(nodes[i]);
  }
  std::vector<interp::Datum> inputs;
  for (const auto& [v, d] : given) inputs.push_back(d);
  EW_ASSIGN(auto r, interp::run(*g, inputs, {.max_rounds = kMaxRounds}));
  return std::move(r.outputs[0]);
}

// For regions with nodes that have no meaning by elements (control flow, in-place ops).
Verdict interpret(const Region& region, const Given& given) {
  int64_t elements = 0;
  for (const auto& [v, d] : given)
    if (const auto* t = interp::tensor(d)) elements += t->numel();
  if (elements > kMaxInterpreted || region.promise == Agreement::kQuantized) return unjudged();
  for (const auto& [before, after] : region.results) {
    const auto a = run_side(region, before, true, given);
    if (!a || !interp::tensor(*a)) return unjudged();
    const auto b = run_side(region, after, false, given);
    if (!b) return found("the replacement of {} cannot be evaluated: {}", before->name, b.error().str());
    if (!interp::tensor(*b)) return unjudged();
    if (Verdict v = compare_tensors(before->name, *interp::tensor(*a), *interp::tensor(*b), region.promise);
        v.fault || !v.judged)
      return v;
  }
  return {};
}

int mantissa_bits(const Value* v) {
  if (!v->tensor() || !is_float(v->tensor()->dtype)) return 64;
  const DType t = v->tensor()->dtype;
  return t == DType::f64 ? 53 : t == DType::f32 ? 24 : t == DType::f16 ? 11 : t == DType::bf16 ? 8 : 3;
}

// The first new node that rounds to a coarser dtype than anything that it replaces: bounds on errors would allow it.
const Node* rounds_more(const std::vector<const Node*>& before, const std::vector<Node*>& after) {
  int least = 64;
  for (const Node* n : before)
    for (size_t i = 0; i < n->num_results(); ++i) least = std::min(least, mantissa_bits(n->result(i)));
  for (const Node* n : after)
    for (const Value* v : n->inputs())
      if (n->num_results() && mantissa_bits(v) < 64 && mantissa_bits(n->result()) < std::min(mantissa_bits(v), least))
        return n;
  return nullptr;
}

}  // namespace

ir::Tensor Validator::window(DType dtype, std::vector<int64_t> sizes, Fill fill, size_t seed) {
  ir::Tensor t;
  t.dtype = dtype;
  t.strides = ir::contiguous_strides(sizes);
  t.sizes = std::move(sizes);
  // A large tensor's rows overlap, each a shift of the one before: memory does not grow with the model's tensors.
  int64_t span = t.numel();
  static constexpr int64_t kSteps[] = {1, 41, 103, 211, 307, 409, 503, 601};
  if (span > kDense && t.sizes.size() <= std::size(kSteps)) {
    span = 1;
    for (size_t d = 0; d < t.sizes.size(); ++d) {
      t.strides[d] = kSteps[t.sizes.size() - 1 - d];
      span += (t.sizes[d] - 1) * t.strides[d];
    }
  }
  const int64_t need = span + static_cast<int64_t>(kPoolSlack) + 1;
  const std::lock_guard lock(pools_mutex_);
  ir::Tensor& pool = pools_[{dtype, fill}];
  if (pool.sizes.empty() || pool.numel() < need) {
    pool = ir::Tensor::empty(dtype, {std::max<int64_t>(need, 1 << 16)});
    static constexpr double kSpecials[] = {0.0, -0.0, 1.0, -1.0, 1e-40, -1e-40, 3e-39, 1e-20, 1e4, -1e4,
                                           0.5, -0.5, 6.0, 3.0,  -3.0,  2.0,    0.5,   2.5,   -1.5};
    static constexpr int64_t kInts[] = {1, -1, 2, -2, 3, -3, 7, -7, 5, 100, -100, (1 << 24) + 1};
    // Beyond the period the numbers repeat; it is a prime, so that no two rows of a tensor are equal for its sake.
    const int64_t period = std::min(pool.numel(), kPoolPeriod);
    for (int64_t i = 0; i < period; ++i) {
      const uint64_t h = mix(static_cast<uint64_t>(i));
      double v = normal(h);
      if (fill == Fill::kExtremes) v = kSpecials[h % std::size(kSpecials)];
      if (fill == Fill::kNan && h % 5 == 0) v = NAN;
      if (fill == Fill::kInfinite && h % 5 == 0) v = (h & 64) ? INFINITY : -INFINITY;
      if (is_float(dtype))
        ir::store_f(dtype, pool.mutable_data(), i, v);
      else if (fill == Fill::kExtremes && is_int(dtype))
        ir::store_i(dtype, pool.mutable_data(), i, kInts[h % std::size(kInts)]);
      else
        ir::store_i(
            dtype, pool.mutable_data(), i,
            static_cast<int64_t>(h % (is_bool(dtype) || fill == Fill::kNormal ? 2 : 3)));  // also good as indices
    }
    const size_t bytes = static_cast<size_t>(period) * size_of(dtype);
    for (size_t at = bytes; at < pool.nbytes(); at += bytes)
      std::memcpy(pool.mutable_data() + at, pool.data, std::min(bytes, pool.nbytes() - at));
  }
  t.data = pool.data + (mix(seed) % kPoolSlack) * size_of(dtype);
  t.owner = pool.owner;
  return t;
}

Verdict Validator::round(const Region& region, Fill fill, const ir::SymbolValues& symbols, size_t seed) {
  const Agreement promise = region.promise;
  // Elements on demand, unless that is more work than the whole tensors (a recurrence needs all of what came before).
  interp::Lazy lazy({.elements = promise >= Agreement::kReassociated ? kMaxElements : int64_t{1} << 22});
  std::vector<std::pair<const Value*, interp::Datum>> given;
  const auto set = [&](const Value* v, interp::Datum d) {
    given.emplace_back(v, d);
    lazy.set(v, std::move(d));
  };
  const auto too_much = [&] {
    const bool whole = promise >= Agreement::kReassociated && promise != Agreement::kQuantized;
    return lazy.count() >= kMaxElements && whole ? compare_whole(region, given) : interpret(region, given);
  };
  size_t k = seed;
  for (const Value* v : region.graph->inputs()) {
    ++k;
    if (const auto* s = v->scalar()) {
      const auto n = s->expr ? s->expr->evaluate(symbols) : std::nullopt;
      if (s->kind == ir::ScalarKind::kInt && n)
        set(v, interp::int_datum(*n));
      else if (s->kind == ir::ScalarKind::kInt && !s->expr)
        set(v, interp::int_datum(static_cast<int64_t>(mix(k) % 3)));
      else if (s->kind == ir::ScalarKind::kBool)
        set(v, interp::bool_datum(mix(k) & 1));
      else if (s->kind == ir::ScalarKind::kFloat)
        set(v, interp::float_datum(normal(mix(k))));
      else
        return unjudged();
      continue;
    }
    std::vector<int64_t> sizes;
    int64_t n = 1;
    for (const ir::Dim& d : v->tensor()->shape) {
      const auto x = d.evaluate(symbols);
      if (!x || *x < 0 || *x > kMaxPool) return unjudged();
      sizes.push_back(*x);
      n *= std::max<int64_t>(*x, 1);
      if (n > kMaxPool) return unjudged();
    }
    const DType t = v->tensor()->dtype;
    if (!is_float(t) && !is_int(t) && !is_bool(t)) return unjudged();
    set(v, window(t, std::move(sizes), fill, k));
  }
  for (const auto& [before, after] : region.results) {
    const std::string& name = before->name;
    const auto a = lazy.type(before), b = lazy.type(after);
    if (!a) return interpret(region, given);  // no meaning for these values, or none by elements
    const auto no_after = [&](const Error& e) {
      return found("the replacement of {} cannot be evaluated: {}", name, e.str());
    };
    if (!b) return no_after(b.error());
    const auto* ta = std::get_if<ir::TensorType>(&a->type);
    if (!(a->type == b->type) && ta)
      return found("{} is {} before and {} after", name, ir::str(a->type), ir::str(b->type));
    if (!ta) {
      if (a->number && b->number && !equal(a->number->f, b->number->f))
        return found("{} is {} before and {} after", name, a->number->f, b->number->f);
      continue;
    }
    if (!ir::is_static(ta->shape)) return unjudged();
    const auto sizes = ir::static_sizes(ta->shape);
    int64_t n = 1;
    for (int64_t s : sizes) n *= s;
    std::vector<int64_t> places;
    if (n <= static_cast<int64_t>(kCheapElements)) {
      for (int64_t i = 0; i < n; ++i) places.push_back(i);
    } else {
      places = {0, n - 1};
      for (size_t i = 0; places.size() < kCheapElements; ++i)
        places.push_back(static_cast<int64_t>(mix(seed * 977 + i) % static_cast<uint64_t>(n)));
    }
    size_t judged = 0;
    const auto strides = ir::contiguous_strides(sizes);
    for (int64_t place : places) {
      if (n > kAllElements && ++judged > kChosenElements && (fill != Fill::kExtremes || lazy.count() > kCheap)) break;
      ops::IndexBuffer at{};
      for (size_t d = 0; d < sizes.size(); ++d) at[d] = place / strides[d] % sizes[d];
      const ops::Index index(at.data(), sizes.size());
      const auto differs = [&](double x, double y, const std::string& more = {}) {
        return found("{} at element {} of {}: {} before, {} after{}", name, place, n, x, y, more);
      };
      if (!is_float(ta->dtype) && (promise <= Agreement::kEqual || promise == Agreement::kQuantized)) {
        // As the interpreter has it, each step rounded. Quantized ones are a step apart at most; what a NaN becomes is not judged.
        if (promise == Agreement::kQuantized && fill == Fill::kNan) continue;
        const auto x = lazy.i(before, index);
        if (!x) return too_much();
        const auto y = lazy.i(after, index);
        if (!y && lazy.count() >= kMaxElements) return too_much();
        if (!y) return no_after(y.error());
        const double apart = std::fabs(static_cast<double>(*x) - static_cast<double>(*y));
        if (promise == Agreement::kQuantized ? apart > 1 : *x != *y)
          return differs(static_cast<double>(*x), static_cast<double>(*y));
        continue;
      }
      if (!is_float(ta->dtype)) {
        const auto x = lazy.certain(before, index);
        if (!x) return too_much();
        const auto y = lazy.certain(after, index);
        if (!y && lazy.count() >= kMaxElements) return too_much();
        if (!y) return no_after(y.error());
        const bool loose = promise >= Agreement::kReassociated;
        if (x->v != y->v && !(loose && (!x->certain || !y->certain)))
          return differs(static_cast<double>(x->v), static_cast<double>(y->v));
        continue;
      }
      if (promise <= Agreement::kEqual) {
        const auto x = lazy.f(before, index);
        if (!x) return interpret(region, given);
        const auto y = lazy.f(after, index);
        if (!y) return no_after(y.error());
        if (!(promise == Agreement::kBitExact ? same_bits(*x, *y) : equal(*x, *y))) return differs(*x, *y);
        continue;
      }
      const auto x = lazy.bounded(before, index);
      if (!x) return too_much();
      const auto y = lazy.bounded(after, index);
      if (!y && lazy.count() >= kMaxElements) return too_much();
      if (!y) return no_after(y.error());
      if (fill == Fill::kNan && promise == Agreement::kQuantized) continue;
      if (fill == Fill::kNan) {
        // NaN must reach what depends on it; another formula may let it reach further.
        if (std::isnan(x->v) ? !std::isnan(y->v) : std::isnan(y->v) && promise < Agreement::kApproximate)
          return differs(x->v, y->v);
        continue;
      }
      if (!std::isfinite(x->v) || !std::isfinite(y->v) || !std::isfinite(x->e) || !std::isfinite(y->e)) continue;
      // f16 and bf16 round more coarsely than the bound's f32.
      const double unit = ta->dtype == DType::bf16 ? 0x1p-8 : ta->dtype == DType::f16 ? 0x1p-11 : 0;
      double bound = x->e + y->e + 4 * unit * (std::fabs(x->v) + std::fabs(y->v));
      if (promise == Agreement::kApproximate) bound += 1e-5 * std::fabs(x->v);
      if (std::fabs(x->v - y->v) > bound) return differs(x->v, y->v, fmt::format(" (bound {:.3g})", bound));
    }
  }
  return {};
}

// Sizes of symbolic dims: the smallest, a middle and an odd one of each range, and the largest where that is small.
std::vector<ir::SymbolValues> Validator::choices(const std::vector<std::string>& symbols) const {
  if (symbols.empty()) return {{}};
  std::vector<ir::SymbolValues> out;
  for (int which : {0, 1, 2, 3}) {
    ir::SymbolValues values;
    int64_t shift = 0;
    bool small = true;
    for (const std::string& s : symbols) {
      const auto it = ranges_.find(s);
      const ir::Range r = it == ranges_.end() ? ir::Range{2, 16} : it->second;
      small &= r.hi <= kSmallRange;
      const int64_t lo = std::max<int64_t>(r.lo, 1), hi = std::min(r.hi, std::max<int64_t>(lo + 12, 16));
      int64_t n = which == 0 ? lo : which == 1 ? lo + (hi - lo) / 2 : which == 2 ? lo + (hi - lo) / 2 + 1 : r.hi;
      if (which == 2 && n % 2 == 0) ++n;
      values[s] = std::clamp(n + (which ? shift++ : 0), lo, std::max(lo, std::min(r.hi, which == 3 ? r.hi : hi + 8)));
    }
    if (which < 3 || small) out.push_back(std::move(values));
  }
  return out;
}

namespace {

// Whole graphs whose rewrites are each a step apart: the steps of all layers add up, so that this finds gross faults alone; what is
// precise is the check of each rewrite.
constexpr int64_t kSteps = 8;
constexpr double kPart = 0.1;  // of the largest element

Verdict compare_steps(const std::string& what, const ir::Tensor& a, const ir::Tensor& b) {
  const ir::Tensor x = a.contiguous(), y = b.contiguous();
  if (x.sizes != y.sizes || x.dtype != y.dtype) return found("{} has another shape or dtype after the pass", what);
  double most = static_cast<double>(kSteps);
  if (is_float(x.dtype)) {
    double largest = 0;
    for (int64_t i = 0; i < x.numel(); ++i)
      if (const double v = std::fabs(ir::load_f(x.dtype, x.data, i)); std::isfinite(v)) largest = std::max(largest, v);
    most = kPart * largest;
  }
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = ir::load_f(x.dtype, x.data, i), q = ir::load_f(y.dtype, y.data, i);
    if (std::isfinite(p) && std::isfinite(q) && std::fabs(p - q) > most)
      return found("{} differs after the pass at element {}: {} before, {} after", what, i, p, q);
  }
  return {};
}

}  // namespace

Verdict Validator::check_whole(Agreement promise, const Graph& before, const Graph& after, bool however_large) {
  std::vector<std::string> symbols;
  for (const Value* v : before.inputs()) {
    if (const auto* t = v->tensor())
      for (const ir::Dim& d : t->shape) d.collect_symbols(symbols);
    if (const auto* s = v->scalar(); s && s->expr) s->expr->collect_symbols(symbols);
  }
  const auto sizes_at = [](const ir::TensorType& t, const ir::SymbolValues& values, int64_t& count) {
    std::vector<int64_t> sizes;
    count = 1;
    for (const ir::Dim& d : t.shape) {
      const int64_t n = d.evaluate(values).value_or(1);
      sizes.push_back(n);
      if (n < 0 || __builtin_mul_overflow(count, std::max<int64_t>(n, 1), &count)) count = kMaxPool;
    }
    return sizes;
  };
  for (const auto& values : choices(symbols)) {
    int64_t work = 0;
    std::vector<const Node*> counted;
    const std::function<void(const Graph&)> count_nodes = [&](const Graph& g) {
      for (const auto& n : g.nodes()) {
        counted.push_back(n.get());
        for (const ir::Arg& a : n->args())
          if (a.graph() && *a.graph()) count_nodes(**a.graph());
      }
    };
    count_nodes(before);
    for (const Node* n : counted) {
      int64_t largest = 0, result = 0, terms = 1;
      for (const Value* v : n->inputs())
        if (v->tensor()) {
          int64_t c = 0;
          const auto sizes = sizes_at(*v->tensor(), values, c);
          largest = std::max(largest, c);
          if (sizes.size() >= 2 && v != n->inputs()[0]) terms = std::max(terms, c / std::max<int64_t>(sizes[0], 1));
        }
      if (n->num_results() && n->result()->tensor()) sizes_at(*n->result()->tensor(), values, result);
      const ops::OpDef* d = ops::def(*n);
      const bool sums = d && d->agreement >= Agreement::kReassociated;
      if (however_large) break;
      if (result > kMaxWhole || largest > kMaxWhole || terms > kMaxWhole ||
          (work += std::max(largest, result * (sums ? terms : 1))) > kMaxWhole)
        return unjudged();
    }
    size_t seed = 17;
    for (Fill fill : {Fill::kNormal, Fill::kExtremes}) {
      std::vector<interp::Datum> given;
      for (const Value* v : before.inputs()) {
        ++seed;
        if (const auto* s = v->scalar()) {
          const auto n = s->expr ? s->expr->evaluate(values) : std::nullopt;
          given.push_back(s->kind == ir::ScalarKind::kInt
                              ? interp::int_datum(n.value_or(static_cast<int64_t>(mix(seed) % 3)))
                          : s->kind == ir::ScalarKind::kBool ? interp::bool_datum(mix(seed) & 1)
                                                             : interp::float_datum(normal(mix(seed))));
          continue;
        }
        int64_t c = 0;
        auto sizes = sizes_at(*v->tensor(), values, c);
        const DType t = v->tensor()->dtype;
        if (c > kMaxPool || (!is_float(t) && !is_int(t) && !is_bool(t))) return unjudged();
        given.push_back(window(t, std::move(sizes), is_float(t) ? fill : Fill::kNormal, seed));
      }
      interp::State state_before, state_after;
      const auto a = interp::run(before, given, {.state = &state_before, .max_rounds = kMaxRounds});
      if (!a) return unjudged();
      const auto b = interp::run(after, given, {.state = &state_after, .max_rounds = kMaxRounds});
      if (!b) return found("the graph cannot be evaluated after the pass: {}", b.error().str());
      const auto compare = [&](const std::string& what, const ir::Tensor& x, const ir::Tensor& y) -> Verdict {
        if (promise == Agreement::kQuantized) return compare_steps(what, x, y);
        const auto c = interp::compare(
            y, x, promise >= Agreement::kReassociated ? interp::default_tolerance(x.dtype) : interp::Tolerance{});
        if (c.agrees()) return {};
        return found("{} differs after the pass: {}", what, c.str());
      };
      for (size_t i = 0; i < a->outputs.size() && i < b->outputs.size(); ++i) {
        const ir::Tensor *x = interp::tensor(a->outputs[i]), *y = interp::tensor(b->outputs[i]);
        if (x && y)
          if (Verdict p = compare(fmt::format("output {}", i), *x, *y); p.fault) return p;
      }
      for (const auto& [i, x] : a->inputs) {
        const auto it = b->inputs.find(i);
        if (it == b->inputs.end()) return found("input {} is no longer overwritten", before.inputs()[i]->name);
        if (Verdict p = compare("the new value of input " + before.inputs()[i]->name, x, it->second); p.fault) return p;
      }
      for (const auto& [name, x] : state_before.values) {
        const auto it = state_after.values.find(name);
        if (it == state_after.values.end()) return found("state {} is no longer written", name);
        if (Verdict p = compare("state " + name, x, it->second); p.fault) return p;
      }
    }
  }
  return {};
}

std::optional<std::string> Validator::glance(const Rewriter& rw) const {
  std::vector<const Node*> removed(rw.matched_nodes().begin(), rw.matched_nodes().end());
  removed.push_back(&rw.root());
  const Node* n = rounds_more(removed, rw.new_nodes());
  if (!n) return std::nullopt;
  return fmt::format("{} would be rounded to {} on the way", rw.root().result()->name, ir::str(n->result()->type));
}

Verdict Validator::check(const Region& region) {
  std::vector<std::string> symbols;
  for (const Value* v : region.graph->inputs()) {
    if (const auto* t = v->tensor())
      for (const ir::Dim& d : t->shape) d.collect_symbols(symbols);
    if (const auto* s = v->scalar(); s && s->expr) s->expr->collect_symbols(symbols);
  }
  Verdict all;
  for (const auto& values : choices(symbols)) {
    size_t seed = 1;
    for (Fill fill : {Fill::kNormal, Fill::kExtremes, Fill::kNan, Fill::kInfinite}) {
      if (fill == Fill::kInfinite && region.promise >= Agreement::kReassociated) continue;  // inf - inf is not judged
      Verdict one = round(region, fill, values, seed++ * 131);
      if (one.fault) return one;
      all.judged &= one.judged;
    }
  }
  return all;
}

std::vector<Verdict> Validator::judge(std::span<const Region> regions) {
  std::vector<Verdict> out(regions.size());
  std::vector<std::pair<const std::string, Verdict>*> open;  // known_'s entries do not move
  std::vector<const Region*> open_regions;
  if (regions.size() == 1 && regions[0].key.empty()) return {check(regions[0])};
  for (const Region& r : regions)
    if (const auto [it, fresh] = known_.try_emplace(r.key); fresh) {
      open.push_back(&*it);
      open_regions.push_back(&r);
    }
  parallel_for(static_cast<int64_t>(open.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      open[static_cast<size_t>(i)]->second = check(*open_regions[static_cast<size_t>(i)]);
  });
  for (size_t i = 0; i < regions.size(); ++i) out[i] = known_.at(regions[i].key);
  return out;
}

}  // namespace edgewright::passes
