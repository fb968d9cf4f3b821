// Control flow all the way: graph text -> passes -> partition -> .pte -> our runtime. Expected numbers are worked out by hand from what
// torch's ops are defined to do; whole exported programs, against PyTorch and in the stock runtime too, stand in tests/stock.
#include <gtest/gtest.h>

#include "ops/verify.h"
#include "session/convert.h"
#include "session/loaded.h"

namespace edgewright::session {
namespace {

using V = std::vector<double>;

std::vector<V> numbers(const std::vector<Value>& values) {
  std::vector<V> out;
  for (const Value& v : values) {
    const auto* t = std::get_if<HostTensor>(&v);
    if (!t) {
      ADD_FAILURE() << "an output that is no tensor";
      continue;
    }
    V numbers;
    int64_t n = 1;
    for (int64_t s : t->sizes) n *= s;
    for (int64_t i = 0; i < n; ++i) numbers.push_back(ir::load_f(t->dtype, t->bytes.data(), i));
    out.push_back(std::move(numbers));
  }
  return out;
}

Value i64(int64_t v) {
  const Bytes b = std::as_bytes(std::span(&v, 1));
  return HostTensor::owned(DType::i64, {}, {b.begin(), b.end()});
}
Value floats(std::vector<int64_t> sizes, std::vector<float> v) {
  const Bytes b = std::as_bytes(std::span(v));
  return HostTensor::owned(DType::f32, std::move(sizes), {b.begin(), b.end()});
}

ir::Program program_of(std::string_view text) {
  auto parsed = ir::parse(text, ops::parse_context());
  EXPECT_TRUE(parsed) << parsed.error().str();
  ir::Program p;
  p.graph = parsed->graph;
  p.ranges = parsed->ranges;
  for (ir::Value* v : p.graph->inputs()) p.inputs.push_back({v->name, v, {}, {}});
  for (size_t i = 0; i < p.graph->outputs.size(); ++i) p.outputs.push_back({"o" + std::to_string(i)});
  return p;
}

std::unique_ptr<Loaded> must_load(std::string_view text) {
  auto loaded =
      compile_and_load(program_of(text), {.target = driver::Target::kStock, .verify = passes::Verify::kStrict}, {});
  EXPECT_TRUE(loaded) << loaded.error().str();
  return loaded ? std::move(*loaded) : nullptr;
}

void expect(Loaded& l, const std::vector<Value>& inputs, const std::vector<V>& wanted) {
  const auto out = l.run(inputs);
  ASSERT_TRUE(out) << out.error().str();
  EXPECT_EQ(numbers(*out), wanted);
}

TEST(ControlFlow, carried_values_change_places_at_once) {
  const auto l = must_load(R"(graph (%n: i64[], %x: f32[2], %y: f32[2]) {
    const %zero: i64[] = 0
    %i, %a, %b = higher_order.while_loop(
      c=graph (%i: i64[], %a: f32[2], %b: f32[2], %n: i64[]) { %r = aten.lt.Tensor(%i, %n) return %r },
      f=graph (%i: i64[], %a: f32[2], %b: f32[2], %n: i64[]) { %j = aten.add.Tensor(%i, 1) return %j, %b, %a },
      carried=[%zero, %x, %y], more=[%n]) : i64[], f32[2], f32[2]
    return %i, %a, %b
  })");
  ASSERT_TRUE(l);
  const Value x = floats({2}, {1, 2}), y = floats({2}, {3, 4});
  expect(*l, {i64(3), x, y}, {{3}, {3, 4}, {1, 2}});
  expect(*l, {i64(0), x, y}, {{0}, {1, 2}, {3, 4}});  // the condition is asked before the first round
  expect(*l, {i64(2), y, x}, {{2}, {3, 4}, {1, 2}});
}

TEST(ControlFlow, associative_scan_combines_rows_in_order) {
  // Not commutative: 2 * left + right.
  const auto l = must_load(R"(graph (%x: f32[n,2], %s: f32[2]) where n in [1, 4] {
    %y = higher_order.associative_scan(f=graph (%a: f32[2], %b: f32[2], %s: f32[2]) {
      %d = aten.mul.Tensor(%a, %s) %r = aten.add.Tensor(%d, %b) return %r }, xs=[%x], more=[%s]) : f32[n,2]
    return %y
  })");
  ASSERT_TRUE(l);
  const Value two = floats({2}, {2, 2});
  expect(*l, {floats({3, 2}, {1, 2, 3, 4, 5, 6}), two}, {{1, 2, 5, 8, 15, 22}});
  expect(*l, {floats({1, 2}, {7, 8}), two}, {{7, 8}});
  expect(*l, {floats({4, 2}, {1, 0, 1, 0, 1, 0, 1, 0}), two}, {{1, 0, 3, 0, 7, 0, 15, 0}});
}

