#include "interp/symbols.h"

#include <numeric>

namespace edgewright::interp {

Result<void> Symbols::bind(const ir::Type& type, const Datum& d, const std::string& what, Code blame) {
  const auto misfit = [&] { return fail(blame, "{} is {}, expected {}", what, describe(d), ir::str(type)); };
  if (const auto* t = std::get_if<ir::TensorType>(&type)) {
    const auto* x = tensor(d);
    if (!x || x->dtype != t->dtype || x->sizes.size() != t->rank()) return misfit();
    for (size_t k = 0; k < t->rank(); ++k) {
      if (t->shape[k].is_constant()) {
        if (t->shape[k].value() != x->sizes[k]) return misfit();
      } else {
        open_.push_back({t->shape[k], x->sizes[k], fmt::format("dim {} of {}", k, what)});
      }
    }
    return {};
  }
  const auto& s = std::get<ir::ScalarType>(type);
  const auto* x = number(d);
  if (!x || (x->kind != s.kind && !(s.kind == ir::ScalarKind::kFloat && !x->is_bool()))) return misfit();
  if (s.kind != ir::ScalarKind::kInt || !s.expr) return {};
  if (s.expr->is_constant()) {
    if (s.expr->value() != x->i) return misfit();
  } else {
    open_.push_back({*s.expr, x->i, what});
  }
  return {};
}

namespace {
// The symbol's value that gives the expression this value, where the expression is linear in its one unknown symbol.
std::optional<int64_t> solve(const ir::Dim& expr, int64_t value, const std::string& symbol, ir::SymbolValues values) {
  const auto at = [&](int64_t x) {
    values[symbol] = x;
    return expr.evaluate(values);
  };
  const auto zero = at(0), one = at(1);
  if (!zero || !one) return std::nullopt;
  using Wide = __int128;
  const Wide slope = Wide(*one) - *zero, rise = Wide(value) - *zero;
  if (slope == 0 || rise % slope != 0) return std::nullopt;
  const Wide x = rise / slope;
  if (x < INT64_MIN || x > INT64_MAX || at(static_cast<int64_t>(x)) != value) return std::nullopt;
  return static_cast<int64_t>(x);
}

// No integers give the expression this value: it is c + a*s + b*t + …, and the value differs from c by no multiple of gcd(a, b, …).
bool is_impossible(const ir::Dim& expr, int64_t value, const std::vector<std::string>& unknown,
                   const ir::SymbolValues& known) {
  std::map<std::string, ir::Dim> numbers;
  for (const auto& [symbol, v] : known) numbers.emplace(symbol, ir::Dim(v));
  const ir::Dim rest = expr.substitute(numbers);
  ir::SymbolValues at;
  for (const std::string& s : unknown) at[s] = 0;
  const auto origin = rest.evaluate(at);
  if (!origin) return false;
  ir::Dim affine(*origin);
  int64_t divisor = 0;
  for (const std::string& s : unknown) {
    at[s] = 1;
    const auto one = rest.evaluate(at);
    at[s] = 0;
    int64_t slope;
    if (!one || __builtin_sub_overflow(*one, *origin, &slope) || slope == INT64_MIN) return false;
    affine = affine + ir::Dim(slope) * ir::Dim::symbol(s);
    divisor = std::gcd(divisor, slope);
  }
  int64_t rise;
  return affine == rest && divisor > 1 && !__builtin_sub_overflow(value, *origin, &rise) && rise % divisor != 0;
}
}  // namespace

Result<void> Symbols::settle(Code blame) {
  for (bool progress = true; progress && !open_.empty();) {
    progress = false;
    std::vector<Equation> later;
    for (Equation& e : open_) {
      if (const auto v = e.expr.evaluate(values_)) {
        if (*v == e.value) continue;
        std::vector<std::string> used;
        e.expr.collect_symbols(used);
        std::string because;
        for (const std::string& s : used)
          if (auto it = values_.find(s); it != values_.end())
            because += fmt::format("{}{} = {} by {}", because.empty() ? "" : ", ", s, it->second, source_.at(s).what);
        return fail(blame, "{} is {}, expected {} = {}{}", e.what, e.value, e.expr.str(), *v,
                    because.empty() ? "" : " (" + because + ")");
      }
      std::vector<std::string> used, unknown;
      e.expr.collect_symbols(used);
      for (const std::string& s : used)
        if (!values_.contains(s)) unknown.push_back(s);
      if (unknown.size() == 1) {
        if (const auto v = solve(e.expr, e.value, unknown[0], values_)) {
          values_[unknown[0]] = *v;
          source_[unknown[0]] = {e.what, e.expr == ir::Dim::symbol(unknown[0])};
          progress = true;
          continue;
        }
      }
      if (is_impossible(e.expr, e.value, unknown, values_))
        return fail(blame, "{} is {}, which {} cannot be", e.what, e.value, e.expr.str());
      later.push_back(std::move(e));
    }
    open_ = std::move(later);
  }
  open_.clear();  // what is left cannot be decided
  return {};
}

Result<void> Symbols::check(const ir::SymbolRanges& ranges,
                            std::span<const std::pair<ir::Dim, ir::Range>> expressions) const {
  const auto text = [](const ir::Range& r) {
    return fmt::format("[{}, {}]", r.lo == INT64_MIN ? "-inf" : std::to_string(r.lo),
                       r.hi == ir::kMaxDim ? "inf" : std::to_string(r.hi));
  };
  for (const auto& [symbol, value] : values_) {
    const auto it = ranges.find(symbol);
    if (it == ranges.end() || (value >= it->second.lo && value <= it->second.hi)) continue;
    const Source& from = source_.at(symbol);
    if (from.is_plain)
      return fail(Code::kUsage, "{} is {}, but {} must lie in {}", from.what, value, symbol, text(it->second));
    return fail(Code::kUsage, "{} is {} (by {}), but must lie in {}", symbol, value, from.what, text(it->second));
  }
  for (const auto& [expr, range] : expressions) {
    const auto v = expr.evaluate(values_);
    if (v && (*v < range.lo || *v > range.hi))
      return fail(Code::kUsage, "{} is {}, but must lie in {}", expr.str(), *v, text(range));
  }
  return {};
}

}  // namespace edgewright::interp
