#include "generate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "ops/build.h"

namespace edgewright::random {
namespace {

using interp::Datum;
using ir::Arg;
using ir::Tensor;
using ir::Value;
using ops::OpDef;
using Sizes = std::vector<int64_t>;

std::map<std::string, Tried>& mutable_statistics() {
  static std::map<std::string, Tried> s;
  return s;
}

std::string base_of(const std::string& op) {  // "aten.add.Tensor" -> "add"
  std::string s = op.substr(op.find('.') + 1);
  s = s.substr(0, s.find('.'));
  return s;
}

// Ops that say nothing here: random numbers, assertions, layouts, bits read as another dtype, numbers of symbolic programs.
bool is_usable(const OpDef& d) {
  static const std::set<std::string> kNot = {
      "view.dtype", "view_copy.dtype", "rrelu", "_assert_tensor_metadata", "item", "is_nonzero", "_local_scalar_dense",
      "numel", "size", "_convolution", "to.device", "to.dtype_layout", "cudnn_batch_norm", "as_strided",
      "as_strided_copy", "as_strided_scatter", "dropout", "alpha_dropout", "feature_dropout", "native_dropout",
      "bernoulli", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "sym_constrain_range",
      "sym_constrain_range_for_size", "nonzero", "masked_select", "repeat_interleave.Tensor", "nonzero_numpy",
      "_index_put_impl", "_reshape_alias",
      // Known to fail: of equal elements, the decomposition's index is not the first.
      "adaptive_max_pool3d"};
  if (!d.name.starts_with("aten.") || d.is_nondeterministic || d.has_side_effect || d.numbers) return false;
  const std::string rest = d.name.substr(5), base = base_of(d.name);
  return !kNot.contains(rest) && !kNot.contains(base) && !base.starts_with("sym_") && !base.starts_with("rand") &&
         d.schema.params.size() > 0;
}

// The value whose storage `v` shows.
const Value* owner_of(const Value* v) {
  while (v->producer) {
    const OpDef* d = ops::def(*v->producer);
    const Value* base = !d                   ? nullptr
                        : d->functional      ? v->producer->args()[0].value()
                        : d->view_of.empty() ? nullptr
                                             : v->producer->arg(d->view_of).value();
    if (!base) break;
    v = base;
  }
  return v;
}

// May share storage with its operand or not, as strides have it.
bool aliases_sometimes(const std::string& op) {
  static const std::set<std::string> kSometimes = {"reshape", "reshape_as", "flatten",   "ravel",       "contiguous",
                                                   "to",      "type_as",    "unflatten", "_unsafe_view"};
  return kSometimes.contains(base_of(op));
}

class Generator {
 public:
  Generator(uint64_t seed, const GenerateOptions& o)
      : options_(o), random_(seed * 2 + 1), g_(std::make_shared<ir::Graph>()) {
    mutates_ = chance(0.3);
    fill_makers();
  }

  Case make() {
    const int inputs = static_cast<int>(between(1, 3));
    for (int i = 0; i < inputs; ++i) fresh(some_dtype(), some_sizes(), ir::ValueKind::kInput);
    const int nodes = static_cast<int>(between(1, options_.max_nodes));
    for (int i = 0, tries = 0; i < nodes && tries < 40 * nodes; ++tries) i += step();
    return finish();
  }

 private:
  // --- numbers ---
  uint64_t bits() { return random_(); }
  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(bits() % static_cast<uint64_t>(hi - lo + 1));
  }
  size_t below(size_t n) { return static_cast<size_t>(bits() % n); }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  bool chance(double p) { return unit() < p; }
  template <class T>
  T one_of(std::initializer_list<T> l) {
    return *(l.begin() + below(l.size()));
  }
  template <class T>
  const T& one_of(const std::vector<T>& l) {
    return l[below(l.size())];
  }

  DType some_dtype() {
    if (chance(0.68)) return DType::f32;
    return one_of({DType::i64, DType::i64, DType::i32, DType::b8, DType::b8, DType::u8, DType::i8, DType::i16,
                   DType::f64, DType::f16, DType::bf16});
  }
  DType some_float() { return chance(0.85) ? DType::f32 : one_of({DType::f64, DType::f16, DType::bf16}); }
  int64_t some_dim() {
    if (chance(0.015)) return 0;
    return chance(0.2) ? 1 : one_of({2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9});
  }
  Sizes some_sizes(int64_t rank = -1) {
    if (rank < 0) rank = one_of({0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5});
    Sizes s;
    int64_t n = 1;
    for (int64_t i = 0; i < rank; ++i) {
      s.push_back(some_dim());
      if (n * s.back() > 1500) s.back() = 2;
      n *= s.back();
    }
    return s;
  }
  double some_double() {
    if (chance(0.2)) return one_of({0.0, -0.0, 1.0, -1.0, 0.5, 6.0, 3.0, -3.0, 2.0});
    return unit() * 4 - 2;
  }
  Tensor numbers(DType t, const Sizes& sizes) {
    Tensor x = Tensor::empty(t, sizes);
    const int64_t lo = t == DType::u8 || t == DType::b8 ? 0 : one_of({0, 0, -4}),
                  hi = t == DType::b8 ? 1 : one_of({1, 2, 9});
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (is_float(t)) {
        ir::store_f(t, x.mutable_data(), i, some_double());
      } else {
        ir::store_i(t, x.mutable_data(), i, between(lo, hi));
      }
    }
    return x;
  }
  Arg some_scalar() {
    switch (below(6)) {
      case 0: return Arg(between(-3, 4));
      case 1: return Arg(one_of({1.0, 2.0, 0.5}));
      case 2: return chance(0.1) ? Arg(chance(0.5)) : Arg(int64_t{1});
      case 3: return Arg(between(0, 2));
      default: return Arg(std::round((unit() * 6 - 3) * 8) / 8);
    }
  }

  // --- values ---
  const Sizes& sizes(const Value* v) { return data_.at(v).sizes; }
  int64_t rank(const Value* v) { return static_cast<int64_t>(sizes(v).size()); }
  DType dtype(const Value* v) { return data_.at(v).dtype; }
  using Wanted = std::function<bool(const Tensor&)>;

