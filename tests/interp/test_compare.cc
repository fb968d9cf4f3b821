// compare(): what counts as agreement, and what is reported of a difference.
#include <cmath>

#include "graph_text.h"
#include "interp/compare.h"

namespace edgewright::interp {
namespace {

TEST(Compare, nan_equals_nan_and_infinities_their_like) {
  const ir::Tensor a = f32({4}, {NAN, INFINITY, -INFINITY, 0.0}), b = f32({4}, {NAN, INFINITY, -INFINITY, -0.0});
  EXPECT_TRUE(compare(a, b, {}).agrees());
  EXPECT_EQ(compare(a, b, {}).str(), "equal");
  EXPECT_EQ(compare(f32({2}, {NAN, INFINITY}), f32({2}, {1, -INFINITY}), {1e9, 1}).different, 2);
  EXPECT_EQ(compare(f32({2}, {1, 3e38}), f32({2}, {NAN, INFINITY}), {1e9, 1}).different, 2);
}

TEST(Compare, the_tolerance_is_relative_to_the_expected_value) {
  EXPECT_TRUE(compare(f32({1}, {101}), f32({1}, {100}), {0.5, 0.005}).agrees());
  EXPECT_FALSE(compare(f32({1}, {101.125}), f32({1}, {100}), {0.5, 0.005}).agrees());
}

TEST(Compare, integers_are_exact_beyond_what_a_double_holds) {
  const int64_t big = (int64_t{1} << 60) + 1;
  EXPECT_FALSE(compare(i64({1}, {big}), i64({1}, {big - 1}), {10, 10}).agrees());
  EXPECT_TRUE(compare(i64({1}, {big}), i64({1}, {big}), {}).agrees());
}

TEST(Compare, reports_count_place_and_size_of_differences) {
  const Comparison c = compare(f32({2, 3}, {1, 2, 3, 4, 5.5, 7}), f32({2, 3}, {1, 2, 3, 4, 5, 6}), {1e-3, 0});
  EXPECT_EQ(c.elements, 6);
  EXPECT_EQ(c.different, 2);
  EXPECT_EQ(c.first, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(c.first_a, 5.5);
  EXPECT_EQ(c.first_b, 5);
  EXPECT_EQ(c.max_abs, 1);
  EXPECT_DOUBLE_EQ(c.max_rel, 1.0 / 6);
  EXPECT_NEAR(c.sqnr_db, 10 * std::log10(91 / 1.25), 1e-9);
  EXPECT_NE(c.str().find("2 of 6 differ, first at [1,1]: 5.5 against 5"), std::string::npos);
}

TEST(Compare, other_types_are_a_mismatch) {
  EXPECT_EQ(compare(f32({2}, {1, 2}), f32({1, 2}, {1, 2}), {}).str(), "f32[2] against f32[1,2]");
  EXPECT_FALSE(compare(f32({1}, {1}), i64({1}, {1}), {}).agrees());
}

TEST(Compare, reads_through_strides_and_takes_empty_and_complex_tensors) {
  ir::Tensor t = f32({2, 2}, {1, 3, 2, 4});
  std::swap(t.strides[0], t.strides[1]);
  EXPECT_TRUE(compare(t, f32({2, 2}, {1, 2, 3, 4}), {}).agrees());
  EXPECT_TRUE(compare(f32({0, 3}, {}), f32({0, 3}, {}), {}).agrees());
  ir::Tensor c = ir::Tensor::empty(DType::c64, {2}), d = ir::Tensor::empty(DType::c64, {2});
  const float p[] = {1, 2, 3, 4}, q[] = {1, 2, 3, 5};
  std::memcpy(c.mutable_data(), p, sizeof p);
  std::memcpy(d.mutable_data(), q, sizeof q);
  EXPECT_EQ(compare(c, d, {}).first, (std::vector<int64_t>{1}));
  EXPECT_TRUE(compare(c, d, {1, 0}).agrees());
}

}  // namespace
}  // namespace edgewright::interp
