// Round trips and refusals of the file formats.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "format/npy.h"
#include "format/pte_build.h"
#include "format/safetensors.h"
#include "format/xnn_payload.h"

namespace edgewright {
namespace {

std::string text(Bytes b) { return {reinterpret_cast<const char*>(b.data()), b.size()}; }
Bytes bytes(std::string_view s) { return std::as_bytes(std::span(s.data(), s.size())); }

// --- .pte ---

const std::vector<float> kConstant = {1, 2, 3, 4};
const std::vector<int64_t> kInitial = {5};

struct Sample {
  pte::Program program;
  pte::Blobs blobs;
};

// Every kind of value, instruction and blob.
Sample sample() {
  Sample s;
  s.blobs.constants = {Bytes(), bytes_of(kConstant)};
  s.blobs.mutable_data = {Bytes(), bytes_of(kInitial)};
  s.blobs.payloads.emplace_back(bytes("payload"));
  Pieces named(bytes("na"));
  named.borrow(bytes("med"));
  s.blobs.named.push_back(std::move(named));
  s.program.named_data = {{"key", 0}, {"same", 0}};
  pte::Plan plan;
  plan.name = "forward";
  plan.container_inputs = "in";
  plan.container_outputs = "out";
  plan.buffer_sizes = {0, int64_t{1} << 33};
  pte::Tensor constant;
  constant.sizes = {2, 2};
  constant.dim_order = {1, 0};
  constant.buffer = 1;
  constant.name = "weight";
  pte::Tensor state;
  state.dtype = DType::i64;
  state.sizes = {1};
  state.dim_order = {0};
  state.buffer = 1;
  state.allocation = pte::Allocation{1, (uint64_t{1} << 32) + 64};
  pte::Tensor bound;
  bound.sizes = {3, 1};
  bound.dim_order = {0, 1};
  bound.dynamism = pte::Dynamism::kBound;
  bound.requires_grad = true;
  plan.values = {pte::Null{},
                 int64_t{-3},
                 true,
                 0.5,
                 constant,
                 std::string("none"),
                 pte::IntList{{1}},
                 pte::DoubleList{{1.5, -2}},
                 pte::BoolList{{true, false}},
                 pte::TensorList{{4, 10}},
                 state,
                 pte::OptionalTensorList{{-1, 4, 0}},
                 bound};
  plan.inputs = {12};
  plan.outputs = {10, 4};
  plan.operators = {{"aten::add", "out"}, {"my::op", ""}};
  plan.delegates = {{"XnnpackBackend", 0, {{"spec", {std::byte{1}, std::byte{2}}}}}};
  pte::Chain chain;
  chain.inputs = {12};
  chain.outputs = {10};
  chain.instructions = {pte::KernelCall{1, {4, 4, 1}}, pte::DelegateCall{0, {12, 10}}, pte::MoveCall{4, 10},
                        pte::JumpFalseCall{2, 5}, pte::FreeCall{10}};
  plan.chains = {chain};
  s.program.plans = {plan};
  return s;
}

std::vector<std::byte> file_of(Sample s) {
  auto p = pte::build(s.program, std::move(s.blobs));
  EXPECT_TRUE(p) << p.error().str();
  return p->join();
}

TEST(Pte, reads_back_what_it_wrote) {
  const auto file = file_of(sample());
  const auto p = pte::parse(Bytes(file));
  ASSERT_TRUE(p) << p.error().str();
  const pte::Plan want = sample().program.plans[0], &got = p->plans.at(0);
  EXPECT_EQ(got.name, "forward");
  EXPECT_EQ(got.container_inputs, "in");
  EXPECT_EQ(got.container_outputs, "out");
  EXPECT_EQ(got.buffer_sizes, want.buffer_sizes);
  EXPECT_EQ(got.inputs, want.inputs);
  EXPECT_EQ(got.outputs, want.outputs);
  ASSERT_EQ(got.values.size(), want.values.size());
  for (size_t i = 0; i < got.values.size(); ++i) EXPECT_EQ(got.values[i].index(), want.values[i].index()) << i;
  EXPECT_EQ(std::get<int64_t>(got.values[1]), -3);
  EXPECT_TRUE(std::get<bool>(got.values[2]));
  EXPECT_EQ(std::get<double>(got.values[3]), 0.5);
  EXPECT_EQ(std::get<std::string>(got.values[5]), "none");
  EXPECT_EQ(std::get<pte::IntList>(got.values[6]).items, std::vector<int64_t>{1});
  EXPECT_EQ(std::get<pte::DoubleList>(got.values[7]).items, (std::vector<double>{1.5, -2}));
  EXPECT_EQ(std::get<pte::BoolList>(got.values[8]).items, (std::vector<bool>{true, false}));
  EXPECT_EQ(std::get<pte::TensorList>(got.values[9]).items, (std::vector<int32_t>{4, 10}));
  EXPECT_EQ(std::get<pte::OptionalTensorList>(got.values[11]).items, (std::vector<int32_t>{-1, 4, 0}));
  const auto& constant = std::get<pte::Tensor>(got.values[4]);
  EXPECT_EQ(constant.sizes, (std::vector<int32_t>{2, 2}));
  EXPECT_EQ(constant.dim_order, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(constant.name, "weight");
  EXPECT_EQ(text(pte::initial_data(*p, constant)), text(bytes_of(kConstant)));
  const auto& state = std::get<pte::Tensor>(got.values[10]);
  EXPECT_EQ(state.allocation->offset, (uint64_t{1} << 32) + 64);
  EXPECT_EQ(text(pte::initial_data(*p, state)), text(bytes_of(kInitial)));
  EXPECT_EQ(std::get<pte::Tensor>(got.values[12]).dynamism, pte::Dynamism::kBound);
  EXPECT_TRUE(std::get<pte::Tensor>(got.values[12]).requires_grad);
  ASSERT_EQ(got.operators.size(), 2u);
  EXPECT_EQ(got.operators[0].overload, "out");
  ASSERT_EQ(got.delegates.size(), 1u);
  EXPECT_EQ(got.delegates[0].id, "XnnpackBackend");
  EXPECT_EQ(got.delegates[0].specs.at(0).key, "spec");
  EXPECT_EQ(got.delegates[0].specs.at(0).value.size(), 2u);
  EXPECT_EQ(text(p->payloads.at(got.delegates[0].payload)), "payload");
  ASSERT_TRUE(p->find_named("key"));
  EXPECT_EQ(text(*p->find_named("key")), "named");
  EXPECT_EQ(p->find_named("key")->data(), p->find_named("same")->data());
  EXPECT_FALSE(p->find_named("other"));
  const auto& code = got.chains.at(0).instructions;
  ASSERT_EQ(code.size(), 5u);
  EXPECT_EQ(std::get<pte::KernelCall>(code[0]).args, (std::vector<int32_t>{4, 4, 1}));
  EXPECT_EQ(std::get<pte::DelegateCall>(code[1]).args, (std::vector<int32_t>{12, 10}));
  EXPECT_EQ(std::get<pte::MoveCall>(code[2]).to, 10);
  EXPECT_EQ(std::get<pte::JumpFalseCall>(code[3]).target, 5);
  EXPECT_EQ(std::get<pte::FreeCall>(code[4]).value, 10);
}

TEST(Pte, aligns_segments_and_tells_their_place_in_the_extended_header) {
  const auto file = file_of(sample());
  EXPECT_EQ(text(Bytes(file).subspan(4, 8)), "ET12eh00");
  uint64_t program = 0, base = 0, data = 0;
  std::memcpy(&program, file.data() + 16, 8);
  std::memcpy(&base, file.data() + 24, 8);
  std::memcpy(&data, file.data() + 32, 8);
  EXPECT_EQ(base % pte::kSegmentAlignment, 0u);
  EXPECT_LE(program, base);
  EXPECT_EQ(base + data, file.size()) << "nothing stands behind the last segment";
  const auto p = pte::parse(Bytes(file));
  ASSERT_TRUE(p);
  for (Bytes b : p->payloads) EXPECT_EQ((b.data() - file.data()) % pte::kSegmentAlignment, 0);
}

TEST(Pte, refuses_values_that_are_out_of_range) {
  const auto broken = [](auto&& change) {
    Sample s = sample();
    change(s.program.plans[0]);
    const auto file = file_of(std::move(s));
    const auto p = pte::parse(Bytes(file));
    return !p && p.error().code == Code::kMalformed;
  };
  EXPECT_FALSE(broken([](pte::Plan&) {}));
  EXPECT_TRUE(broken([](pte::Plan& p) { p.inputs = {13}; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { p.outputs = {-1}; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::KernelCall>(p.chains[0].instructions[0]).op = 2; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::KernelCall>(p.chains[0].instructions[0]).args = {99}; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::JumpFalseCall>(p.chains[0].instructions[3]).target = 6; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::IntList>(p.values[6]).items = {2}; }));     // no int
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::TensorList>(p.values[9]).items = {1}; }));  // no tensor
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::Tensor>(p.values[4]).dim_order = {0, 0}; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::Tensor>(p.values[4]).sizes = {2, -2}; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::Tensor>(p.values[4]).sizes = {1 << 30, 1 << 30}; }));
  EXPECT_TRUE(
      broken([](pte::Plan& p) { std::get<pte::Tensor>(p.values[4]).sizes = {100, 200}; }));  // more than the data
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::Tensor>(p.values[4]).buffer = 2; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::Tensor>(p.values[10]).allocation->offset = uint64_t{1} << 33; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { std::get<pte::Tensor>(p.values[10]).allocation->memory_id = 2; }));
  EXPECT_TRUE(broken([](pte::Plan& p) { p.buffer_sizes = {0, -1}; }));
}

