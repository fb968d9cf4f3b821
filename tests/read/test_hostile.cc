// .pt2 files that are damaged or lie: every one must end in an error or in a well-formed program, and never in anything else.
#include <gtest/gtest.h>

#include "archive.h"
#include "read/json.h"

using namespace edgewright;
using namespace edgewright::read;

namespace {
// Reads; a program that was accepted must at least be sound in structure.
bool survives(const std::string& bytes) {
  const auto r = read_text(bytes);
  if (!r) {
    EXPECT_FALSE(r.error().message.empty());
    EXPECT_NE(r.error().code, Code::kInternal) << r.error().str();
    return false;
  }
  for (const ir::Program& p : *r) {
    const auto ok = ir::verify_structure(*p.graph);
    EXPECT_TRUE(ok) << ok.error().str();
  }
  return true;
}

Entries small() { return entries_of(file_text(vector_path("small.pt2"))); }
Error error_of(const Entries& e) {
  const auto r = read_text(make_zip(e));
  EXPECT_FALSE(r);
  return r ? Error{} : r.error();
}
// The model's JSON with one text replaced.
Error error_with(const std::string& vector, std::string_view from, std::string_view to) {
  Entries e = entries_of(file_text(vector_path(vector + ".pt2")));
  std::string& json = entry(e, "models/model.json");
  EXPECT_NE(json.find(from), std::string::npos) << from;
  json = replaced(json, from, to);
  return error_of(e);
}

TEST(Hostile, every_truncation_is_malformed) {
  for (const char* file : {"small.pt2", "small_deflated.pt2", "torch26_linear.pt2"}) {
    const std::string real = file_text(vector_path(file));
    for (size_t n = 0; n < real.size(); n += 1 + real.size() / 500) {
      const auto r = read_text(real.substr(0, n));
      ASSERT_FALSE(r) << n;
      EXPECT_EQ(r.error().code, Code::kMalformed) << r.error().str();
    }
  }
}

TEST(Hostile, bit_flips_never_crash) {
  uint64_t seed = 42;
  for (const char* file : {"small.pt2", "small_deflated.pt2", "small_28.pt2", "torch26_strided.pt2"}) {
    const std::string real = file_text(vector_path(file));
    for (int i = 0; i < 1500; ++i) {
      std::string s = real;
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      s[(seed >> 33) % s.size()] ^= static_cast<char>(1 << ((seed >> 20) & 7));
      survives(s);
    }
  }
}

// Damage below the checksums: one entry's bytes change and the archive is written anew around them.
TEST(Hostile, bit_flips_with_right_checksums_never_crash) {
  uint64_t seed = 7;
  for (const char* file : {"small.pt2", "small_28.pt2", "nested.pt2", "torch26_dynamic.pt2", "flow.pt2"}) {
    const Entries real = entries_of(file_text(vector_path(file)));
    ASSERT_TRUE(survives(make_zip(real)));
    for (int i = 0; i < 1500; ++i) {
      Entries e = real;
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      std::string& data = e[(seed >> 40) % e.size()].second;
      if (data.empty()) continue;
      for (int k = 0; k < 1 + i % 3; ++k) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[(seed >> 33) % data.size()] ^= static_cast<char>(1 << ((seed >> 20) & 7));
      }
      survives(make_zip(e));
    }
  }
}

// Where each value of a JSON text stands, as [begin, end).
void value_spans(std::string_view s, std::vector<std::pair<size_t, size_t>>& out) {
  std::vector<size_t> open;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '"') {
      const size_t begin = i++;
      while (i < s.size() && s[i] != '"') i += s[i] == '\\' ? 2 : 1;
      if (i + 1 >= s.size() || s[i + 1] != ':') out.emplace_back(begin, i + 1);
    } else if (s[i] == '{' || s[i] == '[') {
      open.push_back(i);
    } else if (s[i] == '}' || s[i] == ']') {
      out.emplace_back(open.back(), i + 1);
      open.pop_back();
    } else if (std::isalnum(static_cast<unsigned char>(s[i])) || s[i] == '-') {
      const size_t begin = i;
      while (i < s.size() &&
             (std::isalnum(static_cast<unsigned char>(s[i])) || s[i] == '-' || s[i] == '.' || s[i] == '+'))
        ++i;
      out.emplace_back(begin, i--);
    }
  }
}

