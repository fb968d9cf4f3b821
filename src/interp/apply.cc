#include "interp/apply.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/checked.h"
#include "interp/interp.h"
#include "ops/build.h"

namespace edgewright::interp {

Datum from_arg(const ir::Arg& a) {
  if (a.i()) return int_datum(*a.i());
  if (a.f()) return float_datum(*a.f());
  if (a.b()) return bool_datum(*a.b());
  if (a.s()) return *a.s();
  return {};
}

std::string describe(const Datum& d) {
  if (const auto* t = tensor(d))
    return ir::str(ir::Type(ir::TensorType{t->dtype, ir::Shape(t->sizes.begin(), t->sizes.end())}));
  if (const auto* s = number(d)) {
    if (s->is_float()) return fmt::format("float {}", s->f);
    if (s->is_bool()) return s->i ? "bool True" : "bool False";
    return fmt::format("int {}", s->i);
  }
  if (const auto* s = std::get_if<std::string>(&d)) return "string '" + *s + "'";
  return "None";
}

std::optional<ops::Call::Known> known(const Datum& d) {
  if (const auto* t = tensor(d))
    return ops::Call::Known{ir::TensorType{t->dtype, ir::Shape(t->sizes.begin(), t->sizes.end())}, std::nullopt};
  if (const auto* s = number(d))
    return ops::Call::Known{
        ir::ScalarType{s->kind, s->kind == ir::ScalarKind::kInt ? std::optional(ir::Dim(s->i)) : std::nullopt}, *s};
  return std::nullopt;
}

int64_t max_tensor_bytes() {
  static const int64_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? static_cast<int64_t>(pages) / 2 * size : int64_t{1} << 32;
  }();
  return bytes;
}

Result<ir::Tensor> allocate(DType dtype, const std::vector<int64_t>& sizes) {
  const auto n = checked_numel(sizes);
  const auto bytes = n ? checked_mul(*n, static_cast<int64_t>(size_of(dtype))) : std::nullopt;
  if (!bytes || *bytes > max_tensor_bytes())
    return fail(Code::kUnsupported, "a tensor of {} does not fit this machine's memory",
                ir::str(ir::Type(ir::TensorType{dtype, ir::Shape(sizes.begin(), sizes.end())})));
  return ir::Tensor::empty(dtype, sizes);
}

namespace {
// Calls f(index, linear) for every element of a contiguous tensor of these sizes.
template <class F>
void each_index(std::span<const int64_t> sizes, int64_t n, F&& f) {
  ops::IndexBuffer buffer{};
  const std::span<int64_t> at(buffer.data(), sizes.size());
  for (int64_t i = 0; i < n; ++i) {
    f(ops::Index(at), i);
    ops::next_index(at, sizes);
  }
}

class DenseIn : public ops::In {
 public:
  explicit DenseIn(std::span<const ir::Tensor> in) : in_(in) {}
  double f(int operand, ops::Index at) const override {
    const ir::Tensor& t = in_[static_cast<size_t>(operand)];
    return is_inside(t, at) ? ir::load_f(t.dtype, t.data, t.offset_of(at)) : 0;
  }
  int64_t i(int operand, ops::Index at) const override {
    const ir::Tensor& t = in_[static_cast<size_t>(operand)];
    return is_inside(t, at) ? ir::load_i(t.dtype, t.data, t.offset_of(at)) : 0;
  }
  // False, and remembered, for an index that data has made and the definition has let through.
  bool is_inside(const ir::Tensor& t, ops::Index at) const {
    bool inside = at.size() == t.sizes.size();
    for (size_t d = 0; inside && d < at.size(); ++d) inside = at[d] >= 0 && at[d] < t.sizes[d];
    outside |= !inside;
    return inside;
  }
  mutable bool outside = false;

