// Runs tests/ops/vectors/*.vec (PyTorch's results; format in README.md) through everything that an op's definition has.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>

#include "emulated_xnn.h"
#include "ops/build.h"

namespace edgewright::ops {
namespace {

using ir::Tensor;

// ---- the text form ----

// A value of the text form: what an argument or a result is.
struct Item {
  std::variant<std::monostate, Tensor, int64_t, double, bool, std::string, DType, std::vector<Item>> v;
};

struct Case {
  std::string op;
  int line = 0;
  std::vector<Item> args;
  std::vector<std::pair<std::string, Item>> keywords;
  std::vector<Item> outs;
  std::vector<TensorType> shapes;
  bool error = false;
  std::optional<std::pair<double, double>> tol;
  std::optional<std::pair<size_t, Item>> written;  // of a view: which result, and with what
  Item base;                                       // and what then becomes of the base
};

class Reader {
 public:
  explicit Reader(std::string_view s) : s_(s) {}
  Item item() {
    skip();
    if (eat("None")) return {};
    if (eat("True")) return {true};
    if (eat("False")) return {false};
    if (eat(":")) return {*dtype_from_name(word())};
    if (eat("\"")) {
      const size_t end = s_.find('"', at_);
      std::string t(s_.substr(at_, end - at_));
      at_ = end + 1;
      return {t};
    }
    if (eat("[")) {
      std::vector<Item> l;
      for (skip(); !eat("]"); skip()) {
        l.push_back(item());
        skip();
        eat(",");
      }
      return {l};
    }
    const size_t start = at_;
    const std::string w = word();
    if (dtype_from_name(w) && at_ < s_.size() && s_[at_] == '[') {
      at_ = start;
      return {tensor()};
    }
    at_ = start;
    while (at_ < s_.size() && !std::strchr(" ,]}", s_[at_])) ++at_;
    const std::string n(s_.substr(start, at_ - start));
    if (n.find_first_of(".en") != std::string::npos) return {std::strtod(n.c_str(), nullptr)};
    return {static_cast<int64_t>(std::strtoll(n.c_str(), nullptr, 10))};
  }
  TensorType type() {
    TensorType t;
    t.dtype = *dtype_from_name(word());
    EXPECT_TRUE(eat("["));
    while (!eat("]")) {
      t.shape.push_back(std::strtoll(std::string(s_.substr(at_, 24)).c_str(), nullptr, 10));
      while (at_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_]))) ++at_;
      eat(",");
    }
    return t;
  }

 private:
  Tensor tensor() {
    const TensorType ty = type();
    Tensor t = Tensor::empty(ty.dtype, ir::static_sizes(ty.shape));
    EXPECT_TRUE(eat("{"));
    for (int64_t i = 0; i < t.numel(); ++i) {
      skip();
      const size_t start = at_;
      while (at_ < s_.size() && !std::strchr(" }", s_[at_])) ++at_;
      const std::string n(s_.substr(start, at_ - start));
      if (!is_float(t.dtype))
        ir::store_i(t.dtype, t.mutable_data(), i,
                    static_cast<int64_t>(n[0] == '-' ? std::strtoll(n.c_str(), nullptr, 10)
                                                     : static_cast<int64_t>(std::strtoull(n.c_str(), nullptr, 10))));
      else
        ir::store_f(t.dtype, t.mutable_data(), i,
                    t.dtype == DType::f64 ? std::strtod(n.c_str(), nullptr)
                                          : static_cast<double>(std::strtof(n.c_str(), nullptr)));
    }
    EXPECT_TRUE(eat("}"));
    return t;
  }
  void skip() {
    while (at_ < s_.size() && s_[at_] == ' ') ++at_;
  }
  bool eat(std::string_view t) {
    if (s_.substr(at_, t.size()) != t) return false;
    at_ += t.size();
    return true;
  }
  std::string word() {
    const size_t start = at_;
    while (at_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[at_])) || s_[at_] == '_')) ++at_;
    return std::string(s_.substr(start, at_ - start));
  }
  std::string_view s_;
  size_t at_ = 0;
};

