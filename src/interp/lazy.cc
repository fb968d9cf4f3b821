#include "interp/lazy.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "interp/control_flow.h"
#include "ops/dense_source.h"
#include "ops/verify.h"

namespace edgewright::interp {

namespace {
constexpr int64_t kSmall = 4096;  // values up to this many elements are remembered in arrays

double round_to(DType t, double v) {
  std::byte cell[8];
  ir::store_f(t, cell, 0, v);
  return ir::load_f(t, cell, 0);
}
int64_t wrap_to(DType t, int64_t v) {
  std::byte cell[8];
  ir::store_i(t, cell, 0, v);
  return ir::load_i(t, cell, 0);
}
double number_as_f(const ops::Scalar& s) { return s.is_float() ? s.f : static_cast<double>(s.i); }

// A computed number stored as `t`. What is exact is rounded exactly; Bounded's arithmetic has allowed for f32's rounding already.
ops::Bounded stored(DType t, ops::Bounded b) {
  if (!(b.v == b.v)) return b;
  if (b.e == 0) return {round_to(t, b.v), 0};
  const double u = t == DType::f16 ? 0x1p-11 : t == DType::bf16 ? 0x1p-8 : 0;
  if (u == 0) return b;
  const double top = std::fabs(b.v) + b.e, largest = t == DType::f16 ? 65504 : 0x1.fep127;
  if (!(top <= largest)) return {b.v, INFINITY};
  return {b.v, b.e + u * top + (t == DType::f16 ? 0x1p-25 : 0x1p-134)};
}
}  // namespace

template <class T>
const T* Lazy::Memo<T>::find(int64_t at) const {
  if (!have.empty()) return have[static_cast<size_t>(at)] ? &all[static_cast<size_t>(at)] : nullptr;
  const auto it = sparse.find(at);
  return it == sparse.end() ? nullptr : &it->second;
}
template <class T>
void Lazy::Memo<T>::put(int64_t at, T v, int64_t numel) {
  if (numel > kSmall) {
    sparse.emplace(at, v);
    return;
  }
  if (have.empty()) {
    have.resize(static_cast<size_t>(numel));
    all.resize(static_cast<size_t>(numel));
  }
  have[static_cast<size_t>(at)] = true;
  all[static_cast<size_t>(at)] = v;
}

// Operands' elements as the interpreter has them.
class Lazy::RoundedIn : public ops::In, public ops::DenseSource {
 public:
  RoundedIn(Lazy& l, const Applied& a) : l_(l), a_(a) {}
  double f(int operand, ops::Index at) const override {
    return l_.eval_f(*a_.operands[static_cast<size_t>(operand)], at);
  }
  int64_t i(int operand, ops::Index at) const override {
    return l_.eval_i(*a_.operands[static_cast<size_t>(operand)], at);
  }
  const ir::Tensor* dense(int operand) const override {
    const Entry& e = *a_.operands[static_cast<size_t>(operand)];
    return e.datum ? tensor(*e.datum) : nullptr;
  }

 private:
  Lazy& l_;
  const Applied& a_;
};

class Lazy::ErrorIn : public ops::BoundedIn, public ops::DenseSource {
 public:
  ErrorIn(Lazy& l, const Applied& a) : l_(l), a_(a) {}
  ops::Bounded f(int operand, ops::Index at) const override {
    return l_.eval_bounded(*a_.operands[static_cast<size_t>(operand)], at);
  }
  int64_t i(int operand, ops::Index at) const override {
    const CertainInt c = l_.eval_certain(*a_.operands[static_cast<size_t>(operand)], at);
    uncertain |= !c.certain;
    return c.v;
  }
  const ir::Tensor* dense(int operand) const override {
    const Entry& e = *a_.operands[static_cast<size_t>(operand)];
    return e.is_given ? tensor(*e.datum) : nullptr;
  }
  mutable bool uncertain = false;

