// Graph text: what is printed can be read back to the same graph; what is wrong is refused with its place.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "toy_ops.h"

namespace edgewright::ir {
namespace {

Parsed must(std::string_view text, const ParseContext& c = toy_context()) {
  auto p = parse(text, c);
  EXPECT_TRUE(p.has_value()) << (p ? "" : p.error().str()) << "\n" << text;
  return p ? *p : Parsed{std::make_shared<Graph>(), {}};
}
std::string refusal(std::string_view text) {
  auto p = parse(text, toy_context());
  EXPECT_FALSE(p.has_value()) << text;
  if (p) return "";
  EXPECT_EQ(p.error().code, Code::kMalformed);
  return p.error().str();
}
// Parses, prints, parses again: same text, same hash.
void expect_round_trip(const std::string& text, const ParseContext& c = toy_context()) {
  const Parsed a = must(text, c);
  PrintOptions o{.ranges = &a.ranges};
  EXPECT_EQ(print(*a.graph, o), text);
  const Parsed b = must(print(*a.graph, o), c);
  EXPECT_EQ(a.graph->hash(), b.graph->hash());
  EXPECT_TRUE(verify_structure(*b.graph).has_value());
}

TEST(Text, prints_what_it_reads) {
  expect_round_trip(
      R"(graph forward(%x: f32[2,3], %n: int(s0), %f: float, %b: bool) where s0 in [2, 64], s1 in [0, inf] {
  const %w: f32[3] = [1, 2.5, -inf]
  const %m: i8[2,2] = [[1, -128], [127, 0]]
  const %e: f32[2,0] = []
  const %z: f64[] = -0
  const %t: bool[2] = [True, False]
  state %cache: f32[2,3] = [[0, 0, 0], [0, 0, 0]]
  %a = toy.clamp(%x, min=0, max=6.5) : f32[2,3]
  %c, %d = toy.split(%a, 1, dim=-1) : f32[2,3], f32[2,3]
  %e.1 = toy.add(%c, %d, alpha=1e-30) : f32[2,3]
  toy.check(%e.1)
  %g = toy.cast(%a, dtype=bool, mode="a\"\\\n\x01b", scales=[1.0, inf, -inf, nan, -0.0]) : f32[2,3]
  %s = toy.relu(%x) : f32[2,3*s1 + 1]
  write %cache <- %e.1
  return %a, 3, -2.0, True, None, "text"
}
)");
}

TEST(Text, round_trips_subgraphs) {
  expect_round_trip(R"(graph (%x: f32[2], %p: bool[]) {
  %y = toy.cond(%p, graph yes(%a: f32[2]) {
    %b = toy.relu(%a) : f32[2]
    return %b
  }, graph no(%a: f32[2]) {
    return %a
  }, [%x]) : bool[]
  return %y
}
)");
}

TEST(Text, round_trips_unknown_ops_with_their_types) {
  expect_round_trip(R"(graph (%x: f32[2]) {
  %y = "my lib.op"(self=%x, n=3, "odd name"=[%x, None]) : i64[7]
  other.op()
  return %y
}
)");
}

TEST(Text, line_breaks_and_types_are_optional) {
  const Parsed a =
      must("graph(%x: f32[2,3]) { %a = toy.clamp(%x, min=0, max=6)  %b = toy.clamp(%a, max=4)  return %b }");
  EXPECT_EQ(print(*a.graph, {.types = false}),
            "graph (%x: f32[2,3]) {\n  %a = toy.clamp(%x, min=0, max=6)\n  %b = toy.clamp(%a, min=None, max=4)\n  "
            "return %b\n}\n");
  EXPECT_EQ(str(a.graph->outputs[0].value()->type), "f32[2,3]");
}

TEST(Text, every_number_dtype_comes_back_bit_by_bit) {
  for (DType t : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::i8, DType::u8, DType::i16, DType::u16,
                  DType::i32, DType::u32, DType::i64, DType::u64, DType::b8, DType::c32, DType::f8e5m2, DType::qi8}) {
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 50; ++round) {
      Tensor data = Tensor::empty(t, {3, 5});
      for (size_t i = 0; i < data.nbytes(); ++i) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        data.mutable_data()[i] = static_cast<std::byte>(round == 0 ? 0 : round == 1 ? 255 : random);
      }
      Graph g;
      g.outputs.push_back(g.add_constant("w", data));
      const Parsed p = must(print(g));
      ASSERT_EQ(p.graph->constants().size(), 1u);
      const Tensor& back = *p.graph->constants()[0]->data;
      ASSERT_EQ(back.dtype, t);
      ASSERT_EQ(back.sizes, data.sizes);
      EXPECT_EQ(std::memcmp(back.data, data.data, data.nbytes()), 0) << print(g);
    }
  }
}