 private:
  std::span<const ir::Tensor> in_;
};

void store(const ops::Scalar& s, DType t, std::byte* data, int64_t at) {
  if (!ops::is_number(t)) return;
  if (s.is_float()) {
    ir::store_f(t, data, at, s.f);
  } else {
    ir::store_i(t, data, at, s.i);
  }
}

// The result of a move as a strided view of `base`, if its places are a linear function of the index. A view op's are, whenever
// PyTorch allows the view at all; a reshape of such strides that PyTorch would copy is not.
std::optional<ir::Tensor> strided_view(const ops::Point& p, int operand, const ir::Tensor& base,
                                       const std::vector<int64_t>& sizes) {
  ir::Tensor view = base;
  view.sizes = sizes;
  view.strides = ir::contiguous_strides(sizes);
  const int64_t n = view.numel();
  if (n == 0) return view;
  const size_t rank = sizes.size();
  ops::IndexBuffer buffer{}, in{};
  const std::span<int64_t> at(buffer.data(), rank);
  bool ok = true;
  const auto place = [&]() -> int64_t {
    if (p.move(ops::Index(at), in.data()) != operand) {
      ok = false;
      return 0;
    }
    return base.offset_of(std::span(in.data(), base.sizes.size()));
  };
  const int64_t start = place();
  for (size_t d = 0; ok && d < rank; ++d) {
    if (sizes[d] < 2) continue;
    at[d] = 1;
    view.strides[d] = place() - start;
    ok &= view.strides[d] >= 0;
    at[d] = 0;
  }
  const auto check = [&] { ok = ok && place() == start + view.offset_of(at); };
  constexpr int64_t kAll = 1 << 14;
  if (n <= kAll) {
    do check();
    while (ok && ops::next_index(at, sizes));
  } else {  // along each dim with the others at their first, middle and last place; then scattered places
    for (size_t d = 0; ok && d < rank; ++d)
      for (int where = 0; ok && where < 3; ++where) {
        for (size_t k = 0; k < rank; ++k) at[k] = where == 0 ? 0 : where == 1 ? sizes[k] / 2 : sizes[k] - 1;
        for (at[d] = 0; ok && at[d] < sizes[d]; ++at[d]) check();
      }
    uint64_t random = 0x9e3779b97f4a7c15;
    for (int64_t i = 0; ok && i < kAll; ++i) {
      for (size_t k = 0; k < rank; ++k) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        at[k] = static_cast<int64_t>(random % static_cast<uint64_t>(sizes[k]));
      }
      check();
    }
  }
  if (!ok) return std::nullopt;
  view.data += start * static_cast<int64_t>(size_of(view.dtype));
  return view;
}
}  // namespace

Result<void> fill_by_point(const ops::Point& p, std::span<const ir::Tensor> in, ir::Tensor& out) {
  const int64_t n = out.numel();
  std::byte* to = out.mutable_data();
  const DenseIn elements(in);
  if (p.move) {
    const size_t width = size_of(out.dtype);
    ops::IndexBuffer from{};
    std::memset(to, 0, out.nbytes());
    each_index(out.sizes, n, [&](ops::Index at, int64_t i) {
      const int k = p.move(at, from.data());
      if (k < 0) return store(p.fill, out.dtype, to, i);
      const ir::Tensor& t = in[static_cast<size_t>(k)];
      const ops::Index place(from.data(), t.sizes.size());
      if (!elements.is_inside(t, place)) return;
      const std::byte* source = t.data + t.offset_of(place) * static_cast<int64_t>(size_of(t.dtype));
      if (t.dtype == out.dtype) {
        std::memcpy(to + static_cast<size_t>(i) * width, source, width);
      } else if (is_float(t.dtype)) {
        ir::store_f(out.dtype, to, i, ir::load_f(t.dtype, source, 0));
      } else {
        ir::store_i(out.dtype, to, i, ir::load_i(t.dtype, source, 0));
      }
    });
  } else if (p.i) {
    each_index(out.sizes, n, [&](ops::Index at, int64_t i) { ir::store_i(out.dtype, to, i, p.i(elements, at)); });
  } else {
    each_index(out.sizes, n, [&](ops::Index at, int64_t i) { ir::store_f(out.dtype, to, i, p.f(elements, at)); });
  }
  if (elements.outside) return fail(Code::kUsage, "an index lies outside its tensor");
  return {};
}

