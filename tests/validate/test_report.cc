// What is told of a wrong rewrite: pass, nodes, source, values, and a small graph that shows it again.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "driver/compile.h"
#include "driver/dump.h"
#include "ir/text.h"
#include "mutants.h"
#include "ops/verify.h"
#include "session/build.h"
#include "session/check.h"
#include "session/convert.h"
#include "session/source.h"

namespace edgewright::passes {
namespace {

// A folder that goes away.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "edgewright-XXXXXX").string();
    path_ = mkdtemp(name.data()) ? name : "";
    EXPECT_FALSE(path_.empty());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(Report, the_reduced_graph_of_every_mutant_shows_the_same_fault_again) {
  const Folder folder;
  for (const Mutant& m : mutants()) {
    SCOPED_TRACE(m.pass.name);
    auto parsed = ir::parse(m.graph, ops::parse_context());
    ASSERT_TRUE(parsed.has_value()) << parsed.error().str();
    ir::Program p;
    p.graph = parsed->graph;
    p.ranges = parsed->ranges;
    PassLog log;
    ASSERT_TRUE(run_pass(p, m.pass, {}, log).has_value());
    const auto fault = std::find_if(log.events.begin(), log.events.end(), [](const Event& e) { return e.fault; });
    ASSERT_NE(fault, log.events.end());
    ASSERT_TRUE(fault->reduced);
    EXPECT_LE(fault->reduced->graph->nodes().size(), p.graph->nodes().size());
    if (!m.pass.run) EXPECT_FALSE(fault->nodes.empty());
    ASSERT_TRUE(driver::dump(folder / "fault", *fault->reduced).has_value());
    const auto again = session::optimize_text(folder / "fault.ir", {m.pass.name}, Verify::kLocal, {m.pass});
    ASSERT_FALSE(again.has_value()) << *again;
    EXPECT_EQ(again.error().code, Code::kInternal);
    EXPECT_NE(again.error().str().find(m.pass.name), std::string::npos) << again.error().str();
    if (!m.pass.run)
      EXPECT_NE(again.error().str().find(fault->reason), std::string::npos) << again.error().str() << "\nagainst\n"
                                                                            << fault->reason;
  }
}

// In a program of many nodes the reduced graph holds those of the rewrite and no others.
TEST(Report, the_reduced_graph_is_small) {
  std::string text = "graph (%x: f32[4,4]) { %a0 = aten.exp(%x)";
  for (int i = 1; i < 40; ++i) text += fmt::format("  %a{} = aten.exp(%a{})", i, i - 1);
  text += "  %b = aten.sub.Tensor(%a20, %a39)  %y = aten.neg(%b)  return %y, %a5 }";
  auto parsed = ir::parse(text, ops::parse_context());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().str();
  ir::Program p;
  p.graph = parsed->graph;
  const PassDef wrong{.name = "neg-of-sub-kept",
                      .roots = {"aten.neg"},
                      .rewrite =
                          [](Node& n, Rewriter& rw) {
                            Node* sub = producer(n.inputs()[0], "aten.sub.Tensor");
                            if (!sub) return no_match();
                            rw.matched(sub);
                            return rw.replace(rw("aten.sub.Tensor", {sub->inputs()[0], sub->inputs()[1]}));
                          },
                      .run = {},
                      .agreement = Agreement::kEqual,
                      .summary = ""};
  PassLog log;
  ASSERT_TRUE(run_pass(p, wrong, {}, log).has_value());
  ASSERT_EQ(log.faults, 1);
  const Event& e = log.events.back();
  EXPECT_EQ(e.nodes, (std::vector<std::string>{"b", "y"}));
  ASSERT_TRUE(e.reduced);
  EXPECT_EQ(e.reduced->graph->nodes().size(), 2u) << ir::print(*e.reduced->graph);
}

// A rewrite that others were built upon is taken back without them, and what is right beside it stays.
TEST(Report, a_wrong_rewrite_takes_nothing_right_with_it) {
  const char* const text =
      "graph (%x: f32[4,4]) { %a = aten.relu(%x)  %b = aten.abs(%a)  %c = aten.relu(%b)  %d = aten.abs(%c)  %e = "
      "aten.neg(%x)  %f "
      "= aten.abs(%e)  return %d, %f }";
  // |relu(x)| -> relu(x) is right; |neg(x)| -> neg(x) is not.
  const PassDef half_right{.name = "abs-removed",
                           .roots = {"aten.abs"},
                           .rewrite =
                               [](Node& n, Rewriter& rw) {
                                 rw.matched(n.inputs()[0]->producer);
                                 return rw.replace(n.inputs()[0]);
                               },
                           .run = {},
                           .agreement = Agreement::kEqual,
                           .summary = ""};
  auto parsed = ir::parse(text, ops::parse_context());
  ASSERT_TRUE(parsed.has_value()) << parsed.error().str();
  ir::Program p;
  p.graph = parsed->graph;
  for (Value* v : p.graph->inputs()) p.inputs.push_back({v->name, v, {}, {}});
  PassLog log;
  ASSERT_TRUE(run_pass(p, half_right, {}, log).has_value());
  EXPECT_EQ(p.inputs[0].value, p.graph->inputs()[0]) << "the program's leaves follow the graph";
  auto expected = ir::parse(
      "graph (%x: f32[4,4]) { %a = aten.relu(%x)  %c = aten.relu(%a)  %e = aten.neg(%x)  %f = aten.abs(%e)  return %c, "
      "%f }",
      ops::parse_context());
  ASSERT_TRUE(expected.has_value());
  EXPECT_EQ(p.graph->hash(), expected->graph->hash()) << ir::print(*p.graph);
  std::vector<std::string> blamed, applied;
  for (const Event& e : log.events) {
    if (e.fault) blamed.push_back(e.node);
    if (e.applied) applied.push_back(e.node);
  }
  EXPECT_EQ(applied, (std::vector<std::string>{"b", "d"}));
  EXPECT_EQ(log.faults, static_cast<int>(blamed.size()));
  for (const std::string& n : blamed) EXPECT_EQ(n, "f");
}

const PassDef& relu_is_abs() {
  static const PassDef d{.name = "relu-is-abs",
                         .roots = {"aten.relu"},
                         .rewrite = [](Node& n, Rewriter& rw) { return rw.replace(rw("aten.abs", {n.inputs()[0]})); },
                         .run = {},
                         .agreement = Agreement::kEqual,
                         .summary = "relu -> abs"};
  return d;
}

driver::CompileOptions with_fault() {
  driver::CompileOptions o;
  o.pipeline = default_pipeline();
  o.pipeline.insert(o.pipeline.begin(), relu_is_abs().name);
  o.further = {relu_is_abs()};
  return o;
}

// From an exported program (tests/cli/make_data.py) to a file, and back from the report to the fault.
TEST(Report, a_compile_with_a_wrong_pass_is_right_and_says_where_it_went_wrong) {
  const Folder folder;
  const std::string model = EW_TEST_DATA "/../cli/data/mlp.pt2";
  const auto r = session::compile_files({model}, {}, folder / "mlp.pte", "", with_fault());
  ASSERT_TRUE(r.has_value()) << r.error().str();
  EXPECT_EQ(r->passes.faults, 1);
  ASSERT_EQ(r->faults.size(), 1u);
  const driver::FaultReport& f = r->faults[0];
  EXPECT_EQ(f.pass, "relu-is-abs");
  EXPECT_EQ(f.node, "relu");
  EXPECT_NE(f.source.find("torch.relu(self.a(x))"), std::string::npos) << f.source;
  EXPECT_NE(f.reason.find("before"), std::string::npos) << f.reason;
  EXPECT_NE(f.graph.find("aten.relu"), std::string::npos) << f.graph;
  EXPECT_EQ(f.file, folder / "mlp.pte.fault_1.ir");
  const auto again = session::optimize_text(f.file, {f.pass}, Verify::kLocal, {relu_is_abs()});
  ASSERT_FALSE(again.has_value());
  EXPECT_NE(again.error().str().find(f.reason), std::string::npos) << again.error().str();
  EXPECT_NE(again.error().str().find("relu-is-abs at relu"), std::string::npos) << again.error().str();
  // The sound graph went on.
  EXPECT_TRUE(std::filesystem::exists(folder / "mlp.pte"));
  const auto source = session::open_pt2(model, "");
  ASSERT_TRUE(source.has_value());
  const auto calls = session::gather(session::signature_of(source->programs[0]), {},
                                     session::to_values(*source->programs[0].sample_inputs));
  ASSERT_TRUE(calls.has_value());
  const auto checked = session::check_program(source->programs[0], source->programs[0], *calls, with_fault(), 1, {},
                                              [](const std::string&) {});
  ASSERT_TRUE(checked.has_value()) << checked.error().str();
  EXPECT_TRUE(checked->agree());
}

TEST(Report, dumps_stand_in_the_folder_asked_for) {
  const Folder folder;
  auto o = with_fault();
  o.dump_dir = folder / "graphs";
  const auto r = session::compile_files({EW_TEST_DATA "/../cli/data/mlp.pt2"}, {}, folder / "mlp.pte", "", o);
  ASSERT_TRUE(r.has_value()) << r.error().str();
  ASSERT_EQ(r->faults.size(), 1u);
  EXPECT_EQ(r->faults[0].file, folder / "graphs/fault_1.ir");
  EXPECT_TRUE(std::filesystem::exists(r->faults[0].file));
  EXPECT_FALSE(std::filesystem::exists(folder / "mlp.pte.fault_1.ir"));
}

TEST(Report, strict_writes_the_report_and_no_program) {
  const Folder folder;
  auto o = with_fault();
  o.verify = Verify::kStrict;
  const auto r = session::compile_files({EW_TEST_DATA "/../cli/data/mlp.pt2"}, {}, folder / "mlp.pte", "", o);
  ASSERT_FALSE(r.has_value());
  EXPECT_EQ(r.error().code, Code::kInternal);
  EXPECT_NE(r.error().str().find("mlp.pte.fault_1.ir"), std::string::npos) << r.error().str();
  EXPECT_TRUE(std::filesystem::exists(folder / "mlp.pte.fault_1.ir"));
  EXPECT_FALSE(std::filesystem::exists(folder / "mlp.pte"));
}

// With the check off the same pass goes through, and check() finds it at the node in question.
TEST(Report, off_lets_it_through_and_check_names_the_node) {
  auto o = with_fault();
  o.verify = Verify::kOff;
  const auto source = session::open_pt2(EW_TEST_DATA "/../cli/data/mlp.pt2", "");
  ASSERT_TRUE(source.has_value());
  const ir::Program& p = source->programs[0];
  const auto calls = session::gather(session::signature_of(p), {}, session::to_values(*p.sample_inputs));
  ASSERT_TRUE(calls.has_value());
  const auto r = session::check_program(p, p, *calls, o, 1, {}, [](const std::string&) {});
  ASSERT_TRUE(r.has_value()) << r.error().str();
  EXPECT_FALSE(r->agree());
  ASSERT_TRUE(r->first) << r->no_first;
  EXPECT_EQ(r->first->node, "relu");
  EXPECT_NE(r->first->source.find("torch.relu(self.a(x))"), std::string::npos) << r->first->source;
}

}  // namespace
}  // namespace edgewright::passes