TEST(ControlFlow, loops_nest_and_keep_what_lies_outside_of_them) {
  // for each row: the row times 2 for as often as its number says, plus a value computed before the loop; and that value at the end
  const auto l = must_load(R"(graph (%x: f32[3,2], %n: i64[3], %k: f32[2]) {
    %outside = aten.mul.Tensor(%k, %k)
    %y = higher_order.map_impl(f=graph (%row: f32[2], %times: i64[], %outside: f32[2]) {
        const %zero: i64[] = 0
        %i, %a = higher_order.while_loop(
          c=graph (%i: i64[], %a: f32[2], %t: i64[]) { %r = aten.lt.Tensor(%i, %t) return %r },
          f=graph (%i: i64[], %a: f32[2], %t: i64[]) { %j = aten.add.Tensor(%i, 1) %b = aten.mul.Tensor(%a, 2) return %j, %b },
          carried=[%zero, %row], more=[%times]) : i64[], f32[2]
        %z = aten.add.Tensor(%a, %outside)
        return %z
      }, xs=[%x, %n], more=[%outside]) : f32[3,2]
    %o = aten.neg(%outside)
    return %y, %o
  })");
  ASSERT_TRUE(l);
  const std::vector<int64_t> times{0, 3, 1};
  const Bytes b = std::as_bytes(std::span(times));
  const Value n = HostTensor::owned(DType::i64, {3}, {b.begin(), b.end()});
  for (int round = 0; round < 2; ++round)
    expect(*l, {floats({3, 2}, {1, 2, 3, 4, 5, 6}), n, floats({2}, {1, 3})}, {{2, 11, 25, 41, 11, 21}, {-1, -9}});
}

TEST(ControlFlow, a_branch_may_give_back_an_operand_a_constant_or_one_value_twice) {
  const auto l = must_load(R"(graph (%p: bool[], %x: f32[2]) {
    %a, %b = higher_order.cond(pred=%p, t=graph (%v: f32[2]) { const %c: f32[2] = [7, 8] return %v, %c },
                               f=graph (%v: f32[2]) { %r = aten.mul.Tensor(%v, 2) return %r, %r }, operands=[%x]) : f32[2], f32[2]
    return %a, %b
  })");
  ASSERT_TRUE(l);
  const auto flag = [](bool v) { return Value(HostTensor::owned(DType::b8, {}, {std::byte(v)})); };
  const Value x = floats({2}, {1, 2});
  expect(*l, {flag(true), x}, {{1, 2}, {7, 8}});
  expect(*l, {flag(false), x}, {{2, 4}, {2, 4}});
  expect(*l, {flag(true), x}, {{1, 2}, {7, 8}});
}

TEST(ControlFlow, graphs_that_do_not_fit_their_node_are_refused) {
  const std::string cases[] = {
      // the branches take two operands, one is given
      R"(graph (%p: bool[], %x: f32[2]) { %a = higher_order.cond(p=%p, t=graph (%v: f32[2], %w: f32[2]) { return %v },
         f=graph (%v: f32[2]) { return %v }, o=[%x]) : f32[2]  return %a })",
      // one result, two outputs
      R"(graph (%p: bool[], %x: f32[2]) { %a = higher_order.cond(p=%p, t=graph (%v: f32[2]) { return %v, %v },
         f=graph (%v: f32[2]) { return %v }, o=[%x]) : f32[2]  return %a })",
      // a result of another dtype
      R"(graph (%p: bool[], %x: i64[2]) { %a = higher_order.cond(p=%p, t=graph (%v: i64[2]) { return %v },
         f=graph (%v: i64[2]) { return %v }, o=[%x]) : f32[2]  return %a })",
      // the condition is no bool
      R"(graph (%x: f32[]) { %a = higher_order.while_loop(c=graph (%v: f32[]) { return %v }, f=graph (%v: f32[]) { return %v },
         carried=[%x], more=[]) : f32[]  return %a })",
      // nothing to loop over
      R"(graph (%x: f32[2]) { %a = higher_order.map_impl(f=graph (%v: f32[2]) { return %v }, xs=[], more=[%x]) : f32[3,2]  return %a })"};
  for (const std::string& text : cases) {
    const auto r = compile_and_load(program_of(text), {}, {});
    ASSERT_FALSE(r) << text;
    EXPECT_EQ(r.error().code, Code::kMalformed) << r.error().str();
  }
}

}  // namespace
}  // namespace edgewright::session
