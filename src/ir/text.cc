#include "ir/text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <unordered_map>

#include "base/checked.h"
#include "ir/verify.h"

namespace edgewright::ir {

namespace {
constexpr size_t kMaxRank = 16;
constexpr int kMaxDepth = 32;  // of lists and subgraphs
constexpr std::string_view kKeywords[] = {"graph", "const", "state", "write", "return", "where", "hex"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool is_plain_name(std::string_view s) {
  return !s.empty() && !std::isdigit(static_cast<unsigned char>(s[0])) && std::all_of(s.begin(), s.end(), is_word) &&
         std::find(std::begin(kKeywords), std::end(kKeywords), s) == std::end(kKeywords);
}
bool is_number_dtype(DType t) { return is_float(t) || is_int(t) || is_bool(t); }

// ---- printing ----

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20 || u == 0x7f) {
      out += fmt::format("\\x{:02x}", u);
    } else {
      out += c;
    }
  }
  return out + '"';
}
std::string plain_or_quoted(std::string_view s) { return is_plain_name(s) ? std::string(s) : quoted(s); }

template <class T>
std::string shortest(T v) {
  if (v != v) return std::signbit(v) ? "-nan" : "nan";
  char buffer[64];
  const auto r = std::to_chars(buffer, buffer + sizeof buffer, v);
  return {buffer, r.ptr};
}
std::string float_text(double v) {
  std::string s = shortest(v);
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;  // "inf" and "nan" have an n
}

std::string element_text(const Tensor& t, int64_t at) {
  if (is_bool(t.dtype)) return load_i(t.dtype, t.data, at) ? "True" : "False";
  if (t.dtype == DType::u64) return std::to_string(static_cast<uint64_t>(load_i(t.dtype, t.data, at)));
  if (t.dtype == DType::f64) return shortest(load_f(t.dtype, t.data, at));
  if (is_float(t.dtype)) return shortest(static_cast<float>(load_f(t.dtype, t.data, at)));
  return std::to_string(load_i(t.dtype, t.data, at));
}

// Numbers say less than the bytes where the dtype is no number, a NaN has a payload, or a bool is neither 0 nor 1.
bool needs_bytes(const Tensor& t) {
  if (!is_number_dtype(t.dtype)) return true;
  const int64_t n = t.numel();
  const size_t width = size_of(t.dtype);
  for (int64_t i = 0; i < n; ++i) {
    if (is_bool(t.dtype) && std::to_integer<int>(t.data[i]) > 1) return true;
    if (!is_float(t.dtype)) continue;
    const double v = load_f(t.dtype, t.data, i);
    if (v == v) continue;
    std::byte plain[8];
    store_f(t.dtype, plain, 0, std::copysign(std::nan(""), v));
    if (std::memcmp(plain, t.data + static_cast<size_t>(i) * width, width) != 0) return true;
  }
  return false;
}

std::string data_text(const Tensor& data) {
  const Tensor t = data.contiguous();
  if (needs_bytes(t)) {
    std::string s = "hex \"";
    for (std::byte b : t.bytes()) s += fmt::format("{:02x}", std::to_integer<int>(b));
    return s + '"';
  }
  if (t.sizes.empty()) return element_text(t, 0);
  if (t.numel() == 0) return "[]";
  std::string s;
  int64_t at = 0;
  const auto level = [&](auto& self, size_t d) -> void {
    s += '[';
    for (int64_t i = 0; i < t.sizes[d]; ++i) {
      if (i) s += ", ";
      if (d + 1 < t.sizes.size()) {
        self(self, d + 1);
      } else {
        s += element_text(t, at++);
      }
    }
    s += ']';
  };
  level(level, 0);
  return s;
}

class Printer {
 public:
  explicit Printer(const PrintOptions& o) : o_(o) {}

