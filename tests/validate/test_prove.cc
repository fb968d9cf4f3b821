// Passes over the whole graph are judged at every size: right ones are shown right, wrong ones found wrong, without running the graph.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/verify.h"
#include "passes/pass_manager.h"
#include "passes/prove.h"

namespace edgewright::passes {
namespace {

ir::Program program_of(const std::string& text) {
  auto parsed = ir::parse(text, ops::parse_context());
  EXPECT_TRUE(parsed.has_value()) << parsed.error().str();
  ir::Program p;
  if (!parsed) return p;
  p.graph = parsed->graph;
  p.ranges = parsed->ranges;
  return p;
}

Verdict proof(const std::string& before, const std::string& after, Agreement promise = Agreement::kBitExact) {
  const ir::Program a = program_of(before), b = program_of(after);
  Validator validator(Verify::kLocal, a.ranges);
  return prove_equal(promise, *a.graph, *b.graph, validator);
}
void expect_equal(const std::string& before, const std::string& after) {
  const Verdict v = proof(before, after);
  EXPECT_FALSE(v.fault.has_value()) << *v.fault;
  EXPECT_TRUE(v.judged);
}
void expect_fault(const std::string& before, const std::string& after, const std::string& where) {
  const Verdict v = proof(before, after);
  ASSERT_TRUE(v.fault.has_value()) << (v.judged ? "taken for equal" : "not judged");
  EXPECT_NE(v.fault->find(where), std::string::npos) << *v.fault;
}

TEST(Prove, equal_terms_are_equal_whatever_their_size) {
  expect_equal(
      "graph (%x: f32[4096,4096]) { %a = aten.mm(%x, %x)  %b = aten.mm(%x, %x)  %d = aten.exp(%x)  %c = "
      "aten.add.Tensor(%a, %b) "
      " return %c }",
      "graph (%x: f32[4096,4096]) { %a = aten.mm(%x, %x)  %c = aten.add.Tensor(%a, %a)  return %c }");
}

TEST(Prove, a_number_that_differs_is_found_and_named) {
  expect_fault(
      "graph (%x: f32[4096,4096]) { %a = aten.add.Scalar(%x, 1)  %b = aten.mm(%a, %a)  %c = aten.exp(%b)  return %c }",
      "graph (%x: f32[4096,4096]) { %a = aten.add.Scalar(%x, 2)  %b = aten.mm(%a, %a)  %c = aten.exp(%b)  return %c }",
      "a at element 0 of 16777216");
}

TEST(Prove, zeros_of_both_signs_differ) {
  expect_fault("graph (%x: f32[4096,4096]) { %a = aten.add.Scalar(%x, 0.0)  return %a }",
               "graph (%x: f32[4096,4096]) { %a = aten.add.Scalar(%x, -0.0)  return %a }", "a at element");
}

TEST(Prove, another_formula_for_the_same_elements_is_evaluated) {
  expect_equal("graph (%x: f32[2048,4096]) { %a = aten.t(%x)  %b = aten.t(%a)  %c = aten.exp(%b)  return %c }",
               "graph (%x: f32[2048,4096]) { %c = aten.exp(%x)  return %c }");
  expect_equal(
      "graph (%x: f32[2048,4096], %y: f32[2048,4096]) { %a = aten.add.Tensor(%x, %y)  %c = aten.exp(%a)  return %c }",
      "graph (%x: f32[2048,4096], %y: f32[2048,4096]) { %a = aten.add.Tensor(%y, %x)  %c = aten.exp(%a)  return %c }");
  expect_fault(
      "graph (%x: f32[2048,4096], %y: f32[2048,4096]) { %a = aten.sub.Tensor(%x, %y)  %c = aten.exp(%a)  return %c }",
      "graph (%x: f32[2048,4096], %y: f32[2048,4096]) { %a = aten.sub.Tensor(%y, %x)  %c = aten.exp(%a)  return %c }",
      "element 0 of");
}

const char* const kInPlace =
    "graph (%x: f32[4096,4096], %z: f32[4096,16]) { %a = aten.neg(%x)  %s = aten.slice.Tensor(%a, 1, 8, 24)  %u = "
    "aten.t(%s)  "
    "%v = aten.copy_(%s, %z)  %w = aten.exp(%u)  return %a, %w }";

TEST(Prove, writes_through_views_are_followed) {
  expect_equal(
      kInPlace,
      "graph (%x: f32[4096,4096], %z: f32[4096,16]) { %a = aten.neg(%x)  %s = aten.slice.Tensor(%a, 1, 8, 24)  %c = "
      "aten.copy(%s, %z)  %b = aten.slice_scatter(%a, %c, 1, 8, 24)  %t = aten.slice.Tensor(%b, 1, 8, 24)  %u = "
      "aten.t(%t)  %w = aten.exp(%u)  return %b, %w }");
}

TEST(Prove, a_view_that_is_not_read_again_is_found) {
  expect_fault(
      kInPlace,
      "graph (%x: f32[4096,4096], %z: f32[4096,16]) { %a = aten.neg(%x)  %s = aten.slice.Tensor(%a, 1, 8, 24)  %u = "
      "aten.t(%s)  %c = aten.copy(%s, %z)  %b = aten.slice_scatter(%a, %c, 1, 8, 24)  %w = aten.exp(%u)  return %b, %w "
      "}",
      "output 1 differs");
}

TEST(Prove, a_write_that_lands_beside_its_place_is_found) {
  expect_fault(
      kInPlace,
      "graph (%x: f32[4096,4096], %z: f32[4096,16]) { %a = aten.neg(%x)  %s = aten.slice.Tensor(%a, 1, 8, 24)  %c = "
      "aten.copy(%s, %z)  %b = aten.slice_scatter(%a, %c, 1, 9, 25)  %t = aten.slice.Tensor(%b, 1, 8, 24)  %u = "
      "aten.t(%t)  %w = aten.exp(%u)  return %b, %w }",
      "differs after the pass");
}

TEST(Prove, buffers_and_inputs_must_be_written_as_before) {
  const char* const before =
      "graph (%x: f32[4096,4096]) { const %s: f32[1,1] = [[0]]  %a = aten.mul_.Tensor(%x, %x)  %b = "
      "aten.add_.Tensor(%s, 1)  return "
      "%a }";
  expect_equal(before,
               "graph (%x: f32[4096,4096]) { state %s: f32[1,1] = [[0]]  %a = aten.mul.Tensor(%x, %x)  %b = "
               "aten.add.Tensor(%s, 1)  "
               "write %x <- %a  write %s <- %b  return %a }");
  expect_fault(before,
               "graph (%x: f32[4096,4096]) { state %s: f32[1,1] = [[0]]  %a = aten.mul.Tensor(%x, %x)  %b = "
               "aten.add.Tensor(%s, 1)  "
               "write %s <- %b  return %a }",
               "input 0 is no longer written");
  expect_fault(before,
               "graph (%x: f32[4096,4096]) { state %s: f32[1,1] = [[0]]  %a = aten.mul.Tensor(%x, %x)  %b = "
               "aten.add.Tensor(%s, 2)  "
               "write %x <- %a  write %s <- %b  return %a }",
               "state s differs");
}

const char* const kWrapped =
    "graph (%x: f32[4096,4096]) { %a, %b = higher_order.wrap_with_set_grad_enabled(enabled=False, g=graph (%v: "
    "f32[4096,4096]) { %c = "
    "aten.neg(%v)  %d = aten.mul_.Tensor(%v, 2)  return %c, %d }, x=%x) : f32[4096,4096], f32[4096,4096]  %y = "
    "aten.add.Tensor(%a, "
    "%x)  return %y, %b }";

TEST(Prove, graphs_that_are_merely_run_are_looked_into) {
  expect_equal(kWrapped,
               "graph (%x: f32[4096,4096]) { %c = aten.neg(%x)  %d = aten.mul_.Tensor(%x, 2)  %y = aten.add.Tensor(%c, "
               "%x)  return "
               "%y, %d }");
  expect_equal(kWrapped,
               "graph (%x: f32[4096,4096]) { %c = aten.neg(%x)  %d = aten.mul.Tensor(%x, 2)  %y = aten.add.Tensor(%c, "
               "%d)  write %x "
               "<- %d  return %y, %d }");
  expect_fault(kWrapped,
               "graph (%x: f32[4096,4096]) { %c = aten.neg(%x)  %d = aten.mul.Tensor(%x, 2)  %y = aten.add.Tensor(%c, "
               "%x)  write %x "
               "<- %d  return %y, %d }",
               "output 0 differs");
}

TEST(Prove, what_it_cannot_tell_it_does_not_call_right) {
  const Verdict v = proof("graph (%x: f32[2,3]) { %a = aten.rand_like(%x)  %b = aten.rand_like(%x)  return %a, %b }",
                          "graph (%x: f32[2,3]) { %a = aten.rand_like(%x)  %b = aten.rand_like(%x)  return %b, %a }");
  EXPECT_TRUE(v.fault.has_value() || !v.judged);
}

// The passes themselves, on a graph that no test could run.
TEST(Prove, judges_the_passes_at_any_size) {
  const std::string large =
      "graph (%x: f32[64,4096,4096], %z: f32[64,4096,16]) { %a = aten.neg(%x)  %s = aten.slice.Tensor(%a, 2, 8, 24)  "
      "%v = "
      "aten.copy_(%s, %z)  %b = aten.exp(%a)  %c = aten.exp(%a)  %d = aten.add.Tensor(%b, %c)  %e = aten.sin(%d)  "
      "return %d }";
  ir::Program p = program_of(large);
  PassLog log;
  const auto ok = run_passes(p, {"functionalize", "cse", "dead-code"}, {}, log);
  ASSERT_TRUE(ok.has_value()) << ok.error().str();
  EXPECT_EQ(log.faults, 0) << log.events[0].reason;
  ASSERT_EQ(log.stats.size(), 3u);
  for (const PassStats& s : log.stats) {
    EXPECT_EQ(s.applied, 1) << s.pass;
    EXPECT_EQ(s.unjudged, 0) << s.pass;
  }
}

}  // namespace
}  // namespace edgewright::passes
