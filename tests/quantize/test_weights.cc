// Integers and scales against PyTorch's observers (data/ was made by make_data.py), and what they must never be.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "format/safetensors.h"
#include "quantize/weights.h"

using namespace edgewright;
using quantize::Quantized;

namespace {

ir::Tensor tensor(DType t, std::vector<int64_t> sizes, const void* data) {
  ir::Tensor x = ir::Tensor::empty(t, std::move(sizes));
  std::memcpy(x.mutable_data(), data, x.nbytes());
  return x;
}
ir::Tensor f32(std::vector<int64_t> sizes, const std::vector<float>& v) {
  return tensor(DType::f32, std::move(sizes), v.data());
}
std::vector<double> numbers(const ir::Tensor& t) {
  std::vector<double> v;
  for (int64_t i = 0; i < t.numel(); ++i)
    v.push_back(is_float(t.dtype) ? ir::load_f(t.dtype, t.data, i)
                                  : static_cast<double>(ir::load_i(t.dtype, t.data, i)));
  return v;
}

class Observers : public testing::Test {
 protected:
  void SetUp() override {
    auto all = safetensors::read(EW_TEST_DATA "/data/observers.safetensors");
    ASSERT_TRUE(all) << all.error().str();
    for (const NamedTensor& t : *all) tensors_[t.name] = tensor(t.tensor.dtype, t.tensor.sizes, t.tensor.bytes.data());
  }
  std::map<std::string, ir::Tensor> tensors_;
};

}  // namespace

TEST_F(Observers, weights_by_channel_are_pytorchs) {
  for (const char* name : {"linear", "conv", "transposed", "zeros", "tiny", "wide", "one", "ties"}) {
    const std::string n = name;
    const Quantized q =
        quantize::by_channel(tensors_.at(n + ".w"), static_cast<int64_t>(numbers(tensors_.at(n + ".axis"))[0]));
    EXPECT_EQ(numbers(q.scales), numbers(tensors_.at(n + ".scales"))) << n;
    EXPECT_EQ(numbers(q.values), numbers(tensors_.at(n + ".q"))) << n;
    EXPECT_EQ(q.values.sizes, tensors_.at(n + ".w").sizes) << n;
  }
}

TEST_F(Observers, ranges_of_activations_are_pytorchs) {
  const std::vector<double> r = numbers(tensors_.at("ranges")), scales = numbers(tensors_.at("scales")),
                            zeros = numbers(tensors_.at("zeros"));
  for (size_t i = 0; i < scales.size(); ++i) {
    const auto q = quantize::of_range(static_cast<float>(r[2 * i]), static_cast<float>(r[2 * i + 1]));
    if (std::isfinite(scales[i])) {  // PyTorch's overflows with the range itself
      EXPECT_EQ(q.scale, static_cast<float>(scales[i])) << i;
      EXPECT_EQ(q.zero_point, static_cast<int64_t>(zeros[i])) << i;
    }
    EXPECT_TRUE(std::isnormal(q.scale)) << i;
    EXPECT_GE(q.zero_point, -128);
    EXPECT_LE(q.zero_point, 127);
  }
}

TEST(Weights, groups_have_bf16_scales_and_err_by_half_a_step_where_nothing_is_clipped) {
  std::vector<float> w(3 * 64);
  for (size_t i = 0; i < w.size(); ++i) w[i] = 0.37F * std::sin(static_cast<float>(i * i));
  for (size_t i = 64; i < 96; ++i) w[i] = 0;  // a whole group
  const Quantized q = quantize::by_group(f32({3, 64}, w), 32);
  ASSERT_EQ(q.scales.sizes, (std::vector<int64_t>{3, 2}));
  const auto values = numbers(q.values), scales = numbers(q.scales);
  double error = 0, plain = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    const auto s = static_cast<float>(scales[i / 32]);
    uint32_t bits;
    std::memcpy(&bits, &s, 4);
    EXPECT_EQ(bits & 0xffff, 0U) << "a scale that bf16 has not";
    EXPECT_TRUE(std::isnormal(s));
    EXPECT_GE(values[i], -8);
    EXPECT_LE(values[i], 7);
    if (values[i] > -8 && values[i] < 7) EXPECT_LE(std::fabs(w[i] - values[i] * s), 0.5001 * s);
    error += std::pow(w[i] - values[i] * s, 2);
    float most = 0;
    for (size_t k = i / 32 * 32; k < i / 32 * 32 + 32; ++k) most = std::max(most, std::fabs(w[k]));
    const float step = most > 0 ? most / 7 : 1;
    plain += std::pow(w[i] - step * std::nearbyint(w[i] / step), 2);
  }
  EXPECT_LE(error, plain * 1.02) << "no worse than the largest magnitude over 7, but for bf16";
}

TEST(Weights, not_a_number_is_seen) {
  EXPECT_TRUE(quantize::all_finite(f32({2}, {0, -1e30F})));
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_FALSE(quantize::all_finite(f32({2}, {0, bad})));
}
