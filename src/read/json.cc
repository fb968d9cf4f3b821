#include "read/json.h"

#include <cmath>
#include <limits>
#include <string>

namespace edgewright::read {

namespace {
constexpr size_t kMaxDepth = 512;

// Puts quotes around NaN, Infinity and -Infinity that stand outside strings; nullopt where there is none.
std::optional<std::string> quote_non_finite(std::string_view in) {
  std::string out;
  bool in_string = false, changed = false;
  for (size_t i = 0; i < in.size();) {
    const char c = in[i];
    if (in_string) {
      if (c == '\\' && i + 1 < in.size()) {
        out += c;
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
      out += in[i++];
      continue;
    }
    size_t n = 0;
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity"})
      if (in.substr(i).starts_with(word)) n = word.size();
    if (n) {
      changed = true;
      out.append(1, '"').append(in.substr(i, n)).append(1, '"');
      i += n;
    } else {
      in_string = c == '"';
      out += c;
      ++i;
    }
  }
  return changed ? std::optional(std::move(out)) : std::nullopt;
}

std::unexpected<Error> wrong(std::string_view what, std::string_view expected) {
  return fail(Code::kMalformed, "{} is not {}", what, expected);
}
}  // namespace

Result<std::unique_ptr<JsonDocument>> parse_json(std::string_view text) {
  auto d = std::make_unique<JsonDocument>();
  auto error = d->parser.allocate(text.size(), kMaxDepth);
  if (!error) error = d->parser.parse(text.data(), text.size()).get(d->root);
  if (error) {
    if (const auto quoted = quote_non_finite(text)) {
      error = d->parser.allocate(quoted->size(), kMaxDepth);
      if (!error) error = d->parser.parse(*quoted).get(d->root);
    }
  }
  if (error) return fail(Code::kMalformed, "not valid JSON: {}", simdjson::error_message(error));
  return d;
}

Result<JsonObject> as_object(JsonValue v, std::string_view what) {
  JsonObject o;
  if (v.get(o)) return wrong(what, "an object");
  return o;
}
Result<JsonArray> as_array(JsonValue v, std::string_view what) {
  JsonArray a;
  if (v.get(a)) return wrong(what, "a list");
  return a;
}
Result<std::string_view> as_string(JsonValue v, std::string_view what) {
  std::string_view s;
  if (v.get(s)) return wrong(what, "a string");
  return s;
}
Result<int64_t> as_int(JsonValue v, std::string_view what) {
  int64_t i = 0;
  if (v.get(i)) return wrong(what, "an int of 64 bits");
  return i;
}
Result<bool> as_bool(JsonValue v, std::string_view what) {
  bool b = false;
  if (v.get(b)) return wrong(what, "a bool");
  return b;
}
Result<double> as_double(JsonValue v, std::string_view what) {
  double d = 0;
  if (!v.get(d)) return d;
  std::string_view s;
  if (!v.get(s)) {
    if (s == "NaN") return std::nan("");
    if (s == "Infinity") return std::numeric_limits<double>::infinity();
    if (s == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return wrong(what, "a number");
}

Result<JsonValue> member(JsonObject o, std::string_view key) {
  JsonValue v;
  if (o.at_key(key).get(v)) return fail(Code::kMalformed, "'{}' is missing", key);
  return v;
}
std::optional<JsonValue> maybe(JsonObject o, std::string_view key) {
  JsonValue v;
  if (o.at_key(key).get(v) || v.is_null()) return std::nullopt;
  return v;
}
Result<JsonObject> object_member(JsonObject o, std::string_view key) {
  EW_ASSIGN(JsonValue v, member(o, key));
  return as_object(v, key);
}
Result<JsonArray> array_member(JsonObject o, std::string_view key) {
  EW_ASSIGN(JsonValue v, member(o, key));
  return as_array(v, key);
}
Result<std::string_view> string_member(JsonObject o, std::string_view key) {
  EW_ASSIGN(JsonValue v, member(o, key));
  return as_string(v, key);
}
Result<std::pair<std::string_view, JsonValue>> as_union(JsonValue v, std::string_view what) {
  EW_ASSIGN(const JsonObject o, as_object(v, what));
  auto it = o.begin();
  if (it == o.end()) return fail(Code::kMalformed, "{} is an empty object", what);
  const std::pair<std::string_view, JsonValue> r{it.key(), it.value()};
  if (++it != o.end()) return fail(Code::kMalformed, "{} has more than one kind ('{}', '{}')", what, r.first, it.key());
  return r;
}

}  // namespace edgewright::read
