// The interpreter: views and in-place ops as PyTorch has them, state, symbols, control flow, refusals. What single ops compute
// is tested in tests/ops. Expected numbers come from PyTorch 2.13; the lines that gave them stand beside each graph.
#include <cmath>

#include "graph_text.h"

namespace edgewright::interp {
namespace {

using V = std::vector<double>;

TEST(Interp, runs_a_linear_layer) {
  // F.linear(x[:, :2], torch.tensor([[1., 2], [3, 4]]), torch.tensor([.5, -.5])) for x = [[1.5, -2, nan], [0., -0., 3]]
  const auto p = read(R"(graph (%x: f32[2,3]) {
    const %w: f32[2,2] = [[1, 2], [3, 4]]
    const %b: f32[2] = [0.5, -0.5]
    %s = aten.slice.Tensor(%x, dim=1, start=0, end=2)
    %y = aten.linear(%s, %w, bias=%b)
    return %y, 3, None, "text", 0.5, True
  })");
  const RunResult r = must_run(*p.graph, {f32({2, 3}, {1.5, -2, NAN, 0, -0.0, 3})});
  ASSERT_EQ(r.outputs.size(), 6u);
  EXPECT_EQ(numbers(r.outputs[0]), (V{-2, -4, 0.5, -0.5}));
  EXPECT_EQ(describe(r.outputs[1]), "int 3");
  EXPECT_EQ(describe(r.outputs[2]), "None");
  EXPECT_EQ(describe(r.outputs[3]), "string 'text'");
  EXPECT_EQ(describe(r.outputs[4]), "float 0.5");
  EXPECT_EQ(describe(r.outputs[5]), "bool True");
}

TEST(Interp, writes_through_views_reach_the_base_and_other_views) {
  // y = x.clone(); v = y.transpose(0, 1); v.add_(10); w = v.select(0, 1); w.mul_(2); y, v, w
  const auto p = read(R"(graph (%x: f32[2,3]) {
    %y = aten.clone(%x)
    %v = aten.transpose.int(%y, 0, 1)
    %a = aten.add_.Tensor(%v, 10)
    %w = aten.select.int(%v, 0, 1)
    %m = aten.mul_.Tensor(%w, 2)
    return %y, %v, %w, %a, %m, %x
  })");
  const RunResult r = must_run(*p.graph, {iota({2, 3})});
  EXPECT_EQ(numbers(r.outputs[0]), (V{10, 22, 12, 13, 28, 15}));
  EXPECT_EQ(numbers(r.outputs[1]), (V{10, 13, 22, 28, 12, 15}));
  EXPECT_EQ(numbers(r.outputs[2]), (V{22, 28}));
  EXPECT_EQ(numbers(r.outputs[3]), numbers(r.outputs[1]));
  EXPECT_EQ(numbers(r.outputs[4]), numbers(r.outputs[2]));
  EXPECT_EQ(numbers(r.outputs[5]), (V{0, 1, 2, 3, 4, 5}));
}