// --- XNNPACK payload ---

xnn::Graph graph() {
  xnn::Graph g;
  g.num_externs = 2;
  g.input_ids = {0};
  g.output_ids = {1};
  g.constants = {{}, {bytes_of(kConstant), "", 16}, {Bytes(), "weight", 64}};
  xnn::Value in, out, weight, channel, group, token, scalar;
  in.dims = {2, 2};
  in.external_id = 0;
  in.flags = xnn::kExternalInput;
  out = in;
  out.id = out.external_id = 1;
  out.flags = xnn::kExternalOutput;
  weight.dims = {2, 2};
  weight.id = 2;
  weight.constant = 1;
  channel = weight;
  channel.id = 3;
  channel.datatype = xnn::Datatype::kQcint8;
  channel.constant = 2;
  channel.quant = xnn::ChannelQuant{{}, 0, 2, 2};
  group.id = 4;
  group.dims = {2, 32};
  group.datatype = xnn::Datatype::kQbint4;
  group.constant = 2;
  group.quant = xnn::ChannelGroupQuant{{0.5f, 2.0f}, 0, 32, 0, 2};
  token.id = 5;
  token.dims = {2, 2};
  token.datatype = xnn::Datatype::kQdint8;
  token.quant = xnn::TokenDynamicQuant{1};
  scalar.id = 6;
  scalar.datatype = xnn::Datatype::kQint8;
  scalar.quant = xnn::TensorQuant{0.25f, -3};
  g.values = {in, out, weight, channel, group, token, scalar};
  // One node of each kind, each field with a value of its own.
  for (uint8_t k = 1; k <= static_cast<uint8_t>(xnn::NodeKind::kCos); ++k) {
    xnn::Node n;
    n.kind = static_cast<xnn::NodeKind>(k);
    for (size_t inputs : {1, 2, 3, 4, 5}) {  // find the number that the kind takes
      n.inputs.clear();
      for (uint32_t i = 0; i < inputs; ++i) n.inputs.push_back(10 * k + i);
      n.outputs.assign(n.kind == xnn::NodeKind::kArgMaxPooling2d ? 2 : 1, 7u);
      n.dims = n.dims2 = {1, 2};
      xnn::Graph one;
      one.nodes = {n};
      if (xnn::build(one)) break;
    }
    n.flags = k;
    n.debug_handle = 100u + k;
    if (k % 2) n.output_min_max = {-1.0f * k, 1.0f * k};
    n.value = 0.5f * k;
    n.axis = static_cast<uint32_t>(-2);
    n.conv = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    g.nodes.push_back(n);
  }
  return g;
}

