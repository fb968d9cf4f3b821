// src/read/json.h - strict access to a parsed JSON document, with errors that say what was expected where. Depends on base,
// simdjson.
#pragma once

#include <simdjson.h>

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "read/zip.h"

namespace edgewright::read {

using JsonValue = simdjson::dom::element;
using JsonObject = simdjson::dom::object;
using JsonArray = simdjson::dom::array;

// Owns the parsed text; values and strings taken from it live as long as it does.
struct JsonDocument {
  simdjson::dom::parser parser;
  JsonValue root;
};
// Nesting is limited to 512. Python's bare NaN, Infinity and -Infinity are read as strings of that name.
// Errors: kMalformed.
Result<std::unique_ptr<JsonDocument>> parse_json(std::string_view text);

// `what` names the value in the error. All errors are kMalformed.
Result<JsonObject> as_object(JsonValue v, std::string_view what);
Result<JsonArray> as_array(JsonValue v, std::string_view what);
Result<std::string_view> as_string(JsonValue v, std::string_view what);
Result<int64_t> as_int(JsonValue v, std::string_view what);
Result<bool> as_bool(JsonValue v, std::string_view what);
// A number, or one of the strings "NaN", "Infinity", "-Infinity" (as torch writes them).
Result<double> as_double(JsonValue v, std::string_view what);

// The member, which must be there (null counts as there).
Result<JsonValue> member(JsonObject o, std::string_view key);
// nullopt where it is missing or null.
std::optional<JsonValue> maybe(JsonObject o, std::string_view key);
Result<JsonObject> object_member(JsonObject o, std::string_view key);
Result<JsonArray> array_member(JsonObject o, std::string_view key);
Result<std::string_view> string_member(JsonObject o, std::string_view key);
// torch's unions: an object with exactly one member.
Result<std::pair<std::string_view, JsonValue>> as_union(JsonValue v, std::string_view what);

}  // namespace edgewright::read