void copy_elements(const ir::Tensor& from, const ir::Tensor& to) {
  EW_CHECK(from.sizes == to.sizes);
  std::byte* data = const_cast<std::byte*>(to.data);
  each_index(from.sizes, from.numel(), [&](ops::Index at, int64_t) {
    const int64_t a = from.offset_of(at), b = to.offset_of(at);
    if (from.dtype == to.dtype) {
      const auto width = static_cast<int64_t>(size_of(to.dtype));
      std::memcpy(data + b * width, from.data + a * width, static_cast<size_t>(width));
    } else if (is_float(from.dtype)) {
      ir::store_f(to.dtype, data, b, ir::load_f(from.dtype, from.data, a));
    } else {
      ir::store_i(to.dtype, data, b, ir::load_i(from.dtype, from.data, a));
    }
  });
}

ir::Tensor private_copy(const ir::Tensor& t) {
  int64_t last = 0;
  const bool empty = t.numel() == 0;
  for (size_t d = 0; d < t.sizes.size() && !empty; ++d) last += (t.sizes[d] - 1) * t.strides[d];
  ir::Tensor storage = ir::Tensor::empty(t.dtype, {empty ? 0 : last + 1});
  if (!empty) std::memcpy(storage.mutable_data(), t.data, storage.nbytes());
  storage.sizes = t.sizes;
  storage.strides = t.strides;
  return storage;
}

namespace {
// An op that is only a name for simpler ones: its decomposition, run with its operands as inputs.
Result<std::vector<Datum>> by_decomposition(const ops::OpDef& d, const std::vector<ir::Arg>& args, const Operands& of,
                                            const ops::Types& types) {
  ir::Graph g;
  std::vector<Datum> inputs;
  std::unordered_map<const ir::Value*, ir::Arg> inner;
  std::vector<ir::Arg> inner_args = args;
  for (ir::Arg& a : inner_args) {
    const std::function<void(ir::Arg&)> replace = [&](ir::Arg& x) {
      if (auto* l = std::get_if<ir::ArgList>(&x.v))
        for (ir::Arg& y : *l) replace(y);
      ir::Value* v = x.value();
      if (!v) return;
      const Datum& held = *of(v);
      auto [it, fresh] = inner.try_emplace(v);
      if (const auto* s = number(held)) {
        it->second = s->is_float() ? ir::Arg(s->f) : s->is_bool() ? ir::Arg(s->i != 0) : ir::Arg(s->i);
      } else if (fresh) {
        ir::Value* input = g.add_input(v->name, known(held)->type);
        if (const auto* t = tensor(held)) input->strides = t->strides;
        it->second = input;
        inputs.push_back(held);
      }
      x = it->second;
    };
    replace(a);
  }
  ir::Node* n = g.add(d, std::move(inner_args), types);
  ops::Builder b(g, n);
  EW_ASSIGN(const std::vector<ir::Value*> values, d.decompose(*n, b));
  if (values.size() != types.size()) return fail(Code::kUnsupported, "{}: no meaning here", d.name);
  for (ir::Value* v : values) g.outputs.push_back(v ? ir::Arg(v) : ir::Arg());
  g.erase(n);
  EW_ASSIGN(RunResult r, run(g, inputs));
  return std::move(r.outputs);
}
}  // namespace

