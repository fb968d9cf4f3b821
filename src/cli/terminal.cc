// src/cli/terminal.cc - colour, numbers for people, progress.
#include "cli/terminal.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace edgewright::cli {

std::string paint(Style s, std::string text, std::FILE* stream) {
  const char* term = std::getenv("TERM");
  if (!isatty(fileno(stream)) || std::getenv("NO_COLOR") || !term || std::strcmp(term, "dumb") == 0) return text;
  const char* code = s == Style::kGood ? "32" : s == Style::kBad ? "31" : s == Style::kDim ? "2" : "1";
  return fmt::format("\033[{}m{}\033[0m", code, text);
}

std::string bytes_text(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string time_text(double milliseconds) {
  return milliseconds < 1000 ? fmt::format("{:.2f} ms", milliseconds) : fmt::format("{:.2f} s", milliseconds / 1000);
}

ProgressLine::ProgressLine() : terminal_(isatty(STDERR_FILENO)), thread_([this] { loop(); }) {}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (terminal_ && !said_.empty()) std::fputs("\r\033[K", stderr);
}

void ProgressLine::operator()(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
}

void ProgressLine::loop() {
  using namespace std::chrono_literals;
  std::unique_lock lock(mutex_);
  const auto start = std::chrono::steady_clock::now();
  auto wait = 1000ms;
  while (!changed_.wait_for(lock, wait, [this] { return done_; })) {
    wait = 250ms;
    if (what_.empty() || (!terminal_ && what_ == said_)) continue;
    said_ = what_;
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const std::string line =
        terminal_ ? fmt::format("\r\033[K  {} ({:.0f} s)", said_, seconds) : fmt::format("  {} ...\n", said_);
    std::fputs(line.c_str(), stderr);
  }
}

}  // namespace edgewright::cli
