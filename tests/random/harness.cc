#include "harness.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <regex>

namespace edgewright::random {
namespace {

constexpr unsigned kHang = 60;  // seconds for one program of a dozen small nodes

// Without names and numbers.
std::string kind_of(const std::string& text) {
  static const std::regex names("%[A-Za-z0-9_.]+"), numbers("-?[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?|nan|inf");
  std::string s = std::regex_replace(std::regex_replace(text, names, "%"), numbers, "_");
  return s.substr(0, 120);
}
// A refusal without the names of its node.
std::string reason_of(const std::string& text) {
  static const std::regex lead("^([A-Za-z0-9_]+: )+");
  return kind_of(std::regex_replace(text, lead, ""));
}

std::string signal_text(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return fmt::format("no end within {} s", kHang);
  if (WIFSIGNALED(status)) return fmt::format("signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

// Runs `work` in a child; what it writes to the pipe, and its wait status.
template <class F, class L>
int apart(F&& work, L&& line) {
  int ends[2];
  if (::pipe(ends) != 0) std::abort();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    // What crashes says little that the parent does not.
    if (std::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(3);
    std::FILE* out = ::fdopen(ends[1], "w");
    work(out);
    std::fflush(out);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::FILE* in = ::fdopen(ends[0], "r");
  char* buffer = nullptr;
  size_t capacity = 0;
  for (ssize_t n; (n = ::getline(&buffer, &capacity, in)) > 0;)
    line(std::string(buffer, static_cast<size_t>(n - (buffer[n - 1] == '\n'))));
  std::free(buffer);
  std::fclose(in);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

std::string one_line(std::string s) {
  for (char& c : s)
    if (c == '\n') c = ' ';
  return s;
}

std::string ops_of(const ir::Graph& g) {
  std::string s;
  for (const auto& n : g.nodes()) s += n->name() + " ";
  return s;
}

}  // namespace

std::string Tally::str() const {
  return fmt::format("{} programs: {} right, {} refused, {} unjudged, {} failures of {} kinds", programs, right,
                     refused, unjudged, programs - right - refused - unjudged, failures.size());
}

Verdict judge_apart(const Case& c) {
  Verdict v{Outcome::kWrong, "no verdict"};
  const int status = apart(
      [&](std::FILE* out) {
        ::alarm(kHang);
        const Verdict r = judge(c.program(), c.sample);
        std::fprintf(out, "%d %s\n", static_cast<int>(r.outcome), one_line(r.text).c_str());
      },
      [&](const std::string& line) {
        v.outcome = static_cast<Outcome>(line[0] - '0');
        v.text = line.substr(2);
      });
  if (status != 0) return {Outcome::kWrong, signal_text(status)};
  return v;
}

Tally run_campaign(const Campaign& c) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  const auto over = [&] {
    return c.seconds > 0 && std::chrono::duration<double>(Clock::now() - start).count() > c.seconds;
  };
  Tally tally;
  uint64_t next = c.seed;
  const uint64_t end = c.count ? c.seed + static_cast<uint64_t>(c.count) : UINT64_MAX;
  std::map<std::string, size_t> known;
  while (next < end && !over() && static_cast<int>(tally.failures.size()) < c.max_failures) {
    uint64_t at = next;
    std::vector<std::pair<uint64_t, std::string>> wrong;
    // A child goes on until something is wrong.
    const int status = apart(
        [&](std::FILE* out) {
          for (uint64_t seed = next; seed < end && !over(); ++seed) {
            std::fprintf(out, "@%lu\n", static_cast<unsigned long>(seed));
            std::fflush(out);
            ::alarm(kHang);
            const Case one = generate(seed, c.generate);
            const Verdict v = judge(one.program(), one.sample);
            std::fprintf(out, "%d %s\n", static_cast<int>(v.outcome), one_line(v.text).c_str());
            std::fflush(out);
            if (v.outcome == Outcome::kWrong) return;
          }
        },
        [&](const std::string& line) {
          if (line[0] == '@') {
            at = std::stoull(line.substr(1));
            ++tally.programs;
            next = at + 1;
            return;
          }
          switch (static_cast<Outcome>(line[0] - '0')) {
            case Outcome::kRight: ++tally.right; break;
            case Outcome::kUnjudged: ++tally.unjudged; break;
            case Outcome::kRefused:
              ++tally.refused;
              ++tally.reasons[reason_of(line.substr(2))];
              break;
            case Outcome::kWrong: wrong.emplace_back(at, line.substr(2)); break;
          }
        });
    if (status != 0) wrong.emplace_back(at, signal_text(status));
    for (const auto& [seed, text] : wrong) {
      Failure f{seed, kind_of(text), text, {}, {}, 1};
      // Making the program may be what crashes.
      bool made = false;
      apart(
          [&](std::FILE* out) {
            ::alarm(kHang);
            (void)generate(seed, c.generate);
            std::fprintf(out, "made\n");
          },
          [&](const std::string&) { made = true; });
      std::string key = f.kind;
      if (made) {
        f.reduced = reduce(
            generate(seed, c.generate),
            [&](const Case& k) {
              const Verdict v = judge_apart(k);
              return v.outcome == Outcome::kWrong && kind_of(v.text).substr(0, 30) == f.kind.substr(0, 30);
            },
            c.reduce_tries);
        const Verdict v = judge_apart(f.reduced);
        if (v.outcome == Outcome::kWrong) f.text = v.text;
        key += ops_of(*f.reduced.graph);
      } else {
        f.text += " while the program is made";
      }
      if (const auto it = known.find(key); it != known.end()) {
        ++tally.failures[it->second].times;
        continue;
      }
      known[key] = tally.failures.size();
      if (made && !c.found_dir.empty())
        if (auto command = write_case(f.reduced, fmt::format("{}/seed_{}", c.found_dir, seed))) f.command = *command;
      if (c.verbose) {
        std::printf("--- seed %lu: %s\n%s%s\n", static_cast<unsigned long>(seed), f.text.c_str(),
                    made ? text_of(f.reduced).c_str() : "", f.command.c_str());
        std::fflush(stdout);
      }
      tally.failures.push_back(std::move(f));
    }
  }
  return tally;
}

}  // namespace edgewright::random