  void graph(const Graph& g, int indent) {
    const std::string pad(static_cast<size_t>(indent) * 2, ' ');
    out_ += "graph ";
    if (!g.name.empty()) out_ += plain_or_quoted(g.name);
    out_ += '(';
    for (size_t i = 0; i < g.inputs().size(); ++i)
      out_ += fmt::format("{}%{}: {}", i ? ", " : "", g.inputs()[i]->name, str(g.inputs()[i]->type));
    out_ += ") ";
    if (indent == 0) ranges(g);
    out_ += "{\n";
    for (const Value* v : g.constants()) data("const", *v, pad);
    for (const Value* v : g.states()) data("state", *v, pad);
    for (const auto& n : g.nodes()) {
      out_ += pad + "  ";
      node(*n, indent + 1);
      if (o_.origins && n->origin) origin(*n->origin);
      out_ += '\n';
    }
    for (const Write& w : g.writes) out_ += fmt::format("{}  write %{} <- %{}\n", pad, w.target->name, w.value->name);
    out_ += pad + "  return";
    for (size_t i = 0; i < g.outputs.size(); ++i) {
      out_ += i ? ", " : " ";
      arg(g.outputs[i], indent + 1);
    }
    out_ += '\n' + pad + '}';
  }

  void node(const Node& n, int indent) {
    for (size_t i = 0; i < n.num_results(); ++i) out_ += fmt::format("{}%{}", i ? ", " : "", n.result(i)->name);
    if (n.num_results()) out_ += " = ";
    out_ += plain_or_quoted(n.name()) + '(';
    bool by_name = n.op().is_unknown;
    for (size_t i = 0; i < n.args().size(); ++i) {
      const Param* p = i < n.op().schema.params.size() ? &n.op().schema.params[i] : nullptr;
      by_name |= p && (p->has_default || p->keyword_only);
      if (i) out_ += ", ";
      if (p && by_name) out_ += plain_or_quoted(p->name) + '=';
      arg(n.args()[i], indent);
    }
    out_ += ')';
    if (!o_.types && !n.op().is_unknown) return;
    for (size_t i = 0; i < n.num_results(); ++i) out_ += (i ? ", " : " : ") + str(n.result(i)->type);
  }

  std::string take() { return std::move(out_); }

 private:
  void ranges(const Graph& g) {
    if (!o_.ranges) return;
    std::vector<std::string> used;
    const auto note = [&](const Type& t) {
      if (const auto* x = std::get_if<TensorType>(&t))
        for (const Dim& d : x->shape) d.collect_symbols(used);
      if (const auto* x = std::get_if<ScalarType>(&t); x && x->expr) x->expr->collect_symbols(used);
    };
    for (const Value* v : g.inputs()) note(v->type);
    for (const auto& n : g.nodes())
      for (size_t i = 0; i < n->num_results(); ++i) note(n->result(i)->type);
    const char* before = "where ";
    for (const auto& [symbol, r] : *o_.ranges) {
      if (std::find(used.begin(), used.end(), symbol) == used.end() || !is_plain_name(symbol)) continue;
      out_ += fmt::format("{}{} in [{}, {}]", before, symbol, r.lo, r.hi == kMaxDim ? "inf" : std::to_string(r.hi));
      before = ", ";
    }
    if (*before == ',') out_ += ' ';
  }

  void data(const char* keyword, const Value& v, const std::string& pad) {
    out_ += fmt::format("{}  {} %{}: {} = ", pad, keyword, v.name, str(v.type));
    out_ += v.data->numel() <= o_.inline_elements ? data_text(*v.data) : "@" + sidecar(v);
    out_ += '\n';
  }

  std::string sidecar(const Value& v) {
    if (!o_.sidecar) return v.name;
    const Tensor& t = *v.data;
    for (const auto& [name, have] : *o_.sidecar)
      if (have.data == t.data && have.dtype == t.dtype && have.sizes == t.sizes && have.strides == t.strides)
        return name;
    std::string name = v.name;
    const auto taken = [&] {
      return std::any_of(o_.sidecar->begin(), o_.sidecar->end(), [&](const auto& e) { return e.first == name; });
    };
    for (int i = 1; taken(); ++i) name = fmt::format("{}.{}", v.name, i);
    o_.sidecar->emplace_back(name, t);
    return name;
  }

