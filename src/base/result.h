// src/base/result.h - Result<T> and Error: how every library reports failure. Depends on fmt only.
#pragma once

#include <fmt/format.h>

#include <expected>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace edgewright {

// What kind of failure; the command line maps each to an exit status (see exit_status()).
enum class Code : uint8_t {
  kMismatch,     // results disagree                                          -> 1
  kUsage,        // wrong arguments, or inputs that do not fit the program    -> 2
  kMalformed,    // input unreadable or malformed                             -> 3
  kUnsupported,  // well-formed, but outside what edgewright does             -> 4
  kInternal,     // a fault of ours                                           -> 5
  kKeptOnHost,   // not an error to users: a node that XNNPACK does not take, with the reason
};

// Exit status of the command line for a failure of this kind.
constexpr int exit_status(Code c) {
  switch (c) {
    case Code::kMismatch: return 1;
    case Code::kUsage: return 2;
    case Code::kMalformed: return 3;
    case Code::kUnsupported: return 4;
    case Code::kInternal:
    case Code::kKeptOnHost: return 5;
  }
  return 5;
}

// A failure: kind, message, and, where known, the node, the file and the model's source line.
// Notes are added by callers on the way up, innermost first.
struct Error {
  Code code = Code::kInternal;
  std::string message;
  std::string node;    // name of the graph node, empty if none
  std::string origin;  // module path and source line recorded by the exporter, empty if unknown
  std::vector<std::string> notes;
  std::source_location where;

  // One line: "<notes outermost first>: <node>: <message> [origin]".
  std::string str() const {
    std::string s;
    for (auto it = notes.rbegin(); it != notes.rend(); ++it) s += *it + ": ";
    if (!node.empty()) s += node + ": ";
    s += message;
    if (!origin.empty()) s += " [" + origin + "]";
    return s;
  }
};

template <class T>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

// Carries the format string together with the caller's position.
template <class... Args>
struct FormatAt {
  fmt::format_string<Args...> text;
  std::source_location where;
  template <class S>
  consteval FormatAt(const S& s, std::source_location w = std::source_location::current()) : text(s), where(w) {}
};

// Builds the failure to return: `return fail(Code::kMalformed, "entry {} is truncated", name);`
template <class... Args>
std::unexpected<Error> fail(Code code, FormatAt<std::type_identity_t<Args>...> f, Args&&... args) {
  Error e;
  e.code = code;
  e.message = fmt::format(f.text, std::forward<Args>(args)...);
  e.where = f.where;
  return std::unexpected<Error>(std::move(e));
}

// Adds a note (file, stage) to a failure on its way up.
inline std::unexpected<Error> with_note(Error e, std::string note) {
  e.notes.push_back(std::move(note));
  return std::unexpected<Error>(std::move(e));
}

#define EW_CONCAT_(a, b) a##b
#define EW_CONCAT(a, b) EW_CONCAT_(a, b)
// EW_TRY(expr): returns the failure of a Result expression to the caller, drops its value.
#define EW_TRY(expr)                                                                   \
  do {                                                                                 \
    if (auto ew_r_ = (expr); !ew_r_) return std::unexpected(std::move(ew_r_.error())); \
  } while (0)
// EW_ASSIGN(decl, expr): `EW_ASSIGN(auto x, f());` binds the value or returns the failure.
#define EW_ASSIGN(decl, expr) EW_ASSIGN_(EW_CONCAT(ew_r_, __LINE__), decl, expr)
#define EW_ASSIGN_(tmp, decl, expr)                         \
  auto tmp = (expr);                                        \
  if (!tmp) return std::unexpected(std::move(tmp.error())); \
  decl = std::move(*tmp)

// EW_CHECK(cond): our own invariant; aborts with position when broken. Never reachable from user input.
#define EW_CHECK(cond)                                                               \
  do {                                                                               \
    if (!(cond)) ::edgewright::check_failed(#cond, std::source_location::current()); \
  } while (0)
[[noreturn]] void check_failed(const char* cond, std::source_location where);

}  // namespace edgewright