std::vector<Case> read(const std::filesystem::path& p) {
  std::ifstream f(p);
  std::vector<Case> cases;
  int number = 0;
  for (std::string line; std::getline(f, line);) {
    ++number;
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space), rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (key == "torch" || key.empty()) continue;
    if (key == "case") {
      cases.emplace_back();
      cases.back().op = rest;
      cases.back().line = number;
      continue;
    }
    Case& c = cases.back();
    if (key == "in")
      c.args.push_back(Reader(rest).item());
    else if (key == "kw")
      c.keywords.emplace_back(rest.substr(0, rest.find(' ')), Reader(rest.substr(rest.find(' ') + 1)).item());
    else if (key == "out")
      c.outs.push_back(Reader(rest).item());
    else if (key == "shape")
      c.shapes.push_back(Reader(rest).type());
    else if (key == "error")
      c.error = true;
    else if (key == "written")
      c.written = {std::strtoul(rest.c_str(), nullptr, 10), Reader(rest.substr(rest.find(' ') + 1)).item()};
    else if (key == "base")
      c.base = Reader(rest).item();
    else if (key == "tol")
      c.tol = {std::strtod(rest.c_str(), nullptr), std::strtod(rest.c_str() + rest.find(' '), nullptr)};
    else
      ADD_FAILURE() << p << ":" << number << ": " << line;
  }
  return cases;
}

// ---- evaluation ----

// What values are: tensors or numbers.
using Known = std::variant<std::monostate, Tensor, Scalar>;
using Values = std::map<const ir::Value*, Known>;

class Dense : public In {
 public:
  explicit Dense(std::span<const Tensor> t) : t_(t) {}
  double f(int k, Index at) const override { return ir::load_f(tensor(k).dtype, tensor(k).data, checked(k, at)); }
  int64_t i(int k, Index at) const override { return ir::load_i(tensor(k).dtype, tensor(k).data, checked(k, at)); }
  const Tensor& tensor(int k) const { return t_[static_cast<size_t>(k)]; }
  int64_t checked(int k, Index at) const {
    const Tensor& t = tensor(k);
    EW_CHECK(at.size() == t.sizes.size());
    for (size_t d = 0; d < at.size(); ++d) EW_CHECK(at[d] >= 0 && at[d] < t.sizes[d]);
    return t.offset_of(at);
  }

 private:
  std::span<const Tensor> t_;
};
class DenseBounded : public BoundedIn {
 public:
  explicit DenseBounded(const Dense& d) : d_(d) {}
  Bounded f(int k, Index at) const override { return d_.f(k, at); }
  int64_t i(int k, Index at) const override { return d_.i(k, at); }

 private:
  const Dense& d_;
};

