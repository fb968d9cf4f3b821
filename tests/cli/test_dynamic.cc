// Sizes that change from call to call on one loaded program: numbers, memory, refusals. Whole exported programs, against PyTorch and in
// the stock runtime too, stand in tests/stock.
#include <gtest/gtest.h>
#include <malloc.h>

#include "ops/verify.h"
#include "session/convert.h"
#include "session/loaded.h"

namespace edgewright::session {
namespace {

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

// relu(x @ w + b) * 2 over n rows, on the delegate; the rows' indices where the first column is positive, outside of it.
std::string rows_program(const std::string& range) {
  return "graph (%x: f32[n,3]) where n in " + range + R"( {
    const %w: f32[3,2] = [[1, 0], [0, 1], [1, 1]]
    const %b: f32[2] = [0.5, -1]
    %y = aten.addmm(%b, %x, %w)
    %r = aten.relu(%y)
    %z = aten.mul.Scalar(%r, 2)
    %c = aten.select.int(%x, 1, 0)
    %p = aten.gt.Scalar(%c, 0)
    %i = aten.nonzero(%p) : i64[m,1]
    return %z, %i
  })";
}

Value rows(int64_t n) {
  std::vector<float> v;
  for (int64_t i = 0; i < n * 3; ++i) v.push_back(static_cast<float>((i * 7) % 5) - 2);
  return f32({n, 3}, std::move(v));
}

void expect_rows(Loaded& l, int64_t n) {
  const auto out = l.run({rows(n)});
  ASSERT_TRUE(out) << out.error().str();
  const auto &z = std::get<HostTensor>((*out)[0]), &i = std::get<HostTensor>((*out)[1]);
  ASSERT_EQ(z.sizes, (std::vector<int64_t>{n, 2}));
  std::vector<int64_t> positive;
  for (int64_t k = 0; k < n; ++k) {
    const auto x = [&](int64_t c) { return static_cast<double>(((k * 3 + c) * 7) % 5) - 2; };
    EXPECT_EQ(ir::load_f(DType::f32, z.bytes.data(), k * 2), 2 * std::max(0.0, x(0) + x(2) + 0.5));
    EXPECT_EQ(ir::load_f(DType::f32, z.bytes.data(), k * 2 + 1), 2 * std::max(0.0, x(1) + x(2) - 1));
    if (x(0) > 0) positive.push_back(k);
  }
  ASSERT_EQ(i.sizes, (std::vector<int64_t>{static_cast<int64_t>(positive.size()), 1}));
  for (size_t k = 0; k < positive.size(); ++k)
    EXPECT_EQ(ir::load_i(DType::i64, i.bytes.data(), static_cast<int64_t>(k)), positive[k]);
}

// Bytes that the heap has given out.
size_t in_use() {
  const auto m = mallinfo2();
  return m.uordblks + m.hblkhd;
}

TEST(Dynamic, sizes_go_up_and_down_and_back_without_a_leak) {
  for (const char* range : {"[1, 64]", "[1, inf]"}) {
    SCOPED_TRACE(range);
    auto l = compile_and_load(program_of(rows_program(range)), {.verify = passes::Verify::kStrict}, {});
    ASSERT_TRUE(l) << l.error().str();
    EXPECT_EQ((*l)->report()->delegates, 1);
    const auto cycle = [&] {
      for (int64_t n : {3, 64, 1, 17, 64, 2, 40, 3}) expect_rows(**l, n);
    };
    cycle();
    cycle();
    const size_t before = in_use();
    for (int i = 0; i < 20; ++i) cycle();
    EXPECT_EQ(in_use(), before);
  }
}

TEST(Dynamic, a_size_without_a_bound_needs_our_runtime_and_says_how_to_give_it_one) {
  auto p = program_of(rows_program("[1, inf]"));
  const auto l = compile_and_load(std::move(p), {.target = driver::Target::kStock}, {});
  ASSERT_FALSE(l);
  EXPECT_EQ(l.error().code, Code::kUnsupported);
  for (const char* part : {"x: size n", "no upper bound", "max="})
    EXPECT_NE(l.error().str().find(part), std::string::npos) << l.error().str();
}

TEST(Dynamic, sizes_out_of_range_are_refused_with_the_constraint) {
  auto l = compile_and_load(program_of(rows_program("[2, 64]")), {}, {});
  ASSERT_TRUE(l) << l.error().str();
  for (int64_t n : {1, 65}) {
    const auto out = (*l)->run({rows(n)});
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, Code::kUsage);
    EXPECT_NE(out.error().str().find("n must lie in [2, 64]"), std::string::npos) << out.error().str();
  }
  expect_rows(**l, 2);
}

}  // namespace
}  // namespace edgewright::session
