#include "ir/schema.h"

#include <algorithm>

namespace edgewright::ir {

int Schema::index_of(std::string_view param) const {
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i].name == param) return static_cast<int>(i);
  return -1;
}

namespace {
std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}
// Splits at commas outside (), [], quotes.
std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> out;
  int depth = 0;
  char quote = 0;
  size_t start = 0;
  for (size_t i = 0; i < s.size(); ++i) {
    const char c = s[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.push_back(trim(s.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (const auto last = trim(s.substr(start)); !last.empty()) out.push_back(last);
  return out;
}
}  // namespace

Result<Schema> parse_schema(std::string_view text) {
  const auto bad = [&](const char* why) { return fail(Code::kInternal, "schema '{}': {}", text, why); };
  const size_t open = text.find('(');
  const size_t arrow = text.rfind("->");
  if (open == std::string_view::npos || arrow == std::string_view::npos) return bad("no parameter list or result");
  const size_t close = text.rfind(')', arrow);
  if (close == std::string_view::npos || close < open) return bad("unclosed parameter list");
  Schema s;
  s.name = std::string(trim(text.substr(0, open)));
  if (const size_t colons = s.name.find("::"); colons != std::string::npos) s.name.replace(colons, 2, ".");
  if (s.name.ends_with(".default")) s.name.resize(s.name.size() - 8);
  bool keyword_only = false;
  for (std::string_view p : split(text.substr(open + 1, close - open - 1))) {
    if (p == "*") {
      keyword_only = true;
      continue;
    }
    Param q;
    q.keyword_only = keyword_only;
    std::string_view decl = p;
    if (const size_t eq = p.find('='); eq != std::string_view::npos) {
      q.has_default = true;
      q.default_text = std::string(trim(p.substr(eq + 1)));
      decl = trim(p.substr(0, eq));
    }
    const size_t space = decl.rfind(' ');
    if (space == std::string_view::npos) return bad("a parameter without a name");
    q.name = std::string(decl.substr(space + 1));
    std::string type(trim(decl.substr(0, space)));
    if (const size_t a = type.find('('); a != std::string::npos) {
      const size_t b = type.find(')', a);
      q.is_mutated = type.substr(a, b - a).find('!') != std::string::npos;
      type.erase(a, b - a + 1);
    }
    if (type.ends_with('?')) {
      q.is_optional = true;
      type.pop_back();
    }
    if (const size_t b = type.find('['); b != std::string::npos) {
      q.is_list = true;
      if (b + 1 < type.size() && type[b + 1] != ']') q.list_size = std::atoi(type.c_str() + b + 1);
      type.erase(b);
      if (type.ends_with('?')) type.pop_back();
    }
    static constexpr std::pair<std::string_view, ParamKind> kKinds[] = {
        {"Tensor", ParamKind::kTensor}, {"SymInt", ParamKind::kInt},         {"int", ParamKind::kInt},
        {"float", ParamKind::kFloat},   {"SymFloat", ParamKind::kFloat},     {"bool", ParamKind::kBool},
        {"SymBool", ParamKind::kBool},  {"Scalar", ParamKind::kScalar},      {"ScalarType", ParamKind::kDType},
        {"str", ParamKind::kString},    {"Graph", ParamKind::kGraph},        {"Device", ParamKind::kOther},
        {"Layout", ParamKind::kOther},  {"MemoryFormat", ParamKind::kOther}, {"Generator", ParamKind::kOther}};
    const auto* k = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const auto& e) { return e.first == type; });
    if (k == std::end(kKinds)) return bad("unknown parameter type");
    q.kind = k->second;
    s.params.push_back(std::move(q));
  }
  std::string_view result = trim(text.substr(arrow + 2));
  if (result.starts_with("()")) {
    s.num_results = 0;
  } else if (result.find("Tensor[]") != std::string_view::npos ||
             result.find("Tensor(a)[]") != std::string_view::npos) {
    s.num_results = Schema::kVariadic;
  } else if (result.starts_with('(')) {
    s.num_results = split(result.substr(1, result.rfind(')') - 1)).size();
  }
  return s;
}

}  // namespace edgewright::ir