TEST(Text, floats_round_to_the_nearest) {
  const Parsed p = must(
      "graph () { const %w: f32[4] = [0.1, 16777217, 1e40, 1e-50] const %h: f16[2] = [0.1, 65519] return %w, %h }");
  const auto w = p.graph->constants();
  const float expected[] = {0.1f, 16777216.0f, INFINITY, 0.0f};
  EXPECT_EQ(std::memcmp(w[0]->data->data, expected, sizeof expected), 0);
  EXPECT_EQ(load_f(DType::f16, w[1]->data->data, 0), 0.0999755859375);  // torch.tensor(0.1, dtype=torch.half).item()
  EXPECT_EQ(load_f(DType::f16, w[1]->data->data, 1), 65504.0);
}

TEST(Text, strided_constants_are_printed_in_logical_order) {
  Tensor t = Tensor::empty(DType::f32, {2, 3});
  for (int i = 0; i < 6; ++i) store_f(t.dtype, t.mutable_data(), i, i);
  t.sizes = {3, 2};
  t.strides = {1, 3};
  Graph g;
  g.outputs.push_back(g.add_constant("w", t));
  EXPECT_NE(print(g).find("[[0, 3], [1, 4], [2, 5]]"), std::string::npos) << print(g);
}

TEST(Text, large_constants_go_to_the_sidecar_once) {
  Tensor t = Tensor::empty(DType::f32, {100});
  std::memset(t.mutable_data(), 0, t.nbytes());
  Graph g;
  g.outputs.push_back(g.add_constant("w", t));
  g.outputs.push_back(g.add_constant("tied", t));
  Tensor u = Tensor::empty(DType::f32, {100});
  std::memset(u.mutable_data(), 1, u.nbytes());
  auto sub = std::make_shared<Graph>();
  sub->outputs.push_back(sub->add_constant("w", u));
  g.add(*toy_op("toy.cond"), {g.constants()[0], sub, sub, ArgList{}}, {TensorType{DType::f32, {100}}});
  std::vector<std::pair<std::string, Tensor>> sidecar;
  const std::string text = print(g, {.sidecar = &sidecar});
  ASSERT_EQ(sidecar.size(), 2u) << text;
  EXPECT_EQ(sidecar[1].first, "w.1");
  ParseContext c = toy_context();
  c.find_constant = [&](std::string_view name) -> Result<Tensor> {
    for (const auto& [n, have] : sidecar)
      if (n == name) return have;
    return fail(Code::kMalformed, "there is no such tensor");
  };
  const Parsed back = must(text, c);
  EXPECT_EQ(back.graph->hash(), g.hash());
  sidecar[0].second.sizes = {10, 10};
  EXPECT_NE(parse(text, c).error().message.find("is f32[10,10] in the sidecar"), std::string::npos);
  sidecar.clear();
  EXPECT_NE(parse(text, c).error().message.find("there is no such tensor"), std::string::npos);
}

TEST(Text, results_may_swap_the_names_they_would_get) {
  const Parsed p = must(
      "graph (%t: f32[2]) { %t_1, %t_0 = toy.split(%t, 1) %..1, %..2 = toy.split(%t_0, 1) return %t_1, %t_0, %..1, "
      "%..2 }");
  EXPECT_EQ(p.graph->outputs[0].value()->result_index, 0u);
  EXPECT_EQ(p.graph->outputs[1].value()->name, "t_0");
  EXPECT_EQ(p.graph->outputs[3].value()->name, "..2");
  EXPECT_TRUE(verify_structure(*p.graph).has_value());
}

TEST(Text, cases_are_graphs_joined_by_arrows) {
  auto cases = parse_cases(R"(# first
# case
graph (%x: f32[2]) { %y = toy.relu(%x) return %y }
=>
graph (%x: f32[2]) { return %x }  # a comment inside

# second
graph () { return }
)",
                           toy_context());
  ASSERT_TRUE(cases.has_value()) << cases.error().str();
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ((*cases)[0].comment, "first\ncase");
  EXPECT_EQ((*cases)[0].graphs.size(), 2u);
  EXPECT_EQ((*cases)[1].graphs.size(), 1u);
  EXPECT_TRUE(parse_cases("  # nothing\n", toy_context())->empty());
}

