// The runtime on files of the stock exporter, on programs made here, and on damaged ones.
#include <malloc.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <new>
#include <random>

#include "format/safetensors.h"
#include "programs.h"

namespace {
std::atomic<size_t> news{0};
}
// Counts every allocation of C++ code; mallinfo2 sees those of C code.
void* operator new(size_t n) {
  ++news;
  if (void* p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t n, const std::nothrow_t&) noexcept {
  ++news;
  return std::malloc(n ? n : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace edgewright::runtime {
namespace {

struct StockCase {
  std::string name;
  double atol, rtol;
};
std::vector<StockCase> stock_cases() {
  std::vector<StockCase> all;
  std::ifstream f(std::string(EW_TEST_DATA) + "/data/cases.txt");
  for (StockCase c; f >> c.name >> c.atol >> c.rtol;) all.push_back(c);
  return all;
}
std::string path_of(const std::string& name, const char* end) {
  return std::string(EW_TEST_DATA) + "/data/" + name + end;
}

std::vector<std::byte> read_all(const std::string& path) {
  auto f = MappedFile::open(path);
  return f ? std::vector<std::byte>((*f)->bytes().begin(), (*f)->bytes().end()) : std::vector<std::byte>();
}

Result<void> set_inputs(Method& m, const std::vector<NamedTensor>& inputs) {
  for (const NamedTensor& t : inputs)
    if (std::stoul(t.name) < m.num_inputs()) EW_TRY(m.set_input(std::stoul(t.name), t.tensor));
  return {};
}

class Stock : public testing::TestWithParam<StockCase> {};

TEST_P(Stock, gives_pytorchs_outputs) {
  const auto inputs = safetensors::read(path_of(GetParam().name, ".in.safetensors"));
  const auto wanted = safetensors::read(path_of(GetParam().name, ".out.safetensors"));
  ASSERT_TRUE(inputs && wanted);
  for (int threads : {1, 2}) {
    auto program = Program::load(path_of(GetParam().name, ".pte"), {.threads = threads});
    ASSERT_TRUE(program) << program.error().str();
    auto method = (*program)->method("forward");
    ASSERT_TRUE(method) << method.error().str();
    for (int run = 0; run < 2; ++run) {  // the second run finds everything set up
      const auto set = set_inputs(**method, *inputs);
      ASSERT_TRUE(set) << set.error().str();
      const auto done = (*method)->execute();
      ASSERT_TRUE(done) << done.error().str();
      for (const NamedTensor& t : *wanted)
        EXPECT_EQ(difference((*method)->output_tensor(std::stoul(t.name)), t.tensor, GetParam().rtol, GetParam().atol),
                  "")
            << "output " << t.name;
    }
  }
}

TEST_P(Stock, runs_from_misaligned_memory) {
  const auto file = read_all(path_of(GetParam().name, ".pte"));
  auto shifted = std::make_shared<std::vector<std::byte>>(file.size() + 1);
  std::copy(file.begin(), file.end(), shifted->begin() + 1);
  auto program = Program::load(Bytes(*shifted).subspan(1), shifted);
  ASSERT_TRUE(program) << program.error().str();
  auto method = (*program)->method("forward");
  ASSERT_TRUE(method) << method.error().str();
  const auto inputs = safetensors::read(path_of(GetParam().name, ".in.safetensors"));
  const auto wanted = safetensors::read(path_of(GetParam().name, ".out.safetensors"));
  ASSERT_TRUE(set_inputs(**method, *inputs) && (*method)->execute());
  for (const NamedTensor& t : *wanted)
    EXPECT_EQ(difference((*method)->output_tensor(std::stoul(t.name)), t.tensor, GetParam().rtol, GetParam().atol), "");
}

TEST_P(Stock, does_not_allocate_at_run) {
  const auto inputs = safetensors::read(path_of(GetParam().name, ".in.safetensors"));
  auto program = Program::load(path_of(GetParam().name, ".pte"));
  ASSERT_TRUE(program);
  auto method = (*program)->method("forward");
  ASSERT_TRUE(method);
  for (size_t i = 0; i < (*method)->num_inputs(); ++i)
    if ((*method)->input_info(i).dynamic) GTEST_SKIP() << "dynamic shapes";
  const size_t before = news, used = mallinfo2().uordblks;
  bool ok = true;
  for (int run = 0; run < 3; ++run) {
    for (size_t i = 0; i < inputs->size(); ++i) {
      const HostTensor& t = (*inputs)[i].tensor;
      ok = ok && (*method)->set_input(i, t.dtype, t.sizes, t.bytes);
    }
    ok = ok && (*method)->execute();
  }
  EXPECT_EQ(news - before, 0u);
  EXPECT_EQ(mallinfo2().uordblks, used);
  EXPECT_TRUE(ok);
}

INSTANTIATE_TEST_SUITE_P(Files, Stock, testing::ValuesIn(stock_cases()), [](const auto& info) {
  std::string n = info.param.name;
  std::replace_if(n.begin(), n.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return n;
});

// --- programs made here ---

// x + y, both [2, 3].
Maker adder() {
  Maker m;
  const int32_t x = m.tensor(DType::f32, {2, 3}), y = m.tensor(DType::f32, {2, 3}), one = m.value(int64_t{1}),
                z = m.planned(DType::f32, {2, 3});
  m.plan().inputs = {x, y};
  m.plan().outputs = {z};
  m.call("aten::add", "out", {x, y, one, z, z});
  return m;
}

TEST(Runtime, refuses_inputs_that_do_not_fit) {
  auto method = adder().load();
  ASSERT_TRUE(method) << method.error().str();
  Method& m = **method;
  const auto usage = [](const Result<void>& r) { return !r && r.error().code == Code::kUsage; };
  EXPECT_TRUE(usage(m.set_input(0, floats({3, 2}, {1, 2, 3, 4, 5, 6}))));
  EXPECT_TRUE(usage(m.set_input(0, floats({6}, {1, 2, 3, 4, 5, 6}))));
  EXPECT_TRUE(usage(m.set_input(2, floats({2, 3}, {1, 2, 3, 4, 5, 6}))));
  EXPECT_TRUE(usage(m.set_input(0, host<int32_t>(DType::i32, {2, 3}, {1, 2, 3, 4, 5, 6}))));
  EXPECT_TRUE(usage(m.set_input(0, DType::f32, std::vector<int64_t>{2, 3}, Bytes())));
  EXPECT_TRUE(usage(m.set_input_int(0, 1)));
  EXPECT_FALSE(adder().load({.threads = -1}));
}

TEST(Runtime, names_the_methods_it_has) {
  auto bytes = adder().file();
  auto program = Program::load(Bytes(bytes), nullptr);
  ASSERT_TRUE(program);
  EXPECT_EQ((*program)->method_names(), std::vector<std::string>{"forward"});
  auto r = (*program)->method("backward");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kUsage);
}

TEST(Runtime, refuses_operators_and_backends_it_lacks) {
  Maker m = adder();
  m.call("aten::fancy", "out", {0, 0});
  auto r = m.load();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kUnsupported);
  EXPECT_NE(r.error().str().find("aten::fancy.out"), std::string::npos);
}

TEST(Runtime, copies_inputs_into_the_declared_layout) {
  Maker m;
  pte::Tensor t = Maker::tensor_of(DType::f32, {1, 2, 2, 2});
  t.dim_order = {0, 2, 3, 1};
  const int32_t x = m.value(t), y = m.value(t), none = m.value(pte::Null{});
  m.plan().inputs = {x};
  m.plan().outputs = {y};
  m.call("aten::clone", "out", {x, none, y, y});
  auto method = m.load();
  ASSERT_TRUE(method) << method.error().str();
  const HostTensor in = floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  ASSERT_TRUE((*method)->set_input(0, in));
  ASSERT_TRUE((*method)->execute());
  const Tensor& out = *(*method)->output(0).tensor;
  EXPECT_EQ(std::vector<float>(out.as<float>(), out.as<float>() + 8), (std::vector<float>{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_EQ(difference((*method)->output_tensor(0), in, 0, 0), "");
}

// state = state + x, with an initial value in the file.
TEST(Runtime, keeps_mutable_buffers_between_runs_and_resets_them) {
  Maker m;
  const std::vector<float> start = {10, 20};
  m.blobs.mutable_data = {Bytes(), bytes_of(start)};
  const int32_t x = m.tensor(DType::f32, {2}), state = m.planned(DType::f32, {2}, 1), one = m.value(int64_t{1}),
                sum = m.planned(DType::f32, {2}), no = m.value(false);
  m.plan().inputs = {x};
  m.plan().outputs = {sum};
  m.call("aten::add", "out", {state, x, one, sum, sum});
  m.call("aten::copy_", "", {state, sum, no, state});
  auto method = m.load();
  ASSERT_TRUE(method) << method.error().str();
  const auto run = [&] {
    EXPECT_TRUE((*method)->set_input(0, floats({2}, {1, 2})));
    EXPECT_TRUE((*method)->execute());
    return to_floats((*method)->output_tensor(0));
  };
  EXPECT_EQ(run(), (std::vector<float>{11, 22}));
  EXPECT_EQ(run(), (std::vector<float>{12, 24}));
  (*method)->reset_state();
  EXPECT_EQ(run(), (std::vector<float>{11, 22}));
}

// if flag: y = x + x else y = x
TEST(Runtime, jumps_and_moves) {
  Maker m;
  const int32_t flag = m.tensor(DType::b8, {}), x = m.tensor(DType::f32, {2}), one = m.value(int64_t{1}),
                sum = m.planned(DType::f32, {2}), y = m.planned(DType::f32, {2}), never = m.value(false);
  m.plan().inputs = {flag, x};
  m.plan().outputs = {y};
  m.code().push_back(pte::JumpFalseCall{flag, 4});
  m.call("aten::add", "out", {x, x, one, sum, sum});
  m.code().push_back(pte::MoveCall{sum, y});
  m.code().push_back(pte::JumpFalseCall{never, 5});
  m.code().push_back(pte::MoveCall{x, y});
  auto method = m.load();
  ASSERT_TRUE(method) << method.error().str();
  for (const bool f : {true, false, true}) {
    ASSERT_TRUE((*method)->set_input(0, host<uint8_t>(DType::b8, {}, {f})));
    ASSERT_TRUE((*method)->set_input(1, floats({2}, {1, 2})));
    ASSERT_TRUE((*method)->execute());
    EXPECT_EQ(to_floats((*method)->output_tensor(0)), (f ? std::vector<float>{2, 4} : std::vector<float>{1, 2}));
  }
}

TEST(Runtime, stops_a_program_that_never_ends) {
  Maker m;
  const int32_t never = m.value(false);
  m.code().push_back(pte::JumpFalseCall{never, 0});
  auto method = m.load({.max_instructions = 1000});
  ASSERT_TRUE(method);
  const auto r = (*method)->execute();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kMalformed);
}

TEST(Runtime, computes_sizes_and_follows_dynamic_shapes) {
  Maker m;
  pte::Tensor bound = Maker::tensor_of(DType::f32, {4, 3});
  bound.dynamism = pte::Dynamism::kBound;
  const int32_t x = m.value(bound), zero = m.value(int64_t{0}), n = m.value(int64_t{0}), one = m.value(int64_t{1});
  const int32_t y = m.value(bound);
  m.plan().inputs = {x};
  m.plan().outputs = {y, n};
  m.call("aten::sym_size", "int", {x, zero, n});
  m.call("aten::add", "out", {x, x, one, y, y});
  auto method = m.load();
  ASSERT_TRUE(method) << method.error().str();
  for (const int64_t rows : {4, 1, 2, 0, 3}) {
    ASSERT_TRUE((*method)->set_input(0, floats({rows, 3}, std::vector<float>(static_cast<size_t>(rows * 3), 2.0f))));
    ASSERT_TRUE((*method)->execute());
    EXPECT_EQ((*method)->output(1).i, rows);
    EXPECT_EQ(difference((*method)->output_tensor(0),
                         floats({rows, 3}, std::vector<float>(static_cast<size_t>(rows * 3), 4.0f)), 0, 0),
              "");
  }
  const auto r = (*method)->set_input(0, floats({5, 3}, std::vector<float>(15)));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kUsage);
}

TEST(Runtime, never_writes_a_constant) {
  Maker m;
  const std::vector<float> c = {1, 2};
  m.blobs.constants = {Bytes(), bytes_of(c)};
  pte::Tensor t = Maker::tensor_of(DType::f32, {2});
  t.buffer = 1;
  const int32_t k = m.value(t), one = m.value(int64_t{1});
  m.plan().outputs = {k};
  m.call("aten::add", "out", {k, k, one, k, k});
  auto method = m.load();
  ASSERT_TRUE(method) << method.error().str();
  const auto r = (*method)->execute();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kMalformed);
  EXPECT_EQ(to_floats((*method)->output_tensor(0)), c);
}

TEST(Runtime, takes_no_other_value_for_an_input_that_nothing_reads) {
  Maker m = adder();
  m.plan().inputs.push_back(m.value(int64_t{7}));
  auto method = m.load();
  ASSERT_TRUE(method);
  EXPECT_TRUE((*method)->set_input_int(2, 7));
  EXPECT_FALSE((*method)->set_input_int(2, 8));
}

// --- damaged files: any answer but a crash ---

void try_to_run(Bytes file) {
  auto program = Program::load(file, nullptr, {.max_instructions = 1000});
  if (!program) return;
  for (const std::string& name : (*program)->method_names())
    if (auto method = (*program)->method(name)) {
      for (size_t i = 0; i < (*method)->num_inputs(); ++i) {
        const ValueInfo info = (*method)->input_info(i);
        if (info.tag != Tag::kTensor || info.unbounded) continue;
        const auto n = checked_numel(info.sizes);
        if (!n || *n > 1 << 20) return;
        const std::vector<std::byte> zeros(static_cast<size_t>(*n) * size_of(info.dtype));
        (void)(*method)->set_input(i, info.dtype, info.sizes, Bytes(zeros));
      }
      (void)(*method)->execute();
      for (size_t i = 0; i < (*method)->num_outputs(); ++i) (void)(*method)->output_tensor(i);
    }
}

class Damaged : public testing::TestWithParam<const char*> {};

TEST_P(Damaged, survives_every_truncation) {
  const auto file = read_all(path_of(GetParam(), ".pte"));
  ASSERT_FALSE(file.empty());
  for (size_t n = 0; n < file.size(); ++n) {
    const std::vector<std::byte> cut(
        file.begin(), file.begin() + static_cast<int64_t>(n));  // its own block, so that ASan sees its end
    try_to_run(Bytes(cut));
  }
}

TEST_P(Damaged, survives_flipped_bits) {
  const auto file = read_all(path_of(GetParam(), ".pte"));
  ASSERT_FALSE(file.empty());
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bad = file;
    for (int flips = 1 + static_cast<int>(random() % 3); flips-- > 0;)
      bad[random() % bad.size()] ^= std::byte(1u << random() % 8);
    try_to_run(Bytes(bad));
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Damaged,
                         testing::Values("test_fp32_conv2d", "test_fp32_maxpool2d_unsupported", "test_qs8_cat2",
                                         "test_linear_qd8_f16_per_token_weight_per_channel_group_int4",
                                         "test_fp32_linear_relu_batch_norm",
                                         "test_fp32_bilinear2d_dynamic_bilinear2d_not_partitioned"));

}  // namespace
}  // namespace edgewright::runtime
