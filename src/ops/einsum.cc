// src/ops/einsum.cc - aten.einsum: sums of products named by letters; "..." stands for dims that broadcast.
#include <map>

#include "ops/products.h"
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// Labels are numbers: letters by code, dims of an ellipsis as negative ones (-1 the last).
struct Equation {
  std::vector<std::vector<int>> in;  // one per operand, one label per dim
  std::vector<int> out;
};

Equation read(const Call& c) {
  Equation e;
  std::string text;
  for (char ch : c.str("equation"))
    if (ch != ' ') text += ch;
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  const std::vector<int> operands = c.operands("tensors");
  std::vector<std::string> terms{""};
  for (char ch : left)
    if (ch == ',')
      terms.emplace_back();
    else
      terms.back() += ch;
  if (terms.size() != operands.size())
    c.error(fmt::format("[einsum.1] {} terms for {} operands", terms.size(), operands.size()));
  if (c.failed()) return e;
  std::map<int, int> seen;
  int widest = 0;
  // Reads one term; `dims` of its ellipsis.
  const auto term = [&](const std::string& t, int ellipsis, std::vector<int>& labels) {
    for (size_t i = 0; i < t.size(); ++i) {
      if (t.compare(i, 3, "...") == 0) {
        for (int d = ellipsis; d > 0; --d) labels.push_back(-d);
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(t[i]))) {
        labels.push_back(t[i]);
      } else {
        c.error(fmt::format("[einsum.2] '{}' in the equation", t[i]));
        return;
      }
    }
  };
  for (size_t k = 0; k < terms.size(); ++k) {
    const auto letters = static_cast<int>(
        std::count_if(terms[k].begin(), terms[k].end(), [](unsigned char ch) { return std::isalpha(ch); }));
    const int rank = static_cast<int>(c.type(operands[k]).rank()), ellipsis = rank - letters;
    const bool has = terms[k].find("...") != std::string::npos;
    if (ellipsis < 0 || (!has && ellipsis != 0)) {
      c.error(fmt::format("[einsum.3] '{}' does not fit an operand of rank {}", terms[k], rank));
      return e;
    }
    widest = std::max(widest, ellipsis);
    e.in.emplace_back();
    term(terms[k], ellipsis, e.in.back());
    for (int l : e.in.back()) ++seen[l];
  }
  if (arrow != std::string::npos) {
    term(text.substr(arrow + 2), widest, e.out);
  } else {
    for (int d = widest; d > 0; --d) e.out.push_back(-d);
    for (const auto& [label, count] : seen)
      if (label > 0 && count == 1) e.out.push_back(label);
  }
  for (size_t i = 0; i < e.out.size() && !c.failed(); ++i) {
    if (!seen.contains(e.out[i]) && e.out[i] > 0) c.error("[einsum.4] the result names a letter that no operand has");
    if (std::find(e.out.begin(), e.out.begin() + static_cast<ptrdiff_t>(i), e.out[i]) !=
        e.out.begin() + static_cast<ptrdiff_t>(i))
      c.error("[einsum.4] the result names a letter twice");
  }
  return e;
}

// Sizes of all labels; a dim of size 1 broadcasts.
std::map<int, Dim> sizes_of(const Call& c, const Equation& e) {
  std::map<int, Dim> sizes;
  const std::vector<int> operands = c.operands("tensors");
  for (size_t k = 0; k < e.in.size(); ++k)
    for (size_t d = 0; d < e.in[k].size(); ++d) {
      const Dim& s = c.type(operands[k]).shape[d];
      const auto [it, fresh] = sizes.emplace(e.in[k][d], s);
      if (fresh || it->second == s || s == Dim(1)) continue;
      if (it->second == Dim(1))
        it->second = s;
      else if (differ(it->second, s))
        c.error(fmt::format("[einsum.5] sizes {} and {} for one letter", it->second.str(), s.str()));
    }
  return sizes;
}

Result<Types> rule(const Call& c) {
  const Equation e = read(c);
  if (c.failed()) return Types{};
  const auto sizes = sizes_of(c, e);
  const std::vector<int> operands = c.operands("tensors");
  const DType t = c.type(operands[0]).dtype;
  for (int k : operands)
    if (c.type(k).dtype != t || (!is_float(t) && !is_int(t)))
      c.error("[einsum.6] operands must have one float or int dtype");
  Shape out;
  for (int l : e.out) out.push_back(sizes.contains(l) ? sizes.at(l) : Dim(1));
  return Types{TensorType{t, out}};
}