  void arg(const Arg& a, int indent) {
    if (a.is_none()) {
      out_ += "None";
    } else if (const Value* v = a.value()) {
      out_ += '%' + v->name;
    } else if (a.i()) {
      out_ += std::to_string(*a.i());
    } else if (a.f()) {
      out_ += float_text(*a.f());
    } else if (a.b()) {
      out_ += *a.b() ? "True" : "False";
    } else if (a.s()) {
      out_ += quoted(*a.s());
    } else if (a.dtype()) {
      out_ += name(*a.dtype());
    } else if (const ArgList* l = a.list()) {
      out_ += '[';
      for (size_t i = 0; i < l->size(); ++i) {
        if (i) out_ += ", ";
        arg((*l)[i], indent);
      }
      out_ += ']';
    } else if (a.graph() && *a.graph()) {
      graph(**a.graph(), indent);
    } else {
      out_ += "None";
    }
  }

  void origin(const Origin& o) {
    std::string s = o.name;
    for (const std::string* part : {&o.module_path, &o.stack_trace})
      if (!part->empty()) s += "; " + *part;
    for (char& c : s)
      if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    out_ += "  # " + s;
  }

  const PrintOptions& o_;
  std::string out_;
};

// ---- parsing ----

class Parser {
 public:
  Parser(std::string_view s, const ParseContext& c) : s_(s), c_(c) {}

  Result<Parsed> one() {
    EW_ASSIGN(Parsed p, graph(0));
    skip();
    if (at_ != s_.size()) return bad("unexpected text after the graph");
    return p;
  }

  Result<std::vector<ParsedCase>> cases() {
    std::vector<ParsedCase> out;
    for (comment_.clear(), skip(); at_ != s_.size(); comment_.clear(), skip()) {
      ParsedCase one;
      one.comment = comment_;
      do {
        EW_ASSIGN(Parsed p, graph(0));
        one.graphs.push_back(std::move(p));
      } while (eat("=>"));
      out.push_back(std::move(one));
    }
    return out;
  }

 private:
  using Scope = std::unordered_map<std::string, Value*>;

  // --- text ---
  template <class... Args>
  std::unexpected<Error> bad(fmt::format_string<Args...> f, Args&&... args) {
    const size_t end = std::min(at_, s_.size());
    const auto before = s_.substr(0, end);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const size_t start = before.rfind('\n');
    const size_t column = start == std::string_view::npos ? end + 1 : end - start;
    return fail(Code::kMalformed, "line {}, column {}: {}", line, column, fmt::format(f, std::forward<Args>(args)...));
  }
  void skip() {
    while (at_ < s_.size()) {
      if (std::isspace(static_cast<unsigned char>(s_[at_]))) {
        ++at_;
      } else if (s_[at_] == '#') {
        const size_t end = std::min(s_.find('\n', at_), s_.size());
        std::string_view line = s_.substr(at_ + 1, end - at_ - 1);
        if (line.starts_with(" ")) line.remove_prefix(1);
        if (!comment_.empty()) comment_ += "\n";
        comment_ += line;
        at_ = end;
      } else {
        return;
      }
    }
  }
  char peek() {
    skip();
    return at_ < s_.size() ? s_[at_] : '\0';
  }
  bool eat(std::string_view t) {
    skip();
    if (!s_.substr(at_).starts_with(t)) return false;
    at_ += t.size();
    return true;
  }
  // The word ahead, not taken.
  std::string_view word() {
    skip();
    size_t end = at_;
    while (end < s_.size() && is_word(s_[end])) ++end;
    return s_.substr(at_, end - at_);
  }
  bool eat_word(std::string_view w) {
    if (word() != w) return false;
    at_ += w.size();
    return true;
  }
  Result<void> expect(std::string_view t) {
    if (!eat(t)) return bad("expected '{}'", t);
    return {};
  }
  Result<std::string> string() {
    EW_TRY(expect("\""));
    std::string out;
    for (;;) {
      if (at_ >= s_.size()) return bad("string without an end");
      const char c = s_[at_++];
      if (c == '"') return out;
      if (c != '\\') {
        out += c;
        continue;
      }
      const char e = at_ < s_.size() ? s_[at_++] : '\0';
      if (e == 'n') {
        out += '\n';
      } else if (e == '"' || e == '\\') {
        out += e;
      } else if (unsigned byte = 0;
                 e == 'x' && at_ + 2 <= s_.size() &&
                 std::from_chars(s_.data() + at_, s_.data() + at_ + 2, byte, 16).ptr == s_.data() + at_ + 2) {
        out += static_cast<char>(byte);
        at_ += 2;
      } else {
        --at_;
        return bad("unknown escape");
      }
    }
  }
  Result<std::string> name() {
    if (peek() == '"') return string();
    const std::string_view w = word();
    if (w.empty()) return bad("expected a name");
    if (!is_plain_name(w)) return bad("'{}' is no name", w);
    at_ += w.size();
    return std::string(w);
  }
  // "%name" of a value that is new to the scope.
  Result<std::string> new_name(const Scope& scope) {
    EW_TRY(expect("%"));
    std::string w(at_ < s_.size() && is_word(s_[at_]) ? word() : std::string_view());
    if (w.empty()) return bad("expected a value's name");
    if (scope.contains(w)) return bad("%{} is defined already", w);
    at_ += w.size();
    return w;
  }
  Result<Value*> value(const Scope& scope) {
    EW_TRY(expect("%"));
    const std::string w(at_ < s_.size() && is_word(s_[at_]) ? word() : std::string_view());
    const auto it = scope.find(w);
    if (it == scope.end()) return bad("%{} is not defined before", w);
    at_ += w.size();
    return it->second;
  }