  Value* given(Tensor t, ir::ValueKind kind) {
    Value* v = kind == ir::ValueKind::kConstant ? g_->add_constant("c", t)
               : kind == ir::ValueKind::kState
                   ? g_->add_state("s", t)
                   : g_->add_input("x", ir::TensorType{t.dtype, {t.sizes.begin(), t.sizes.end()}});
    if (kind == ir::ValueKind::kInput) inputs_[v] = t;
    data_[v] = t;
    pool_.push_back(v);
    return v;
  }
  Value* fresh(DType t, const Sizes& s, std::optional<ir::ValueKind> kind = {}) {
    if (!kind) {
      const double p = unit();
      kind = p < 0.5                          ? ir::ValueKind::kInput
             : p < 0.93 || options_.for_torch ? ir::ValueKind::kConstant
                                              : ir::ValueKind::kState;
    }
    return given(numbers(t, s), *kind);
  }
  Value* weight(DType t, const Sizes& s) {
    return fresh(t, s, chance(0.85) ? ir::ValueKind::kConstant : ir::ValueKind::kInput);
  }
  // One that is there already, the later the likelier; null if none fits.
  Value* existing(const Wanted& w) {
    std::vector<Value*> fit;
    for (Value* v : pool_)
      if (w(data_.at(v))) fit.push_back(v);
    if (fit.empty()) return nullptr;
    return chance(0.55) ? fit.back() : one_of(fit);
  }
  Value* some(const Wanted& w, const std::function<Value*()>& otherwise, double keep = 0.8) {
    if (chance(keep))
      if (Value* v = existing(w)) return v;
    return otherwise();
  }
  Value* any() {
    return some([](const Tensor&) { return true; }, [&] { return fresh(some_dtype(), some_sizes()); });
  }
  Value* float_of_rank(int64_t lo, int64_t hi) {
    return some(
        [&](const Tensor& t) {
          const auto r = static_cast<int64_t>(t.sizes.size());
          return is_float(t.dtype) && r >= lo && r <= hi;
        },
        [&] { return fresh(some_float(), some_sizes(between(lo, hi))); });
  }
  Value* of_rank(int64_t lo, int64_t hi) {
    return some(
        [&](const Tensor& t) {
          const auto r = static_cast<int64_t>(t.sizes.size());
          return r >= lo && r <= hi;
        },
        [&] { return fresh(some_dtype(), some_sizes(between(lo, hi))); });
  }
  Value* exactly(DType t, const Sizes& s, double keep = 0.7) {
    return some([&](const Tensor& x) { return x.dtype == t && x.sizes == s; }, [&] { return fresh(t, s); }, keep);
  }
  // i64 within [lo, hi).
  Value* indices(const Sizes& s, int64_t lo, int64_t hi, DType t = DType::i64) {
    if (hi <= lo) hi = lo + 1;
    if (chance(0.3))
      if (Value* v = existing([&](const Tensor& x) {
            if (x.dtype != t || x.sizes != s) return false;
            const Tensor c = x.contiguous();
            for (int64_t i = 0; i < c.numel(); ++i) {
              const int64_t k = ir::load_i(t, c.data, i);
              if (k < lo || k >= hi) return false;
            }
            return true;
          }))
        return v;
    Tensor x = Tensor::empty(t, s);
    for (int64_t i = 0; i < x.numel(); ++i) ir::store_i(t, x.mutable_data(), i, between(lo, hi - 1));
    return given(x, chance(0.5) ? ir::ValueKind::kConstant : ir::ValueKind::kInput);
  }
  // Broadcasts with `s`.
  Value* broadcastable(const Sizes& s, DType t) {
    const auto fits = [&](const Tensor& x) {
      for (size_t i = 0; i < std::min(s.size(), x.sizes.size()); ++i) {
        const int64_t a = s[s.size() - 1 - i], b = x.sizes[x.sizes.size() - 1 - i];
        if (a != b && a != 1 && b != 1) return false;
      }
      return true;
    };
    return some(fits, [&] {
      Sizes b = s;
      if (!b.empty() && chance(0.3)) b.erase(b.begin(), b.begin() + between(1, static_cast<int64_t>(b.size())));
      for (int64_t& d : b)
        if (chance(0.2)) d = 1;
      return fresh(chance(0.85) ? t : some_dtype(), b);
    });
  }
  int64_t axis(int64_t r) { return r == 0 ? between(-1, 0) : between(-r, r - 1); }
  Sizes some_axes(int64_t r) {
    Sizes all, out;
    for (int64_t i = 0; i < r; ++i) all.push_back(i);
    while (!all.empty() && (out.empty() || chance(0.35))) {
      const size_t k = below(all.size());
      out.push_back(chance(0.3) ? all[k] - r : all[k]);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return out;
  }
  Sizes some_permutation(int64_t r) {
    Sizes p;
    for (int64_t i = 0; i < r; ++i) p.push_back(i);
    for (size_t i = p.size(); i > 1; --i) std::swap(p[i - 1], p[below(i)]);
    for (int64_t& d : p)
      if (chance(0.1)) d -= r;
    return p;
  }
  // Another shape of as many elements.
  Sizes reshaped(const Sizes& s) {
    int64_t n = 1;
    for (int64_t d : s) n *= d;
    Sizes out;
    if (n == 0) {
      out = s;
      std::reverse(out.begin(), out.end());
      return out;
    }
    int64_t left = n;
    const int64_t r = between(0, 4);
    for (int64_t i = 0; i < r && left > 1; ++i) {
      Sizes divisors;
      for (int64_t d = 1; d <= left && d < 64; ++d)
        if (left % d == 0) divisors.push_back(d);
      out.push_back(one_of(divisors));
      left /= out.back();
    }
    if (left != 1 || (n == 1 && chance(0.5))) out.push_back(left);
    if (!out.empty() && chance(0.3)) out[below(out.size())] = -1;
    return out;
  }

  // --- arguments ---
  using Named = std::map<std::string, Arg>;
  using Maker = std::function<std::optional<Named>(const OpDef&)>;

  // What the family's maker leaves open, by kind and name of the parameter.
  std::optional<std::vector<Arg>> complete(const OpDef& d, Named named) {
    const Value* first = nullptr;
    for (const ir::Param& p : d.schema.params) {
      const auto it = named.find(p.name);
      if (it == named.end()) continue;
      if (it->second.value()) first = it->second.value();
      if (const auto* l = it->second.list(); l && !l->empty() && l->front().value()) first = l->front().value();
      if (first) break;
    }
    std::vector<Arg> args;
    for (const ir::Param& p : d.schema.params) {
      const auto it = named.find(p.name);
      if (it != named.end()) {
        args.push_back(it->second);
        continue;
      }
      args.push_back(argument(p, first));
      if (!first && args.back().value()) first = args.back().value();
      if (const auto* l = args.back().list(); !first && l && !l->empty()) first = l->front().value();
    }
    // Trailing defaults are left away, as exporters do.
    while (!args.empty() && d.schema.params[args.size() - 1].has_default &&
           args.back() == ir::default_of(d.schema.params[args.size() - 1]))
      args.pop_back();
    return args;
  }
  Value* related(const Value* first) {
    if (!first) return any();
    if (chance(0.45)) return exactly(dtype(first), sizes(first));
    return broadcastable(sizes(first), dtype(first));
  }
  Arg argument(const ir::Param& p, const Value* first) {
    using ir::ParamKind;
    const int64_t r = first ? rank(first) : 0;
    if (p.kind == ParamKind::kOther) return p.has_default ? ir::default_of(p) : Arg();
    if (p.name == "pin_memory") return {};
    if (p.kind == ParamKind::kDType) {
      if (p.is_optional && chance(0.7)) return {};
      const DType t = chance(0.5) ? DType::f32 : some_dtype();
      return Arg(t == DType::b8 ? DType::i64 : t);  // sums as bools are nobody's
    }
    if (p.kind == ParamKind::kTensor && p.is_list) {
      ir::ArgList l;
      const int64_t n = between(1, 4);
      for (int64_t i = 0; i < n; ++i) {
        Value* v = first ? exactly(dtype(first), sizes(first)) : any();
        if (!first) first = v;
        l.emplace_back(v);
      }
      return l;
    }
    if (p.is_optional && p.kind != ParamKind::kScalar && chance(p.kind == ParamKind::kTensor ? 0.5 : 0.4)) return {};
    if (p.is_optional && chance(0.25)) return {};
    if (p.has_default && !p.is_optional && p.name != "dim" && p.name != "keepdim" && chance(0.4))
      return ir::default_of(p);
    switch (p.kind) {
      case ParamKind::kTensor: return related(first);
      case ParamKind::kInt:
        if (p.is_list)
          return p.name == "dim" || p.name == "dims" ? Arg::ints(some_axes(r)) : Arg::ints({between(1, 3)});
        if (p.name.starts_with("dim") || p.name.starts_with("axis")) return Arg(axis(r));
        if (p.name == "diagonal" || p.name == "offset") return Arg(between(-3, 3));
        if (p.name == "correction") return Arg(between(0, 2));
        if (p.name == "decimals") return Arg(between(-1, 2));
        return Arg(between(0, 4));
      case ParamKind::kFloat: return Arg(one_of({1e-5, 0.1, 0.5, 1.0, 2.0}));
      case ParamKind::kBool: return Arg(chance(0.5));
      case ParamKind::kScalar: return some_scalar();
      case ParamKind::kString: {
        if (p.name == "rounding_mode") return chance(0.5) ? Arg("floor") : Arg("trunc");
        if (p.name == "approximate") return chance(0.5) ? Arg("none") : Arg("tanh");
        if (p.name == "reduce") return Arg(one_of({"sum", "prod", "mean", "amax", "amin"}));
        if (p.name == "indexing") return chance(0.5) ? Arg("ij") : Arg("xy");
        return p.has_default ? ir::default_of(p) : Arg();
      }
      default: return p.has_default ? ir::default_of(p) : Arg();
    }
  }

  void fill_makers();
  Arg window_list(int64_t d, int64_t lo, int64_t hi) {
    Sizes s;
    for (int64_t i = 0; i < d; ++i) s.push_back(chance(0.7) && i ? s[0] : between(lo, hi));
    return Arg::ints(s);
  }
  Value* image(int64_t d, bool batched_only = true) {
    const int64_t lo = batched_only ? d + 2 : d + 1;
    return some(
        [&](const Tensor& t) {
          const auto r = static_cast<int64_t>(t.sizes.size());
          return t.dtype == DType::f32 && r >= lo && r <= d + 2;
        },
        [&] {
          Sizes s = {between(1, 2), one_of({1, 2, 3, 4, 6})};
          for (int64_t i = 0; i < d; ++i) s.push_back(between(d == 3 ? 2 : 3, d == 1 ? 12 : d == 2 ? 8 : 4));
          if (!batched_only && chance(0.3)) s.erase(s.begin());
          return fresh(chance(0.9) ? DType::f32 : some_float(), s);
        });
  }
  std::optional<Named> convolution(int64_t d, bool transposed) {
    Value* x = image(d);
    const int64_t c = sizes(x)[1];
    if (c == 0) return std::nullopt;
    int64_t groups = 1;
    if (chance(0.4)) {
      Sizes divisors;
      for (int64_t k = 1; k <= c; ++k)
        if (c % k == 0) divisors.push_back(k);
      groups = one_of(divisors);
      if (chance(0.5)) groups = c;
    }
    const int64_t per = between(1, 3), out = groups * per;
    Sizes w = transposed ? Sizes{c, per} : Sizes{out, c / groups}, k;
    for (int64_t i = 0; i < d; ++i) k.push_back(i && chance(0.7) ? k[0] : between(1, 3));
    w.insert(w.end(), k.begin(), k.end());
    Named n{{"input", x},
            {"weight", weight(dtype(x), w)},
            {"bias", chance(0.6) ? Arg(weight(dtype(x), {out})) : Arg()},
            {"stride", window_list(d, 1, 2)},
            {"padding", window_list(d, 0, 2)},
            {"dilation", window_list(d, 1, 2)},
            {"transposed", transposed},
            {"output_padding", Arg::ints(Sizes(static_cast<size_t>(d), 0))},
            {"groups", groups}};
    if (transposed && chance(0.2)) n["output_padding"] = window_list(d, 0, 1);
    return n;
  }
  std::optional<Named> pool(int64_t d, bool max) {
    Value* x = image(d, false);
    Sizes k, pad;
    for (int64_t i = 0; i < d; ++i) k.push_back(i && chance(0.7) ? k[0] : between(1, 3));
    for (int64_t i = 0; i < d; ++i) pad.push_back(between(0, k[static_cast<size_t>(i)] / 2));
    Named n{{"self", x}, {"kernel_size", Arg::ints(k)}, {"padding", Arg::ints(pad)}, {"ceil_mode", chance(0.3)}};
    n["stride"] = chance(0.3) ? Arg(ir::ArgList{}) : window_list(d, 1, 3);
    if (max) {
      n["dilation"] = chance(0.7) ? Arg::ints(Sizes(static_cast<size_t>(d), 1)) : window_list(d, 1, 2);
    } else {
      n["divisor_override"] = chance(0.8) ? Arg() : Arg(between(1, 5));
    }
    return n;
  }
  // A matrix; now and then as the transpose of one, which is what patterns look for.
  Value* matrix(DType t, int64_t rows, int64_t columns) {
    const Sizes s = {rows, columns};
    if (chance(0.35)) {
      Value* w = weight(t, {columns, rows});
      const Sizes swap = {1, 0};
      if (Value* v = chance(0.5) ? put("aten.t", {w}) : put("aten.permute", {w, Arg::ints(swap)})) return v;
    }
    return some([&](const Tensor& x) { return x.dtype == t && x.sizes == s; }, [&] { return weight(t, s); }, 0.5);
  }

  // --- growing ---
  // One op with these arguments; null where its rule, its run or its numbers are against it.
  Value* put(const std::string& op, std::vector<Arg> args) {
    auto n = ops::add_node(*g_, op, std::move(args));
    Tried& tried = mutable_statistics()[op];
    if (!n) {
      ++tried.refused;
      return nullptr;
    }
    if (!accept(*n)) {
      for (size_t i = 0; i < (*n)->num_results(); ++i) data_.erase((*n)->result(i));
      g_->erase(*n);
      ++tried.refused;
      return nullptr;
    }
    ++tried.made;
    for (size_t i = 0; i < (*n)->num_results(); ++i) pool_.push_back((*n)->result(i));
    return (*n)->num_results() ? (*n)->result() : nullptr;
  }
  bool accept(ir::Node* n) {
    if (n->num_results() == 0 || n->num_results() > 12) return false;
    for (size_t i = 0; i < n->num_results(); ++i) {
      const auto* t = n->result(i)->tensor();
      if (!t || !ir::is_static(t->shape) || t->shape.size() > 6 || !ops::is_number(t->dtype)) return false;
      double elements = 1;
      for (const ir::Dim& d : t->shape) elements *= static_cast<double>(d.value());
      if (elements > 4000) return false;
    }
    std::vector<Datum> in;
    for (const Value* v : g_->inputs()) in.emplace_back(inputs_.at(v));
    bool tame = true;
    std::unordered_map<const Value*, Tensor> seen;
    interp::Options o;
    o.observe = [&](const ir::Node& at, std::span<const Datum> results) {
      if (&at != n) return;
      for (size_t i = 0; i < results.size(); ++i)
        if (const auto* t = interp::tensor(results[i])) {
          const Tensor c = interp::private_copy(t->contiguous());
          if (is_float(c.dtype))
            for (int64_t k = 0; k < c.numel(); ++k)
              tame &= std::fabs(ir::load_f(c.dtype, c.data, k)) < (c.dtype == DType::f16 ? 100 : 1e4);
          seen[at.result(i)] = c;
        }
    };
    if (!interp::run(*g_, in, o)) return false;
    if (!tame && !chance(0.05)) return false;
    if (seen.size() != n->num_results()) return false;
    for (auto& [v, t] : seen) data_[v] = t;
    return true;
  }
  // An op that writes to the storage of a value.
  bool write_in_place() {
    static const std::vector<std::string> kOps = {"add.Tensor",
                                                  "sub.Tensor",
                                                  "mul.Tensor",
                                                  "div.Tensor",
                                                  "relu",
                                                  "sigmoid",
                                                  "tanh",
                                                  "neg",
                                                  "abs",
                                                  "clamp",
                                                  "hardtanh",
                                                  "fill.Scalar",
                                                  "zero",
                                                  "copy",
                                                  "masked_fill.Scalar",
                                                  "index_put",
                                                  "index_copy",
                                                  "index_add",
                                                  "index_fill.int_Scalar",
                                                  "scatter.src",
                                                  "scatter.value",
                                                  "scatter_add",
                                                  "silu",
                                                  "leaky_relu",
                                                  "elu",
                                                  "round",
                                                  "floor",
                                                  "cumsum",
                                                  "tril",
                                                  "hardswish",
                                                  "addcmul",
                                                  "lerp.Scalar"};
    const std::string functional = "aten." + one_of(kOps);
    const OpDef* d = ops::find(functional);
    if (!d) return false;
    std::vector<Value*> fit;
    for (Value* v : pool_)
      if (!v->is_constant() && may_write(v)) fit.push_back(v);
    if (fit.empty()) return false;
    target_ = one_of(fit);
    const auto named = named_for(*d);
    std::optional<std::vector<Arg>> args;
    if (named) args = complete(*d, *named);
    Value* target = std::exchange(target_, nullptr);
    if (!args || (*args)[0].value() != target) return false;
    // Written and read in one op, elements in another order: PyTorch refuses or promises nothing.
    for (size_t i = 1; i < args->size(); ++i) {
      bool overlaps = false;
      (*args)[i].each_value([&](Value* v) { overlaps |= owner_of(v) == owner_of(target); });
      if (overlaps) return false;
    }
    // Python's promotion must not change the dtype.
    const auto types = ops::infer(*d, ops::Call::of(*d, *args));
    if (!types || types->size() != 1 || !std::get_if<ir::TensorType>(&(*types)[0]) ||
        std::get<ir::TensorType>((*types)[0]).dtype != dtype(target) || !((*types)[0] == target->type))
      return false;
    const size_t dot = functional.find('.', 5);
    const std::string name =
        dot == std::string::npos ? functional + "_" : functional.substr(0, dot) + "_" + functional.substr(dot);
    return put(name, std::move(*args)) != nullptr;
  }
  // Elements that are stored twice cannot be written to.
  bool may_write(const Value* v) {
    while (v->producer) {
      const ir::Node& n = *v->producer;
      const OpDef* d = ops::def(n);
      const std::string base = base_of(n.name());
      if (base.starts_with("expand") || base.starts_with("broadcast") || base == "unfold") return false;
      if (d->functional) {
        v = n.args()[0].value();
      } else if (!d->view_of.empty() && n.arg(d->view_of).value()) {
        v = n.arg(d->view_of).value();
      } else {
        return true;
      }
    }
    return !v->is_constant();
  }
  std::optional<Named> named_for(const OpDef& d) {
    const auto it = makers_.find(base_of(d.name));
    Named named;
    if (it != makers_.end()) {
      auto made = it->second(d);
      if (!made) return std::nullopt;
      named = std::move(*made);
    }
    if (target_) {
      const std::string& first = d.schema.params[0].name;
      if (it == makers_.end()) named[first] = target_;
    }
    return named;
  }
  bool step() {
    if (mutates_ && chance(0.35)) return write_in_place();
    static const std::vector<const OpDef*> kAll = [] {
      std::vector<const OpDef*> all;
      for (const OpDef& d : ops::table())
        if (is_usable(d)) all.push_back(&d);
      return all;
    }();
    // What networks are made of comes as often as everything else together.
    static const std::vector<const OpDef*> kCommon = [] {
      std::vector<const OpDef*> common;
      for (const char* s : {"add.Tensor",
                            "mul.Tensor",
                            "sub.Tensor",
                            "div.Tensor",
                            "relu",
                            "sigmoid",
                            "clamp",
                            "hardtanh",
                            "gelu",
                            "silu",
                            "permute",
                            "view",
                            "transpose.int",
                            "reshape",
                            "cat",
                            "slice.Tensor",
                            "select.int",
                            "unsqueeze",
                            "squeeze.dim",
                            "expand",
                            "mm",
                            "addmm",
                            "bmm",
                            "linear",
                            "matmul",
                            "convolution",
                            "conv2d.default",
                            "avg_pool2d",
                            "max_pool2d",
                            "_native_batch_norm_legit_no_training",
                            "batch_norm",
                            "layer_norm",
                            "_softmax",
                            "mean.dim",
                            "sum.dim_IntList",
                            "adaptive_avg_pool2d",
                            "constant_pad_nd",
                            "upsample_bilinear2d.vec",
                            "clone",
                            "_to_copy",
                            "leaky_relu",
                            "elu",
                            "tanh",
                            "exp",
                            "sqrt",
                            "neg",
                            "abs",
                            "maximum",
                            "minimum",
                            "prelu",
                            "split.Tensor",
                            "flatten.using_ints"}) {
        std::string name = std::string("aten.") + s;
        if (name.ends_with(".default")) name.resize(name.size() - 8);
        if (const OpDef* d = ops::find(name)) common.push_back(d);
      }
      return common;
    }();
    const OpDef* d = one_of(chance(0.5) ? kAll : kCommon);
    if (!options_.only.empty()) {
      d = ops::find(*std::next(options_.only.begin(), static_cast<std::ptrdiff_t>(below(options_.only.size()))));
      if (!d) return false;
    }
    if (mutates_ && aliases_sometimes(d->name)) return false;
    // Its last three results are its own business: PyTorch's differ by code path.
    // Of equal elements topk may take either.
    if (options_.for_torch && (base_of(d->name) == "embedding_bag" || base_of(d->name) == "topk")) return false;
    const auto named = named_for(*d);
    if (!named) return false;
    auto args = complete(*d, *named);
    if (!args) return false;
    return put(d->name, std::move(*args)) != nullptr;
  }

  // --- the end ---
  Case finish() {
    // What nobody reads becomes an output, mostly; others now and then.
    for (Value* v : pool_) {
      const bool unread = v->users.empty() && v->kind == ir::ValueKind::kResult;
      if (chance(unread ? 0.85 : v->kind == ir::ValueKind::kResult ? 0.08 : options_.for_torch ? 0.01 : 0.03))
        g_->outputs.emplace_back(v);
    }
    if (g_->outputs.empty()) g_->outputs.emplace_back(pool_.back());
    if (g_->outputs.size() > 6) g_->outputs.resize(6);
    if (chance(0.03)) g_->outputs.push_back(g_->outputs.front());
    if (chance(0.02)) g_->outputs.emplace_back(between(-5, 5));
    if (!mutates_ && !options_.for_torch)
      for (Value* v : pool_) {
        if (v->kind != ir::ValueKind::kState && !(v->kind == ir::ValueKind::kInput && chance(0.05))) continue;
        std::vector<Value*> fit;
        for (Value* x : pool_)
          if (x->type == v->type && x != v && !x->is_constant()) fit.push_back(x);
        if (!fit.empty()) g_->writes.push_back({v, one_of(fit)});
      }
    Case c;
    std::vector<size_t> kept;
    const auto all = g_->inputs();
    c.graph = pruned(*g_, &kept);
    Inputs first, second;
    for (const size_t i : kept) first.emplace_back(inputs_.at(all[i]));
    for (const Datum& d : first) {
      const auto* t = interp::tensor(d);
      second.emplace_back(is_float(t->dtype) ? Datum(numbers(t->dtype, t->sizes)) : d);
    }
    c.sample.calls = {first, second};
    if (!interpret(c.program(), c.sample)) c.sample.calls.resize(1);
    return c;
  }

  const GenerateOptions& options_;
  std::mt19937_64 random_;
  std::shared_ptr<ir::Graph> g_;
  bool mutates_ = false;
  Value* target_ = nullptr;  // of an in-place op: what its first operand must be
  std::vector<Value*> pool_;
  std::unordered_map<const Value*, Tensor> data_, inputs_;
  std::map<std::string, Maker> makers_;
};

// Operands and attributes that belong together, family by family.
void Generator::fill_makers() {
  const auto on = [&](std::initializer_list<const char*> names, Maker m) {
    for (const char* n : names) makers_[n] = m;
  };
  const auto self_or = [this](const std::function<Value*()>& f) { return target_ ? target_ : f(); };

  // --- products ---
  const auto matrix_dtype = [this] { return chance(0.9) ? some_float() : DType::i64; };
  const auto any_matrix = [this, matrix_dtype] {
    return some([](const Tensor& t) { return t.sizes.size() == 2 && t.dtype != DType::b8; },
                [&] { return fresh(matrix_dtype(), some_sizes(2)); });
  };
  on({"mm"}, [=, this](const OpDef&) -> std::optional<Named> {
    Value* a = any_matrix();
    return Named{{"self", a}, {"mat2", matrix(dtype(a), sizes(a)[1], some_dim())}};
  });
  on({"addmm"}, [=, this](const OpDef&) -> std::optional<Named> {
    Value* a = any_matrix();
    Value* b = matrix(dtype(a), sizes(a)[1], some_dim());
    const Sizes out = {sizes(a)[0], sizes(b)[1]};
    const Sizes bias =
        one_of({Sizes{out[1]}, Sizes{out[1]}, out, Sizes{out[0], 1}, Sizes{1}, Sizes{}, Sizes{1, out[1]}});
    Named n{{"self", exactly(dtype(a), bias, 0.3)}, {"mat1", a}, {"mat2", b}};
    if (chance(0.7)) n["alpha"] = n["beta"] = Arg(int64_t{1});
    return n;
  });
  on({"bmm", "baddbmm"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* a = some([](const Tensor& t) { return t.sizes.size() == 3 && t.dtype != DType::b8; },
                    [&] { return fresh(some_float(), some_sizes(3)); });
    const Sizes s = sizes(a);
    const int64_t n = some_dim();
    Value* b = exactly(dtype(a), {s[0], s[2], n}, 0.5);
    if (base_of(d.name) == "bmm") return Named{{"self", a}, {"mat2", b}};
    return Named{{"self", broadcastable({s[0], s[1], n}, dtype(a))}, {"batch1", a}, {"batch2", b}};
  });
  on({"linear"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = float_of_rank(1, 4);
    const int64_t out = some_dim(), in = sizes(x).back();
    return Named{{"input", x},
                 {"weight", chance(0.3) ? matrix(dtype(x), out, in) : weight(dtype(x), {out, in})},
                 {"bias", chance(0.6) ? Arg(weight(dtype(x), {out})) : Arg()}};
  });
  on({"matmul"}, [this](const OpDef&) -> std::optional<Named> {
    Value* a = float_of_rank(1, 4);
    const Sizes s = sizes(a);
    Sizes b;
    if (chance(0.3) && s.size() > 2) b.assign(s.begin(), s.end() - 2);
    for (int64_t& d : b)
      if (chance(0.3)) d = 1;
    b.push_back(s.back());
    if (chance(0.85) || b.size() > 1) b.push_back(some_dim());
    return Named{{"self", a}, {"other", b.size() == 2 ? matrix(dtype(a), b[0], b[1]) : exactly(dtype(a), b)}};
  });
  on({"mv", "addmv"}, [=, this](const OpDef& d) -> std::optional<Named> {
    Value* a = any_matrix();
    const Sizes s = sizes(a);
    Value* v = exactly(dtype(a), {s[1]});
    if (base_of(d.name) == "mv") return Named{{"self", a}, {"vec", v}};
    return Named{{"self", exactly(dtype(a), {s[0]})}, {"mat", a}, {"vec", v}};
  });
  on({"dot", "vdot"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* a = of_rank(1, 1);
    return Named{{"self", a}, {base_of(d.name) == "dot" ? "tensor" : "other", exactly(dtype(a), sizes(a))}};
  });
  on({"outer"}, [this](const OpDef&) -> std::optional<Named> {
    Value* a = of_rank(1, 1);
    return Named{{"self", a}, {"vec2", of_rank(1, 1)}};
  });
  on({"einsum"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t b = between(1, 3), i = some_dim(), j = some_dim(), k = some_dim();
    const auto two = [&](const char* eq, const Sizes& x, const Sizes& y) {
      return Named{{"equation", eq},
                   {"tensors", Arg::values({exactly(DType::f32, x), exactly(DType::f32, y)})},
                   {"path", Arg()}};
    };
    switch (below(7)) {
      case 0: return two("ij,jk->ik", {i, j}, {j, k});
      case 1: return two("bij,bjk->bik", {b, i, j}, {b, j, k});
      case 2: return two("bij,kj->bik", {b, i, j}, {k, j});
      case 3: return two("i,j->ij", {i}, {j});
      case 4: return two("bij,bj->bi", {b, i, j}, {b, j});
      case 5: return two("bhid,bhjd->bhij", {b, 2, i, j}, {b, 2, k, j});
      default: return two("ij,ij->j", {i, j}, {i, j});
    }
  });
  on({"bilinear"}, [this](const OpDef&) -> std::optional<Named> {
    Value* a = float_of_rank(1, 3);
    Sizes s = sizes(a);
    const int64_t k = s.back(), m = between(1, 4), o = between(1, 4);
    s.back() = m;
    return Named{{"input1", a},
                 {"input2", exactly(dtype(a), s)},
                 {"weight", weight(dtype(a), {o, k, m})},
                 {"bias", chance(0.5) ? Arg(weight(dtype(a), {o})) : Arg()}};
  });
  on({"cdist", "_cdist_forward"}, [this](const OpDef&) -> std::optional<Named> {
    Value* a = float_of_rank(2, 3);
    Sizes s = sizes(a);
    s[s.size() - 2] = some_dim();
    return Named{{"x1", a},
                 {"x2", exactly(dtype(a), s)},
                 {"p", one_of({0.0, 1.0, 2.0, 3.0, static_cast<double>(INFINITY)})},
                 {"compute_mode", Arg()}};
  });
  on({"scaled_dot_product_attention", "_scaled_dot_product_attention_math",
      "_scaled_dot_product_flash_attention_for_cpu"},
     [this](const OpDef& d) -> std::optional<Named> {
       const bool flash = d.name.find("flash") != std::string::npos;
       const int64_t b = between(1, 2), h = between(1, 3), l = between(1, 5), s = between(1, 5), e = between(1, 6);
       Value* q = exactly(DType::f32, {b, h, l, e});
       Value* k = exactly(DType::f32, {b, h, s, e});
       Value* v = exactly(DType::f32, {b, h, s, flash ? e : between(1, 6)});
       const bool causal = chance(0.3);
       Arg mask;
       if (!causal && chance(0.5))
         mask = exactly(flash || chance(0.6) ? DType::f32 : DType::b8,
                        one_of({Sizes{l, s}, Sizes{b, h, l, s}, Sizes{b, 1, 1, s}}));
       return Named{{"query", q},
                    {"key", k},
                    {"value", v},
                    {"attn_mask", mask},
                    {"dropout_p", 0.0},
                    {"is_causal", causal},
                    {"scale", chance(0.7) ? Arg() : Arg(0.3)},
                    {"enable_gqa", false},
                    {"dropout_mask", Arg()}};
     });

  // --- windows ---
  on({"convolution"}, [this](const OpDef&) { return convolution(one_of({1, 2, 2, 2, 2, 3}), chance(0.25)); });
  on({"conv1d"}, [this](const OpDef&) { return convolution(1, false); });
  on({"conv2d"}, [this](const OpDef&) { return convolution(2, false); });
  on({"conv3d"}, [this](const OpDef&) { return convolution(3, false); });
  on({"conv_transpose1d"}, [this](const OpDef&) { return convolution(1, true); });
  on({"conv_transpose2d"}, [this](const OpDef&) { return convolution(2, true); });
  on({"conv_transpose3d"}, [this](const OpDef&) { return convolution(3, true); });
  on({"avg_pool1d"}, [this](const OpDef&) { return pool(1, false); });
  on({"avg_pool2d"}, [this](const OpDef&) { return pool(2, false); });
  on({"avg_pool3d"}, [this](const OpDef&) { return pool(3, false); });
  on({"max_pool1d", "max_pool1d_with_indices"}, [this](const OpDef&) { return pool(1, true); });
  on({"max_pool2d", "max_pool2d_with_indices"}, [this](const OpDef&) { return pool(2, true); });
  on({"max_pool3d", "max_pool3d_with_indices"}, [this](const OpDef&) { return pool(3, true); });
  for (int64_t d = 1; d <= 3; ++d)
    for (const char* f : {"adaptive_avg_pool{}d", "_adaptive_avg_pool{}d", "adaptive_max_pool{}d"})
      makers_[fmt::format(fmt::runtime(f), d)] = [this, d](const OpDef&) -> std::optional<Named> {
        return Named{{"self", image(d, false)}, {"output_size", window_list(d, 1, 4)}};
      };
  on({"im2col"}, [this](const OpDef&) -> std::optional<Named> {
    return Named{{"self", image(2)},
                 {"kernel_size", window_list(2, 1, 3)},
                 {"dilation", window_list(2, 1, 2)},
                 {"padding", window_list(2, 0, 1)},
                 {"stride", window_list(2, 1, 2)}};
  });
  on({"col2im"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t h = between(2, 5), w = between(2, 5), k = between(1, 2);
    const Sizes s = {between(1, 2), between(1, 3) * k * k, (h - k + 1) * (w - k + 1)};
    return Named{{"self", exactly(DType::f32, s)},   {"output_size", Arg::ints({h, w})},
                 {"kernel_size", Arg::ints({k, k})}, {"dilation", Arg::ints({1, 1})},
                 {"padding", Arg::ints({0, 0})},     {"stride", Arg::ints({1, 1})}};
  });
  for (const char* mode : {"nearest", "_nearest_exact", "bilinear", "linear", "bicubic", "trilinear"})
    for (int64_t d = 1; d <= 3; ++d)
      makers_[fmt::format("{}{}{}d", *mode == '_' ? "_upsample" : "upsample_", mode, d)] =
          [this, d](const OpDef& op) -> std::optional<Named> {
        Named n{{"self", image(d)}, {"input", image(d)}, {"output_size", window_list(d, 1, 9)},
                {"scales", Arg()},  {"scales_h", Arg()}, {"scales_w", Arg()},
                {"scales_d", Arg()}};
        if (op.name.ends_with(".vec")) {
          n["output_size"] = Arg();
          ir::ArgList scales;
          for (int64_t i = 0; i < d; ++i) scales.emplace_back(i ? *scales[0].f() : one_of({2.0, 2.0, 0.5, 1.5, 3.0}));
          n["scale_factors"] = scales;
          if (chance(0.5)) {
            n["output_size"] = window_list(d, 1, 9);
            n["scale_factors"] = Arg();
          }
        }
        return n;
      };
  on({"grid_sampler", "grid_sampler_2d"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = image(2);
    return Named{{"input", x},
                 {"grid", exactly(dtype(x), {sizes(x)[0], between(1, 4), between(1, 4), 2})},
                 {"interpolation_mode", between(0, 1)},
                 {"padding_mode", between(0, 2)}};
  });
  on({"pixel_shuffle"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t r = between(1, 3);
    return Named{{"self", exactly(some_dtype(), {between(1, 2), between(1, 2) * r * r, between(1, 4), between(1, 4)})},
                 {"upscale_factor", r}};
  });
  on({"pixel_unshuffle"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t r = between(1, 3);
    return Named{{"self", exactly(some_dtype(), {between(1, 2), between(1, 2), between(1, 3) * r, between(1, 3) * r})},
                 {"downscale_factor", r}};
  });
  on({"channel_shuffle", "native_channel_shuffle"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t g = between(1, 3);
    return Named{{"self", exactly(some_dtype(), {between(1, 2), between(1, 3) * g, between(1, 4), between(1, 4)})},
                 {"groups", g}};
  });

  // --- norms ---
  on({"batch_norm", "_native_batch_norm_legit_no_training", "native_batch_norm", "_native_batch_norm_legit",
      "instance_norm"},
     [this](const OpDef& d) -> std::optional<Named> {
       Value* x = float_of_rank(base_of(d.name) == "instance_norm" ? 3 : 2, 5);
       const DType t = dtype(x);
       const Sizes c = {sizes(x)[1]};
       Tensor var = numbers(t, c);
       for (int64_t i = 0; i < var.numel(); ++i)
         ir::store_f(t, var.mutable_data(), i, 0.3 + std::fabs(ir::load_f(t, var.data, i)));
       Named n{{"input", x},
               {"running_mean", fresh(t, c, ir::ValueKind::kConstant)},
               {"running_var", given(var, ir::ValueKind::kConstant)},
               {"training", false},
               {"momentum", 0.1},
               {"eps", one_of({1e-5, 1e-3})},
               {"cudnn_enabled", true},
               {"use_input_stats", true}};
       n["weight"] = chance(0.75) ? Arg(weight(t, c)) : Arg();
       n["bias"] = n["weight"].is_none() ? Arg() : Arg(weight(t, c));
       if (d.name.ends_with(".no_stats")) n["training"] = true;
       if (base_of(d.name) == "instance_norm") n["running_mean"] = n["running_var"] = Arg();
       return n;
     });
  on({"layer_norm", "native_layer_norm", "rms_norm", "_fused_rms_norm"},
     [this](const OpDef& d) -> std::optional<Named> {
       Value* x = float_of_rank(1, 4);
       const Sizes s = sizes(x);
       const Sizes last(s.end() - between(1, std::min<int64_t>(2, static_cast<int64_t>(s.size()))), s.end());
       Named n{{"input", x}, {"normalized_shape", Arg::ints(last)}, {"eps", one_of({1e-5, 1e-3, 0.1})}};
       n["weight"] = chance(0.7) ? Arg(weight(dtype(x), last)) : Arg();
       n["bias"] = n["weight"].is_none() || chance(0.3) ? Arg() : Arg(weight(dtype(x), last));
       return n;
     });
  on({"group_norm", "native_group_norm"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = float_of_rank(base_of(d.name) == "group_norm" ? 2 : 3, 4);
    const Sizes s = sizes(x);
    if (s[1] == 0) return std::nullopt;
    Sizes divisors;
    for (int64_t k = 1; k <= s[1]; ++k)
      if (s[1] % k == 0) divisors.push_back(k);
    const int64_t g = one_of(divisors);
    int64_t hw = 1;
    for (size_t i = 2; i < s.size(); ++i) hw *= s[i];
    Named n{{"input", x}, {"num_groups", g}, {"N", s[0]},   {"C", s[1]},
            {"HxW", hw},  {"group", g},      {"eps", 1e-5}, {"cudnn_enabled", true}};
    n["weight"] = chance(0.7) ? Arg(weight(dtype(x), {s[1]})) : Arg();
    n["bias"] = n["weight"].is_none() ? Arg() : Arg(weight(dtype(x), {s[1]}));
    return n;
  });
  on({"_weight_norm", "_weight_norm_interface"}, [this](const OpDef&) -> std::optional<Named> {
    Value* v = float_of_rank(2, 4);
    Sizes g(sizes(v).size(), 1);
    const bool first = chance(0.6);
    (first ? g.front() : g.back()) = first ? sizes(v).front() : sizes(v).back();
    return Named{
        {"v", v}, {"g", exactly(dtype(v), g)}, {"dim", first ? int64_t{0} : static_cast<int64_t>(g.size()) - 1}};
  });
  on({"_softmax", "_log_softmax"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = float_of_rank(0, 4);
    return Named{{"self", x}, {"dim", chance(0.6) ? Arg(-1) : Arg(axis(rank(x)))}, {"half_to_float", false}};
  });
  on({"prelu", "_prelu_kernel"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = float_of_rank(2, 4);
    Sizes w = {chance(0.6) ? sizes(x)[1] : 1};
    if (base_of(d.name) != "prelu") {
      w.assign(sizes(x).size(), 1);
      if (chance(0.6)) w[1] = sizes(x)[1];
    }
    return Named{{"self", x}, {"weight", weight(dtype(x), w)}};
  });

  // --- movement ---
  on({"view", "view_copy", "reshape", "_unsafe_view", "_reshape_copy"},
     [=, this](const OpDef& d) -> std::optional<Named> {
       Value* x = any();
       return Named{{"self", x}, {d.schema.params[1].name, Arg::ints(reshaped(sizes(x)))}};
     });
  on({"expand", "expand_copy", "broadcast_to"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = any();
    Sizes s = sizes(x);
    for (int64_t& d : s) d = d == 1 && chance(0.7) ? between(1, 4) : chance(0.2) ? -1 : d;
    while (s.size() < 5 && chance(0.25)) s.insert(s.begin(), between(1, 3));
    return Named{{"self", x}, {"size", Arg::ints(s)}, {"implicit", false}};
  });
  on({"permute", "permute_copy"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = of_rank(1, 5);
    return Named{{"self", x}, {"dims", Arg::ints(some_permutation(rank(x)))}};
  });
  on({"movedim", "moveaxis"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = of_rank(1, 4);
    if (d.name.ends_with(".int")) return Named{{"self", x}, {"source", axis(rank(x))}, {"destination", axis(rank(x))}};
    const Sizes a = some_permutation(rank(x)), b = some_permutation(rank(x));
    const auto n = static_cast<std::ptrdiff_t>(1 + below(a.size()));
    return Named{{"self", x},
                 {"source", Arg::ints({a.begin(), a.begin() + n})},
                 {"destination", Arg::ints({b.begin(), b.begin() + n})}};
  });
  on({"transpose", "transpose_copy", "swapaxes", "swapdims"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = any();
    return Named{{"self", x}, {d.schema.params[1].name, axis(rank(x))}, {d.schema.params[2].name, axis(rank(x))}};
  });
  on({"t", "t_copy"}, [this](const OpDef&) -> std::optional<Named> { return Named{{"self", of_rank(0, 2)}}; });
  on({"mT"}, [this](const OpDef&) -> std::optional<Named> { return Named{{"self", of_rank(2, 4)}}; });
  on({"unsqueeze", "unsqueeze_copy"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = any();
    return Named{{"self", x}, {"dim", between(-rank(x) - 1, rank(x))}};
  });
  on({"slice", "slice_copy", "slice_scatter"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = of_rank(1, 5);
    const int64_t a = axis(rank(x)), n = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
    Arg start = chance(0.3) ? Arg() : Arg(between(-n - 1, n)), end = chance(0.3)   ? Arg()
                                                                     : chance(0.2) ? Arg(INT64_MAX)
                                                                                   : Arg(between(-n, n + 2));
    const int64_t step = chance(0.7) ? 1 : between(1, 3);
    Named r{{"self", x}, {"dim", a}, {"start", start}, {"end", end}, {"step", step}};
    if (base_of(d.name) != "slice_scatter") return r;
    const auto clamp = [&](const Arg& v, int64_t none) {
      return v.i() ? std::clamp<int64_t>(*v.i() < 0 ? *v.i() + n : *v.i(), 0, n) : none;
    };
    const int64_t b = clamp(start, 0), e = std::max(clamp(end, n), b);
    Sizes s = sizes(x);
    s[static_cast<size_t>(a < 0 ? a + rank(x) : a)] = (e - b + step - 1) / step;
    r["src"] = exactly(dtype(x), s);
    return r;
  });
  on({"select", "select_copy", "select_scatter"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = of_rank(1, 5);
    const int64_t a = axis(rank(x));
    Sizes s = sizes(x);
    const auto at = s.begin() + (a < 0 ? a + rank(x) : a);
    if (*at == 0) return std::nullopt;
    Named r{{"self", x}, {"dim", a}, {"index", between(-*at, *at - 1)}};
    s.erase(at);
    if (base_of(d.name) == "select_scatter") r["src"] = exactly(dtype(x), s);
    return r;
  });
  on({"narrow", "narrow_copy"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = of_rank(1, 4);
    const int64_t a = axis(rank(x)), n = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)], start = between(0, n);
    return Named{{"self", x}, {"dim", a}, {"start", start}, {"length", between(0, n - start)}};
  });
  on({"split", "split_copy", "unsafe_split", "chunk", "unsafe_chunk", "tensor_split", "unbind", "unbind_copy"},
     [this](const OpDef& d) -> std::optional<Named> {
       Value* x = of_rank(1, 4);
       Named n{{"self", x},
               {"dim", axis(rank(x))},
               {"split_size", between(1, 4)},
               {"chunks", between(1, 4)},
               {"sections", between(1, 4)}};
       if (d.name == "aten.tensor_split.indices") n["indices"] = Arg::ints({between(0, 2), between(2, 5)});
       if (d.name == "aten.split.sizes") return std::nullopt;
       return n;
     });
  on({"split_with_sizes", "split_with_sizes_copy", "unsafe_split_with_sizes"},
     [this](const OpDef& d) -> std::optional<Named> {
       Value* x = of_rank(1, 4);
       const int64_t a = axis(rank(x));
       int64_t left = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
       Sizes s;
       while (left > 0 && s.size() < 3) {
         s.push_back(between(1, left));
         left -= s.back();
       }
       if (left || s.empty()) s.push_back(left);
       return Named{{"self", x}, {"split_sizes", Arg::ints(s)}, {"dim", a}};
     });
  on({"unflatten"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = of_rank(1, 3);
    const int64_t a = axis(rank(x)), n = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
    if (n == 0) return std::nullopt;
    return Named{{"self", x},
                 {"dim", a},
                 {"sizes", n % 2         ? Arg::ints({n, 1})
                           : chance(0.5) ? Arg::ints({2, -1})
                                         : Arg::ints({n / 2, 2})}};
  });
  on({"flatten"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = any();
    const int64_t r = std::max<int64_t>(rank(x), 1), a = between(0, r - 1);
    return Named{{"self", x}, {"start_dim", a}, {"end_dim", chance(0.5) ? between(a, r - 1) : between(a, r - 1) - r}};
  });
  on({"unfold", "unfold_copy"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = of_rank(1, 4);
    const int64_t a = axis(rank(x)), n = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
    if (n == 0) return std::nullopt;
    return Named{{"self", x}, {"dimension", a}, {"size", between(1, n)}, {"step", between(1, 3)}};
  });
  on({"diagonal", "diagonal_copy"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = of_rank(2, 4);
    const Sizes p = some_permutation(rank(x));
    return Named{{"self", x}, {"offset", between(-2, 2)}, {"dim1", p[0]}, {"dim2", p[1]}};
  });
  on({"tril", "triu"}, [=, this](const OpDef&) -> std::optional<Named> {
    return Named{{"self", self_or([&] { return of_rank(2, 4); })}, {"diagonal", between(-2, 2)}};
  });
  on({"cat", "concat", "concatenate"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = of_rank(1, 4);
    const int64_t a = axis(rank(x));
    std::vector<Value*> all = {x};
    for (int64_t i = between(0, 3); i > 0; --i) {
      Sizes s = sizes(x);
      s[static_cast<size_t>(a < 0 ? a + rank(x) : a)] =
          chance(0.5) ? s[static_cast<size_t>(a < 0 ? a + rank(x) : a)] : some_dim();
      all.push_back(exactly(chance(0.9) ? dtype(x) : some_dtype(), s));
    }
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
    return Named{{"tensors", Arg::values(all)}, {"dim", a}};
  });
  on({"stack"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = any();
    std::vector<Value*> all = {x};
    for (int64_t i = between(0, 2); i > 0; --i) all.push_back(exactly(dtype(x), sizes(x)));
    return Named{{"tensors", Arg::values(all)}, {"dim", between(-rank(x) - 1, rank(x))}};
  });
  on({"constant_pad_nd", "pad"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = of_rank(1, 4);
    Sizes p;
    for (int64_t i = between(1, rank(x)); i > 0; --i) {
      p.push_back(between(-1, 2));
      p.push_back(between(-1, 2));
    }
    Named n{{"self", x}, {"pad", Arg::ints(p)}, {"value", some_scalar()}};
    if (base_of(d.name) == "pad") {
      n["mode"] = Arg("constant");
      n["value"] = Arg(unit());
    }
    return n;
  });
  for (const char* f : {"reflection_pad{}d", "replication_pad{}d"})
    for (int64_t d = 1; d <= 3; ++d)
      makers_[fmt::format(fmt::runtime(f), d)] = [this, d](const OpDef&) -> std::optional<Named> {
        Sizes p;
        for (int64_t i = 0; i < 2 * d; ++i) p.push_back(between(0, d == 3 ? 1 : 2));
        return Named{{"self", image(d, false)}, {"padding", Arg::ints(p)}};
      };
  on({"_pad_circular"}, [this](const OpDef&) -> std::optional<Named> {
    return Named{{"self", image(2)}, {"pad", Arg::ints({between(0, 2), between(0, 2), between(0, 2), between(0, 2)})}};
  });
  on({"repeat", "tile"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = of_rank(0, 3);
    Sizes s;
    for (int64_t i = rank(x) + (chance(0.3) ? 1 : 0); i > 0; --i) s.push_back(between(1, 3));
    return Named{{"self", x}, {d.schema.params[1].name, Arg::ints(s)}};
  });
  on({"repeat_interleave"}, [this](const OpDef& d) -> std::optional<Named> {
    if (!d.name.ends_with("self_int")) return std::nullopt;
    Value* x = any();
    return Named{{"self", x},
                 {"repeats", between(1, 3)},
                 {"dim", chance(0.7) ? Arg(axis(rank(x))) : Arg()},
                 {"output_size", Arg()}};
  });
  on({"roll"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = any();
    if (chance(0.3)) return Named{{"self", x}, {"shifts", Arg::ints({between(-3, 3)})}, {"dims", Arg(ir::ArgList{})}};
    const Sizes a = some_axes(rank(x));
    Sizes s;
    for (size_t i = 0; i < a.size(); ++i) s.push_back(between(-3, 3));
    return Named{{"self", x}, {"shifts", Arg::ints(s)}, {"dims", Arg::ints(a)}};
  });
  on({"flip"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = any();
    return Named{{"self", x}, {"dims", Arg::ints(some_axes(rank(x)))}};
  });

  on({"norm", "linalg_vector_norm"}, [this](const OpDef& d) -> std::optional<Named> {
    Named n{{"self", float_of_rank(0, 4)}};
    n[base_of(d.name) == "norm" ? "p" : "ord"] = one_of({0.0, 1.0, 2.0, 2.0, 3.0, 0.5, static_cast<double>(INFINITY)});
    return n;
  });

  // --- indices ---
  on({"gather", "take_along_dim", "scatter", "scatter_add", "scatter_reduce"},
     [=, this](const OpDef& d) -> std::optional<Named> {
       Value* x = self_or([&] { return of_rank(1, 4); });
       if (rank(x) == 0) return std::nullopt;
       const int64_t a = axis(rank(x)), n = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
       Sizes s = sizes(x);
       for (int64_t& k : s)
         if (chance(0.3) && k) k = between(1, k);
       const std::string base = base_of(d.name);
       if (base == "take_along_dim" || base == "gather") s[static_cast<size_t>(a < 0 ? a + rank(x) : a)] = some_dim();
       Value* i = indices(s, 0, n);
       Named r{{"self", x}, {"dim", a}, {"index", i}, {"indices", i}, {"sparse_grad", false}};
       if (d.schema.index_of("src") >= 0) r["src"] = exactly(dtype(x), s);
       return r;
     });
  on({"index_select", "index_copy", "index_add", "index_fill"}, [=, this](const OpDef& d) -> std::optional<Named> {
    Value* x = self_or([&] { return of_rank(1, 4); });
    if (rank(x) == 0) return std::nullopt;
    const int64_t a = axis(rank(x)), n = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
    if (n == 0) return std::nullopt;
    const std::string base = base_of(d.name);
    Sizes s = sizes(x);
    int64_t& k = s[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
    k = between(1, base == "index_copy" ? n : 4);
    Value* i = indices({k}, 0, n);
    if (base == "index_copy") {  // each place once
      Sizes p = some_permutation(n);
      Tensor t = Tensor::empty(DType::i64, {k});
      for (int64_t j = 0; j < k; ++j) ir::store_i(DType::i64, t.mutable_data(), j, (p[static_cast<size_t>(j)] + n) % n);
      i = given(t, ir::ValueKind::kConstant);
    }
    Named r{{"self", x}, {"dim", a}, {"index", i}};
    if (d.schema.index_of("source") >= 0) r["source"] = exactly(dtype(x), s);
    if (d.name.ends_with("int_Tensor")) r["value"] = exactly(dtype(x), {});
    return r;
  });
  on({"index", "_unsafe_index", "index_put", "_unsafe_index_put"}, [=, this](const OpDef& d) -> std::optional<Named> {
    Value* x = self_or([&] { return of_rank(1, 4); });
    if (rank(x) == 0) return std::nullopt;
    ir::ArgList l;
    const Sizes common = some_sizes(between(1, 2));
    Sizes out;
    bool gap = false, before = false;
    int groups = 0;
    std::vector<int64_t> rest_before, rest_after;
    for (int64_t i = 0; i < rank(x) && (i == 0 || chance(0.7)); ++i) {
      const int64_t n = sizes(x)[static_cast<size_t>(i)];
      if (chance(0.35) && i + 1 < rank(x)) {
        l.emplace_back();
        gap = true;
      } else {
        groups += gap || !before;
        before = true;
        gap = false;
        l.emplace_back(indices(common, chance(0.3) ? -n : 0, n));
      }
    }
    if (!before) return std::nullopt;
    Named r{{"self", x}, {"indices", l}};
    if (d.schema.index_of("values") < 0) return r;
    // The values have the shape that reading with these indices gives; found by its own rule.
    const OpDef* read = ops::find("aten.index.Tensor");
    const auto types = ops::infer(*read, ops::Call::of(*read, {x, l}));
    if (!types) return std::nullopt;
    const auto& shape = std::get<ir::TensorType>((*types)[0]).shape;
    if (!ir::is_static(shape)) return std::nullopt;
    r["values"] = chance(0.3) ? exactly(dtype(x), {}) : exactly(dtype(x), ir::static_sizes(shape));
    r["accumulate"] = true;  // without it, equal places have no order
    return r;
  });
  on({"take"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = any();
    int64_t n = 1;
    for (int64_t k : sizes(x)) n *= k;
    if (n == 0) return std::nullopt;
    return Named{{"self", x}, {"index", indices(some_sizes(), 0, n)}};
  });
  on({"embedding"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t rows = between(1, 9);
    return Named{{"weight", weight(some_float(), {rows, some_dim()})},
                 {"indices", indices(some_sizes(between(0, 3)), 0, rows, chance(0.8) ? DType::i64 : DType::i32)},
                 {"padding_idx", -1},
                 {"scale_grad_by_freq", false},
                 {"sparse", false}};
  });
  on({"embedding_bag"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t rows = between(1, 9), n = between(1, 6);
    Tensor o = Tensor::empty(DType::i64, {2});
    ir::store_i(DType::i64, o.mutable_data(), 0, 0);
    ir::store_i(DType::i64, o.mutable_data(), 1, between(0, n));
    return Named{{"weight", weight(DType::f32, {rows, between(1, 5)})},
                 {"indices", indices({n}, 0, rows)},
                 {"offsets", given(o, ir::ValueKind::kInput)},
                 {"scale_grad_by_freq", false},
                 {"mode", between(0, 2)},
                 {"sparse", false},
                 {"per_sample_weights", Arg()},
                 {"include_last_offset", false},
                 {"padding_idx", Arg()}};
  });
  on({"one_hot"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t n = between(1, 6);
    return Named{{"self", indices(some_sizes(between(0, 2)), 0, n)}, {"num_classes", n}};
  });
  on({"topk"}, [this](const OpDef&) -> std::optional<Named> {
    Value* x = of_rank(1, 3);
    const int64_t a = axis(rank(x)), n = sizes(x)[static_cast<size_t>(a < 0 ? a + rank(x) : a)];
    return Named{{"self", x}, {"k", between(0, n)}, {"dim", a}, {"sorted", true}};
  });
  on({"bucketize", "searchsorted"}, [this](const OpDef& d) -> std::optional<Named> {
    const int64_t n = between(0, 6);
    Tensor b = Tensor::empty(DType::f32, {n});
    double v = -2;
    for (int64_t i = 0; i < n; ++i) ir::store_f(DType::f32, b.mutable_data(), i, v += unit());
    Value* edges = given(b, ir::ValueKind::kConstant);
    if (base_of(d.name) == "bucketize") {
      Named r{{"boundaries", edges}};
      if (d.name.ends_with(".Tensor")) r["self"] = exactly(DType::f32, some_sizes());
      return r;
    }
    Named r{{"sorted_sequence", edges}, {"side", Arg()}, {"sorter", Arg()}};
    if (d.name.ends_with(".Tensor")) r["self"] = exactly(DType::f32, some_sizes());
    return r;
  });
  on({"masked_fill", "masked_scatter"}, [=, this](const OpDef& d) -> std::optional<Named> {
    Value* x = self_or([&] { return any(); });
    Named r{{"self", x}, {"mask", broadcastable(sizes(x), DType::b8)}};
    if (dtype(r["mask"].value()) != DType::b8) r["mask"] = exactly(DType::b8, sizes(x));
    if (d.name.ends_with(".Tensor")) r["value"] = exactly(dtype(x), {});
    if (base_of(d.name) == "masked_scatter") r["source"] = exactly(dtype(x), sizes(x));
    return r;
  });
  on({"where"}, [this](const OpDef& d) -> std::optional<Named> {
    Value* x = any();
    Named r{{"condition", exactly(DType::b8, sizes(x))}};
    if (d.name.ends_with(".self") || d.name.ends_with(".ScalarOther")) r["self"] = x;
    if (d.name.ends_with(".self") || d.name.ends_with(".ScalarSelf"))
      r["other"] = d.name.ends_with(".self") ? related(x) : x;
    return r;
  });
  on({"copy"}, [=, this](const OpDef&) -> std::optional<Named> {
    Value* x = self_or([&] { return any(); });
    Sizes s = sizes(x);
    for (int64_t& k : s)
      if (chance(0.15)) k = 1;
    return Named{{"self", x}, {"src", exactly(chance(0.8) ? dtype(x) : some_dtype(), s)}, {"non_blocking", false}};
  });

  // --- made from nothing ---
  on({"full", "ones", "zeros"}, [this](const OpDef& d) -> std::optional<Named> {
    Named r{{"size", Arg::ints(some_sizes())}};
    if (base_of(d.name) == "full") r["fill_value"] = some_scalar();
    return r;
  });
  on({"new_full", "new_ones", "new_zeros"}, [this](const OpDef&) -> std::optional<Named> {
    return Named{{"self", any()}, {"size", Arg::ints(some_sizes())}};
  });
  on({"arange"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t a = between(0, 4);
    return Named{{"start", a}, {"end", a + between(0, 7)}, {"step", chance(0.7) ? Arg(int64_t{1}) : Arg(0.5)}};
  });
  on({"linspace"}, [this](const OpDef&) -> std::optional<Named> {
    return Named{{"start", some_scalar()}, {"end", some_scalar()}, {"steps", between(0, 6)}};
  });
  on({"eye", "tril_indices", "triu_indices"}, [this](const OpDef&) -> std::optional<Named> {
    return Named{{"n", between(1, 4)}, {"m", between(1, 4)}, {"row", between(1, 4)}, {"col", between(1, 4)}};
  });
  on({"scalar_tensor"}, [this](const OpDef&) -> std::optional<Named> { return Named{{"s", some_scalar()}}; });
  on({"fill"}, [=, this](const OpDef& d) -> std::optional<Named> {
    Value* x = self_or([&] { return any(); });
    Named r{{"self", x}};
    if (d.name.ends_with(".Tensor")) r["value"] = exactly(dtype(x), {});
    return r;
  });
  on({"pow"}, [this](const OpDef& d) -> std::optional<Named> {
    Named r;
    if (d.name.ends_with("Tensor_Scalar")) {
      r["self"] = target_ ? target_ : any();
      r["exponent"] = chance(0.6) ? Arg(between(0, 3)) : Arg(one_of({0.5, 2.0, 3.0, -1.0, 1.5}));
    }
    return r;
  });
  on({"lstm"}, [this](const OpDef&) -> std::optional<Named> {
    const int64_t in = between(1, 4), h = between(1, 4), b = between(1, 2), t = between(1, 4), layers = between(1, 2);
    const bool both = chance(0.3), first = chance(0.5), bias = chance(0.7);
    const int64_t ways = both ? 2 : 1;
    std::vector<Value*> params;
    for (int64_t l = 0; l < layers; ++l)
      for (int64_t w = 0; w < ways; ++w) {
        params.push_back(weight(DType::f32, {4 * h, l ? h * ways : in}));
        params.push_back(weight(DType::f32, {4 * h, h}));
        if (!bias) continue;
        params.push_back(weight(DType::f32, {4 * h}));
        params.push_back(weight(DType::f32, {4 * h}));
      }
    return Named{
        {"input", exactly(DType::f32, first ? Sizes{b, t, in} : Sizes{t, b, in})},
        {"hx", Arg::values({exactly(DType::f32, {layers * ways, b, h}), exactly(DType::f32, {layers * ways, b, h})})},
        {"params", Arg::values(params)},
        {"has_biases", bias},
        {"num_layers", layers},
        {"dropout", 0.0},
        {"train", false},
        {"bidirectional", both},
        {"batch_first", first}};
  });
}

}  // namespace

