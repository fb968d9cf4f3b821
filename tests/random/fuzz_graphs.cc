// fuzz_graphs: random programs, the compiled one held to the interpreter (./dev fuzz graphs). Depends on harness.h.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "base/file.h"
#include "harness.h"
#include "session/convert.h"
#include "session/value.h"

namespace edgewright::random {
namespace {

const char* const kHelp =
    R"(fuzz_graphs [options]: random programs through compiler and runtime, held to the interpreter.
  --seconds N      how long (default 60); --count N: how many instead
  --seed S         the first program's seed (default: a fresh one, printed)
  --nodes N        at most so many nodes each (default 10)
  --only OP,OP     from these ops alone
  --found DIR      where failures are written as .ir and .safetensors (default: here)
  --print          print the programs instead of judging them
  --emit DIR       write --count programs with the interpreter's results for tests/random/torch_programs.py
  --stats          how often each op was used, and which never
Status 1 where something failed.
)";

// DIR/N.ir, DIR/N.in.safetensors, DIR/N.out.safetensors: outputs, then overwritten inputs ("in0", ...) are outputs' keys.
int emit(const Campaign& c, const std::string& dir) {
  ::mkdir(dir.c_str(), 0777);
  for (uint64_t seed = c.seed; seed < c.seed + static_cast<uint64_t>(c.count); ++seed) {
    Case one = generate(seed, c.generate);
    one.sample.calls.resize(1);
    const ir::Program program = one.program();
    const auto r = reference(program, one.sample);
    if (!r || r->wild) continue;
    const std::string stem = fmt::format("{}/{}", dir, seed);
    std::vector<session::Value> out, slack, in;
    bool ok = true;
    for (const Expected& e : r->calls[0]) {
      out.push_back(session::to_value(e.value));
      ir::Tensor s = ir::Tensor::empty(DType::f64, {static_cast<int64_t>(e.slack.size())});
      std::copy(e.slack.begin(), e.slack.end(), reinterpret_cast<double*>(s.mutable_data()));
      slack.push_back(session::to_value(interp::Datum(s)));
    }
    for (const interp::Datum& d : one.sample.calls[0]) in.push_back(session::to_value(d));
    const std::string text = text_of(one);
    ok &= write_file(stem + ".ir", {reinterpret_cast<const std::byte*>(text.data()), text.size()}).has_value();
    ok &= session::write_outputs(stem + ".in.safetensors", in).has_value();
    ok &= session::write_outputs(stem + ".out.safetensors", out).has_value();
    ok &= session::write_outputs(stem + ".slack.safetensors", slack).has_value();
    if (!ok) {
      std::fprintf(stderr, "cannot write %s\n", stem.c_str());
      return 1;
    }
  }
  return 0;
}

void print_statistics() {
  std::vector<std::string> never;
  for (const ops::OpDef& d : ops::table())
    if (!statistics().contains(d.name) || statistics().at(d.name).made == 0)
      if (d.name.starts_with("aten.")) never.push_back(d.name);
  for (const auto& [op, t] : statistics()) std::printf("%-48s %6d made %6d refused\n", op.c_str(), t.made, t.refused);
  std::printf("%zu never: %s\n", never.size(), fmt::format("{}", fmt::join(never, " ")).c_str());
}

int run(int argc, char** argv) {
  Campaign c;
  c.seconds = 60;
  c.verbose = true;
  c.found_dir = ".";
  std::optional<uint64_t> seed;
  std::string emit_dir;
  bool print = false, stats = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 < argc) return argv[++i];
      std::fprintf(stderr, "%s needs a value\n", a.c_str());
      std::exit(2);
    };
    if (a == "--seconds") {
      c.seconds = std::stod(value());
    } else if (a == "--count") {
      c.count = std::stoll(value());
      c.seconds = 0;
    } else if (a == "--seed") {
      seed = std::stoull(value());
    } else if (a == "--nodes") {
      c.generate.max_nodes = std::max(1, std::stoi(value()));
    } else if (a == "--only") {
      std::string names = value();
      for (size_t at = 0; at <= names.size();) {
        const size_t comma = std::min(names.find(',', at), names.size());
        c.generate.only.insert(names.substr(at, comma - at));
        at = comma + 1;
      }
    } else if (a == "--found") {
      c.found_dir = value();
    } else if (a == "--emit") {
      emit_dir = value();
    } else if (a == "--print") {
      print = true;
    } else if (a == "--stats") {
      stats = true;
    } else {
      std::fputs(kHelp, a == "--help" || a == "-h" ? stdout : stderr);
      return a == "--help" || a == "-h" ? 0 : 2;
    }
  }
  if (!seed) seed = std::random_device()() + (static_cast<uint64_t>(std::random_device()()) << 20);
  c.seed = *seed;
  std::printf("seed %lu\n", static_cast<unsigned long>(c.seed));
  if (!emit_dir.empty()) {
    c.generate.for_torch = true;
    if (c.count == 0) c.count = 100;
    return emit(c, emit_dir);
  }
  if (print || stats) {
    if (c.count == 0) c.count = 100;
    for (uint64_t s = c.seed; s < c.seed + static_cast<uint64_t>(c.count); ++s) {
      const Case one = generate(s, c.generate);
      if (print) std::printf("# seed %lu\n%s\n", static_cast<unsigned long>(s), text_of(one).c_str());
    }
    if (stats) print_statistics();
    return 0;
  }
  const Tally t = run_campaign(c);
  std::vector<std::pair<int, std::string>> reasons;
  for (const auto& [reason, n] : t.reasons) reasons.emplace_back(-n, reason);
  std::sort(reasons.begin(), reasons.end());
  for (const auto& [n, reason] : reasons) std::printf("%6d refused: %s\n", -n, reason.c_str());
  for (const Failure& f : t.failures)
    std::printf("%6d failed like seed %lu: %s\n", f.times, static_cast<unsigned long>(f.seed), f.text.c_str());
  std::printf("%s\n", t.str().c_str());
  return t.failures.empty() ? 0 : 1;
}

}  // namespace
}  // namespace edgewright::random

int main(int argc, char** argv) { return edgewright::random::run(argc, argv); }