  // --- types ---
  // Text up to the bracket that closes the one at at_, which is taken; at_ is behind it afterwards.
  Result<std::string_view> bracketed(char close) {
    const size_t start = ++at_;
    int depth = 0;
    for (; at_ < s_.size() && at_ - start < 65536; ++at_) {
      const char c = s_[at_];
      if (depth == 0 && c == close) return s_.substr(start, at_++ - start);
      if (c == '(') ++depth;
      if (c == ')' && --depth < 0) break;
      if (c == '\n' || c == '{') break;
    }
    return bad("expected '{}'", close);
  }
  Result<Dim> dim(std::string_view text) {
    auto d = Dim::parse(text);
    if (!d) return bad("{}", d.error().message);
    return *d;
  }
  Result<Type> type() {
    const std::string_view w = word();
    const size_t start = at_;
    at_ += w.size();
    const bool has_sizes = at_ < s_.size() && s_[at_] == '[';
    if (has_sizes) {
      const auto dtype = dtype_from_name(w);
      if (!dtype) {
        at_ = start;
        return bad("unknown dtype '{}'", w);
      }
      TensorType t{*dtype, {}};
      EW_ASSIGN(const std::string_view sizes, bracketed(']'));
      int depth = 0;
      size_t from = 0;
      const bool none = sizes.find_first_not_of(' ') == std::string_view::npos;
      for (size_t i = 0; !none && i <= sizes.size(); ++i) {
        if (i < sizes.size() && sizes[i] == '(') ++depth;
        if (i < sizes.size() && sizes[i] == ')') --depth;
        if (i < sizes.size() && (sizes[i] != ',' || depth > 0)) continue;
        EW_ASSIGN(Dim d, dim(sizes.substr(from, i - from)));
        if (d.maybe().value_or(0) < 0) return bad("negative size");
        t.shape.push_back(std::move(d));
        from = i + 1;
        if (t.shape.size() > kMaxRank) return bad("more than {} dims", kMaxRank);
      }
      if (is_static(t.shape)) {
        const auto n = checked_numel(static_sizes(t.shape));
        if (!n || !checked_mul(*n, 16)) return bad("the tensor's size overflows");
      }
      return Type(std::move(t));
    }
    if (w == "int") {
      ScalarType s;
      if (at_ < s_.size() && s_[at_] == '(') {
        EW_ASSIGN(const std::string_view expr, bracketed(')'));
        EW_ASSIGN(s.expr, dim(expr));
      }
      return Type(std::move(s));
    }
    if (w == "float") return Type(ScalarType{ScalarKind::kFloat, {}});
    if (w == "bool") return Type(ScalarType{ScalarKind::kBool, {}});
    at_ = start;
    return bad("expected a type");
  }

