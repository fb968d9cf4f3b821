// src/session/json.h - writes JSON text. Depends on fmt only.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace edgewright::session {

// Calls nest as the text does; commas are put where they belong. Numbers that JSON has not (NaN, infinities) become null.
//   JsonWriter j; j.open('{').key("a").value(1).key("b").open('[').value("x").close(']').close('}');
class JsonWriter {
 public:
  JsonWriter& open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  JsonWriter& close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }
  JsonWriter& key(std::string_view k) {
    value(k);
    text_ += ": ";
    fresh_ = true;
    return *this;
  }
  JsonWriter& value(std::string_view s) {
    separate();
    text_ += '"';
    for (const char c : s) {
      switch (c) {
        case '"': text_ += "\\\""; break;
        case '\\': text_ += "\\\\"; break;
        case '\n': text_ += "\\n"; break;
        case '\t': text_ += "\\t"; break;
        default:
          if (static_cast<unsigned char>(c) < 0x20) {
            text_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
          } else {
            text_ += c;
          }
      }
    }
    text_ += '"';
    return *this;
  }
  JsonWriter& value(const char* s) { return value(std::string_view(s)); }
  JsonWriter& value(bool b) { return raw(b ? "true" : "false"); }
  JsonWriter& value(double d) { return raw(std::isfinite(d) ? fmt::format("{}", d) : "null"); }
  JsonWriter& value(std::nullptr_t) { return raw("null"); }
  template <class T>
    requires std::is_integral_v<T>
  JsonWriter& value(T n) {
    return raw(fmt::format("{}", n));
  }
  template <class T>
  JsonWriter& field(std::string_view k, const T& v) {
    return key(k).value(v);
  }
  // The text so far, with a line end.
  std::string take() { return std::move(text_) + "\n"; }

 private:
  void separate() {
    if (!fresh_) text_ += ", ";
    fresh_ = false;
  }
  JsonWriter& raw(std::string_view s) {
    separate();
    text_ += s;
    return *this;
  }
  std::string text_;
  bool fresh_ = true;  // nothing to separate from
};

}  // namespace edgewright::session