TEST(Interp, a_reshape_that_must_copy_does_not_alias) {
  // y = x.clone(); y.t().reshape(6).add_(100); y   and   y.reshape(3, 2).add_(100); y
  const auto copied = read(R"(graph (%x: f32[2,3]) {
    %y = aten.clone(%x)  %t = aten.transpose.int(%y, 0, 1)  %f = aten.reshape(%t, [6])  %a = aten.add_.Tensor(%f, 100)
    return %y, %f
  })");
  RunResult r = must_run(*copied.graph, {iota({2, 3})});
  EXPECT_EQ(numbers(r.outputs[0]), (V{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(numbers(r.outputs[1]), (V{100, 103, 101, 104, 102, 105}));
  const auto aliased = read(
      "graph (%x: f32[2,3]) { %y = aten.clone(%x)  %f = aten.reshape(%y, [3, 2])  %a = aten.add_.Tensor(%f, 100)  "
      "return %y }");
  r = must_run(*aliased.graph, {iota({2, 3})});
  EXPECT_EQ(numbers(r.outputs[0]), (V{100, 101, 102, 103, 104, 105}));
}

TEST(Interp, large_reshapes_of_strided_tensors_keep_their_elements) {
  const auto p = read(
      "graph (%x: f32[130,3,70]) { %t = aten.permute(%x, [2, 0, 1])  %f = aten.reshape(%t, [210, 130])  return %f }");
  const RunResult r = must_run(*p.graph, {iota({130, 3, 70})});
  const V f = numbers(r.outputs[0]);
  for (int64_t i = 0; i < 27300; ++i) {  // element (a, b, c) of t is x[b, c, a]
    const int64_t a = i / 390, b = i / 3 % 130, c = i % 3;
    ASSERT_EQ(f[static_cast<size_t>(i)], static_cast<double>((b * 3 + c) * 70 + a));
  }
}

TEST(Interp, in_place_ops_keep_the_dtype_they_write_to) {
  // y = torch.arange(6); y.add_(torch.tensor([1, 2, 3, 4, 5, 6], dtype=torch.int8))
  const auto p = read("graph (%x: i64[6], %y: i8[6]) { %a = aten.add_.Tensor(%x, %y)  return %a }");
  const RunResult r =
      must_run(*p.graph, {i64({6}, {0, 1, 2, 3, 4, 5}), tensor_of<int>(DType::i8, {6}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(numbers(r.outputs[0]), (V{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(tensor(r.outputs[0])->dtype, DType::i64);
}

TEST(Interp, a_changed_input_is_in_the_result_and_the_callers_tensor_is_as_it_was) {
  const auto in_place =
      read("graph (%x: f32[2], %y: f32[2]) { %v = aten.view(%y, [2])  %a = aten.mul_.Tensor(%v, 3)  return %x }");
  const auto functional =
      read("graph (%x: f32[2], %y: f32[2]) { %m = aten.mul.Tensor(%y, 3)  write %y <- %m  return %x }");
  for (const auto* p : {&in_place, &functional}) {
    const ir::Tensor y = f32({2}, {1, 2});
    const RunResult r = must_run(*p->graph, {f32({2}, {5, 6}), y});
    ASSERT_EQ(r.inputs.size(), 1u);
    EXPECT_EQ(numbers(r.inputs.at(1)), (V{3, 6}));
    EXPECT_EQ(numbers(y), (V{1, 2}));
  }
}

TEST(Interp, state_lasts_from_call_to_call) {
  const auto in_place =
      read("graph (%x: f32[2]) { state %s: f32[2] = [1, 2]  %a = aten.add_.Tensor(%s, %x)  return %a }");
  const auto functional =
      read("graph (%x: f32[2]) { state %s: f32[2] = [1, 2]  %a = aten.add.Tensor(%s, %x)  write %s <- %a  return %a }");
  for (const auto* p : {&in_place, &functional}) {
    State state;
    const Options o{.state = &state};
    EXPECT_EQ(numbers(must_run(*p->graph, {f32({2}, {10, 10})}, o).outputs[0]), (V{11, 12}));
    const RunResult second = must_run(*p->graph, {f32({2}, {10, 10})}, o);
    EXPECT_EQ(numbers(second.outputs[0]), (V{21, 22}));
    must_fail(*p->graph, {f32({3}, {1, 1, 1})}, o);
    EXPECT_EQ(numbers(must_run(*p->graph, {f32({2}, {0, 0})}, o).outputs[0]), (V{21, 22}));
    EXPECT_EQ(numbers(must_run(*p->graph, {f32({2}, {0, 0})}).outputs[0]),
              (V{1, 2}));  // without a state: initial values
    EXPECT_EQ(numbers(second.outputs[0]), (V{21, 22}));
  }
}

TEST(Interp, outputs_see_what_was_before_a_write) {
  const auto p = read("graph (%x: f32[1]) { state %s: f32[1] = [1]  write %s <- %x  return %s }");
  State state;
  EXPECT_EQ(numbers(must_run(*p.graph, {f32({1}, {5})}, {.state = &state}).outputs[0]), (V{1}));
  EXPECT_EQ(numbers(must_run(*p.graph, {f32({1}, {6})}, {.state = &state}).outputs[0]), (V{5}));
}

TEST(Interp, symbols_are_bound_by_the_inputs) {
  const auto p = read(R"(graph (%x: f32[s0,3], %y: f32[2*s1 + 1], %n: int(s2)) where s0 in [2, 8] {
    %r = aten.sym_size.int(%x, 0)
    %m = _operator.mul(%r, %n)
    %v = aten.reshape(%x, [-1]) : f32[3*s0]
    return %v, %m
  })");
  const RunResult r = must_run(*p.graph, {iota({4, 3}), iota({7}), int_datum(5)}, {.ranges = &p.ranges});
  EXPECT_EQ(tensor(r.outputs[0])->sizes, (std::vector<int64_t>{12}));
  EXPECT_EQ(describe(r.outputs[1]), "int 20");
  EXPECT_EQ(r.symbols.at("s0"), 4);
  EXPECT_EQ(r.symbols.at("s1"), 3);
  EXPECT_EQ(r.symbols.at("s2"), 5);
}

TEST(Interp, inputs_that_do_not_fit_are_usage_errors_that_name_the_constraint) {
  const auto p =
      read("graph (%x: f32[s0,3], %y: f32[s0 + 1], %n: int(2*s1)) where s0 in [2, 8], s1 in [0, inf] { return %x }");
  const std::vector<std::pair<ir::Dim, ir::Range>> sums{{ir::Dim::symbol("s0") + ir::Dim::symbol("s1"), {0, 10}}};
  const Options o{.ranges = &p.ranges, .expression_ranges = sums};
  const auto refusal = [&](std::vector<Datum> in) {
    const Error e = must_fail(*p.graph, in, o);
    EXPECT_EQ(e.code, Code::kUsage);
    return e.str();
  };
  EXPECT_EQ(refusal({iota({4, 3}), iota({5})}), "2 inputs given, the graph has 3");
  EXPECT_EQ(refusal({i64({4, 3}, std::vector<int64_t>(12)), iota({5}), int_datum(0)}),
            "input x is i64[4,3], expected f32[s0,3]");
  EXPECT_EQ(refusal({iota({4, 2}), iota({5}), int_datum(0)}), "input x is f32[4,2], expected f32[s0,3]");
  EXPECT_EQ(refusal({iota({4}), iota({5}), int_datum(0)}), "input x is f32[4], expected f32[s0,3]");
  EXPECT_EQ(refusal({iota({4, 3}), iota({5}), float_datum(1)}), "input n is float 1, expected int(2*s1)");
  EXPECT_EQ(refusal({iota({4, 3}), iota({6}), int_datum(0)}),
            "dim 0 of input y is 6, expected s0 + 1 = 5 (s0 = 4 by dim 0 of input x)");
  EXPECT_EQ(refusal({iota({9, 3}), iota({10}), int_datum(0)}), "dim 0 of input x is 9, but s0 must lie in [2, 8]");
  EXPECT_EQ(refusal({iota({1, 3}), iota({2}), int_datum(0)}), "dim 0 of input x is 1, but s0 must lie in [2, 8]");
  EXPECT_EQ(refusal({iota({4, 3}), iota({5}), int_datum(-2)}), "s1 is -1 (by input n), but must lie in [0, inf]");
  EXPECT_EQ(refusal({iota({4, 3}), iota({5}), int_datum(14)}), "s0 + s1 is 11, but must lie in [0, 10]");
  EXPECT_EQ(refusal({iota({4, 3}), iota({5}), int_datum(3)}), "input n is 3, which 2*s1 cannot be");
}

TEST(Interp, sizes_that_no_integers_give_are_refused) {
  const auto p = read("graph (%x: f32[2*s0 + 4*s1 + 1]) { return %x }");
  EXPECT_EQ(must_fail(*p.graph, {iota({6})}).str(), "dim 0 of input x is 6, which 2*s0 + 4*s1 + 1 cannot be");
  must_run(*p.graph, {iota({7})});
  const auto floor = read("graph (%x: f32[2*(s0//2) + s0]) { return %x }");  // not affine: 7 by s0 = 4 is not seen
  must_run(*floor.graph, {iota({7})});
}

TEST(Interp, a_result_that_is_not_of_its_type_is_an_error) {
  const auto p =
      read("graph (%x: f32[s0]) { %y = aten.relu(%x) : f32[2*s1] %z = aten.relu(%y) : f32[s1 + 2] return %z }");
  EXPECT_EQ(must_run(*p.graph, {iota({4})}).symbols.at("s1"), 2);
  const Error e = must_fail(*p.graph, {iota({6})});
  EXPECT_EQ(e.code, Code::kMalformed);
  EXPECT_EQ(e.node, "z");
}

TEST(Interp, sizes_that_depend_on_data_are_bound_as_they_appear) {
  // x[x > 1]
  const auto p = read(
      "graph (%x: f32[4]) { %m = aten.gt.Scalar(%x, 1)  %y = aten.masked_select(%x, %m) : f32[u0]  %z = aten.relu(%y) "
      ": f32[u0]  return %z }");
  const RunResult r = must_run(*p.graph, {f32({4}, {3, 0, 2, 1})});
  EXPECT_EQ(numbers(r.outputs[0]), (V{3, 2}));
  EXPECT_EQ(r.symbols.at("u0"), 2);
}

TEST(Interp, control_flow_runs_its_graphs) {
  // torch.cond(p, lambda a: a * 2, lambda a: a + 1, (x,)); map over rows: r.sum() + 1; while i < 4: i + 1, x * 2;
  // scan with carry c + r and output c + r
  const auto p = read(R"(graph (%p: bool[], %x: f32[2,2], %i: i64[]) {
    %c = higher_order.cond(pred=%p, t=graph (%a: f32[2,2]) { %r = aten.mul.Tensor(%a, 2) return %r },
                           f=graph (%a: f32[2,2]) { %r = aten.add.Tensor(%a, 1) return %r }, operands=[%x]) : f32[2,2]
    %m = higher_order.map_impl(f=graph (%a: f32[2], %b: f32[2,2]) { %s = aten.sum(%a) %r = aten.add.Tensor(%s, 1) return %r }, xs=[%x], more=[%x]) : f32[2]
    %n, %y = higher_order.while_loop(cond=graph (%i: i64[], %a: f32[2,2]) { %r = aten.lt.Scalar(%i, 4) return %r },
                                     body=graph (%i: i64[], %a: f32[2,2]) { %j = aten.add.Tensor(%i, 1) %b = aten.mul.Tensor(%a, 2) return %j, %b },
                                     carried=[%i, %x], more=[]) : i64[], f32[2,2]
    %last, %all = higher_order.scan(f=graph (%k: f32[2], %a: f32[2]) { %r = aten.add.Tensor(%k, %a) %o = aten.clone(%r) return %r, %o },
                                    init=[%m], xs=[%x], more=[]) : f32[2], f32[2,2]
    %g = higher_order.wrap_with_set_grad_enabled(enabled=False, g=graph (%a: f32[2]) { %r = aten.neg(%a) return %r }, x=%m) : f32[2]
    return %c, %m, %n, %y, %last, %all, %g
  })");
  const auto yes = tensor_of<int>(DType::b8, {}, {1}), no = tensor_of<int>(DType::b8, {}, {0});
  const ir::Tensor x = f32({2, 2}, {1, 2, 3, 4});
  RunResult r = must_run(*p.graph, {yes, x, i64({}, {1})});
  EXPECT_EQ(numbers(r.outputs[0]), (V{2, 4, 6, 8}));
  EXPECT_EQ(numbers(r.outputs[1]), (V{4, 8}));
  EXPECT_EQ(numbers(r.outputs[2]), (V{4}));
  EXPECT_EQ(numbers(r.outputs[3]), (V{8, 16, 24, 32}));
  EXPECT_EQ(numbers(r.outputs[4]), (V{8, 14}));
  EXPECT_EQ(numbers(r.outputs[5]), (V{5, 10, 8, 14}));
  EXPECT_EQ(numbers(r.outputs[6]), (V{-4, -8}));
  r = must_run(*p.graph, {no, x, i64({}, {9})});
  EXPECT_EQ(numbers(r.outputs[0]), (V{2, 3, 4, 5}));
  EXPECT_EQ(numbers(r.outputs[3]), (V{1, 2, 3, 4}));
}

TEST(Interp, a_loop_without_an_end_is_refused) {
  const auto p = read(R"(graph (%x: f32[]) {
    %y = higher_order.while_loop(cond=graph (%a: f32[]) { const %t: bool[] = True return %t }, body=graph (%a: f32[]) { return %a }, carried=[%x], more=[]) : f32[]
    return %y
  })");
  EXPECT_EQ(must_fail(*p.graph, {f32({}, {1})}, {.max_rounds = 100}).code, Code::kUnsupported);
}

TEST(Interp, the_observer_sees_every_node_in_order) {
  const auto p = read(
      "graph (%x: f32[2]) { %a = aten.relu(%x)  %unused = aten.neg(%a)  %b, %c = aten.split.Tensor(%a, 1)  return %b "
      "}");
  std::string seen;
  must_run(*p.graph, {f32({2}, {-1, 2})}, {.observe = [&](const ir::Node& n, std::span<const Datum> r) {
    seen += n.name() + ":";
    for (const Datum& d : r)
      for (double v : numbers(d)) seen += fmt::format(" {}", v);
    seen += "; ";
  }});
  EXPECT_EQ(seen, "aten.relu: 0 2; aten.neg: -0 -2; aten.split.Tensor: 0 2; ");
}

TEST(Interp, refusals_name_the_node_and_where_it_came_from) {
  const auto p = read("graph (%x: f32[2]) { %a = aten.relu(%x)  %b = my.op(self=%a) : f32[2]  return %b }");
  auto origin = std::make_shared<ir::Origin>();
  origin->module_path = "layer1";
  origin->stack_trace = "model.py:3";
  p.graph->nodes().back()->origin = origin;
  const Error e = must_fail(*p.graph, {f32({2}, {1, 2})});
  EXPECT_EQ(e.code, Code::kUnsupported);
  EXPECT_EQ(e.str(), "b: my.op is not known [layer1; model.py:3]");
}

TEST(Interp, results_beyond_memory_are_refused) {
  const auto p = read("graph (%n: int(s0)) { %x = aten.full([%n, %n, %n], 1.0, dtype=f32)  return %x }");
  EXPECT_EQ(must_fail(*p.graph, {int_datum(1 << 20)}).code, Code::kUnsupported);
  EXPECT_EQ(must_fail(*p.graph, {int_datum(int64_t{1} << 40)}).code, Code::kUnsupported);
}

TEST(Interp, dtypes_that_are_no_numbers_can_be_moved_but_not_computed_with) {
  const auto p = read("graph (%x: c64[2,1]) { %t = aten.transpose.int(%x, 0, 1)  return %t }");
  ir::Tensor x = ir::Tensor::empty(DType::c64, {2, 1});
  std::memset(x.mutable_data(), 7, x.nbytes());
  const RunResult r = must_run(*p.graph, {x});
  EXPECT_EQ(tensor(r.outputs[0])->sizes, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::memcmp(tensor(r.outputs[0])->contiguous().data, x.data, x.nbytes()), 0);
}

TEST(Interp, programs_take_leaves_and_check_fixed_ones) {
  ir::Program p;
  p.graph = read("graph (%x: f32[2]) { %y = aten.neg(%x)  %z = aten.mul_.Tensor(%x, 2)  return %y }").graph;
  p.inputs = {{.name = "flag", .fixed = true},
              {.name = "x", .value = p.graph->inputs()[0]},
              {.name = "mode", .fixed = "fast"},
              {.name = "k", .fixed = 3}};
  const ir::Tensor x = f32({2}, {1, 2});
  const auto code = [&](std::vector<Datum> leaves) {
    auto r = run(p, leaves);
    return r ? "" : r.error().str();
  };
  EXPECT_EQ(code({{}, x, {}, {}}), "");
  EXPECT_EQ(code({bool_datum(true), x, std::string("fast"), int_datum(3)}), "");
  EXPECT_EQ(code({bool_datum(false), x, {}, {}}), "input 0 (flag) is bool False, but the export fixed it to bool True");
  EXPECT_EQ(code({{}, x, std::string("slow"), {}}),
            "input 2 (mode) is string 'slow', but the export fixed it to string 'fast'");
  EXPECT_EQ(code({{}, x, {}, x}), "input 3 (k) is f32[2], but the export fixed it to int 3");
  EXPECT_EQ(code({{}, {}, {}, {}}), "input 1 (x) is missing: f32[2]");
  EXPECT_EQ(code({x}), "1 inputs given, the program has 4");
  EXPECT_EQ(numbers(run(p, std::vector<Datum>{{}, x, {}, {}})->inputs.at(1)), (V{2, 4}));
}

TEST(Interp, evaluates_a_node_of_constants) {
  const auto p = read("graph () { const %a: f32[2,2] = [1, 2, 3, 4]  %t = aten.transpose.int(%a, 0, 1)  return %t }");
  auto r = evaluate(*p.graph->nodes().front());
  ASSERT_TRUE(r.has_value()) << r.error().str();
  EXPECT_TRUE((*r)[0].is_contiguous());
  EXPECT_NE((*r)[0].owner, p.graph->constants()[0]->data->owner);
  EXPECT_EQ(numbers((*r)[0]), (V{1, 3, 2, 4}));
}

}  // namespace
}  // namespace edgewright::interp