  // --- arguments ---
  // A number's text ahead: sign, digits, point, exponent, or inf and nan.
  std::string_view number_text() {
    skip();
    size_t end = at_;
    if (end < s_.size() && (s_[end] == '-' || s_[end] == '+')) ++end;
    while (end < s_.size() &&
           (is_word(s_[end]) || ((s_[end] == '-' || s_[end] == '+') && (s_[end - 1] == 'e' || s_[end - 1] == 'E'))))
      ++end;
    return s_.substr(at_, end - at_);
  }
  template <class T>
  static bool read(std::string_view t, T& v) {
    if (t.starts_with('+')) t.remove_prefix(1);
    const auto r = std::from_chars(t.data(), t.data() + t.size(), v);
    if constexpr (std::is_floating_point_v<T>)  // too large or too small for T, in range of the text: take C's answer
      if (r.ec == std::errc::result_out_of_range && r.ptr == t.data() + t.size()) {
        v = sizeof(T) == 4 ? static_cast<T>(std::strtof(std::string(t).c_str(), nullptr))
                           : static_cast<T>(std::strtod(std::string(t).c_str(), nullptr));
        return true;
      }
    return r.ec == std::errc() && r.ptr == t.data() + t.size();
  }
  Result<Arg> arg(const Scope& scope, int depth) {
    if (depth > kMaxDepth) return bad("nested too deeply");
    const char c = peek();
    if (c == '%') {
      EW_ASSIGN(Value * v, value(scope));
      return Arg(v);
    }
    if (c == '"') {
      EW_ASSIGN(std::string s, string());
      return Arg(std::move(s));
    }
    if (c == '[') {
      ++at_;
      ArgList l;
      if (!eat("]")) {
        do {
          EW_ASSIGN(Arg a, arg(scope, depth + 1));
          l.push_back(std::move(a));
        } while (eat(","));
        EW_TRY(expect("]"));
      }
      return Arg(std::move(l));
    }
    const std::string_view w = word();
    if (w == "graph") {
      EW_ASSIGN(Parsed p, graph(depth + 1));
      return Arg(std::move(p.graph));
    }
    const auto taken = [&](Arg a) -> Result<Arg> {
      at_ += w.size();
      return a;
    };
    if (w == "None") return taken({});
    if (w == "True") return taken(true);
    if (w == "False") return taken(false);
    if (const auto t = dtype_from_name(w)) return taken(*t);
    const std::string_view t = number_text();
    if (int64_t i; read(t, i)) {
      at_ += t.size();
      return Arg(i);
    }
    if (double f; read(t, f)) {
      at_ += t.size();
      return Arg(f);
    }
    return bad("expected an argument");
  }