TEST(Hostile, any_json_value_may_be_replaced_by_any_other) {
  for (const char* file : {"small.pt2", "dynamic.pt2", "flow.pt2", "lists.pt2", "counter_core.pt2"}) {
    const Entries real = entries_of(file_text(vector_path(file)));
    for (const char* part : {"models/model.json", "model_weights_config.json"}) {
      Entries e = real;
      const std::string json = entry(e, part);
      std::vector<std::pair<size_t, size_t>> spans;
      value_spans(json, spans);
      for (size_t i = 0; i < spans.size(); ++i) {
        const auto [begin, end] = spans[i];
        const std::string_view others[] = {"null",
                                           "0",
                                           "-1",
                                           "9223372036854775807",
                                           "1e308",
                                           "\"x\"",
                                           "[]",
                                           "{}",
                                           "true",
                                           "[[[[]]]]",
                                           "{\"as_int\": 4611686018427387904}"};
        // All of them at the small parts, one of them at each large one.
        for (size_t k = 0; k < std::size(others); ++k) {
          if (end - begin > 12 && k != i % std::size(others)) continue;
          if (end - begin <= 12 && (i + k) % 3 != 0) continue;
          std::string changed = json;
          changed.replace(begin, end - begin, others[k]);
          entry(e, part) = changed;
          survives(make_zip(e));
        }
      }
    }
  }
}

TEST(Hostile, deeply_nested_json_is_malformed) {
  for (size_t depth : {600u, 100000u}) {
    Entries e = small();
    entry(e, "models/model.json") = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(error_of(e).code, Code::kMalformed);
  }
}

TEST(Hostile, deeply_nested_graphs_and_tree_specs_are_malformed) {
  Entries e = entries_of(file_text(vector_path("flow.pt2")));
  std::string& json = entry(e, "models/model.json");
  const std::string empty =
      "{\"inputs\":[],\"outputs\":[],\"nodes\":[],\"tensor_values\":{},\"sym_int_values\":{},\"sym_bool_values\":{}}";
  std::string graph = empty;
  for (int i = 0; i < 40; ++i)
    graph = replaced(
        empty, "\"nodes\":[]",
        "\"nodes\":[{\"target\":\"f\",\"inputs\":[{\"name\":\"\",\"arg\":{\"as_graph\":{\"name\":\"g\",\"graph\":" +
            graph + "}}}],\"outputs\":[],\"metadata\":{}}]");
  const size_t at = json.find("\"nodes\": [") + 10;
  json.insert(at, "{\"target\":\"f\",\"inputs\":[{\"name\":\"\",\"arg\":{\"as_graph\":{\"name\":\"g\",\"graph\":" +
                      graph + "}}}],\"outputs\":[],\"metadata\":{}},");
  const Error error = error_of(e);
  EXPECT_EQ(error.code, Code::kMalformed);
  EXPECT_NE(error.str().find("nested deeper"), std::string::npos) << error.str();

  std::string spec = "{\\\"type\\\": null, \\\"context\\\": null, \\\"children_spec\\\": []}";
  for (int i = 0; i < 100; ++i)
    spec =
        "{\\\"type\\\": \\\"builtins.tuple\\\", \\\"context\\\": \\\"null\\\", \\\"children_spec\\\": [" + spec + "]}";
  Entries s = small();
  std::string& text = entry(s, "models/model.json");
  const size_t begin = text.find("\"in_spec\": \"") + 12;
  text.replace(begin, text.find("\", \"out_spec\"") - begin, "[1, " + spec + "]");
  EXPECT_EQ(error_of(s).code, Code::kMalformed);
}

