// Each pass on its own: tests/passes/<pass>.ir holds graphs before and after that one pass (=>); a graph that stands alone must
// not change. After each: sound structure, the interpreter's numbers as before, nothing left for a second run.
#include <algorithm>
#include <filesystem>

#include "graphs.h"

namespace edgewright::passes {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::FILE* f = std::fopen(path.c_str(), "rb");
  EXPECT_NE(f, nullptr) << path;
  if (!f) return {};
  std::string s;
  char buffer[4096];
  while (const size_t n = std::fread(buffer, 1, sizeof buffer, f)) s.append(buffer, n);
  std::fclose(f);
  return s;
}

void run_cases(const std::string& pass) {
  const PassDef* def = find(pass);
  ASSERT_NE(def, nullptr) << pass;
  std::string stem = pass;
  std::replace(stem.begin(), stem.end(), '-', '_');
  const auto cases =
      ir::parse_cases(read_text(std::filesystem::path(EW_TEST_DATA) / (stem + ".ir")), ops::parse_context());
  ASSERT_TRUE(cases.has_value()) << cases.error().str();
  ASSERT_GE(cases->size(), 2u);
  for (const ir::ParsedCase& c : *cases) {
    SCOPED_TRACE(c.comment);
    const ir::Program before = program_of(c.graphs.front());
    ASSERT_TRUE(ops::verify(*before.graph).has_value()) << ops::verify(*before.graph).error().str();
    ir::Program after = program_of(c.graphs.front());
    PassLog log;
    const auto ok = run_pass(after, *def, {.verify = Verify::kStrict}, log);
    ASSERT_TRUE(ok.has_value()) << ok.error().str();
    EXPECT_EQ(log.faults, 0);
    EXPECT_EQ(after.graph->hash(), c.graphs.back().graph->hash()) << "expected\n"
                                                                  << ir::print(*c.graphs.back().graph) << "got\n"
                                                                  << ir::print(*after.graph);
    const auto sound = ops::verify(*after.graph);
    EXPECT_TRUE(sound.has_value()) << sound.error().str();
    expect_same_numbers(before, after, def->agreement);
    const uint64_t once = after.graph->hash();
    PassLog again;
    ASSERT_TRUE(run_pass(after, *def, {.verify = Verify::kStrict}, again).has_value());
    EXPECT_EQ(after.graph->hash(), once) << "a second run changes it to\n" << ir::print(*after.graph);
  }
}

TEST(Passes, bmm_over_batches) { run_cases("bmm-over-batches"); }
TEST(Passes, compose_movement) { run_cases("compose-movement"); }
TEST(Passes, constants_into_graphs) { run_cases("constants-into-graphs"); }
TEST(Passes, compose_affine) { run_cases("compose-affine"); }
TEST(Passes, convert_to_linear) { run_cases("convert-to-linear"); }
TEST(Passes, cse) { run_cases("cse"); }
TEST(Passes, dead_code) { run_cases("dead-code"); }
TEST(Passes, decompose) { run_cases("decompose"); }
TEST(Passes, expand_affine) { run_cases("expand-affine"); }
TEST(Passes, fold_batch_norm) { run_cases("fold-batch-norm"); }
TEST(Passes, fold_constants) { run_cases("fold-constants"); }
TEST(Passes, functionalize) { run_cases("functionalize"); }
TEST(Passes, fuse_clamp) { run_cases("fuse-clamp"); }
TEST(Passes, inline_graphs) { run_cases("inline-graphs"); }
TEST(Passes, open_sizes) { run_cases("open-sizes"); }
TEST(Passes, quantized_forms) { run_cases("quantized-forms"); }
TEST(Passes, quantized_rows) { run_cases("quantized-rows"); }
TEST(Passes, remove_noops) { run_cases("remove-noops"); }
TEST(Passes, safe_softmax) { run_cases("safe-softmax"); }
TEST(Passes, sink_permutes) { run_cases("sink-permutes"); }
TEST(Passes, xnn_forms) { run_cases("xnn-forms"); }

TEST(Passes, every_pass_has_its_cases) {
  for (const PassDef& p : table()) {
    std::string stem = p.name;
    std::replace(stem.begin(), stem.end(), '-', '_');
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(EW_TEST_DATA) / (stem + ".ir"))) << p.name;
  }
}

}  // namespace
}  // namespace edgewright::passes