const std::map<std::string, Tried>& statistics() { return mutable_statistics(); }

Case generate(uint64_t seed, const GenerateOptions& o) { return Generator(seed, o).make(); }

std::shared_ptr<ir::Graph> pruned(const ir::Graph& g, std::vector<size_t>* kept) {
  std::set<const Value*> needed;
  std::set<const ir::Node*> live;
  std::set<const Value*> read;  // owners of what is needed
  for (const Arg& a : g.outputs) a.each_value([&](const Value* v) { needed.insert(v); });
  for (const ir::Write& w : g.writes) {
    needed.insert(w.value);
    needed.insert(w.target);
  }
  for (const Value* v : needed) read.insert(owner_of(v));
  // Writes to inputs and states are seen from outside.
  for (const auto& n : g.nodes())
    if (const OpDef* d = ops::def(*n); d && d->functional)
      if (const Value* o = owner_of(n->args()[0].value()); o->kind != ir::ValueKind::kResult) read.insert(o);
  for (bool more = true; more;) {
    more = false;
    for (auto it = g.nodes().rbegin(); it != g.nodes().rend(); ++it) {
      const ir::Node& n = **it;
      if (live.contains(&n)) continue;
      const OpDef* d = ops::def(n);
      bool use = !d || d->has_side_effect;
      for (size_t i = 0; i < n.num_results(); ++i) use |= needed.contains(n.result(i));
      if (d && d->functional) use |= read.contains(owner_of(n.args()[0].value()));
      if (!use) continue;
      live.insert(&n);
      more = true;
      for (const Value* v : n.inputs()) {
        needed.insert(v);
        read.insert(owner_of(v));
      }
    }
  }
  auto out = std::make_shared<ir::Graph>();
  std::unordered_map<const Value*, Value*> map;
  for (size_t i = 0; i < g.inputs().size(); ++i) {
    const Value* v = g.inputs()[i];
    if (!needed.contains(v)) continue;
    map[v] = out->add_input(v->name, v->type);
    if (kept) kept->push_back(i);
  }
  for (const Value* v : g.constants())
    if (needed.contains(v)) map[v] = out->add_constant(v->name, *v->data);
  for (const Value* v : g.states())
    if (needed.contains(v)) map[v] = out->add_state(v->name, *v->data);
  const auto copy = [&](Arg a) {
    a.each_value([&](Value*& v) { v = map.at(v); });
    return a;
  };
  for (const auto& n : g.nodes()) {
    if (!live.contains(n.get())) continue;
    std::vector<Arg> args;
    for (const Arg& a : n->args()) args.push_back(copy(a));
    std::vector<ir::Type> types;
    for (size_t i = 0; i < n->num_results(); ++i) types.push_back(n->result(i)->type);
    ir::Node* c = out->add(n->op(), std::move(args), std::move(types), nullptr, n->origin,
                           n->num_results() ? n->result()->name : "");
    for (size_t i = 0; i < n->num_results(); ++i) map[n->result(i)] = c->result(i);
  }
  for (const Arg& a : g.outputs) out->outputs.push_back(copy(a));
  for (const ir::Write& w : g.writes) out->writes.push_back({map.at(w.target), map.at(w.value)});
  return out;
}

}  // namespace edgewright::random