TEST(XnnPayload, reads_back_what_it_wrote) {
  const xnn::Graph want = graph();
  auto pieces = xnn::build(want);
  ASSERT_TRUE(pieces) << pieces.error().str();
  const auto payload = pieces->join();
  const auto g = xnn::parse(Bytes(payload));
  ASSERT_TRUE(g) << g.error().str();
  EXPECT_EQ(g->num_externs, 2u);
  EXPECT_EQ(g->input_ids, want.input_ids);
  EXPECT_EQ(g->output_ids, want.output_ids);
  ASSERT_EQ(g->constants.size(), 3u);
  EXPECT_EQ(text(g->constants[1].data), text(bytes_of(kConstant)));
  EXPECT_EQ((g->constants[1].data.data() - payload.data()) % xnn::kConstantAlignment, 0);
  EXPECT_EQ(g->constants[2].named_key, "weight");
  EXPECT_EQ(g->constants[2].size, 64u);
  ASSERT_EQ(g->values.size(), want.values.size());
  for (size_t i = 0; i < want.values.size(); ++i) {
    const xnn::Value &a = g->values[i], &b = want.values[i];
    EXPECT_EQ(a.datatype, b.datatype);
    EXPECT_EQ(a.dims, b.dims);
    EXPECT_EQ(a.constant, b.constant);
    EXPECT_EQ(a.external_id, b.external_id);
    EXPECT_EQ(a.flags, b.flags);
    EXPECT_EQ(a.id, b.id);
    EXPECT_EQ(a.quant.index(), b.quant.index());
  }
  EXPECT_EQ(std::get<xnn::ChannelQuant>(g->values[3].quant).scale_constant, 2u);
  EXPECT_EQ(std::get<xnn::ChannelGroupQuant>(g->values[4].quant).scale, (std::vector<float>{0.5f, 2.0f}));
  EXPECT_EQ(std::get<xnn::ChannelGroupQuant>(g->values[4].quant).group_size, 32);
  EXPECT_EQ(std::get<xnn::TokenDynamicQuant>(g->values[5].quant).num_nonbatch_dims, 1);
  EXPECT_EQ(std::get<xnn::TensorQuant>(g->values[6].quant).zero_point, -3);
  ASSERT_EQ(g->nodes.size(), want.nodes.size());
  for (size_t i = 0; i < want.nodes.size(); ++i) {
    const xnn::Node &a = g->nodes[i], &b = want.nodes[i];
    SCOPED_TRACE(xnn::name(b.kind));
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.inputs, b.inputs);
    EXPECT_EQ(a.outputs, b.outputs);
    EXPECT_EQ(a.flags, b.flags);
    EXPECT_EQ(a.debug_handle, b.debug_handle);
    EXPECT_EQ(a.output_min_max, b.output_min_max);
    if (!a.dims.empty()) EXPECT_EQ(a.dims, b.dims);
    if (!a.dims2.empty()) EXPECT_EQ(a.dims2, b.dims2);
    if (a.value != 0) EXPECT_EQ(a.value, b.value);
    if (a.axis != 0) EXPECT_EQ(a.axis, b.axis);
  }
  // A second trip gives the same bytes.
  auto again = xnn::build(*g);
  ASSERT_TRUE(again);
  EXPECT_EQ(text(Bytes(again->join())), text(Bytes(payload)));
}