 private:
  Lazy& l_;
  const Applied& a_;
};

// Numbers somewhere within their errors: in the middle, all low, all high, or low and high in turn.
class Lazy::SampleIn : public ops::In {
 public:
  enum Mode { kMiddle, kLow, kHigh, kLowHigh, kHighLow };
  static constexpr Mode kEnds[] = {kLow, kHigh, kLowHigh, kHighLow};
  SampleIn(Lazy& l, const Applied& a, Mode m) : l_(l), a_(a), mode_(m) {}
  double f(int operand, ops::Index at) const override {
    Entry& e = *a_.operands[static_cast<size_t>(operand)];
    if (!is_float(e.dtype)) return static_cast<double>(i(operand, at));
    const ops::Bounded b = l_.eval_bounded(e, at);
    if (b.e == 0) return b.v;
    uncertain |= !std::isfinite(b.e);
    const bool odd = inexact++ % 2 == 1;
    const bool high = mode_ == kHigh || (mode_ == kLowHigh && odd) || (mode_ == kHighLow && !odd);
    return mode_ == kMiddle || !std::isfinite(b.e) ? b.v : high ? b.v + b.e : b.v - b.e;
  }
  int64_t i(int operand, ops::Index at) const override {
    const CertainInt c = l_.eval_certain(*a_.operands[static_cast<size_t>(operand)], at);
    uncertain |= !c.certain;
    return c.v;
  }
  mutable int inexact = 0;
  mutable bool uncertain = false;