TEST(Text, refusals_name_line_and_column) {
  EXPECT_EQ(refusal("graph (%x: f32[2]) {\n  %y = toy.relu(%z)\n  return %y\n}"),
            "line 2, column 18: %z is not defined before");
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected 'graph'"},
      {"graph", "expected a name"},
      {"graph (", "expected '%'"},
      {"graph () {", "expected a name"},
      {"graph () { return", "expected an argument"},
      {"graph () { return } x", "unexpected text"},
      {"graph (%x: f33[2]) { return }", "unknown dtype 'f33'"},
      {"graph (%x: f32[-2]) { return }", "negative size"},
      {"graph (%x: f32[9223372036854775807,3]) { return }", "overflows"},
      {"graph (%x: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) { return }", "more than 16 dims"},
      {"graph (%x: f32[2) { return }", "expected ']'"},
      {"graph (%x: f32[2,sin(s0)]) { return }", "outside integer arithmetic"},
      {"graph (%x: f32[2], %x: f32[2]) { return }", "%x is defined already"},
      {"graph (%x: f32[2]) { %y, %y = toy.split(%x, 1) return }", "%y is defined already"},
      {"graph (%x: f32[2]) { %y = toy.rule(%x) return }", "unknown op toy.rule: its result types must be given"},
      {"graph (%x: f32[2]) { %y, %z = toy.relu(%x) return }", "has 1 results, not 2"},
      {"graph (%x: f32[2]) { %y = toy.relu(%x) : f32[3] return }", "%y is given as f32[3], but toy.relu makes f32[2]"},
      {"graph (%x: f32[2]) { %y = toy.relu(%x) : f32[2], f32[2] return }", "1 results but 2 types"},
      {"graph (%x: f32[2]) { %y = toy.relu() return }", "argument 'self' is missing"},
      {"graph (%x: f32[2]) { %y = toy.relu(%x, %x) return }", "toy.relu has 1 parameters"},
      {"graph (%x: f32[2]) { %y = toy.relu(%x, self=%x) return }", "'self' is given twice"},
      {"graph (%x: f32[2]) { %y = toy.relu(input=%x) return }", "no parameter 'input'"},
      {"graph (%x: f32[2]) { %y = toy.add(%x, %x, 2) return }", "'alpha' is given by name only"},
      {"graph (%x: f32[2]) { %y = toy.add(self=%x, %x) return }", "by position after one by name"},
      {"graph (%x: f32[2]) { %y = toy.clamp(%x, min=1e) return }", "expected an argument"},
      {"graph (%x: f32[2]) { %y = toy.clamp(%x, min=\"a) return }", "string without an end"},
      {"graph (%x: f32[2]) { %y = toy.clamp(%x, min=\"\\q\") return }", "unknown escape"},
      {"graph (%x: f32[2]) { write %x <- %y return }", "%y is not defined before"},
      {"graph (%x: f32[2]) { const %w: f32[2] = [1, 2] write %w <- %x return }", "only a state or an input"},
      {"graph (%x: f32[2], %z: f32[3]) { write %x <- %z return }", "f32[3] written to f32[2]"},
      {"graph (%x: f32[2]) { write %x <- %x %y = toy.relu(%x) return }", "expected 'write' or 'return'"},
      {"graph () { return [1] }", "an output is a value"},
      {"graph () { const %w: f32[2] = [1] return }", "1 elements given, 2 needed"},
      {"graph () { const %w: f32[1000000,1000000] = [1] return }", "1 elements given, 1000000000000 needed"},
      {"graph () { const %w: f32[2,2] = [[1, 2], [3]] return }", "1 entries along dim 1, which has size 2"},
      {"graph () { const %w: f32[2,2] = [[1, 2]] return }", "1 entries along dim 0, which has size 2"},
      {"graph () { const %w: f32[2] = [[1, 2]] return }", "nested deeper"},
      {"graph () { const %w: f32[s0] = [1] return }", "constant sizes"},
      {"graph () { const %w: int = 3 return }", "a constant is a tensor"},
      {"graph () { const %w: u8[] = 300 return }", "300 does not fit u8"},
      {"graph () { const %w: i8[] = 1.5 return }", "expected an integer"},
      {"graph () { const %w: f32[] = True return }", "True in a constant of f32"},
      {"graph () { const %w: c64[] = 1 return }", "hex bytes"},
      {"graph () { const %w: f32[] = hex \"0000803\" return }", "bad hex digits"},
      {"graph () { const %w: f32[] = hex \"0000\" return }", "0 elements given, 1 needed"},
      {"graph () { const %w: f32[9] = @w return }", "there is no sidecar"},
      {"graph (%n: int(s0)) where s0 in [2 { return }", "expected ','"},
      {"graph (%n: int(s0)) where s0 in [2, 3], s0 in [2, 3] { return }", "two ranges"},
  };
  for (const auto& [text, reason] : cases)
    EXPECT_NE(refusal(text).find(reason), std::string::npos) << text << "\n" << refusal(text);
}

TEST(Text, nesting_is_limited) {
  std::string lists = "graph (%x: f32[2]) { %y = toy.cat(", graphs;
  for (int i = 0; i < 100000; ++i) lists += '[', graphs += "graph () { a.b(";
  EXPECT_NE(refusal(lists).find("nested too deeply"), std::string::npos);
  EXPECT_NE(refusal(graphs).find("nested too deeply"), std::string::npos);
}

TEST(Text, origins_are_comments) {
  Graph g;
  Value* x = g.add_input("x", TensorType{DType::f32, {2}});
  auto o = std::make_shared<Origin>();
  o->name = "relu";
  o->module_path = "L['self'].act";
  o->stack_trace = "m.py:3\nin forward";
  g.outputs.push_back(g.add(*toy_op("toy.relu"), {x}, {x->type}, nullptr, o)->result());
  const std::string text = print(g, {.origins = true});
  EXPECT_NE(text.find("  # relu; L['self'].act; m.py:3 in forward\n"), std::string::npos) << text;
  EXPECT_EQ(must(text).graph->hash(), g.hash());
  EXPECT_EQ(print(*g.nodes().front()), "%relu = toy.relu(%x) : f32[2]");
}

}  // namespace
}  // namespace edgewright::ir
