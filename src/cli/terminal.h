// src/cli/terminal.h - colour and progress, as far as the terminal allows. Depends on fmt only.
#pragma once

#include <fmt/format.h>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

namespace edgewright::cli {

enum class Style { kGood, kBad, kDim, kBold };

// The text, coloured where the stream is a terminal that wants it (NO_COLOR and TERM=dumb are respected).
std::string paint(Style s, std::string text, std::FILE* stream = stdout);

// "1.2 KB", "14.0 MB".
std::string bytes_text(uint64_t bytes);
// "0.42 ms", "1.30 s".
std::string time_text(double milliseconds);
// Prints formatted text to stdout.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  const std::string s = fmt::format(text, std::forward<Args>(args)...);
  std::fwrite(s.data(), 1, s.size(), stdout);
}

// Says on stderr what is being done, once the command has taken more than a second: on a terminal one line that is rewritten
// and goes away at the end, elsewhere one line per part.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void operator()(const std::string& what);

 private:
  void loop();
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_, said_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace edgewright::cli
