// Every mutant is caught by the check of each rewrite alone, blamed on its pass and node, and leaves the graph as it was.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/file.h"
#include "ir/text.h"
#include "mutants.h"
#include "ops/verify.h"

namespace edgewright::passes {
namespace {

ir::Program program_of(const Mutant& m) {
  auto parsed = ir::parse(m.graph, ops::parse_context());
  EXPECT_TRUE(parsed.has_value()) << m.pass.name << ": " << parsed.error().str();
  ir::Program p;
  if (!parsed) return p;
  p.graph = parsed->graph;
  p.ranges = parsed->ranges;
  return p;
}

Value* v(const Node& n) { return n.inputs()[0]; }

TEST(Mutants, there_are_at_least_forty_of_different_names) {
  std::set<std::string> names;
  for (const Mutant& m : mutants()) names.insert(m.pass.name);
  EXPECT_EQ(names.size(), mutants().size());
  EXPECT_GE(names.size(), 40u);
}

TEST(Mutants, local_validation_alone_catches_each_and_blames_its_pass_and_node) {
  for (const Mutant& m : mutants()) {
    SCOPED_TRACE(m.pass.name + ": " + m.pass.summary);
    ir::Program p = program_of(m);
    if (!p.graph) continue;
    const uint64_t before = p.graph->hash();
    const std::string text = ir::print(*p.graph);
    PassLog log;
    const auto ok = run_pass(p, m.pass, {}, log);
    EXPECT_TRUE(ok.has_value()) << ok.error().str();
    EXPECT_EQ(log.faults, 1) << (log.events.empty() ? "no event" : log.events[0].reason) << "\n" << ir::print(*p.graph);
    bool blamed = false;
    for (const Event& e : log.events) {
      EXPECT_FALSE(e.applied);
      blamed |= e.fault && e.pass == m.pass.name && (m.pass.run || e.node == "y") && !e.reason.empty();
    }
    EXPECT_TRUE(blamed);
    EXPECT_EQ(p.graph->hash(), before) << "rolled back to\n" << ir::print(*p.graph) << "from\n" << text;
  }
}

TEST(Mutants, fire_where_nothing_is_checked) {
  for (const Mutant& m : mutants()) {
    if (m.pass.name == "ceil-mode-dropped") continue;  // its types alone give it away
    SCOPED_TRACE(m.pass.name);
    ir::Program p = program_of(m);
    if (!p.graph) continue;
    PassLog log;
    EXPECT_TRUE(run_pass(p, m.pass, {.verify = Verify::kOff}, log).has_value());
    EXPECT_EQ(log.faults, 0);
    ASSERT_EQ(log.stats.size(), 1u);
    EXPECT_EQ(log.stats[0].applied, 1);
  }
}

std::string doc() {
  const auto class_of = [](const PassDef& p) {
    static constexpr const char* kNames[] = {"bit-exact", "equal", "reassociated", "approximate", "quantized"};
    return std::string(kNames[static_cast<size_t>(p.agreement)]) + (p.run ? ", whole graph" : "");
  };
  std::string s = fmt::format(
      "# Mutants\n\n"
      "<!-- Written by `EW_UPDATE=1 build/tests/validate/test_mutants`, which without EW_UPDATE holds this page to the "
      "table. -->\n\n"
      "{} deliberately wrong passes, each one fault of this field, stand in `tests/validate/mutants.cc`, each with a "
      "small graph on which\n"
      "it fires. `test_mutants` runs each through `run_pass` with the default `--verify=local` and asserts that this "
      "check alone rejects\n"
      "it, that the event blames its pass and node, and that the graph is as it was. A second test shows that each "
      "would have been\n"
      "applied with the check off. All {} are caught. `test_report` asserts that the reduced graph in the report of "
      "each, written to a\n"
      "file and read again, makes `edgewright opt --pass` report the same fault.\n\n"
      "What catches them, beside equal types: both regions evaluated at chosen elements (`validate.cc`), held to the "
      "agreement that the\n"
      "pass promises; a rule that nothing may be rounded to a coarser dtype on the way; a guard that notices edits to "
      "nodes, outputs or\n"
      "writes that are not the rewriter's own (`pass_manager.cc`). A pass over the whole graph is judged by terms, at "
      "any size\n"
      "(`prove.cc`), and by a run of both graphs on the interpreter where that is little work.\n\n"
      "| Mutant | Promises | Fault |\n|---|---|---|\n",
      mutants().size(), mutants().size());
  for (const Mutant& m : mutants())
    s += fmt::format("| {} | {} | {} |\n", m.pass.name, class_of(m.pass), m.pass.summary);
  return s;
}

TEST(Mutants, the_docs_list_them_all) {
  const std::string path = EW_TEST_DATA "/../../docs/mutants.md";
  const std::string page = doc();
  if (std::getenv("EW_UPDATE")) ASSERT_TRUE(write_file(path, std::as_bytes(std::span(page))).has_value());
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.has_value()) << file.error().str();
  const auto bytes = (*file)->bytes();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), page)
      << "EW_UPDATE=1 build/tests/validate/test_mutants writes it anew";
}

TEST(Mutants, strict_makes_the_fault_an_error) {
  const Mutant& m = mutants().front();
  ir::Program p = program_of(m);
  const uint64_t before = p.graph->hash();
  PassLog log;
  const auto ok = run_pass(p, m.pass, {.verify = Verify::kStrict}, log);
  ASSERT_FALSE(ok.has_value());
  EXPECT_NE(ok.error().str().find(m.pass.name), std::string::npos);
  EXPECT_EQ(p.graph->hash(), before);
}

// Each step stays within what it promises; together they leave the program's tolerance.
TEST(Mutants, strict_holds_the_whole_program_to_its_tolerance_after_each_pass) {
  std::string text = "graph (%x: f32[8]) { %a0 = aten.exp(%x)";
  for (int i = 1; i <= 41; ++i) text += fmt::format("  %a{} = aten.neg(%a{})", i, i - 1);
  const Mutant drift{
      {.name = "drift",
       .roots = {"aten.neg"},
       .rewrite = [](Node& n, Rewriter& rw) { return rw.replace(rw("aten.mul.Scalar", {v(n), -1.000008})); },
       .run = {},
       .agreement = Agreement::kApproximate,
       .summary = ""},
      text + "  return %a41 }"};
  ir::Program p = program_of(drift);
  PassLog log;
  ASSERT_TRUE(run_pass(p, drift.pass, {}, log).has_value());
  EXPECT_EQ(log.faults, 0);
  EXPECT_EQ(log.stats[0].applied, 41);
  p = program_of(drift);
  const uint64_t before = p.graph->hash();
  PassLog strict;
  const auto ok = run_pass(p, drift.pass, {.verify = Verify::kStrict}, strict);
  ASSERT_FALSE(ok.has_value());
  EXPECT_NE(ok.error().str().find("output 0 differs after the pass"), std::string::npos) << ok.error().str();
  EXPECT_EQ(strict.faults, 1);
  EXPECT_EQ(p.graph->hash(), before);
}

}  // namespace
}  // namespace edgewright::passes