 private:
  Lazy& l_;
  const Applied& a_;
  const Mode mode_;
};

// ---- what is where ----

void Lazy::set(const ir::Value* v, Datum d) {
  auto e = std::make_unique<Entry>();
  auto k = interp::known(d);
  if (!k) return fail_with(fail(Code::kInternal, "%{} is given as {}", v->name, describe(d)).error());
  e->known = std::move(*k);
  e->is_given = e->sized = true;
  if (const auto* t = tensor(d)) {
    e->dtype = t->dtype;
    e->sizes = t->sizes;
    e->strides = ir::contiguous_strides(t->sizes);
    e->numel = t->numel();
  }
  e->datum = std::move(d);
  entries_.insert_or_assign(v, std::move(e));
}

Lazy::Entry* Lazy::entry(const ir::Value* v) {
  if (!prepare(v)) return nullptr;
  return entries_.at(v).get();
}

bool Lazy::prepare(const ir::Value* v) {
  if (error_) return false;
  // Whether v has an entry; makes that of a constant.
  const auto has = [&](const ir::Value* x) {
    if (entries_.contains(x)) return true;
    if (!x->is_constant()) return false;
    set(x, *x->data);
    return true;
  };
  if (has(v)) return !error_;
  std::vector<const ir::Node*> open;
  const auto need = [&](const ir::Value* x) {
    if (has(x)) return true;
    if (!x->producer) {
      fail_with(fail(Code::kInternal, "%{} is neither given nor computed", x->name).error());
      return true;
    }
    open.push_back(x->producer);
    return false;
  };
  need(v);
  while (!open.empty() && !error_) {
    const ir::Node* n = open.back();
    if (applied_.contains(n)) {
      open.pop_back();
      continue;
    }
    bool ready = true;
    for (const ir::Value* x : n->inputs()) ready &= need(x);
    if (!ready || error_) continue;
    open.pop_back();
    apply_node(*n);
  }
  return !error_;
}

bool Lazy::apply_node(const ir::Node& n) {
  const auto bad = [&](Error e) {
    fail_with(ops::about(n, std::move(e)));
    return false;
  };
  const ops::OpDef* d = ops::def(n);
  if (!d || d->functional || is_control_flow(n.op()))
    return bad(fail(Code::kUnsupported, "{} is not evaluated by elements", n.name()).error());
  auto a = std::make_unique<Applied>();
  a->node = &n;
  a->def = d;
  a->call = ops::Call::with(*d, n.args(), [&](const ir::Value* v) { return entries_.at(v)->known; });
  auto types = ops::infer(*d, *a->call);
  if (!types) return bad(std::move(types.error()));
  if (types->size() != n.num_results())
    return bad(fail(Code::kInternal, "{} has {} results, not {}", n.name(), types->size(), n.num_results()).error());
  for (size_t k = 0; k < a->call->num_operands(); ++k)
    a->operands.push_back(entries_.at(a->call->value(static_cast<int>(k))).get());

  std::vector<ops::Scalar> numbers;
  const bool gives_numbers = !types->empty() && std::holds_alternative<ir::ScalarType>((*types)[0]);
  if (gives_numbers) {
    if (!d->numbers) return bad(fail(Code::kUnsupported, "{}: its number has no meaning here", n.name()).error());
    const bool needs_data = !n.name().starts_with("aten.sym_");
    std::vector<ir::Tensor> in(a->operands.size());
    for (size_t k = 0; k < in.size(); ++k) {
      Entry& e = *a->operands[k];
      if (needs_data && !make_dense(e)) return false;
      if (e.datum) {
        in[k] = *tensor(*e.datum);
      } else {
        in[k].dtype = e.dtype;
        in[k].sizes = e.sizes;
        in[k].strides = e.strides;
      }
    }
    auto r = d->numbers(*a->call, in);
    if (!r) return bad(std::move(r.error()));
    if (a->call->failed()) return bad(fail(Code::kUnsupported, "{}: {}", n.name(), *a->call->failed()).error());
    if (r->size() != types->size())
      return bad(fail(Code::kInternal, "{} gave {} numbers", n.name(), r->size()).error());
    numbers = std::move(*r);
  }

  bool all_sized = true;
  for (size_t r = 0; r < types->size(); ++r) {
    auto e = std::make_unique<Entry>();
    e->by = a.get();
    e->result = r;
    if (gives_numbers) {
      e->datum = numbers[r];
      e->known = *interp::known(*e->datum);
      e->sized = true;
    } else {
      const auto& t = std::get<ir::TensorType>((*types)[r]);
      if (t.rank() > ops::kMaxRank) return bad(fail(Code::kUnsupported, "{} dims", t.rank()).error());
      e->dtype = t.dtype;
      e->known.type = t;
      e->sized = ir::is_static(t.shape);
      if (e->sized) {
        e->sizes = ir::static_sizes(t.shape);
        e->strides = ir::contiguous_strides(e->sizes);
        e->numel = ir::numel(t.shape).value();
      }
      all_sized &= e->sized;
    }
    a->results.push_back(e.get());
    entries_.insert_or_assign(n.result(r), std::move(e));
  }
  Applied* raw = a.get();
  applied_.emplace(&n, std::move(a));
  if (raw->results.size() == 1 && !gives_numbers) view_of_given(*raw, *raw->results[0]);
  return all_sized || make_dense(*raw->results[0]);
}

// A view of what is given is given, too. Only ops that are linear in the index by their nature, so that the places of element 0
// and of its neighbours tell all; a reshape is, where nothing but the sizes changes.
void Lazy::view_of_given(const Applied& a, Entry& e) {
  static const std::unordered_set<std::string_view> kLinear = {
      "aten.permute",      "aten.t",           "aten.transpose.int", "aten.unsqueeze",
      "aten.squeeze",      "aten.squeeze.dim", "aten.squeeze.dims",  "aten.select.int",
      "aten.slice.Tensor", "aten.expand"};
  static const std::unordered_set<std::string_view> kReshapes = {"aten.view", "aten.reshape", "aten._unsafe_view"};
  const bool reshape = kReshapes.contains(a.node->name());
  if (!reshape && !kLinear.contains(a.node->name())) return;
  if (a.operands.empty() || !a.operands[0]->is_given || !e.sized) return;
  const ir::Tensor* base = tensor(*a.operands[0]->datum);
  if (!base || base->dtype != e.dtype) return;
  ir::Tensor view = *base;
  view.sizes = e.sizes;
  if (reshape) {
    if (!base->is_contiguous() || base->numel() != e.numel) return;
    view.strides = e.strides;
  } else if (e.numel > 0) {
    if (!point_of(e) || !e.point.move) return;
    ops::IndexBuffer at{}, from{};
    const auto place = [&]() -> int64_t {
      e.point.move(ops::Index(at.data(), e.sizes.size()), from.data());
      return base->offset_of(ops::Index(from.data(), base->sizes.size()));
    };
    const int64_t start = place();
    view.strides.assign(e.sizes.size(), 0);
    for (size_t d = 0; d < e.sizes.size(); ++d) {
      if (e.sizes[d] < 2) continue;
      at[d] = 1;
      view.strides[d] = place() - start;
      at[d] = 0;
    }
    view.data += start * static_cast<int64_t>(size_of(view.dtype));
  } else {
    view.strides = e.strides;
  }
  e.datum = std::move(view);
  e.is_given = true;
}

bool Lazy::make_dense(Entry& wanted) {
  std::vector<Entry*> open;
  if (!wanted.datum) open.push_back(&wanted);
  while (!open.empty() && !error_) {
    Entry* e = open.back();
    if (e->datum) {
      open.pop_back();
      continue;
    }
    bool ready = true;
    for (Entry* x : e->by->operands)
      if (!x->datum) {
        open.push_back(x);
        ready = false;
      }
    if (!ready) continue;
    open.pop_back();
    const Applied& a = *e->by;
    auto r = apply(*a.def, a.node->args(), [&](const ir::Value* v) { return &*entries_.at(v)->datum; });
    if (!r) {
      fail_with(ops::about(*a.node, std::move(r.error())));
      break;
    }
    for (size_t k = 0; k < a.results.size(); ++k) {
      Entry& out = *a.results[k];
      if (out.datum) continue;
      out.datum = std::move((*r)[k]);
      if (out.sized) continue;
      const ir::Tensor& t = *tensor(*out.datum);
      out.known = *interp::known(*out.datum);
      out.sizes = t.sizes;
      out.strides = ir::contiguous_strides(t.sizes);
      out.numel = t.numel();
      out.sized = true;
    }
  }
  return !error_;
}

bool Lazy::point_of(Entry& e) {
  if (e.has_point) return true;
  if (!e.by || !e.by->def->eval) return false;
  auto p = ops::point(*e.by->def, *e.by->call, e.result);
  if (!p) {
    fail_with(ops::about(*e.by->node, std::move(p.error())));
    return false;
  }
  e.point = std::move(*p);
  e.has_point = true;
  return true;
}

bool Lazy::is_exact(Entry& e) {
  if (e.is_given || !e.by) return true;
  if (e.exact < 0) {
    bool exact = !is_float(e.dtype) || (point_of(e) && e.point.move);
    for (Entry* x : e.by->operands) exact = exact && is_exact(*x);
    e.exact = exact;
  }
  return e.exact != 0;
}

// ---- elements ----

bool Lazy::enter(Entry& e, ops::Index at, int64_t& place) {
  if (error_) return false;
  const ir::Node* n = e.by ? e.by->node : nullptr;
  const auto bad = [&](Error x) {
    fail_with(n ? ops::about(*n, std::move(x)) : std::move(x));
    return false;
  };
  if (at.size() != e.sizes.size())
    return bad(fail(Code::kInternal, "an index of {} dims for {}", at.size(), ir::str(e.known.type)).error());
  if (!ops::is_number(e.dtype)) return bad(fail(Code::kUnsupported, "{} is not computed with", name(e.dtype)).error());
  place = 0;
  for (size_t d = 0; d < at.size(); ++d) {
    if (at[d] < 0 || at[d] >= e.sizes[d])
      return bad(fail(Code::kUsage, "index {} along dim {} of {}", at[d], d, ir::str(e.known.type)).error());
    place += at[d] * e.strides[d];
  }
  return true;
}

namespace {
// Counts nodes on the way down.
struct Deeper {
  int& depth;
  explicit Deeper(int& d) : depth(d) { ++depth; }
  ~Deeper() { --depth; }
};
}  // namespace

Lazy::Entry* Lazy::moved(Entry& e, ops::Index at, ops::IndexBuffer& to) {
  const int k = e.point.move(at, to.data());
  return k < 0 ? nullptr : e.by->operands[static_cast<size_t>(k)];
}

// The element where nothing has to be computed for it: it is held or remembered, comes with the whole tensor, or is out of reach
// (0, with the failure kept). Otherwise nullopt, and `place` is where to remember it.
template <class T, class Cache>
std::optional<T> Lazy::had(Entry& e, ops::Index at, int64_t& place, const Cache& cache) {
  if (!enter(e, at, place)) return T(0);
  const auto load = [&] {
    const ir::Tensor& t = *tensor(*e.datum);
    if constexpr (std::is_same_v<T, double>)
      return ir::load_f(t.dtype, t.data, t.offset_of(at));
    else
      return ir::load_i(t.dtype, t.data, t.offset_of(at));
  };
  if (e.datum) return load();
  if (const T* have = cache.find(place)) return *have;
  if (depth_ > limits_.depth || !point_of(e)) return make_dense(e) ? load() : T(0);
  if (++count_ <= limits_.elements) return std::nullopt;
  fail_with(ops::about(*e.by->node, fail(Code::kUnsupported, "more than {} elements", limits_.elements).error()));
  return T(0);
}

double Lazy::eval_f(Entry& e, ops::Index at) {
  const Deeper deeper(depth_);
  int64_t place;
  if (const auto have = had<double>(e, at, place, e.f)) return *have;
  double v;
  if (e.point.move) {
    ops::IndexBuffer to{};
    Entry* from = moved(e, at, to);
    v = from ? eval_f(*from, ops::Index(to.data(), from->sizes.size())) : number_as_f(e.point.fill);
    if (!from || from->dtype != e.dtype) v = round_to(e.dtype, v);
  } else if (e.point.f) {
    v = round_to(e.dtype, e.point.f(RoundedIn(*this, *e.by), at));
  } else if (is_float(e.dtype)) {
    v = round_to(e.dtype, static_cast<double>(e.point.i(RoundedIn(*this, *e.by), at)));
  } else {
    v = static_cast<double>(eval_i(e, at));
  }
  e.f.put(place, v, e.numel);
  return v;
}

int64_t Lazy::eval_i(Entry& e, ops::Index at) {
  const Deeper deeper(depth_);
  int64_t place;
  if (const auto have = had<int64_t>(e, at, place, e.i)) return *have;
  int64_t v;
  if (e.point.move) {
    ops::IndexBuffer to{};
    Entry* from = moved(e, at, to);
    if (!from) {
      v = e.point.fill.is_float() ? ops::cast_i(e.dtype, ops::float_to_int(e.point.fill.f))
                                  : wrap_to(e.dtype, e.point.fill.i);
    } else if (is_float(from->dtype)) {
      v = ops::cast_i(e.dtype, ops::float_to_int(eval_f(*from, ops::Index(to.data(), from->sizes.size()))));
    } else {
      v = wrap_to(e.dtype, eval_i(*from, ops::Index(to.data(), from->sizes.size())));
    }
  } else if (e.point.i) {
    v = wrap_to(e.dtype, e.point.i(RoundedIn(*this, *e.by), at));
  } else {
    std::byte cell[8];
    ir::store_f(e.dtype, cell, 0, e.point.f(RoundedIn(*this, *e.by), at));
    v = ir::load_i(e.dtype, cell, 0);
  }
  e.i.put(place, v, e.numel);
  return v;
}

// A range of all elements of what is given: exact, and at once for the whole result.
bool Lazy::chooses_from_given(Entry& e) const {
  if (!e.by || !e.by->def || !e.by->def->whole || e.by->node->name().find("choose_qparams") == std::string::npos)
    return false;
  return std::all_of(e.by->operands.begin(), e.by->operands.end(), [](const Entry* x) { return x->is_given; });
}

ops::Bounded Lazy::eval_bounded(Entry& e, ops::Index at) {
  int64_t place;
  if (!enter(e, at, place)) return {};
  if (!is_float(e.dtype)) {
    const CertainInt c = eval_certain(e, at);
    return {static_cast<double>(c.v), c.certain ? 0 : INFINITY};
  }
  if (e.is_given) {
    const ir::Tensor& t = *tensor(*e.datum);
    return ir::load_f(t.dtype, t.data, t.offset_of(at));
  }
  if (const ops::Bounded* have = e.bounded.find(place)) return *have;
  const Deeper deeper(depth_);
  const bool by_point = !chooses_from_given(e) && point_of(e);
  if (error_) return {};
  if (depth_ > limits_.depth || ++count_ > limits_.elements) {
    fail_with(ops::about(*e.by->node,
                         fail(Code::kUnsupported, "the region is too large to be evaluated by elements").error()));
    return {};
  }
  ops::Bounded b;
  if (!by_point) {  // whole only: computed in double and rounded once, if nothing before it was rounded
    if (!make_dense(e)) return {};
    const ir::Tensor& t = *tensor(*e.datum);
    b.v = ir::load_f(t.dtype, t.data, t.offset_of(at));
    bool exact = true;
    for (Entry* x : e.by->operands) exact = exact && is_exact(*x);
    b = exact ? stored(e.dtype, ops::Bounded::rounded(b.v, 0)) : ops::Bounded{b.v, INFINITY};
  } else if (e.point.move) {
    ops::IndexBuffer to{};
    Entry* from = moved(e, at, to);
    b = from ? eval_bounded(*from, ops::Index(to.data(), from->sizes.size())) : ops::Bounded(number_as_f(e.point.fill));
    if (!from || from->dtype != e.dtype) b = stored(e.dtype, b);
  } else if (e.point.bounded) {
    const ErrorIn in(*this, *e.by);
    b = stored(e.dtype, e.point.bounded(in, at));
    if (in.uncertain) b.e = INFINITY;
  } else {
    const SampleIn in(*this, *e.by, SampleIn::kMiddle);
    b = e.point.f ? ops::Bounded::rounded(e.point.f(in, at), 0) : ops::Bounded(static_cast<double>(e.point.i(in, at)));
    b = stored(e.dtype, b);
    if (in.uncertain || in.inexact > 0) b.e = INFINITY;
  }
  e.bounded.put(place, b, e.numel);
  return b;
}

CertainInt Lazy::eval_certain(Entry& e, ops::Index at) {
  int64_t place;
  if (!enter(e, at, place)) return {};
  if (is_float(e.dtype)) {
    const ops::Bounded b = eval_bounded(e, at);
    return {ops::float_to_int(b.v), b.e == 0};
  }
  const auto load = [&] {
    const ir::Tensor& t = *tensor(*e.datum);
    return ir::load_i(t.dtype, t.data, t.offset_of(at));
  };
  if (e.is_given) return {load(), true};
  if (const CertainInt* have = e.certain.find(place)) return *have;
  const Deeper deeper(depth_);
  const bool by_point = !chooses_from_given(e) && point_of(e);
  if (error_) return {};
  if (depth_ > limits_.depth || ++count_ > limits_.elements) {
    fail_with(ops::about(*e.by->node,
                         fail(Code::kUnsupported, "the region is too large to be evaluated by elements").error()));
    return {};
  }
  CertainInt c;
  if (!by_point) {
    if (!make_dense(e)) return {};
    c = {load(), is_exact(e)};
  } else if (e.point.move) {
    ops::IndexBuffer to{};
    Entry* from = moved(e, at, to);
    if (!from) {
      c.v = e.point.fill.is_float() ? ops::float_to_int(e.point.fill.f) : e.point.fill.i;
    } else {
      c = eval_certain(*from, ops::Index(to.data(), from->sizes.size()));
    }
    c.v = wrap_to(e.dtype, c.v);
  } else {
    const auto compute = [&](const SampleIn& in) {
      if (e.point.i) return wrap_to(e.dtype, e.point.i(in, at));
      std::byte cell[8];
      ir::store_f(e.dtype, cell, 0, e.point.f(in, at));
      return ir::load_i(e.dtype, cell, 0);
    };
    const SampleIn middle(*this, *e.by, SampleIn::kMiddle);
    c.v = compute(middle);
    // A comparison of one or two numbers is settled by the ends of their errors; more of them are not tried.
    c.certain = !middle.uncertain && middle.inexact <= 2;
    if (middle.inexact > 0)
      for (const auto mode : SampleIn::kEnds) c.certain = c.certain && compute(SampleIn(*this, *e.by, mode)) == c.v;
  }
  e.certain.put(place, c, e.numel);
  return c;
}

// ---- asked from outside ----

Result<ops::Call::Known> Lazy::type(const ir::Value* v) {
  Entry* e = entry(v);
  return e ? checked(e->known) : std::unexpected(*error_);
}
Result<double> Lazy::f(const ir::Value* v, ops::Index at) {
  Entry* e = entry(v);
  return checked(e ? eval_f(*e, at) : 0);
}
Result<int64_t> Lazy::i(const ir::Value* v, ops::Index at) {
  Entry* e = entry(v);
  return checked(e ? eval_i(*e, at) : 0);
}
Result<ops::Bounded> Lazy::bounded(const ir::Value* v, ops::Index at) {
  Entry* e = entry(v);
  return checked(e ? eval_bounded(*e, at) : ops::Bounded{});
}
Result<CertainInt> Lazy::certain(const ir::Value* v, ops::Index at) {
  Entry* e = entry(v);
  return checked(e ? eval_certain(*e, at) : CertainInt{});
}
Result<ir::Tensor> Lazy::dense(const ir::Value* v) {
  Entry* e = entry(v);
  if (!e || !make_dense(*e)) return std::unexpected(*error_);
  const auto* t = tensor(*e->datum);
  if (!t) return fail(Code::kUnsupported, "%{} is a number", v->name);
  return *t;
}

}  // namespace edgewright::interp