// Labels that are summed, in order of appearance.
std::vector<int> inner_labels(const Equation& e) {
  std::vector<int> inner;
  for (const auto& term : e.in)
    for (int l : term)
      if (std::find(e.out.begin(), e.out.end(), l) == e.out.end() &&
          std::find(inner.begin(), inner.end(), l) == inner.end())
        inner.push_back(l);
  return inner;
}
Side side(const Call& c, const Equation& e, size_t k, const std::vector<int>& inner) {
  const std::vector<int> operands = c.operands("tensors");
  Side s{operands[k], {}};
  for (size_t d = 0; d < e.in[k].size(); ++d) {
    const auto o = std::find(e.out.begin(), e.out.end(), e.in[k][d]);
    if (c.type(operands[k]).shape[d] == Dim(1))
      s.from.push_back(Side::kFirst);
    else if (o != e.out.end())
      s.from.push_back(static_cast<int>(o - e.out.begin()));
    else
      s.from.push_back(~static_cast<int>(std::find(inner.begin(), inner.end(), e.in[k][d]) - inner.begin()));
  }
  return s;
}

struct Sums {
  std::vector<Side> sides;
  std::vector<int64_t> inner;
};
Sums sums(const Call& c) {
  const Equation e = read(c);
  Sums s;
  if (c.failed()) return s;
  const auto sizes = sizes_of(c, e);
  const std::vector<int> inner = inner_labels(e);
  for (size_t k = 0; k < e.in.size(); ++k) s.sides.push_back(side(c, e, k, inner));
  for (int l : inner) s.inner.push_back(sizes.at(l).value());
  return s;
}

Result<Point> eval(const Call& c, size_t) {
  const Sums s = sums(c);
  if (c.failed()) return Point{};
  return arithmetic_point(c.type(0).dtype, [s]<class R>(const auto& in, Index at, R) -> R {
    std::vector<int64_t> k(s.inner.size(), 0);
    IndexBuffer x;
    Sum<R> sum;
    if (product(s.inner) > 0) do {
        R p(1);
        for (const Side& side : s.sides) {
          for (size_t d = 0; d < side.from.size(); ++d) {
            const int f = side.from[d];
            x[d] = f >= 0 ? at[static_cast<size_t>(f)] : f == Side::kFirst ? 0 : k[static_cast<size_t>(~f)];
          }
          const R v = element<R>(in, side.operand, Index(x.data(), side.from.size()));
          p = &side == s.sides.data() ? v : times<R>(p, v);
        }
        sum.add(p);
      } while (next_index(k, s.inner));
    return sum.get();
  });
}

Result<void> whole(const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const Sums s = sums(c);
  if (c.failed()) return {};
  if (s.sides.size() == 2) {
    Contraction k{.dtype = out[0].dtype, .a = s.sides[0], .b = s.sides[1], .inner = s.inner};
    contraction_whole(k, in, out[0]);
    return {};
  }
  // One operand or more than two: term by term.
  return visit_kind(out[0].dtype, [&]<class R>(R) -> Result<void> {
    std::vector<std::vector<R>> data;
    std::vector<std::vector<int64_t>> strides;
    for (const Side& side : s.sides) {
      data.push_back(elements<R>(in[static_cast<size_t>(side.operand)]));
      strides.push_back(ir::contiguous_strides(in[static_cast<size_t>(side.operand)].sizes));
    }
    std::vector<R> y(static_cast<size_t>(out[0].numel()));
    std::vector<int64_t> at(out[0].sizes.size(), 0);
    for (R& v : y) {
      std::vector<int64_t> k(s.inner.size(), 0);
      Sum<R> sum;
      if (product(s.inner) > 0) do {
          R p(1);
          for (size_t o = 0; o < s.sides.size(); ++o) {
            int64_t offset = 0;
            for (size_t d = 0; d < s.sides[o].from.size(); ++d) {
              const int f = s.sides[o].from[d];
              offset += strides[o][d] * (f >= 0              ? at[static_cast<size_t>(f)]
                                         : f == Side::kFirst ? 0
                                                             : k[static_cast<size_t>(~f)]);
            }
            p = o == 0 ? data[o][static_cast<size_t>(offset)] : times<R>(p, data[o][static_cast<size_t>(offset)]);
          }
          sum.add(p);
        } while (next_index(k, s.inner));
      v = sum.get();
      next_index(at, out[0].sizes);
    }
    assign(out[0], y);
    return {};
  });
}