TEST(XnnPayload, borrows_constants_instead_of_copying_them) {
  auto pieces = xnn::build(graph());
  ASSERT_TRUE(pieces);
  bool found = false;
  for (Bytes b : pieces->runs()) found = found || b.data() == bytes_of(kConstant).data();
  EXPECT_TRUE(found);
}

TEST(XnnPayload, refuses_nodes_with_the_wrong_number_of_inputs) {
  xnn::Graph g;
  g.nodes.emplace_back();
  g.nodes[0].kind = xnn::NodeKind::kAdd;
  g.nodes[0].inputs = {0};
  g.nodes[0].outputs = {1};
  EXPECT_FALSE(xnn::build(g));
}

// --- damaged files: any answer but a crash ---

template <class F>
void damage(const std::vector<std::byte>& file, F&& parse) {
  for (size_t n = 0; n < file.size(); ++n) {
    const std::vector<std::byte> cut(file.begin(), file.begin() + static_cast<int64_t>(n));
    parse(Bytes(cut));
  }
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bad = file;
    for (int flips = 1 + static_cast<int>(random() % 3); flips-- > 0;)
      bad[random() % bad.size()] ^= std::byte(1u << random() % 8);
    parse(Bytes(bad));
  }
}

TEST(Damaged, pte) {
  damage(file_of(sample()), [](Bytes b) { (void)pte::parse(b); });
}
TEST(Damaged, xnn_payload) {
  damage(xnn::build(graph())->join(), [](Bytes b) { (void)xnn::parse(b); });
}

std::vector<NamedTensor> tensors() {
  return {{"0", HostTensor::owned(DType::f32, {2, 2}, std::vector<std::byte>(16, std::byte{1}))},
          {"a\"b\\\n", HostTensor::owned(DType::bf16, {}, std::vector<std::byte>(2))},
          {"empty", HostTensor::owned(DType::i64, {0, 3}, {})},
          {"flags", HostTensor::owned(DType::b8, {3}, std::vector<std::byte>(3, std::byte{1}))}};
}
TEST(Damaged, safetensors) {
  damage(safetensors::build(tensors()).join(), [](Bytes b) { (void)safetensors::parse(b, nullptr, "x"); });
}
TEST(Damaged, npy) {
  damage(npy::build(tensors()[0].tensor)->join(), [](Bytes b) { (void)npy::parse(b, nullptr, "x"); });
}

