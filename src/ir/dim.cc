#include "ir/dim.h"

#include <algorithm>
#include <cctype>

#include "base/checked.h"

namespace edgewright::ir {

namespace {
enum Kind { kSymbol, kFloorDiv, kMod, kMax, kMin, kPow };
constexpr const char* kNames[] = {"", "FloorDiv", "Mod", "Max", "Min", "Pow"};
int64_t floor_div(int64_t a, int64_t b) {
  if (b == -1) return a == INT64_MIN ? INT64_MAX : -a;
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  const int64_t r = a % b;
  return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r;
}
// Wrapping keeps hostile expressions defined; sizes are checked where they are used.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
std::optional<int64_t> apply(int kind, int64_t a, int64_t b) {
  switch (kind) {
    case kFloorDiv: return b == 0 ? std::nullopt : std::optional(floor_div(a, b));
    case kMod: return b == 0 ? std::nullopt : std::optional(floor_mod(a, b));
    case kMax: return std::max(a, b);
    case kMin: return std::min(a, b);
    case kPow: {
      if (b < 0 || b > 64) return std::nullopt;
      int64_t r = 1;
      for (int64_t i = 0; i < b; ++i) r = wrap_mul(r, a);
      return r;
    }
    default: return std::nullopt;
  }
}
// Limits that keep hostile expressions small; what exceeds them becomes a symbol of its own, whose value nothing knows.
constexpr size_t kMaxTerms = 256, kMaxAtoms = 32, kMaxAtomText = 1024, kMaxText = 16384;
std::string name_for(const std::string& text) { return "u_large_" + std::to_string(std::hash<std::string>{}(text)); }
}  // namespace

struct Dim::Atom {
  int kind = kSymbol;
  std::string name;  // of a symbol
  Dim a, b;          // operands of a function
  std::string key;
};
struct Dim::Term {
  int64_t coefficient = 1;
  std::vector<std::shared_ptr<const Atom>> atoms;  // sorted by key
  std::string key() const {
    std::string s;
    for (const auto& a : atoms) s += (s.empty() ? "" : "*") + a->key;
    return s;
  }
};
struct Dim::Expr {
  std::vector<Term> terms;  // sorted by key, no zero coefficient
  std::string text;
};

Dim Dim::from(std::vector<Term> in) {
  std::map<std::string, Term> merged;
  for (Term& t : in) {
    std::string k = t.key();
    auto [it, fresh] = merged.try_emplace(std::move(k), t);
    if (!fresh) it->second.coefficient = wrap_add(it->second.coefficient, t.coefficient);
  }
  std::vector<Term> terms;
  for (auto& [k, t] : merged)
    if (t.coefficient != 0) terms.push_back(std::move(t));
  if (terms.empty()) return Dim(0);
  if (terms.size() == 1 && terms[0].atoms.empty()) return Dim(terms[0].coefficient);
  // The constant term sorts first by key; print it last.
  auto expr = std::make_shared<Expr>();
  std::string text, constant;
  for (const Term& t : terms) {
    if (t.atoms.empty()) {
      constant =
          (t.coefficient < 0 ? " - " + std::to_string(t.coefficient).substr(1) : " + " + std::to_string(t.coefficient));
      continue;
    }
    std::string c = t.coefficient == 1 ? "" : t.coefficient == -1 ? "-" : std::to_string(t.coefficient) + "*";
    if (!text.empty()) {
      if (c.starts_with('-')) {
        text += " - ";
        c.erase(0, 1);
      } else {
        text += " + ";
      }
    }
    text += c + t.key();
  }
  expr->text = text + constant;
  if (expr->text.size() > kMaxText) return symbol(name_for(expr->text));
  expr->terms = std::move(terms);
  Dim d;
  d.expr_ = std::move(expr);
  return d;
}

std::vector<Dim::Term> Dim::terms() const {
  if (expr_) return expr_->terms;
  return {Term{constant_, {}}};
}

Dim Dim::symbol(std::string name) {
  auto atom = std::make_shared<Atom>();
  if (name.size() > kMaxAtomText) name = name_for(name);
  atom->key = name;
  atom->name = std::move(name);
  return from({Term{1, {atom}}});
}

int64_t Dim::value() const {
  EW_CHECK(!expr_);
  return constant_;
}

Dim Dim::function(int kind, const Dim& a, const Dim& b) {
  const std::string key = std::string(kNames[kind]) + "(" + a.str() + ", " + b.str() + ")";
  if (key.size() > kMaxAtomText) return symbol(name_for(key));
  auto atom = std::make_shared<Atom>();
  atom->kind = kind;
  atom->a = a;
  atom->b = b;
  atom->key = key;
  return from({Term{1, {atom}}});
}

Dim operator+(const Dim& a, const Dim& b) {
  if (!a.expr_ && !b.expr_) return Dim(wrap_add(a.constant_, b.constant_));
  auto t = a.terms();
  for (auto& u : b.terms()) t.push_back(u);
  return Dim::from(std::move(t));
}
Dim operator*(const Dim& a, const Dim& b) {
  if (!a.expr_ && !b.expr_) return Dim(wrap_mul(a.constant_, b.constant_));
  std::vector<Dim::Term> out;
  const auto ta = a.terms(), tb = b.terms();
  const auto atoms = [](const std::vector<Dim::Term>& t) {
    size_t most = 0;
    for (const auto& x : t) most = std::max(most, x.atoms.size());
    return most;
  };
  if (ta.size() * tb.size() > kMaxTerms || atoms(ta) + atoms(tb) > kMaxAtoms)
    return Dim::symbol(name_for("(" + a.str() + ")*(" + b.str() + ")"));
  for (const auto& x : ta)
    for (const auto& y : tb) {
      Dim::Term t{wrap_mul(x.coefficient, y.coefficient), x.atoms};
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(t.atoms.begin(), t.atoms.end(), [](const auto& p, const auto& q) { return p->key < q->key; });
      out.push_back(std::move(t));
    }
  return Dim::from(std::move(out));
}
Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim floordiv(const Dim& a, const Dim& b) {
  if (a == Dim(0) && !(b == Dim(0))) return 0;
  if (b == Dim(1)) return a;
  if (!a.expr_ && !b.expr_ && b.constant_ != 0) return *apply(kFloorDiv, a.constant_, b.constant_);
  const auto tb = b.terms();
  if (tb.size() == 1 && tb[0].coefficient != 0) {  // exact division term by term
    std::vector<Dim::Term> out;
    bool exact = true;
    for (auto t : a.terms()) {
      if (t.coefficient % tb[0].coefficient != 0) exact = false;
      for (const auto& atom : tb[0].atoms) {
        auto it = std::find_if(t.atoms.begin(), t.atoms.end(), [&](const auto& x) { return x->key == atom->key; });
        if (it == t.atoms.end()) {
          exact = false;
          break;
        }
        t.atoms.erase(it);
      }
      if (!exact) break;
      t.coefficient /= tb[0].coefficient;
      out.push_back(std::move(t));
    }
    if (exact) return Dim::from(std::move(out));
  }
  if (a == b) return 1;
  // A product of symbols over the same sum: (x*y + 2*y) // (x + 2) with y a common factor is left as it is.
  return Dim::function(kFloorDiv, a, b);
}
Dim mod(const Dim& a, const Dim& b) {
  if (!a.expr_ && !b.expr_ && b.constant_ != 0) return *apply(kMod, a.constant_, b.constant_);
  if (b == Dim(1) || a == b) return 0;
  if (!b.expr_ && b.constant_ != 0 && a.expr_) {
    bool divides = true;
    for (const auto& t : a.terms()) divides &= t.coefficient % b.constant_ == 0;
    if (divides) return 0;
  }
  return Dim::function(kMod, a, b);
}
Dim max(const Dim& a, const Dim& b) {
  if (const Dim d = a - b; d.is_constant()) return d.value() >= 0 ? a : b;
  return Dim::function(kMax, a, b);
}
Dim min(const Dim& a, const Dim& b) {
  if (const Dim d = a - b; d.is_constant()) return d.value() <= 0 ? a : b;
  return Dim::function(kMin, a, b);
}
Dim pow(const Dim& a, const Dim& b) {
  if (!a.expr_ && !b.expr_)
    if (auto v = apply(kPow, a.constant_, b.constant_)) return *v;
  if (!b.expr_ && b.constant_ >= 0 && b.constant_ <= 8) {
    Dim r = 1;
    for (int64_t i = 0; i < b.constant_; ++i) r = r * a;
    return r;
  }
  return Dim::function(kPow, a, b);
}
bool operator==(const Dim& a, const Dim& b) {
  if (!a.expr_ || !b.expr_) return !a.expr_ && !b.expr_ && a.constant_ == b.constant_;
  return a.expr_ == b.expr_ || a.expr_->text == b.expr_->text;
}

std::optional<int64_t> Dim::evaluate(const SymbolValues& values) const {
  if (!expr_) return constant_;
  int64_t sum = 0;
  for (const Term& t : expr_->terms) {
    int64_t p = t.coefficient;
    for (const auto& atom : t.atoms) {
      std::optional<int64_t> v;
      if (atom->kind == kSymbol) {
        if (auto it = values.find(atom->name); it != values.end()) v = it->second;
      } else {
        const auto x = atom->a.evaluate(values), y = atom->b.evaluate(values);
        if (x && y) v = apply(atom->kind, *x, *y);
      }
      if (!v) return std::nullopt;
      p = wrap_mul(p, *v);
    }
    sum = wrap_add(sum, p);
  }
  return sum;
}

namespace {
int64_t sat(std::optional<int64_t> v, bool up) { return v ? *v : (up ? kMaxDim : INT64_MIN); }
Range mul(Range a, Range b) {
  int64_t lo = kMaxDim, hi = INT64_MIN;
  for (int64_t x : {a.lo, a.hi})
    for (int64_t y : {b.lo, b.hi}) {
      const auto p = checked_mul(x, y);
      const bool neg = (x < 0) != (y < 0);
      const int64_t v = p ? *p : neg ? INT64_MIN : kMaxDim;
      lo = std::min(lo, v);
      hi = std::max(hi, v);
    }
  return {lo, hi};
}
}  // namespace

Range Dim::bounds(const SymbolRanges& ranges) const {
  if (!expr_) return {constant_, constant_};
  Range sum{0, 0};
  for (const Term& t : expr_->terms) {
    Range p{t.coefficient, t.coefficient};
    for (const auto& atom : t.atoms) {
      Range r{INT64_MIN, kMaxDim};
      if (atom->kind == kSymbol) {
        if (auto it = ranges.find(atom->name); it != ranges.end()) r = it->second;
      } else {
        const Range x = atom->a.bounds(ranges), y = atom->b.bounds(ranges);
        switch (atom->kind) {
          case kMax: r = {std::max(x.lo, y.lo), std::max(x.hi, y.hi)}; break;
          case kMin: r = {std::min(x.lo, y.lo), std::min(x.hi, y.hi)}; break;
          case kMod:
            if (y.lo > 0) r = {0, y.hi == kMaxDim ? kMaxDim : y.hi - 1};
            break;
          case kFloorDiv:
            if (y.lo > 0)
              r = {
                  x.lo == INT64_MIN ? INT64_MIN : floor_div(x.lo, x.lo < 0 ? y.lo : (y.hi == kMaxDim ? kMaxDim : y.hi)),
                  x.hi == kMaxDim ? kMaxDim : floor_div(x.hi, x.hi >= 0 ? y.lo : (y.hi == kMaxDim ? kMaxDim : y.hi))};
            break;
          default: break;
        }
      }
      p = mul(p, r);
    }
    const bool lo_inf = sum.lo == INT64_MIN || p.lo == INT64_MIN, hi_inf = sum.hi == kMaxDim || p.hi == kMaxDim;
    sum = {lo_inf ? INT64_MIN : sat(checked_add(sum.lo, p.lo), false),
           hi_inf ? kMaxDim : sat(checked_add(sum.hi, p.hi), true)};
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim>& to) const {
  if (!expr_) return *this;
  Dim sum = 0;
  for (const Term& t : expr_->terms) {
    Dim p = t.coefficient;
    for (const auto& atom : t.atoms) {
      if (atom->kind == kSymbol) {
        auto it = to.find(atom->name);
        p = p * (it != to.end() ? it->second : symbol(atom->name));
        continue;
      }
      const Dim x = atom->a.substitute(to), y = atom->b.substitute(to);
      switch (atom->kind) {
        case kFloorDiv: p = p * floordiv(x, y); break;
        case kMod: p = p * mod(x, y); break;
        case kMax: p = p * max(x, y); break;
        case kMin: p = p * min(x, y); break;
        default: p = p * pow(x, y); break;
      }
    }
    sum = sum + p;
  }
  return sum;
}

void Dim::collect_symbols(std::vector<std::string>& into) const {
  if (!expr_) return;
  for (const Term& t : expr_->terms)
    for (const auto& atom : t.atoms) {
      if (atom->kind == kSymbol) {
        if (std::find(into.begin(), into.end(), atom->name) == into.end()) into.push_back(atom->name);
      } else {
        atom->a.collect_symbols(into);
        atom->b.collect_symbols(into);
      }
    }
}

std::string Dim::str() const { return expr_ ? expr_->text : std::to_string(constant_); }

namespace {
// Recursive descent over: sum := product (('+'|'-') product)*; product := unary (('*'|'//'|'%'|'/') unary)*;
// unary := '-' unary | power; power := primary ('**' unary)?; primary := int | name ['(' args ')'] | '(' sum ')'.
class DimParser {
 public:
  explicit DimParser(std::string_view s) : s_(s) {}
  Result<Dim> run() {
    EW_ASSIGN(Dim d, sum(0));
    skip();
    if (at_ != s_.size()) return bad("unexpected text");
    return d;
  }

 private:
  static constexpr int kMaxDepth = 64;
  std::unexpected<Error> bad(const char* what) {
    return fail(Code::kMalformed, "size expression '{}': {} at {}", s_.substr(0, 200), what, at_);
  }
  void skip() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) ++at_;
  }
  bool eat(std::string_view t) {
    skip();
    if (s_.substr(at_).starts_with(t)) {
      at_ += t.size();
      return true;
    }
    return false;
  }
  bool peek(std::string_view t) {
    skip();
    return s_.substr(at_).starts_with(t);
  }
  Result<Dim> sum(int depth) {
    if (depth > kMaxDepth) return bad("nested too deeply");
    EW_ASSIGN(Dim d, product(depth + 1));
    for (;;) {
      if (eat("+")) {
        EW_ASSIGN(Dim r, product(depth + 1));
        d = d + r;
      } else if (eat("-")) {
        EW_ASSIGN(Dim r, product(depth + 1));
        d = d - r;
      } else {
        return d;
      }
    }
  }
  Result<Dim> product(int depth) {
    EW_ASSIGN(Dim d, unary(depth + 1));
    for (;;) {
      skip();
      if (peek("**")) return d;
      if (eat("//") || eat("/")) {
        EW_ASSIGN(Dim r, unary(depth + 1));
        d = floordiv(d, r);
      } else if (eat("*")) {
        EW_ASSIGN(Dim r, unary(depth + 1));
        d = d * r;
      } else if (eat("%")) {
        EW_ASSIGN(Dim r, unary(depth + 1));
        d = mod(d, r);
      } else {
        return d;
      }
    }
  }
  Result<Dim> unary(int depth) {
    if (depth > kMaxDepth) return bad("nested too deeply");
    if (eat("-")) {
      EW_ASSIGN(Dim d, unary(depth + 1));
      return Dim(-1) * d;
    }
    EW_ASSIGN(Dim d, primary(depth + 1));
    if (eat("**")) {
      EW_ASSIGN(Dim e, unary(depth + 1));
      return pow(d, e);
    }
    return d;
  }
  Result<Dim> primary(int depth) {
    skip();
    if (eat("(")) {
      EW_ASSIGN(Dim d, sum(depth + 1));
      if (!eat(")")) return bad("expected ')'");
      return d;
    }
    if (at_ >= s_.size()) return bad("unexpected end");
    if (std::isdigit(static_cast<unsigned char>(s_[at_]))) {
      int64_t v = 0;
      while (at_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_]))) {
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, s_[at_] - '0', &v))
          return bad("number too large");
        ++at_;
      }
      return Dim(v);
    }
    const size_t start = at_;
    while (at_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[at_])) || s_[at_] == '_' || s_[at_] == '.'))
      ++at_;
    const std::string word(s_.substr(start, at_ - start));
    if (word.empty()) return bad("unexpected character");
    if (!eat("(")) return Dim::symbol(word);
    if (word == "Symbol" || word == "Dummy") {
      skip();
      const char q = at_ < s_.size() ? s_[at_] : '\0';
      if (q != '\'' && q != '"') return bad("expected a quoted symbol");
      const size_t b = ++at_;
      while (at_ < s_.size() && s_[at_] != q) ++at_;
      if (at_ >= s_.size() || at_ == b) return bad("expected a quoted symbol");
      const std::string symbol(s_.substr(b, at_ - b));
      ++at_;
      while (at_ < s_.size() && s_[at_] != ')') ++at_;  // assumptions: integer=True, positive=True
      if (!eat(")")) return bad("expected ')'");
      return Dim::symbol(symbol);
    }
    if (word == "Integer") {
      EW_ASSIGN(Dim d, sum(depth + 1));
      if (!eat(")")) return bad("expected ')'");
      return d;
    }
    std::vector<Dim> args;
    if (!eat(")")) {
      do {
        EW_ASSIGN(Dim d, sum(depth + 1));
        args.push_back(std::move(d));
        if (args.size() > kMaxTerms) return bad("too many arguments");
      } while (eat(","));
      if (!eat(")")) return bad("expected ')'");
    }
    const size_t dot = word.rfind('.');
    const std::string f = dot == std::string::npos ? word : word.substr(dot + 1);
    const auto fold = [&](auto op) -> Result<Dim> {
      if (args.empty()) return bad("function without arguments");
      Dim d = args[0];
      for (size_t i = 1; i < args.size(); ++i) d = op(d, args[i]);
      return d;
    };
    if (f == "Add") return fold([](const Dim& a, const Dim& b) { return a + b; });
    if (f == "Mul") return fold([](const Dim& a, const Dim& b) { return a * b; });
    if (f == "Max") return fold([](const Dim& a, const Dim& b) { return max(a, b); });
    if (f == "Min") return fold([](const Dim& a, const Dim& b) { return min(a, b); });
    if (args.size() == 2) {
      if (f == "FloorDiv" || f == "CleanDiv" || f == "IntTrueDiv") return floordiv(args[0], args[1]);
      if (f == "CeilDiv") return floordiv(args[0] + args[1] - Dim(1), args[1]);
      if (f == "Mod" || f == "PythonMod") return mod(args[0], args[1]);
      if (f == "Pow" || f == "PowByNatural") return pow(args[0], args[1]);
    }
    return bad("function outside integer arithmetic");
  }

  std::string_view s_;
  size_t at_ = 0;
};
}  // namespace

Result<Dim> Dim::parse(std::string_view text) {
  if (text.size() > 65536) return fail(Code::kMalformed, "size expression of {} characters", text.size());
  return DimParser(text).run();
}

bool is_static(const Shape& s) {
  return std::all_of(s.begin(), s.end(), [](const Dim& d) { return d.is_constant(); });
}
Dim numel(const Shape& s) {
  Dim n = 1;
  for (const Dim& d : s) n = n * d;
  return n;
}
std::vector<int64_t> static_sizes(const Shape& s) {
  std::vector<int64_t> out;
  for (const Dim& d : s) out.push_back(d.value());
  return out;
}

}  // namespace edgewright::ir
