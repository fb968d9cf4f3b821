// What the reader makes of vectors/*.pt2 against what PyTorch says of the same programs (vectors/expected.json).
#include <gtest/gtest.h>

#include "archive.h"
#include "base/file.h"
#include "read/json.h"

using namespace edgewright;
using namespace edgewright::read;

namespace {

const JsonObject& expected_cases() {
  static const std::string text = file_text(vector_path("expected.json"));
  static const auto doc = parse_json(text);
  static const JsonObject cases = object_member(*as_object((*doc)->root, "root"), "cases").value();
  return cases;
}
std::vector<std::string> case_names() {
  std::vector<std::string> out;
  for (const auto field : expected_cases()) out.emplace_back(field.key);
  return out;
}

// By value: a loop over a temporary Result's content would outlive it.
JsonArray list(JsonObject o, std::string_view key) { return array_member(o, key).value(); }
JsonObject object(JsonObject o, std::string_view key) { return object_member(o, key).value(); }
std::string text(JsonObject o, std::string_view key) { return std::string(string_member(o, key).value()); }
std::vector<int64_t> ints(JsonObject o, std::string_view key) {
  std::vector<int64_t> out;
  for (JsonValue v : list(o, key)) out.push_back(as_int(v, "int").value());
  return out;
}

void expect_tensor(const ir::Tensor& t, JsonObject want, const std::string& what) {
  EXPECT_EQ(name(t.dtype), text(want, "dtype")) << what;
  EXPECT_EQ(t.sizes, ints(want, "sizes")) << what;
  EXPECT_EQ(t.strides, ints(want, "strides")) << what;
  EXPECT_EQ(crc32_of(t.contiguous().bytes()), as_int(member(want, "crc32").value(), "crc32").value())
      << what << ": other elements";
}

// "f32[?,6]", "int": sizes that depend on a symbol are "?".
std::string type_text(const ir::Type& t) {
  const auto* x = std::get_if<ir::TensorType>(&t);
  if (!x) {
    const auto kind = std::get<ir::ScalarType>(t).kind;
    return kind == ir::ScalarKind::kInt ? "int" : kind == ir::ScalarKind::kFloat ? "float" : "bool";
  }
  std::string s = std::string(name(x->dtype)) + "[";
  for (size_t i = 0; i < x->rank(); ++i) s += (i ? "," : "") + (x->shape[i].is_constant() ? x->shape[i].str() : "?");
  return s + "]";
}

// PyTorch leaves some sizes as expressions that are constant: "f32[?,12]" fits "f32[?,?]", not the reverse.
bool fits(std::string_view got, std::string_view want) {
  while (!got.empty() && !want.empty()) {
    if (want[0] == '?') {
      const size_t n = std::min(got.find_first_of(",]"), got.size());
      got.remove_prefix(n);
      want.remove_prefix(1);
    } else if (got[0] == want[0]) {
      got.remove_prefix(1);
      want.remove_prefix(1);
    } else {
      return false;
    }
  }
  return got.empty() && want.empty();
}

void expect_program(const ir::Program& p, JsonObject want) {
  const ir::Graph& g = *p.graph;
  ASSERT_TRUE(ir::verify_structure(g)) << ir::verify_structure(g).error().str();
  EXPECT_EQ(p.method, text(want, "method"));

  // Inputs and samples.
  const JsonArray inputs = list(want, "inputs");
  ASSERT_EQ(p.inputs.size(), inputs.size());
  ASSERT_TRUE(p.sample_inputs);
  ASSERT_EQ(p.sample_inputs->leaves.size(), inputs.size());
  size_t i = 0;
  for (JsonValue v : inputs) {
    const JsonObject in = as_object(v, "input").value();
    const ir::InputLeaf& leaf = p.inputs[i];
    EXPECT_EQ(leaf.name, text(in, "name"));
    EXPECT_EQ(leaf.value == nullptr, as_bool(member(in, "fixed").value(), "fixed").value()) << leaf.name;
    const JsonValue sample = member(in, "sample").value();
    const auto& got = p.sample_inputs->leaves[i];
    JsonObject tensor;
    if (!sample.get(tensor)) {
      ASSERT_TRUE(std::holds_alternative<ir::Tensor>(got)) << leaf.name;
      const auto& t = std::get<ir::Tensor>(got);
      expect_tensor(t, tensor, leaf.name);
      EXPECT_EQ(leaf.strides, t.is_contiguous() ? std::vector<int64_t>{} : t.strides) << leaf.name;
    } else {
      int64_t n = 0;
      double d = 0;
      bool b = false;
      std::string_view s;
      if (sample.is_null())
        EXPECT_TRUE(std::holds_alternative<std::monostate>(got)) << leaf.name;
      else if (!sample.get(b))
        EXPECT_EQ(std::get<bool>(got), b) << leaf.name;
      else if (!sample.get(n))
        EXPECT_EQ(std::get<int64_t>(got), n) << leaf.name;
      else if (!sample.get(d))
        EXPECT_EQ(std::get<double>(got), d) << leaf.name;
      else if (!sample.get(s))
        EXPECT_EQ(std::get<std::string>(got), s) << leaf.name;
      // A fixed input is fixed to what the sample was.
      if (!leaf.value) {
        if (sample.is_null())
          EXPECT_TRUE(leaf.fixed.is_none());
        else if (!sample.get(b))
          EXPECT_EQ(leaf.fixed, ir::Arg(b));
        else if (!sample.get(n))
          EXPECT_EQ(leaf.fixed, ir::Arg(n));
        else if (!sample.get(d))
          EXPECT_EQ(leaf.fixed, ir::Arg(d));
        else if (!sample.get(s))
          EXPECT_EQ(leaf.fixed, ir::Arg(std::string(s)));
      }
    }
    ++i;
  }

  // Parameters, buffers, constants: by name, or tied to one that is there.
  std::vector<std::string> mutated;
  for (JsonValue v : list(want, "mutated")) mutated.emplace_back(as_string(v, "name").value());
  std::vector<const ir::Value*> held;
  for (const auto& list : {g.constants(), g.states()}) held.insert(held.end(), list.begin(), list.end());
  for (const auto [fqn, fact] : object(want, "held")) {
    const ir::Value* found = nullptr;
    for (const ir::Value* v : held)
      if (v->name == fqn) found = v;
    const JsonObject f = as_object(fact, "tensor").value();
    if (!found)  // tied
      for (const ir::Value* v : held)
        if (v->data->sizes == ints(f, "sizes") &&
            crc32_of(v->data->contiguous().bytes()) == as_int(member(f, "crc32").value(), "crc").value())
          found = v;
    ASSERT_TRUE(found) << fqn;
    expect_tensor(*found->data, f, std::string(fqn));
    const bool state = std::find(mutated.begin(), mutated.end(), fqn) != mutated.end();
    EXPECT_EQ(found->kind == ir::ValueKind::kState, state) << fqn;
  }

  // Nodes.
  const JsonArray nodes = list(want, "nodes");
  ASSERT_EQ(g.nodes().size(), nodes.size());
  auto node = g.nodes().begin();
  for (JsonValue v : nodes) {
    const JsonArray pair = as_array(v, "node").value();
    EXPECT_EQ((*node)->name(), as_string(pair.at(0).value(), "op").value());
    std::vector<std::string> types, got;
    const JsonArray want_types = as_array(pair.at(1).value(), "types").value();
    for (JsonValue t : want_types) types.emplace_back(as_string(t, "type").value());
    for (size_t r = 0; r < (*node)->num_results(); ++r) got.push_back(type_text((*node)->result(r)->type));
    ASSERT_EQ(got.size(), types.size()) << (*node)->name();
    for (size_t r = 0; r < got.size(); ++r)
      EXPECT_TRUE(fits(got[r], types[r])) << (*node)->name() << ": " << got[r] << ", not " << types[r];
    ASSERT_TRUE((*node)->origin);
    EXPECT_FALSE((*node)->origin->name.empty());
    ++node;
  }

  // Outputs and ranges.
  size_t user = 0;
  for (const auto [kind, count] : object(want, "outputs"))
    if (kind == "USER_OUTPUT") user = static_cast<size_t>(as_int(count, "count").value());
  EXPECT_EQ(g.outputs.size(), user);
  EXPECT_EQ(p.outputs.size(), user);
  EXPECT_EQ(g.writes.size(), mutated.size());
  for (size_t k = 0; k < g.writes.size(); ++k) EXPECT_EQ(g.writes[k].target->name, mutated[k]);
  size_t ranges = 0;
  for (const auto [key, range] : object(want, "ranges")) {
    ++ranges;
    const JsonArray bounds = as_array(range, "range").value();
    const auto bound = [&](size_t at, int64_t none) {
      return bounds.at(at).value().is_null() ? none : as_int(bounds.at(at).value(), "bound").value();
    };
    ir::Range got{1, 0};
    if (auto it = p.ranges.find(std::string(key)); it != p.ranges.end()) got = it->second;
    for (const auto& [d, r] : p.expression_ranges)
      if (d.str() == key) got = r;
    EXPECT_EQ(got.lo, bound(0, INT64_MIN)) << key;
    EXPECT_EQ(got.hi, bound(1, ir::kMaxDim)) << key;
  }
  EXPECT_EQ(p.ranges.size() + p.expression_ranges.size(), ranges);
}

class Vector : public testing::TestWithParam<std::string> {};
TEST_P(Vector, is_read_as_pytorch_describes_it) {
  const auto r = read_pt2(vector_path(GetParam() + ".pt2"));
  ASSERT_TRUE(r) << r.error().str();
  const JsonArray want = array_member(expected_cases(), GetParam()).value();
  ASSERT_EQ(r->size(), want.size());
  for (JsonValue w : want) {  // the archive's order may differ
    const JsonObject o = as_object(w, "program").value();
    const auto p =
        std::find_if(r->begin(), r->end(), [&](const ir::Program& x) { return x.method == text(o, "method"); });
    ASSERT_NE(p, r->end());
    expect_program(*p, o);
  }
}
INSTANTIATE_TEST_SUITE_P(Read, Vector, testing::ValuesIn(case_names()), [](const auto& info) { return info.param; });

ir::Program read_one(const std::string& name) {
  auto r = read_pt2(vector_path(name + ".pt2"));
  EXPECT_TRUE(r) << r.error().str();
  return std::move((*r)[0]);
}
const ir::Value* constant(const ir::Program& p, std::string_view name) {
  for (const ir::Value* v : p.graph->constants())
    if (v->name == name) return v;
  return nullptr;
}

TEST(Read, tied_weights_are_one_value) {
  const ir::Program p = read_one("net");
  EXPECT_TRUE(constant(p, "a.weight"));
  EXPECT_FALSE(constant(p, "b.weight"));
}

TEST(Read, weights_are_views_of_the_mapped_file) {
  const std::string path = vector_path("small.pt2");
  const auto file = MappedFile::open(path).value();
  const auto r = read_pt2_bytes(file->bytes(), file).value();
  for (const ir::Value* v : r[0].graph->constants()) {
    EXPECT_GE(v->data->data, file->bytes().data()) << v->name;
    EXPECT_LT(v->data->data, file->bytes().data() + file->bytes().size()) << v->name;
  }
}

TEST(Read, misaligned_weights_are_copied_to_aligned_memory) {
  Entries e = entries_of(file_text(vector_path("small.pt2")));
  std::string zip = make_zip(e);
  for (size_t shift = 0; shift < 4; ++shift) {
    const std::string moved = std::string(shift, 'x') + zip;
    const auto owner = std::make_shared<const std::vector<char>>(moved.begin(), moved.end());
    const auto r = read_pt2_bytes(std::as_bytes(std::span(*owner)).subspan(shift), owner);
    ASSERT_TRUE(r) << r.error().str();
    for (const ir::Value* v : (*r)[0].graph->constants())
      EXPECT_EQ(reinterpret_cast<uintptr_t>(v->data->data) % size_of(v->data->dtype), 0u);
  }
}

TEST(Read, two_views_of_one_storage_share_its_bytes) {
  const ir::Program p = read_one("strided");
  const auto *first = constant(p, "first"), *second = constant(p, "second");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->data->data - first->data->data, 5 * 4);
}