Result<std::vector<Datum>> apply(const ops::OpDef& d, const std::vector<ir::Arg>& args, const Operands& of) {
  bool missing = false;
  const ops::Call c = ops::Call::with(d, args, [&](const ir::Value* v) {
    const Datum* x = of(v);
    auto k = x ? known(*x) : std::nullopt;
    missing |= !k.has_value();
    return k ? std::move(*k) : ops::Call::Known{v->type, std::nullopt};
  });
  if (missing) return fail(Code::kInternal, "{}: an operand has no value", d.name);
  std::vector<ir::Tensor> in(c.num_operands());
  bool numbers_only = true;
  for (size_t k = 0; k < in.size(); ++k) {
    in[k] = *tensor(*of(c.value(static_cast<int>(k))));
    if (in[k].sizes.size() > ops::kMaxRank)
      return fail(Code::kUnsupported, "{}: an operand of {} dims", d.name, in[k].sizes.size());
    numbers_only &= ops::is_number(in[k].dtype);
  }
  EW_ASSIGN(const ops::Types types, ops::infer(d, c));
  if (!d.eval && !d.whole && !d.numbers && d.decompose) return by_decomposition(d, args, of, types);
  std::vector<Datum> results(types.size());
  if (!types.empty() && std::holds_alternative<ir::ScalarType>(types[0])) {
    if (!d.numbers) return fail(Code::kUnsupported, "{}: its number has no meaning here", d.name);
    if (!numbers_only) return fail(Code::kUnsupported, "{}: an operand's dtype cannot be read as a number", d.name);
    EW_ASSIGN(const std::vector<ops::Scalar> numbers, d.numbers(c, in));
    if (c.failed()) return fail(Code::kUnsupported, "{}: {}", d.name, *c.failed());
    if (numbers.size() != types.size())
      return fail(Code::kInternal, "{} gave {} numbers for {} results", d.name, numbers.size(), types.size());
    for (size_t r = 0; r < numbers.size(); ++r) results[r] = numbers[r];
    return results;
  }

  std::vector<ir::Tensor> out(types.size());
  std::vector<bool> is_placed(types.size(), false);
  bool all_known = true;
  for (size_t r = 0; r < types.size(); ++r) {
    const auto* t = std::get_if<ir::TensorType>(&types[r]);
    if (!t) return fail(Code::kInternal, "{} mixes tensors and numbers", d.name);
    if (t->rank() > ops::kMaxRank) return fail(Code::kUnsupported, "{}: a result of {} dims", d.name, t->rank());
    numbers_only &= ops::is_number(t->dtype);
    out[r].dtype = t->dtype;
    if (!ir::is_static(t->shape)) {
      all_known = false;
      continue;
    }
    out[r].sizes = ir::static_sizes(t->shape);
    if (d.view_of.empty() || !d.eval || c.operand(d.view_of) < 0) continue;
    const int base = c.operand(d.view_of);
    if (out[r].dtype != in[static_cast<size_t>(base)].dtype || !checked_numel(out[r].sizes)) continue;
    EW_ASSIGN(const ops::Point p, ops::point(d, c, r));
    if (!p.move) continue;
    if (auto v = strided_view(p, base, in[static_cast<size_t>(base)], out[r].sizes)) {
      out[r] = std::move(*v);
      is_placed[r] = true;
    }
  }
  const bool all_placed = std::find(is_placed.begin(), is_placed.end(), false) == is_placed.end();
  if (!all_placed || types.empty()) {
    if (!all_known && !d.whole) return fail(Code::kUnsupported, "{}: the result's size is not known", d.name);
    for (size_t r = 0; r < out.size(); ++r)
      if (ir::is_static(std::get<ir::TensorType>(types[r]).shape)) {
        EW_ASSIGN(out[r], allocate(out[r].dtype, out[r].sizes));
      }
    if (d.whole && numbers_only) {
      EW_TRY(d.whole(c, in, out));
      if (c.failed()) return fail(Code::kUnsupported, "{}: {}", d.name, *c.failed());
    } else if (d.eval) {
      for (size_t r = 0; r < out.size(); ++r) {
        EW_ASSIGN(const ops::Point p, ops::point(d, c, r));
        if (!numbers_only && !p.move)
          return fail(Code::kUnsupported, "{}: an operand or result has a dtype that is not computed with", d.name);
        EW_TRY(fill_by_point(p, in, out[r]));
      }
    } else if (!types.empty()) {
      return fail(Code::kUnsupported, "{}: no meaning here", d.name);
    }
  }
  for (size_t r = 0; r < out.size(); ++r) {
    if (!out[r].data || out[r].dtype != std::get<ir::TensorType>(types[r]).dtype ||
        out[r].sizes.size() != std::get<ir::TensorType>(types[r]).rank())
      return fail(Code::kInternal, "{}: result {} is not of its type", d.name, r);
    results[r] = std::move(out[r]);
  }
  return results;
}

}  // namespace edgewright::interp
