// The passes in random orders and subsets, with repeats: whatever the order, the graph stays sound, the interpreter's results
// stay those of the original, and the compiled program gives them too. Over the graphs of tests/passes (before and after each
// pass); with EDGEWRIGHT_CORPUS (./dev test --corpora) also over every 12th program of that folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "../passes/graphs.h"
#include "base/file.h"
#include "driver/compile.h"
#include "judge.h"
#include "session/calls.h"
#include "session/convert.h"
#include "session/source.h"

namespace edgewright::random {
namespace {

using passes::Verify;
namespace fs = std::filesystem;

class Order {
 public:
  explicit Order(uint64_t seed) : random_(seed) {}
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }
  // Up to as many steps as the default pipeline has, any pass any number of times.
  std::vector<std::string> next() {
    std::vector<std::string> names;
    const size_t length = 1 + below(passes::default_pipeline().size());
    for (size_t i = 0; i < length; ++i) names.push_back(passes::table()[below(passes::table().size())].name);
    return names;
  }

 private:
  std::mt19937_64 random_;
};

bool writes_in_place(const ir::Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(), [](const auto& n) {
    const ops::OpDef* d = ops::def(*n);
    if (d && d->functional) return true;
    return std::any_of(n->args().begin(), n->args().end(),
                       [](const ir::Arg& a) { return a.graph() && writes_in_place(**a.graph()); });
  });
}

struct Counts {
  int orders = 0, lowered = 0, refused = 0, unjudged = 0;
};

// One order on one program. The first pass of a program that is not functional yet is the one that makes it so: what the
// others assume (passes.md).
void run_order(const ir::Program& original, const Sample& sample, const Reference& expected,
               std::vector<std::string> order, Verify verify, Counts& counts) {
  if (writes_in_place(*original.graph)) order.insert(order.begin(), {"inline-graphs", "functionalize"});
  SCOPED_TRACE(fmt::format("{}", fmt::join(order, ", ")));
  ir::Program p = session::clone(original);
  passes::PassLog log;
  const auto ok = passes::run_passes(p, order, {.verify = verify, .disabled = {}, .after = {}}, log);
  ASSERT_TRUE(ok.has_value()) << ok.error().str();
  for (const passes::Event& e : log.events) EXPECT_FALSE(e.fault) << e.pass << " at " << e.node << ": " << e.reason;
  const auto sound = ops::verify(*p.graph);
  ASSERT_TRUE(sound.has_value()) << sound.error().str() << "\n" << ir::print(*p.graph);
  ++counts.orders;
  const auto got = interpret(p, sample);
  ASSERT_TRUE(got.has_value()) << got.error().str() << "\n" << ir::print(*p.graph);
  if (auto difference = compare(expected, *got)) {
    if (expected.wild)
      ++counts.unjudged;
    else
      ADD_FAILURE() << *difference << "\nbefore\n" << ir::print(*original.graph) << "after\n" << ir::print(*p.graph);
  }
  // Lowered with the default pipeline on top, or, every other time, with as little as there has to be.
  driver::CompileOptions o;
  if (counts.orders % 2) {
    for (const passes::PassDef& d : passes::table()) o.disabled.insert(d.name);
    o.disabled.erase("functionalize");
  }
  const Verdict v = judge(p, sample, expected, o);
  if (v.outcome == Outcome::kRefused)
    ++counts.refused;
  else
    ++counts.lowered;
  EXPECT_NE(v.outcome, Outcome::kWrong) << v.text << "\nbefore\n"
                                        << ir::print(*original.graph) << "after\n"
                                        << ir::print(*p.graph);
}

std::vector<fs::path> sorted(const fs::path& folder, const std::function<bool(const fs::path&)>& wanted) {
  std::vector<fs::path> all;
  for (const auto& e : fs::recursive_directory_iterator(folder))
    if (wanted(e.path())) all.push_back(e.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::string text_of(const fs::path& path) {
  const auto file = MappedFile::open(path.string());
  EXPECT_TRUE(file.has_value());
  if (!file) return {};
  return {reinterpret_cast<const char*>((*file)->bytes().data()), (*file)->bytes().size()};
}

TEST(AnyOrder, gives_right_programs_from_every_graph_of_the_pass_tests) {
  Order order(1);
  Counts counts;
  for (const fs::path& path : sorted(EW_PASS_CASES, [](const fs::path& p) { return p.extension() == ".ir"; })) {
    const auto cases = ir::parse_cases(text_of(path), ops::parse_context());
    ASSERT_TRUE(cases.has_value()) << cases.error().str();
    for (const ir::ParsedCase& c : *cases)
      for (const ir::Parsed& graph : c.graphs) {
        SCOPED_TRACE(path.filename().string() + ": " + c.comment);
        const ir::Program p = program_of(graph);
        const Sample sample{{passes::random_inputs(p, 1), passes::random_inputs(p, 2)}};
        const auto expected = reference(p, sample);
        ASSERT_TRUE(expected.has_value()) << expected.error().str();
        for (int k = 0; k < 6; ++k)
          run_order(p, sample, *expected, order.next(), k % 3 == 0 ? Verify::kLocal : Verify::kOff, counts);
        if (HasFatalFailure()) return;
      }
  }
  EXPECT_GE(counts.orders, 300);
  EXPECT_GE(counts.lowered, counts.orders / 2) << counts.refused << " refused";
  RecordProperty("orders", counts.orders);
}

// Not part of the default run: the corpora part starts it.
TEST(Corpora, any_order_gives_right_programs) {
  const char* folder = std::getenv("EDGEWRIGHT_CORPUS");
  if (!folder) GTEST_SKIP() << "EDGEWRIGHT_CORPUS names no folder";
  Order order(2);
  Counts counts;
  const auto all = sorted(folder, [](const fs::path& p) {
    return p.filename().string().starts_with("program") && p.extension() == ".pt2" && fs::file_size(p) < 300000;
  });
  for (size_t i = 0; i < all.size(); i += 12) {
    SCOPED_TRACE(all[i].string());
    auto source = session::open_pt2(all[i].string(), {});
    if (!source) continue;  // unreadable ones are the corpora test's
    ir::Program& p = source->programs.front();
    const auto random = [](const auto& n) {
      const ops::OpDef* d = ops::def(*n);
      return d && d->is_nondeterministic;
    };
    if (std::any_of(p.graph->nodes().begin(), p.graph->nodes().end(), random)) continue;
    Sample sample;
    const auto inputs = session::invent_inputs(session::signature_of(p), 1);
    if (!inputs) continue;
    sample.calls.emplace_back();
    for (const session::Value& v : *inputs) sample.calls[0].push_back(session::to_datum(v));
    const auto expected = reference(p, sample);
    if (!expected) continue;
    for (int k = 0; k < 2; ++k)
      run_order(p, sample, *expected, order.next(), k ? Verify::kLocal : Verify::kOff, counts);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(counts.orders, 50);
  std::printf("%d orders, %d lowered, %d refused, %d unjudged\n", counts.orders, counts.lowered, counts.refused,
              counts.unjudged);
}

}  // namespace
}  // namespace edgewright::random