TEST(Read, subgraphs_are_arguments) {
  const ir::Program p = read_one("flow");
  int graphs = 0;
  for (const auto& n : p.graph->nodes())
    for (const ir::Arg& a : n->args())
      if (a.graph()) {
        ++graphs;
        EXPECT_TRUE(ir::verify_structure(**a.graph()));
        EXPECT_FALSE((*a.graph())->outputs.empty());
      }
  EXPECT_EQ(graphs, 4);  // both branches of cond; condition and body of while_loop
  EXPECT_EQ(read_one("torch26_cond").graph->nodes().size(), 3u);
}

TEST(Read, an_unknown_op_keeps_its_arguments_by_name) {
  const ir::Program p = read_one("custom");
  const ir::Node& n = *p.graph->nodes().front();
  EXPECT_EQ(n.name(), "readtest.twice");
  EXPECT_TRUE(n.op().is_unknown);
  EXPECT_EQ(n.arg("x").value(), p.graph->inputs()[0]);
  EXPECT_EQ(n.arg("times"), ir::Arg(3));
}

TEST(Read, module_and_source_line_are_kept) {
  const ir::Program p = read_one("net");
  const ir::Origin& o = *p.graph->nodes().front()->origin;
  EXPECT_EQ(o.name, "conv2d");
  EXPECT_EQ(o.module_path, "c");
  EXPECT_EQ(o.module_type, "torch.nn.modules.conv.Conv2d");
  EXPECT_TRUE(o.stack_trace.starts_with("conv.py:")) << o.stack_trace;
}