// Any number of operands, two at a time from the left; a pair as permute, view, bmm, view, permute.
Result<std::vector<ir::Value*>> decompose(const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Equation e = read(c);
  const auto symbolic = sizes_of(c, e);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  std::map<int, int64_t> size;
  for (const auto& [l, s] : symbolic) {
    if (!s.is_constant()) return std::vector<ir::Value*>{};
    size[l] = s.value();
    if (s.value() == 0) return std::vector<ir::Value*>{};
  }
  const auto has = [](const std::vector<int>& v, int l) { return std::find(v.begin(), v.end(), l) != v.end(); };
  std::vector<ir::Value*> values;
  std::vector<std::vector<int>> labels = e.in;
  const ir::Arg tensors = n.arg("tensors");
  for (const ir::Arg& a : *tensors.list()) values.push_back(a.value());
  for (const auto& term : labels)
    for (size_t i = 0; i < term.size(); ++i)
      if (std::find(term.begin(), term.begin() + static_cast<ptrdiff_t>(i), term[i]) !=
          term.begin() + static_cast<ptrdiff_t>(i))
        return std::vector<ir::Value*>{};  // a diagonal

  // Sums dims that nothing else needs, and expands those that broadcast.
  const auto settle = [&](ir::Value*& v, std::vector<int>& own, const std::vector<int>& needed) {
    std::vector<int64_t> gone, want;
    bool expands = false;
    for (size_t d = 0; d < own.size(); ++d) {
      want.push_back(size[own[d]]);
      expands = expands || v->tensor()->shape[d] != Dim(want.back());
    }
    if (expands) v = b("aten.expand", {v, ir::Arg::ints(want)});
    std::vector<int> left;
    for (size_t d = 0; d < own.size(); ++d)
      if (has(needed, own[d]))
        left.push_back(own[d]);
      else
        gone.push_back(static_cast<int64_t>(d));
    if (!gone.empty())
      v = b("aten.sum.dim_IntList",
            {v, ir::Arg::ints(gone), false, v && is_int(v->tensor()->dtype) ? ir::Arg(v->tensor()->dtype) : ir::Arg()});
    own = left;
  };
  const auto arrange = [&](ir::Value* v, const std::vector<int>& own, const std::vector<int>& order) {
    std::vector<int64_t> perm;
    for (int l : order) perm.push_back(std::find(own.begin(), own.end(), l) - own.begin());
    return std::is_sorted(perm.begin(), perm.end()) ? v : b("aten.permute", {v, ir::Arg::ints(perm)});
  };
  while (values.size() > 1) {
    std::vector<int> later = e.out;
    for (size_t k = 2; k < labels.size(); ++k) later.insert(later.end(), labels[k].begin(), labels[k].end());
    for (size_t k : {0u, 1u}) {
      std::vector<int> needed = later;
      needed.insert(needed.end(), labels[1 - k].begin(), labels[1 - k].end());
      settle(values[k], labels[k], needed);
      if (b.failed()) return b.done({});
    }
    std::vector<int> batch, left, right, inner;
    for (int l : labels[0]) (has(labels[1], l) ? (has(later, l) ? batch : inner) : left).push_back(l);
    for (int l : labels[1])
      if (!has(labels[0], l)) right.push_back(l);
    const auto join = [](std::initializer_list<const std::vector<int>*> parts) {
      std::vector<int> all;
      for (const auto* p : parts) all.insert(all.end(), p->begin(), p->end());
      return all;
    };
    const auto count = [&](const std::vector<int>& ls) {
      int64_t k = 1;
      for (int l : ls) k *= size[l];
      return k;
    };
    ir::Value* x = b("aten.reshape", {arrange(values[0], labels[0], join({&batch, &left, &inner})),
                                      ir::Arg::ints({count(batch), count(left), count(inner)})});
    ir::Value* y = b("aten.reshape", {arrange(values[1], labels[1], join({&batch, &inner, &right})),
                                      ir::Arg::ints({count(batch), count(inner), count(right)})});
    std::vector<int64_t> sizes;
    const std::vector<int> result = join({&batch, &left, &right});
    for (int l : result) sizes.push_back(size[l]);
    ir::Value* r = b("aten.view", {b("aten.bmm", {x, y}), ir::Arg::ints(sizes)});
    values.erase(values.begin());
    labels.erase(labels.begin());
    values[0] = r;
    labels[0] = result;
  }
  settle(values[0], labels[0], e.out);
  if (b.failed()) return b.done({});
  if (labels[0].size() != e.out.size()) return std::vector<ir::Value*>{};
  return b.done({arrange(values[0], labels[0], e.out)});
}

}  // namespace

std::vector<OpDef> define_einsum() {
  OpDef d;
  d.schema_text = "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor";
  d.infer = rule;
  d.eval = eval;
  d.whole = whole;
  d.decompose = decompose;
  d.agreement = Agreement::kReassociated;
  return {d};
}
}  // namespace edgewright::ops
