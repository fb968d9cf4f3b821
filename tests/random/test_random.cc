// Random programs: what the interpreter gives, the compiled program gives. A fixed seed, and a fresh one (printed).
#include <gtest/gtest.h>

#include <random>

#include "harness.h"
#include "ops/build.h"
#include "ops/verify.h"

namespace edgewright::random {
namespace {

void expect_right(uint64_t seed, int count) {
  std::printf("seed %lu, %d programs\n", static_cast<unsigned long>(seed), count);
  Campaign c;
  c.seed = seed;
  c.count = count;
  c.max_failures = 3;
  const Tally t = run_campaign(c);
  for (const Failure& f : t.failures)
    ADD_FAILURE() << f.text << "\nfuzz_graphs --seed " << f.seed << " --count 1, reduced to\n"
                  << (f.reduced.graph ? text_of(f.reduced) : "");
  EXPECT_EQ(t.programs, count) << t.str();
  // Programs that nothing judges would hide everything.
  EXPECT_GE(t.right, count / 2) << t.str();
  std::printf("%s\n", t.str().c_str());
}

TEST(Random, programs_of_a_fixed_seed_are_right) { expect_right(1, 400); }
TEST(Random, programs_of_a_fresh_seed_are_right) { expect_right(std::random_device()(), 100); }

TEST(Random, the_same_seed_makes_the_same_program) {
  for (uint64_t seed = 1; seed < 20; ++seed) EXPECT_EQ(text_of(generate(seed)), text_of(generate(seed)));
}

TEST(Random, text_of_a_program_reads_back_as_the_same) {
  for (uint64_t seed = 1; seed < 100; ++seed) {
    const auto differs = [](const Case& c) {
      const auto parsed = ir::parse(text_of(c), ops::parse_context());
      if (!parsed) return true;
      Case again = c;
      again.graph = parsed->graph;
      return text_of(again) != text_of(c);
    };
    const Case c = generate(seed);
    if (differs(c)) ADD_FAILURE() << text_of(reduce(c, differs));
  }
}

// The judge itself must see what is wrong, and the reducer must find it.
TEST(Random, a_fault_is_seen_and_reduced_to_its_node) {
  int seen = 0;
  for (uint64_t seed = 1; seed < 400 && seen < 3; ++seed) {
    Case c = generate(seed);
    // The "compiled" program is one whose additions are subtractions.
    const auto wrong = [](const Case& k) {
      ir::Program broken = program_of(k.graph->clone());
      bool any = false;
      for (ir::Node* n : broken.graph->snapshot())
        if (n->is("aten.add.Tensor")) {
          auto sub = ops::add_node(*broken.graph, "aten.sub.Tensor", n->args(), n);
          if (!sub || !((*sub)->result()->type == n->result()->type)) return false;
          broken.graph->replace_all_uses(n->result(), (*sub)->result());
          broken.graph->erase(n);
          any = true;
        }
      if (!any) return false;
      const auto r = reference(k.program(), k.sample);
      const auto got = interpret(broken, k.sample);
      return r && got && !r->wild && compare(*r, *got).has_value();
    };
    if (!wrong(c)) continue;
    ++seen;
    const Case small = reduce(c, wrong);
    EXPECT_EQ(small.graph->nodes().size(), 1u) << text_of(small);
    EXPECT_TRUE(small.graph->nodes().front()->is("aten.add.Tensor"));
  }
  EXPECT_EQ(seen, 3);
}

}  // namespace
}  // namespace edgewright::random