TEST(Read, one_model_of_several_can_be_asked_for) {
  const std::string path = vector_path("several.pt2");
  const auto r = read_pt2(path, {.model = "decoder"});
  ASSERT_TRUE(r);
  ASSERT_EQ(r->size(), 1u);
  EXPECT_EQ((*r)[0].method, "decoder");
  const auto none = read_pt2(path, {.model = "critic"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUsage);
  EXPECT_NE(none.error().message.find("encoder"), std::string::npos);
}

TEST(Read, tree_specs_are_shown_as_python_would) {
  const ir::Program p = read_one("nested");
  EXPECT_TRUE(p.in_spec.starts_with("(({'")) << p.in_spec;
  EXPECT_NE(p.out_spec.find("'parts': [*, *]"), std::string::npos) << p.out_spec;
  EXPECT_EQ(p.outputs[1].name, "out.parts[0]");
}

TEST(Read, a_tensor_subclass_is_refused_by_name) {
  const auto r = read_pt2(vector_path("refused_subclass.pt2"));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kUnsupported);
  EXPECT_NE(r.error().str().find("tensor subclass __main__.Odd"), std::string::npos) << r.error().str();
  EXPECT_NE(r.error().str().find("a.bias"), std::string::npos) << r.error().str();
}

TEST(Read, a_tensor_subclass_gives_the_plain_tensors_that_it_wraps) {
  const ir::Program p = read_one("subclass_parts");
  std::map<std::string, const ir::Tensor*> held;
  for (const ir::Value* v : p.graph->constants()) held[v->name] = v->data.get();
  ASSERT_EQ(held.size(), 3u);  // qdata, scale, zero_point; each once
  bool found = false;
  for (const auto& [name, t] : held) {
    if (t->dtype != DType::i8 || t->numel() != 32) continue;
    found = true;
    for (int64_t i = 0; i < 32; ++i) EXPECT_EQ(ir::load_i(t->dtype, t->data, i), i % 16 - 8);
  }
  EXPECT_TRUE(found);
}

TEST(Read, weights_that_were_fake_are_refused) {
  const auto r = read_pt2(vector_path("refused_fake.pt2"));
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kUnsupported);
}

TEST(Read, errors_name_the_file) {
  const auto r = read_pt2("no/such/file.pt2");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, Code::kMalformed);
  EXPECT_NE(r.error().str().find("no/such/file.pt2"), std::string::npos);
}
}  // namespace