// --- tensor files ---

TEST(Safetensors, reads_back_what_it_wrote) {
  const auto want = tensors();
  const auto file = safetensors::build(want).join();
  const auto got = safetensors::parse(Bytes(file), nullptr, "x");
  ASSERT_TRUE(got) << got.error().str();
  ASSERT_EQ(got->size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ((*got)[i].name, want[i].name);
    EXPECT_EQ((*got)[i].tensor.dtype, want[i].tensor.dtype);
    EXPECT_EQ((*got)[i].tensor.sizes, want[i].tensor.sizes);
    EXPECT_EQ(text((*got)[i].tensor.bytes), text(want[i].tensor.bytes));
  }
}

TEST(Safetensors, refuses_headers_that_lie) {
  const auto parse = [](std::string_view header, size_t data) {
    std::string file(8, 0);
    const uint64_t n = header.size();
    std::memcpy(file.data(), &n, 8);
    file += header;
    file.append(data, 'x');
    return safetensors::parse(bytes(file), nullptr, "x");
  };
  EXPECT_TRUE(parse(R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));
  for (
      const char* bad :
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
       R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
       R"({"a":{"dtype":"F32","shape":[1]}})", R"({"a":[]})", R"([])", R"({)",
       R"({"a":{"dtype":7,"shape":[1],"data_offsets":[0,4]}})",
       R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})"}) {
    const auto r = parse(bad, 4);
    ASSERT_FALSE(r) << bad;
    EXPECT_EQ(r.error().code, Code::kMalformed) << bad;
  }
  const auto r = parse(R"({"a":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}})", 4);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kUnsupported);
}

TEST(Npy, reads_back_what_it_wrote) {
  for (const DType t : {DType::f32, DType::i64, DType::b8, DType::f16}) {
    const HostTensor want = HostTensor::owned(t, {3, 2}, std::vector<std::byte>(6 * size_of(t), std::byte{1}));
    const auto pieces = npy::build(want);
    ASSERT_TRUE(pieces);
    const auto file = pieces->join();
    EXPECT_EQ((file.size() - want.bytes.size()) % 64, 0u);
    const auto got = npy::parse(Bytes(file), nullptr, "x");
    ASSERT_TRUE(got) << got.error().str();
    EXPECT_EQ(got->dtype, t);
    EXPECT_EQ(got->sizes, want.sizes);
    EXPECT_EQ(text(got->bytes), text(want.bytes));
  }
  EXPECT_FALSE(npy::build(tensors()[1].tensor));  // NumPy has no bfloat16
}

// As numpy.save writes them: np.array([[1,2,3],[4,5,6]], '<i2', order='F'), and version 2.
TEST(Npy, transposes_fortran_order_and_takes_version_2) {
  const auto file = [](char version, std::string header, const std::vector<int16_t>& data) {
    std::string f("\x93NUMPY");
    f += version;
    f += '\0';
    uint32_t n = static_cast<uint32_t>(header.size());
    f.append(reinterpret_cast<const char*>(&n), version == 1 ? 2 : 4);
    f += header + text(bytes_of(data));
    return f;
  };
  const std::string fortran =
      file(1, "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }\n", {1, 4, 2, 5, 3, 6});
  const auto t = npy::parse(bytes(fortran), nullptr, "x");
  ASSERT_TRUE(t) << t.error().str();
  EXPECT_EQ(text(t->bytes), text(bytes_of(std::vector<int16_t>{1, 2, 3, 4, 5, 6})));
  const std::string two = file(2, "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n", {7, 8});
  const auto u = npy::parse(bytes(two), nullptr, "x");
  ASSERT_TRUE(u) << u.error().str();
  EXPECT_EQ(u->sizes, std::vector<int64_t>{2});
  for (const char* bad : {"{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }",
                          "{'descr': [('a', '<i2')], 'fortran_order': False, 'shape': (2,), }"}) {
    const std::string f = file(1, bad, {7, 8});
    const auto r = npy::parse(bytes(f), nullptr, "x");
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, Code::kUnsupported);
  }
}

}  // namespace
}  // namespace edgewright
