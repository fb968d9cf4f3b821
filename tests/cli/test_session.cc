// Session's own parts: fitting inputs to signatures, comparing leaves, writing JSON.
#include <gtest/gtest.h>

#include <cmath>

#include "driver/compile.h"
#include "ir/text.h"
#include "ops/verify.h"
#include "session/calls.h"
#include "session/check.h"
#include "session/convert.h"
#include "session/json.h"
#include "session/source.h"

namespace edgewright::session {
namespace {

using ir::Dim;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

LeafSpec tensor_spec(std::string name, ir::Shape shape) {
  LeafSpec s;
  s.name = std::move(name);
  s.shape = std::move(shape);
  return s;
}

// x: f32[s0, 2*s1], y: f32[s0 + s1], n: int (s1), a fixed 3.
Signature dynamic_signature() {
  Signature s;
  const Dim a = Dim::symbol("s0"), b = Dim::symbol("s1");
  s.inputs = {tensor_spec("x", {a, Dim(2) * b}), tensor_spec("y", {a + b})};
  LeafSpec n;
  n.name = "n";
  n.kind = LeafKind::kInt;
  n.expr = b;
  s.inputs.push_back(n);
  LeafSpec fixed;
  fixed.name = "k";
  fixed.kind = LeafKind::kInt;
  fixed.fixed = Value(int64_t{3});
  fixed.may_be_omitted = true;
  s.inputs.push_back(fixed);
  s.ranges = {{"s0", {2, 8}}, {"s1", {0, ir::kMaxDim}}};
  s.expression_ranges = {{a + b, {0, 10}}};
  return s;
}

std::vector<Value> dynamic_inputs(int64_t s0, int64_t two_s1, int64_t sum, int64_t n, int64_t k = 3) {
  const auto zeros = [](std::vector<int64_t> sizes) {
    const auto count = static_cast<size_t>(*checked_numel(sizes));
    return f32(std::move(sizes), std::vector<float>(count));
  };
  return {zeros({s0, two_s1}), zeros({sum}), n, k};
}

TEST(Signature, binds_symbols_and_checks_expressions) {
  const Signature s = dynamic_signature();
  const auto bound = check(s, dynamic_inputs(4, 6, 7, 3));
  ASSERT_TRUE(bound) << bound.error().str();
  EXPECT_EQ(bound->at("s0"), 4);
  EXPECT_EQ(bound->at("s1"), 3);
  EXPECT_FALSE(check(s, dynamic_inputs(4, 7, 7, 3)));     // 2*s1 is even
  EXPECT_FALSE(check(s, dynamic_inputs(4, 6, 8, 3)));     // s0 + s1
  EXPECT_FALSE(check(s, dynamic_inputs(4, 6, 7, 4)));     // n is s1
  EXPECT_FALSE(check(s, dynamic_inputs(1, 6, 4, 3)));     // s0 >= 2
  EXPECT_FALSE(check(s, dynamic_inputs(9, 2, 10, 1)));    // s0 <= 8
  EXPECT_FALSE(check(s, dynamic_inputs(8, 6, 11, 3)));    // s0 + s1 <= 10
  EXPECT_FALSE(check(s, dynamic_inputs(4, 6, 7, 3, 2)));  // fixed
  const auto failed = check(s, dynamic_inputs(9, 2, 10, 1));
  EXPECT_EQ(failed.error().code, Code::kUsage);
  EXPECT_NE(failed.error().message.find("'x'"), std::string::npos) << failed.error().message;
}

TEST(Signature, places_leaves_by_number_order_and_key) {
  const Signature s = dynamic_signature();
  const auto inputs = dynamic_inputs(4, 6, 7, 3);
  Inputs given;
  given.in_order = {*tensor_of(inputs[0]), *tensor_of(inputs[1])};
  EXPECT_FALSE(place(s, given)) << "n is missing";
  ASSERT_TRUE(add_scalar(given, "n=3"));
  auto placed = place(s, given);
  ASSERT_TRUE(placed) << placed.error().str();
  EXPECT_EQ(std::get<int64_t>((*placed)[3]), 3) << "the fixed one comes by itself";
  Inputs twice = given;
  ASSERT_TRUE(add_scalar(twice, "2=3"));
  EXPECT_FALSE(place(s, twice));
  EXPECT_FALSE(add_scalar(given, "n=4")) << "the same key again";
  EXPECT_FALSE(add_scalar(given, "n"));
}

TEST(Signature, made_up_inputs_fit) {
  const auto made = invent_inputs(dynamic_signature(), 1);
  ASSERT_TRUE(made) << made.error().str();
  const auto again = invent_inputs(dynamic_signature(), 1);
  EXPECT_TRUE(compare((*made)[0], (*again)[0], {0.0, 0.0}).agree) << "the same seed makes the same numbers";
  EXPECT_FALSE(compare((*made)[0], (*invent_inputs(dynamic_signature(), 2))[0], {0.0, 0.0}).agree);
}

TEST(Compare, nan_equals_nan_and_infinities_themselves) {
  const float nan = static_cast<float>(kNan), inf = static_cast<float>(kInf);
  const Value a = f32({4}, {nan, inf, -inf, -0.0F});
  EXPECT_TRUE(compare(a, f32({4}, {nan, inf, -inf, 0.0F}), {}).agree);
  for (const std::vector<float>& other :
       {std::vector<float>{0, inf, -inf, 0}, {nan, -inf, -inf, 0}, {nan, 3e38F, -inf, 0}, {nan, inf, -inf, nan}}) {
    EXPECT_FALSE(compare(a, f32({4}, other), {}).agree);
    EXPECT_FALSE(compare(f32({4}, other), a, {}).agree);
  }
}

TEST(Compare, holds_to_both_tolerances) {
  const Value b = f32({2}, {1000, 1});
  EXPECT_TRUE(compare(f32({2}, {1000.09F, 1}), b, {}).agree);
  EXPECT_FALSE(compare(f32({2}, {1000.2F, 1}), b, {}).agree);
  EXPECT_TRUE(compare(f32({2}, {1000.2F, 1}), b, {1.0, 0.0}).agree);
  EXPECT_FALSE(compare(f32({2}, {1000, 1.1F}), b, {0.0, 0.05}).agree);
  const Measure m = compare(f32({2}, {1000, 1.5F}), b, {});
  EXPECT_EQ(m.differing, 1);
  EXPECT_DOUBLE_EQ(m.max_abs, 0.5);
  EXPECT_DOUBLE_EQ(m.max_rel, 0.5);
  EXPECT_NEAR(m.sqnr_db, 10 * std::log10(1000001.0 / 0.25), 1e-9);
  EXPECT_NE(m.problem.find("[1]: 1.5 against 1"), std::string::npos) << m.problem;
}

TEST(Compare, integers_are_exact_and_types_count) {
  EXPECT_TRUE(compare(i64({2}, {1, INT64_MAX}), i64({2}, {1, INT64_MAX}), {9.0, 9.0}).agree);
  EXPECT_FALSE(compare(i64({2}, {1, INT64_MAX - 1}), i64({2}, {1, INT64_MAX}), {9.0, 9.0}).agree);
  EXPECT_FALSE(compare(i64({1}, {1}), f32({1}, {1}), {}).agree);
  EXPECT_FALSE(compare(f32({1, 2}, {1, 2}), f32({2}, {1, 2}), {}).agree);
  EXPECT_TRUE(compare(Value(), Value(), {}).agree);
  EXPECT_FALSE(compare(Value(), Value(int64_t{0}), {}).agree);
  EXPECT_FALSE(compare(Value(true), Value(int64_t{1}), {}).agree);
}

TEST(Compare, no_elements_agree) { EXPECT_TRUE(compare(f32({0, 3}, {}), f32({0, 3}, {}), {}).agree); }

// mlp.pt2 (make_data.py) with its relu replaced by another op under the same name, as if a pass had been wrong.
Result<CheckResult> check_with_fault(const char* op, const std::set<std::string>& disabled) {
  EW_ASSIGN(const Source source, open_pt2(EW_TEST_DATA "/data/mlp.pt2", ""));
  const ir::Program& original = source.programs[0];
  const ir::Program wrong = clone(original);
  for (ir::Node* n : wrong.graph->snapshot()) {
    if (!n->is("aten.relu")) continue;
    ir::Node* other = wrong.graph->add(*ops::find(op), n->args(), {n->result()->type}, n, n->origin);
    wrong.graph->replace_all_uses(n->result(), other->result());
    wrong.graph->erase(n);
    EW_CHECK(wrong.graph->rename(other->result(), "relu"));
  }
  EW_ASSIGN(const auto calls, gather(signature_of(original), {}, to_values(*original.sample_inputs)));
  driver::CompileOptions o;
  o.disabled = disabled;
  return check_program(original, wrong, calls, o, 1, {}, [](const std::string&) {});
}

TEST(Check, agrees_where_nothing_is_wrong) {
  const auto r = check_with_fault("aten.relu", {});
  ASSERT_TRUE(r) << r.error().str();
  EXPECT_TRUE(r->agree());
  EXPECT_FALSE(r->first);
}

TEST(Check, names_the_first_node_that_differs) {
  for (const char* op : {"aten.neg", "aten.abs"}) {
    const auto r = check_with_fault(op, {});
    ASSERT_TRUE(r) << r.error().str();
    EXPECT_FALSE(r->agree());
    ASSERT_TRUE(r->first) << r->no_first;
    EXPECT_EQ(r->first->node, "relu");
    EXPECT_EQ(r->first->op, "aten.relu") << "as the exporter has it";
    EXPECT_NE(r->first->source.find("torch.relu(self.a(x))"), std::string::npos) << r->first->source;
    EXPECT_FALSE(r->first->measure.agree);
  }
}

TEST(Check, an_output_in_steps_may_be_one_step_off) {
  const auto cases = ir::parse_cases(
      "graph (%x: f32[2]) { %q = quantized_decomposed.quantize_per_tensor(%x, 0.25, 3, -128, 127, i8)  "
      "%d = quantized_decomposed.dequantize_per_tensor(%q, 0.25, 3, -128, 127, i8)  %y = aten.view(%d, [2, 1])  return "
      "%y }",
      ops::parse_context());
  ASSERT_TRUE(cases) << cases.error().str();
  ir::Program p;
  p.graph = cases->front().graphs.front().graph;
  p.inputs.push_back({.name = "x", .value = p.graph->inputs()[0]});
  p.outputs.push_back({"y"});
  const auto agrees = [&](float off) {
    const std::vector<CallInputs> calls = {
        {{f32({2}, {1, -2})}, std::map<size_t, Value>{{0, f32({2, 1}, {1 + off, -2})}}}};
    const auto r = check_program(p, p, calls, {}, 1, {}, [](const std::string&) {});
    EXPECT_TRUE(r) << r.error().str();
    return r && r->agree();
  };
  EXPECT_TRUE(agrees(0));
  EXPECT_TRUE(agrees(0.25F));
  EXPECT_TRUE(agrees(-0.25F));
  EXPECT_FALSE(agrees(0.5F));
}

TEST(Json, separates_and_escapes) {
  JsonWriter j;
  j.open('{')
      .field("a", 1)
      .key("b")
      .open('[')
      .value("x\"\n\\")
      .value(true)
      .open('{')
      .close('}')
      .close(']')
      .field("c", kNan)
      .field("d", 0.5)
      .close('}');
  EXPECT_EQ(j.take(), "{\"a\": 1, \"b\": [\"x\\\"\\n\\\\\", true, {}], \"c\": null, \"d\": 0.5}\n");
}

}  // namespace
}  // namespace edgewright::session