TEST(Hostile, errors_name_node_op_and_module) {
  const Error e =
      error_with("net", "{\"as_tensor\": {\"name\": \"batch_norm\"}}", "{\"as_tensor\": {\"name\": \"nowhere\"}}");
  EXPECT_EQ(e.code, Code::kMalformed);
  EXPECT_FALSE(e.node.empty());
  EXPECT_FALSE(e.origin.empty());
}

TEST(Hostile, a_name_must_be_defined_once_and_before_its_use) {
  Error e = error_with("small", "\"arg\": {\"as_tensor\": {\"name\": \"linear\"}}",
                       "\"arg\": {\"as_tensor\": {\"name\": \"mul\"}}");
  EXPECT_NE(e.str().find("'mul' is used before"), std::string::npos) << e.str();
  e = error_with("small", "\"outputs\": [{\"as_tensor\": {\"name\": \"linear_1\"}}]",
                 "\"outputs\": [{\"as_tensor\": {\"name\": \"linear\"}}]");
  EXPECT_NE(e.str().find("defined twice"), std::string::npos) << e.str();
}

TEST(Hostile, tensors_must_be_what_the_graph_takes_them_for) {
  Entries e = small();
  std::string& config = entry(e, "model_weights_config.json");
  config = replaced(config, "\"dtype\": 7", "\"dtype\": 5");
  EXPECT_EQ(error_of(e).code, Code::kMalformed);
  e = small();
  std::string& sizes = entry(e, "model_weights_config.json");
  sizes = replaced(sizes, "[{\"as_int\": 6}, {\"as_int\": 6}]", "[{\"as_int\": 4611686018427387904}, {\"as_int\": 6}]");
  EXPECT_EQ(error_of(e).code, Code::kMalformed);
  e = small();
  std::string& offset = entry(e, "model_weights_config.json");
  offset = replaced(offset, "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}");
  EXPECT_EQ(error_of(e).code, Code::kMalformed);
}

TEST(Hostile, the_signature_must_fit_the_graph) {
  EXPECT_EQ(error_with("small", "\"parameter_name\": \"a.bias\"", "\"parameter_name\": \"z\"").code, Code::kMalformed);
  EXPECT_EQ(error_with("small", "{\"user_input\": ", "{\"user_output\": ").code, Code::kMalformed);
  EXPECT_EQ(error_with("counter_core", "\"buffer_name\": \"n\"}}", "\"buffer_name\": \"m\"}}").code, Code::kMalformed);
  EXPECT_EQ(error_with("counter_core", "\"user_input_name\": \"x\"", "\"user_input_name\": \"b_n\"").code,
            Code::kMalformed);
}

TEST(Hostile, an_unknown_schema_version_is_unsupported) {
  const Error e = error_with("small", "\"major\": 8", "\"major\": 9");
  EXPECT_EQ(e.code, Code::kUnsupported);
  EXPECT_NE(e.message.find("9"), std::string::npos);
}

TEST(Hostile, tokens_and_training_programs_are_unsupported) {
  EXPECT_EQ(error_with("small", "\"user_output\": {\"arg\": {\"as_tensor\": {\"name\": \"add\"}}}",
                       "\"loss_output\": {\"arg\": {\"name\": \"add\"}}")
                .code,
            Code::kUnsupported);
  EXPECT_EQ(error_with("small", "{\"user_input\": {\"arg\": {\"as_tensor\": {\"name\": \"x\"}}}}",
                       "{\"token\": {\"arg\": {\"name\": \"x\"}}}")
                .code,
            Code::kUnsupported);
}

TEST(Hostile, bare_infinities_are_read_as_python_writes_them) {
  const auto d = parse_json(R"({"a": Infinity, "b": [-Infinity, NaN], "c": "NaN \" Infinity"})");
  ASSERT_TRUE(d);
  const JsonObject o = as_object((*d)->root, "root").value();
  EXPECT_EQ(as_double(member(o, "a").value(), "a").value(), INFINITY);
  EXPECT_EQ(string_member(o, "c").value(), "NaN \" Infinity");
}
}  // namespace