Tensor by_point(const Point& p, const TensorType& type, std::span<const Tensor> in) {
  Tensor out = Tensor::empty(type.dtype, ir::static_sizes(type.shape));
  const Dense dense(in);
  const DenseBounded bounded(dense);
  std::vector<int64_t> at(out.sizes.size(), 0);
  for (int64_t k = 0, n = out.numel(); k < n; ++k) {
    if (p.f) {
      const double v = p.f(dense, at);
      ir::store_f(type.dtype, out.mutable_data(), k, v);
      const Bounded b = p.bounded(bounded, at);
      EXPECT_TRUE(b.v == v || (b.v != b.v && v != v) || std::fabs(b.v - v) <= 1e-12 * std::fabs(v))
          << "bounded value " << b.v << " differs from " << v;
      EXPECT_FALSE(b.e < 0);
    } else if (p.i) {
      ir::store_i(type.dtype, out.mutable_data(), k, p.i(dense, at));
    } else {
      std::array<int64_t, kMaxRank> from{};
      const int operand = p.move(at, from.data());
      if (operand < 0) {
        if (is_float(type.dtype))
          ir::store_f(type.dtype, out.mutable_data(), k, p.fill.f);
        else
          ir::store_i(type.dtype, out.mutable_data(), k, p.fill.i);
      } else {
        const Tensor& t = dense.tensor(operand);
        const size_t width = size_of(type.dtype);
        EW_CHECK(t.dtype == type.dtype);
        std::memcpy(out.mutable_data() + static_cast<size_t>(k) * width,
                    t.data + dense.checked(operand, {from.data(), t.sizes.size()}) * static_cast<int64_t>(width),
                    width);
      }
    }
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < out.sizes[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

// The same elements with the dims in memory in reverse order, and a gap between elements.
Tensor restrided(const Tensor& t) {
  if (t.sizes.empty() || t.numel() == 0) return t;
  Tensor r = t;
  int64_t step = 2;
  for (size_t d = 0; d < t.sizes.size(); ++d) {
    r.strides[d] = step;
    step *= t.sizes[d];
  }
  const size_t width = size_of(t.dtype);
  Tensor storage = Tensor::empty(t.dtype, {step});
  std::memset(storage.mutable_data(), 0x5a, storage.nbytes());
  std::vector<int64_t> at(t.sizes.size(), 0);
  for (int64_t k = 0, n = t.numel(); k < n; ++k) {
    std::memcpy(storage.mutable_data() + r.offset_of(at) * static_cast<int64_t>(width),
                t.data + t.offset_of(at) * static_cast<int64_t>(width), width);
    for (size_t d = at.size(); d-- > 0;) {
      if (++at[d] < t.sizes[d]) break;
      at[d] = 0;
    }
  }
  r.data = storage.data;
  r.owner = storage.owner;
  return r;
}

Call call_of(const ir::Op& op, const std::vector<ir::Arg>& args, const Values& values) {
  return Call::with(op, args, [&](const ir::Value* v) -> Call::Known {
    const auto it = values.find(v);
    if (it == values.end()) return {v->type, std::nullopt};
    if (const auto* t = std::get_if<Tensor>(&it->second))
      return {TensorType{t->dtype, Shape(t->sizes.begin(), t->sizes.end())}, std::nullopt};
    const auto& s = std::get<Scalar>(it->second);
    return {ir::ScalarType{s.kind, std::nullopt}, s};
  });
}

enum class Way { kPoint, kWhole, kWholeRestrided, kNumbers };
bool has_way(const OpDef& d, Way w) {
  switch (w) {
    case Way::kPoint: return static_cast<bool>(d.eval);
    case Way::kWhole:
    case Way::kWholeRestrided: return static_cast<bool>(d.whole);
    case Way::kNumbers: return static_cast<bool>(d.numbers);
  }
  return false;
}

Result<std::vector<Known>> run(const OpDef& d, const std::vector<ir::Arg>& args, const Values& values, Way way) {
  const Call c = call_of(d, args, values);
  EW_ASSIGN(const Types types, infer(d, c));
  std::vector<Tensor> in;
  for (size_t k = 0; k < c.num_operands(); ++k) in.push_back(std::get<Tensor>(values.at(c.value(static_cast<int>(k)))));
  std::vector<Known> results;
  if (way == Way::kNumbers) {
    EW_ASSIGN(const std::vector<Scalar> s, d.numbers(c, in));
    if (c.failed()) return fail(Code::kUnsupported, "{}", *c.failed());
    for (const Scalar& x : s) results.push_back(x);
  } else if (way == Way::kPoint) {
    for (size_t r = 0; r < types.size(); ++r) {
      if (!ir::is_static(std::get<TensorType>(types[r]).shape))
        return fail(Code::kUnsupported, "the shape depends on the data");
      EW_ASSIGN(const Point p, point(d, c, r));
      results.push_back(by_point(p, std::get<TensorType>(types[r]), in));
    }
  } else {
    if (way == Way::kWholeRestrided)
      for (Tensor& t : in) t = restrided(t);
    std::vector<Tensor> out;
    for (const Type& t : types) {
      if (!ir::is_static(std::get<TensorType>(t).shape)) {  // known only at run time: `whole` allocates it
        out.emplace_back();
        continue;
      }
      const auto& type = std::get<TensorType>(t);
      // A shape that depends on the data: `whole` makes the tensor.
      out.push_back(Tensor::empty(
          type.dtype, ir::is_static(type.shape) ? ir::static_sizes(type.shape) : std::vector<int64_t>(type.rank(), 0)));
      std::memset(out.back().mutable_data(), 0x5a, out.back().nbytes());
    }
    EW_TRY(d.whole(c, in, out));
    if (c.failed()) return fail(Code::kUnsupported, "{}", *c.failed());
    for (Tensor& t : out) results.push_back(std::move(t));
  }
  return results;
}

Result<std::vector<Known>> run_any(const OpDef& d, const std::vector<ir::Arg>& args, const Values& values);

// A tensor of known sizes.
bool fixed(const Type& t) {
  const auto* x = std::get_if<TensorType>(&t);
  return x && ir::is_static(x->shape);
}

// Evaluates the nodes that a decomposition made.
Result<std::vector<Known>> run_decomposed(const OpDef& d, ir::Graph& g, const std::vector<ir::Arg>& args, Values values,
                                          bool& kept) {
  EW_ASSIGN(const Types types, infer(d, Call::of(d, args)));
  ir::Node* n = g.add(d, args, types);
  for (size_t k = 0; k < n->num_results(); ++k) g.outputs.push_back(n->result(k));  // all are wanted
  Builder b(g, n);
  EW_ASSIGN(const std::vector<ir::Value*> to, d.decompose(*n, b));
  kept = to.empty();
  for (const ir::Value* v : g.constants()) values[v] = *v->data;
  for (const auto& m : g.nodes()) {
    if (m.get() == n || kept) break;
    EW_ASSIGN(const std::vector<Known> r, run_any(*def(*m), m->args(), values));
    for (size_t k = 0; k < r.size(); ++k) values[m->result(k)] = r[k];
  }
  std::vector<Known> results;
  for (size_t k = 0; k < to.size(); ++k) {
    EXPECT_TRUE(to[k]->type == n->result(k)->type || !fixed(to[k]->type) || !fixed(n->result(k)->type))
        << "decomposition gives " << ir::str(to[k]->type) << " for " << ir::str(n->result(k)->type);
    results.push_back(values.at(to[k]));
  }
  return results;
}
Result<std::vector<Known>> run_any(const OpDef& d, const std::vector<ir::Arg>& args, const Values& values) {
  for (Way w : {Way::kWhole, Way::kPoint, Way::kNumbers})
    if (has_way(d, w)) return run(d, args, values, w);
  if (!d.decompose) return fail(Code::kInternal, "{} has no meaning", d.name);
  // A graph of its own, whose constants are the arguments.
  ir::Graph g;
  Values inner;
  std::map<const ir::Value*, ir::Value*> moved;
  std::vector<ir::Arg> copied = args;
  for (ir::Arg& a : copied)
    a.each_value([&](ir::Value*& v) {
      ir::Value*& to = moved[v];
      const Known& k = values.at(v);
      if (!to)
        to = std::holds_alternative<Tensor>(k) ? g.add_constant("c", std::get<Tensor>(k)) : g.add_input("s", v->type);
      inner[to] = k;
      v = to;
    });
  bool kept = false;
  return run_decomposed(d, g, copied, inner, kept);
}

// ---- comparison ----

std::pair<double, double> tolerance(DType t) {
  switch (t) {
    case DType::f64: return {1e-10, 1e-12};
    case DType::f16: return {2e-3, 1e-4};
    case DType::bf16: return {1.6e-2, 1e-3};
    default: return {1e-5, 1e-6};
  }
}
bool close(double a, double b, std::pair<double, double> tol) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= tol.second + tol.first * std::fabs(b);
}
void expect_equal(const Known& got, const Item& want, std::optional<std::pair<double, double>> tol, const char* how) {
  if (const auto* t = std::get_if<Tensor>(&want.v)) {
    const auto* g = std::get_if<Tensor>(&got);
    ASSERT_TRUE(g) << how << ": a tensor is expected";
    ASSERT_EQ(name(g->dtype), name(t->dtype)) << how;
    ASSERT_EQ(g->sizes, t->sizes) << how;
    for (int64_t i = 0; i < t->numel(); ++i) {
      if (is_float(t->dtype)) {
        const double a = ir::load_f(g->dtype, g->data, i), b = ir::load_f(t->dtype, t->data, i);
        ASSERT_TRUE(close(a, b, tol.value_or(tolerance(t->dtype))))
            << how << ": element " << i << " is " << a << ", PyTorch has " << b;
      } else {
        ASSERT_EQ(ir::load_i(g->dtype, g->data, i), ir::load_i(t->dtype, t->data, i)) << how << ": element " << i;
      }
    }
    return;
  }
  const auto* s = std::get_if<Scalar>(&got);
  ASSERT_TRUE(s) << how << ": a number is expected";
  if (const auto* i = std::get_if<int64_t>(&want.v)) {
    EXPECT_TRUE(s->kind == ir::ScalarKind::kInt && s->i == *i) << how << ": " << s->i << ", Python has " << *i;
  } else if (const auto* b = std::get_if<bool>(&want.v)) {
    EXPECT_TRUE(s->is_bool() && (s->i != 0) == *b) << how << ": " << s->i << ", Python has " << *b;
  } else if (const auto* f = std::get_if<double>(&want.v)) {
    EXPECT_TRUE(s->is_float() && close(s->f, *f, {1e-12, 0})) << how << ": " << s->f << ", Python has " << *f;
  }
}

ir::Arg to_arg(const Item& item, ir::Graph& g, Values& values) {
  return std::visit(
      [&]<class T>(const T& x) -> ir::Arg {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return {};
        } else if constexpr (std::is_same_v<T, Tensor>) {
          ir::Value* v = g.add_constant("x", x);
          values[v] = x;
          return v;
        } else if constexpr (std::is_same_v<T, std::vector<Item>>) {
          ir::ArgList l;
          for (const Item& e : x) l.push_back(to_arg(e, g, values));
          return l;
        } else {
          return x;
        }
      },
      item.v);
}

// The calls that a lowering makes of XNNPACK, where they only move data. `lowered_cases` counts what was carried out.
int lowered_cases = 0;
void check_lowered(const Case& k, const OpDef& d, ir::Graph& g, const std::vector<ir::Arg>& args, const Types& types,
                   const Values& values) {
  for (const Type& t : types)
    if (!std::holds_alternative<TensorType>(t) || std::get<TensorType>(t).dtype != DType::f32 ||
        !ir::is_static(std::get<TensorType>(t).shape))
      return;
  const ir::Node* n = g.add(d, args, types);
  EmulatedXnn xnn;
  for (const auto& [v, known] : values) {
    const auto* t = std::get_if<Tensor>(&known);
    if (!t || t->dtype != DType::f32) return;
    xnn.tensors[v] = *t;
  }
  const auto r = d.lower(*n, xnn);
  if (xnn.foreign || (!r && r.error().code == Code::kKeptOnHost)) return;
  ASSERT_TRUE(r) << r.error().str();
  ++lowered_cases;
  for (size_t i = 0; i < k.outs.size(); ++i)
    expect_equal(xnn.tensors.at(n->result(i)), k.outs[i], std::pair(0.0, 0.0), "lowered");
}

// A write through a view: the base's new value by scatter_back, evaluated node by node.
void check_written(const Case& k, const OpDef& d, ir::Graph& g, const std::vector<ir::Arg>& args, Values values) {
  ASSERT_TRUE(d.scatter_back) << "no scatter_back";
  EXPECT_FALSE(d.view_of.empty());
  auto types = infer(d, Call::of(d, args));
  ASSERT_TRUE(types) << types.error().str();
  ir::Node* view = g.add(d, args, *types);
  ir::Value* written = to_arg(k.written->second, g, values).value();
  Builder b(g, nullptr);
  auto base = d.scatter_back(*view, k.written->first, args[0].value(), written, b);
  ASSERT_TRUE(base) << base.error().str();
  for (const auto& m : g.nodes()) {
    if (m.get() == view) continue;
    auto r = run_any(*def(*m), m->args(), values);
    ASSERT_TRUE(r) << m->name() << ": " << r.error().str();
    for (size_t i = 0; i < r->size(); ++i) values[m->result(i)] = (*r)[i];
  }
  expect_equal(values.at(*base), k.base, k.tol, "the base");
}

void check(const Case& k) {
  const OpDef* d = find(k.op);
  ASSERT_TRUE(d) << "no op " << k.op;
  if (d->functional) d = d->functional;
  ir::Graph g;
  Values values;
  std::vector<ir::Arg> args;
  for (const Item& i : k.args) args.push_back(to_arg(i, g, values));
  ASSERT_LE(args.size(), d->schema.params.size());
  for (const auto& [kw, item] : k.keywords) {
    const int p = d->schema.index_of(kw);
    ASSERT_GE(p, 0) << "no parameter " << kw;
    for (size_t i = args.size(); i <= static_cast<size_t>(p); ++i) args.push_back(ir::default_of(d->schema.params[i]));
    args[static_cast<size_t>(p)] = to_arg(item, g, values);
  }
  if (k.written) return check_written(k, *d, g, args, values);
  const auto types = infer(*d, Call::of(*d, args));
  if (k.error) {
    bool refused = !types;
    for (Way w : {Way::kPoint, Way::kWhole, Way::kNumbers})
      if (!refused && has_way(*d, w)) refused = !run(*d, args, values, w);
    EXPECT_TRUE(refused) << "must be refused";
    return;
  }
  ASSERT_TRUE(types) << types.error().str();
  if (!k.shapes.empty()) {
    ASSERT_EQ(types->size(), k.shapes.size());
    for (size_t r = 0; r < types->size(); ++r) EXPECT_EQ(ir::str((*types)[r]), ir::str(Type(k.shapes[r])));
    return;
  }
  ASSERT_EQ(types->size(), k.outs.size());
  std::optional<std::vector<Known>> first;
  const auto compare = [&](const Result<std::vector<Known>>& r, const char* how) {
    ASSERT_TRUE(r) << how << ": " << r.error().str();
    ASSERT_EQ(r->size(), k.outs.size());
    for (size_t i = 0; i < r->size(); ++i) expect_equal((*r)[i], k.outs[i], k.tol, how);
    if (!first) {
      first = *r;
      return;
    }
    // All ways agree with each other more closely than with PyTorch.
    for (size_t i = 0; i < r->size(); ++i)
      if (const auto* t = std::get_if<Tensor>(&(*first)[i])) {
        const auto tol = tolerance(t->dtype);
        expect_equal((*r)[i], Item{*t}, std::pair(tol.first / 4, tol.second / 4), how);
      }
  };
  constexpr std::pair<Way, const char*> kWays[] = {{Way::kPoint, "point"},
                                                   {Way::kWhole, "whole"},
                                                   {Way::kWholeRestrided, "whole, other strides"},
                                                   {Way::kNumbers, "numbers"}};
  for (const auto& [way, how] : kWays) {
    if (!has_way(*d, way)) continue;
    // Elements of a result of unknown sizes, or of one that depends on a mask, cannot be had alone: then `whole` is the meaning.
    if (way == Way::kPoint && d->whole) {
      bool alone = true;
      for (size_t r = 0; r < types->size(); ++r) {
        const auto* t = std::get_if<TensorType>(&(*types)[r]);
        alone &= t && ir::is_static(t->shape) && point(*d, call_of(*d, args, values), r).has_value();
      }
      if (!alone) continue;
    }
    compare(run(*d, args, values, way), how);
  }
  if (d->lower) check_lowered(k, *d, g, args, *types, values);
  if (d->decompose) {
    bool kept = false;
    auto r = run_decomposed(*d, g, args, values, kept);
    if (!kept || !r) {
      ASSERT_TRUE(r) << "decomposition: " << r.error().str();
      ASSERT_EQ(r->size(), k.outs.size());
      for (size_t i = 0; i < r->size(); ++i) expect_equal((*r)[i], k.outs[i], k.tol, "decomposition");
    }
  }
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& e : std::filesystem::directory_iterator(std::filesystem::path(EW_TEST_DATA) / "vectors"))
    if (e.path().extension() == ".vec") out.push_back(e.path().stem().string());
  std::sort(out.begin(), out.end());
  return out;
}

class Vectors : public testing::TestWithParam<std::string> {};
TEST_P(Vectors, agrees_with_pytorch) {
  const auto path = std::filesystem::path(EW_TEST_DATA) / "vectors" / (GetParam() + ".vec");
  const std::vector<Case> cases = read(path);
  ASSERT_FALSE(cases.empty());
  lowered_cases = 0;
  for (const Case& k : cases) {
    SCOPED_TRACE(path.filename().string() + ":" + std::to_string(k.line) + " " + k.op);
    check(k);
  }
  for (const char* moves : {"cat", "expand", "flip", "pad", "permute", "repeat", "roll", "select", "slice",
                            "slice_scatter", "squeeze", "unsqueeze", "view"})
    if (GetParam() == moves) EXPECT_GT(lowered_cases, 0) << "XNNPACK would have taken none of them";
}
INSTANTIATE_TEST_SUITE_P(Ops, Vectors, testing::ValuesIn(files()), [](const auto& i) { return i.param; });

}  // namespace
}  // namespace edgewright::ops