  // --- constants ---
  Result<void> element(DType t, std::vector<std::byte>& into) {
    std::byte cell[8] = {};
    const std::string_view text = number_text();
    const auto done = [&]() -> Result<void> {
      at_ += text.size();
      into.insert(into.end(), cell, cell + size_of(t));
      return {};
    };
    if (text == "True" || text == "False") {
      if (!is_bool(t)) return bad("{} in a constant of {}", text, edgewright::name(t));
      store_i(t, cell, 0, text == "True");
      return done();
    }
    if (is_float(t)) {
      if (t == DType::f32) {
        float v;
        if (!read(text, v)) return bad("expected a number");
        std::memcpy(cell, &v, 4);
      } else {
        double v;
        if (!read(text, v)) return bad("expected a number");
        store_f(t, cell, 0, v);
      }
      return done();
    }
    if (t == DType::u64) {
      uint64_t v;
      if (!read(text, v)) return bad("expected an unsigned integer");
      store_i(t, cell, 0, static_cast<int64_t>(v));
      return done();
    }
    int64_t v;
    if (!read(text, v)) return bad("expected an integer");
    store_i(t, cell, 0, v);
    if (load_i(t, cell, 0) != v) return bad("{} does not fit {}", v, edgewright::name(t));
    return done();
  }
  // A list of numbers in row-major order, flat or nested as the sizes are.
  Result<void> elements(DType t, std::span<const int64_t> sizes, size_t d, std::vector<std::byte>& into) {
    EW_TRY(expect("["));
    if (eat("]")) return {};
    const bool nested = peek() == '[';
    if (nested && d + 1 >= sizes.size()) return bad("the list is nested deeper than the tensor has dims");
    int64_t count = 0;
    do {
      EW_TRY(nested ? elements(t, sizes, d + 1, into) : element(t, into));
      ++count;
    } while (eat(","));
    if ((nested || d > 0) && count != sizes[d])
      return bad("{} entries along dim {}, which has size {}", count, d, sizes[d]);
    return expect("]");
  }
  Result<Tensor> data(const TensorType& type) {
    if (!is_static(type.shape)) return bad("a constant needs constant sizes");
    const std::vector<int64_t> sizes = static_sizes(type.shape);
    if (eat("@")) {
      const std::string_view w = word();
      if (w.empty()) return bad("expected the name of a tensor in the sidecar");
      if (!c_.find_constant) return bad("@{}: there is no sidecar", w);
      auto t = c_.find_constant(w);
      if (!t) return bad("@{}: {}", w, t.error().str());
      if (t->dtype != type.dtype || t->sizes != sizes)
        return bad("@{} is {} in the sidecar", w,
                   str(Type(TensorType{t->dtype, Shape(t->sizes.begin(), t->sizes.end())})));
      at_ += w.size();
      return std::move(*t);
    }
    std::vector<std::byte> bytes;
    if (eat_word("hex")) {
      EW_ASSIGN(const std::string digits, string());
      for (size_t i = 0; i < digits.size(); i += 2) {
        unsigned byte = 0;
        if (i + 2 > digits.size() ||
            std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16).ptr != digits.data() + i + 2)
          return bad("bad hex digits");
        bytes.push_back(static_cast<std::byte>(byte));
      }
    } else if (!is_number_dtype(type.dtype)) {
      return bad("a constant of {} is written as hex bytes", edgewright::name(type.dtype));
    } else if (sizes.empty() && peek() != '[') {
      EW_TRY(element(type.dtype, bytes));
    } else {
      EW_TRY(elements(type.dtype, sizes, 0, bytes));
    }
    const int64_t n = *checked_numel(sizes);
    const size_t width = size_of(type.dtype);
    if (bytes.size() != static_cast<size_t>(n) * width)
      return bad("{} elements given, {} needed", bytes.size() / width, n);
    Tensor t = Tensor::empty(type.dtype, sizes);
    std::copy(bytes.begin(), bytes.end(), t.mutable_data());
    return t;
  }

  // --- graphs ---
  Result<void> constant(Graph& g, Scope& scope, bool is_state) {
    EW_ASSIGN(std::string name, new_name(scope));
    EW_TRY(expect(":"));
    EW_ASSIGN(const Type t, type());
    const auto* tensor = std::get_if<TensorType>(&t);
    if (!tensor) return bad("a constant is a tensor");
    EW_TRY(expect("="));
    EW_ASSIGN(Tensor d, data(*tensor));
    return define(g, scope, name, is_state ? g.add_state("t", std::move(d)) : g.add_constant("t", std::move(d)));
  }

  // Gives a new value its name. The name is free in the text, but a value that is about to be renamed may hold it.
  Result<void> define(Graph& g, Scope& scope, const std::string& name, Value* v) {
    if (!g.rename(v, name)) return bad("%{} cannot be a name", name);
    scope.emplace(name, v);
    return {};
  }

  Result<void> node(Graph& g, Scope& scope, int depth) {
    std::vector<std::string> names;
    if (peek() == '%') {
      do {
        EW_ASSIGN(std::string n, new_name(scope));
        if (std::find(names.begin(), names.end(), n) != names.end()) return bad("%{} is defined already", n);
        names.push_back(std::move(n));
      } while (eat(","));
      EW_TRY(expect("="));
    }
    skip();
    const size_t op_at = at_;
    EW_ASSIGN(const std::string op_name, name());
    const Op* op = c_.find_op ? c_.find_op(op_name) : nullptr;
    std::shared_ptr<Op> foreign;
    if (!op) {
      foreign = std::make_shared<Op>();
      foreign->name = foreign->schema.name = op_name;
      foreign->schema.num_results = names.size();
      foreign->is_unknown = true;
      op = foreign.get();
    }
    EW_ASSIGN(std::vector<Arg> args, arguments(scope, *op, foreign.get(), depth));
    std::vector<Type> types;
    const size_t types_at = at_;
    if (eat(":")) {
      do {
        EW_ASSIGN(Type t, type());
        types.push_back(std::move(t));
      } while (eat(","));
      if (types.size() != names.size()) return bad("{} results but {} types", names.size(), types.size());
    } else if (foreign && !names.empty()) {
      at_ = op_at;
      return bad("unknown op {}: its result types must be given", op_name);
    }
    if (!foreign && (c_.infer || types.empty())) {
      const size_t end = at_;
      at_ = op_at;
      if (!c_.infer && !names.empty()) return bad("result types are needed");
      if (c_.infer) {
        auto inferred = c_.infer(*op, args);
        if (!inferred) return bad("{}", inferred.error().str());
        if (inferred->size() != names.size())
          return bad("{} has {} results, not {}", op_name, inferred->size(), names.size());
        at_ = types_at;
        for (size_t i = 0; i < types.size(); ++i)
          if (!may_equal(types[i], (*inferred)[i]))
            return bad("%{} is given as {}, but {} makes {}", names[i], str(types[i]), op_name, str((*inferred)[i]));
        if (types.empty()) types = std::move(*inferred);
      }
      at_ = end;
    }
    Node* n = g.add(*op, std::move(args), std::move(types), nullptr, nullptr, "t");
    if (foreign) g.foreign_ops.push_back(std::move(foreign));
    // The fresh names of the results may be names the text wants: move them out of the way first.
    for (size_t i = 0; i < names.size(); ++i)
      while (!g.rename(n->result(i), fmt::format("..{}", ++temporary_))) {}
    for (size_t i = 0; i < names.size(); ++i) EW_TRY(define(g, scope, names[i], n->result(i)));
    return {};
  }

  Result<std::vector<Arg>> arguments(const Scope& scope, const Op& op, Op* foreign, int depth) {
    EW_TRY(expect("("));
    const auto& params = op.schema.params;
    std::vector<std::optional<Arg>> slots(params.size());
    size_t position = 0;
    bool named = false;
    if (!eat(")")) {
      do {
        skip();
        const size_t start = at_;
        std::string key;
        if (peek() == '"' || is_plain_name(word())) {  // a name, a string, or a word such as None
          if (peek() == '"') {
            EW_ASSIGN(key, string());
          } else {
            key = word();
            at_ += key.size();
          }
          if (!eat("=")) {
            key.clear();
            at_ = start;
          }
        }
        const bool by_name = at_ != start;
        size_t slot = position;
        if (foreign) {
          slot = params.size();
          Param p;
          p.name = by_name ? key : fmt::format("arg{}", slot);
          p.kind = ParamKind::kOther;
          if (foreign->schema.index_of(p.name) >= 0) return bad("argument '{}' is given twice", p.name);
          foreign->schema.params.push_back(std::move(p));
          slots.emplace_back();
        } else if (by_name) {
          const int i = op.schema.index_of(key);
          if (i < 0) {
            at_ = start;
            return bad("{} has no parameter '{}'", op.name, key);
          }
          slot = static_cast<size_t>(i);
          named = true;
        } else {
          if (named) return bad("an argument by position after one by name");
          if (slot >= params.size()) return bad("{} has {} parameters", op.name, params.size());
          if (params[slot].keyword_only) return bad("'{}' is given by name only", params[slot].name);
          ++position;
        }
        if (slots[slot]) return bad("argument '{}' is given twice", params[slot].name);
        EW_ASSIGN(slots[slot], arg(scope, depth + 1));
      } while (eat(","));
      EW_TRY(expect(")"));
    }
    while (!slots.empty() && !slots.back() && params[slots.size() - 1].has_default) slots.pop_back();
    std::vector<Arg> out;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!slots[i] && !params[i].has_default) return bad("{}: argument '{}' is missing", op.name, params[i].name);
      out.push_back(slots[i] ? std::move(*slots[i]) : default_of(params[i]));
    }
    return out;
  }

  Result<void> where(SymbolRanges& ranges) {
    do {
      EW_ASSIGN(std::string symbol, name());
      if (!eat_word("in")) return bad("expected 'in'");
      EW_TRY(expect("["));
      Range r;
      const auto bound = [&](int64_t& v) -> Result<void> {
        const std::string_view t = number_text();
        if (!read(t, v)) return bad("expected an integer");
        at_ += t.size();
        return {};
      };
      EW_TRY(bound(r.lo));
      EW_TRY(expect(","));
      if (!eat_word("inf")) EW_TRY(bound(r.hi));
      EW_TRY(expect("]"));
      if (!ranges.emplace(std::move(symbol), r).second) return bad("a symbol has two ranges");
    } while (eat(","));
    return {};
  }

  Result<Parsed> graph(int depth) {
    if (depth > kMaxDepth) return bad("nested too deeply");
    if (!eat_word("graph")) return bad("expected 'graph'");
    Parsed p;
    p.graph = std::make_shared<Graph>();
    Graph& g = *p.graph;
    Scope scope;
    if (peek() != '(') {
      EW_ASSIGN(g.name, name());
    }
    EW_TRY(expect("("));
    if (!eat(")")) {
      do {
        EW_ASSIGN(std::string n, new_name(scope));
        EW_TRY(expect(":"));
        EW_ASSIGN(Type t, type());
        EW_TRY(define(g, scope, n, g.add_input("t", std::move(t))));
      } while (eat(","));
      EW_TRY(expect(")"));
    }
    if (depth == 0 && eat_word("where")) EW_TRY(where(p.ranges));
    EW_TRY(expect("{"));
    for (;;) {
      if (eat_word("const")) {
        EW_TRY(constant(g, scope, false));
      } else if (eat_word("state")) {
        EW_TRY(constant(g, scope, true));
      } else if (eat_word("write")) {
        Write w;
        EW_ASSIGN(w.target, value(scope));
        if (w.target->kind != ValueKind::kState && w.target->kind != ValueKind::kInput)
          return bad("only a state or an input can be written");
        EW_TRY(expect("<-"));
        EW_ASSIGN(w.value, value(scope));
        if (!may_equal(w.target->type, w.value->type))
          return bad("{} written to {}", str(w.value->type), str(w.target->type));
        g.writes.push_back(w);
      } else if (eat_word("return")) {
        if (peek() != '}') {
          do {
            EW_ASSIGN(Arg a, arg(scope, depth + 1));
            if (a.list() || a.graph()) return bad("an output is a value, a number, a string or None");
            g.outputs.push_back(std::move(a));
          } while (eat(","));
        }
        EW_TRY(expect("}"));
        return p;
      } else if (!g.writes.empty()) {
        return bad("expected 'write' or 'return'");
      } else {
        EW_TRY(node(g, scope, depth));
      }
    }
  }

  std::string_view s_;
  const ParseContext& c_;
  size_t at_ = 0;
  int temporary_ = 0;
  std::string comment_;
};
}  // namespace

std::string print(const Graph& g, const PrintOptions& o) {
  Printer p(o);
  p.graph(g, 0);
  return p.take() + '\n';
}
std::string print(const Node& n, const PrintOptions& o) {
  Printer p(o);
  p.node(n, 0);
  return p.take();
}

Result<Parsed> parse(std::string_view text, const ParseContext& c) { return Parser(text, c).one(); }
Result<std::vector<ParsedCase>> parse_cases(std::string_view text, const ParseContext& c) {
  return Parser(text, c).cases();
}

}  // namespace edgewright::ir
