#include "read/program.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ops/op_def.h"
#include "read/pytree.h"

namespace edgewright::read {

namespace {

using ir::Arg;
using ir::ArgList;
using ir::Dim;
using ir::Graph;
using ir::Type;
using ir::Value;

constexpr int kMaxGraphDepth = 32;

// What all graphs of one program share.
struct Shared {
  std::unordered_map<std::string_view, Dim> dims;  // parsed expressions
  std::unordered_map<std::string, std::shared_ptr<const ir::Op>> unknown_ops;
  const Weights& weights;
  std::unordered_map<std::string_view, std::string_view>
      subclasses;  // held tensor subclasses: name in the graph -> in the file
  std::map<std::pair<std::string, std::string>, Value*> parts;  // what was taken out of them
};

// A size or stride: its expression, and the number it was in the example, if known.
struct SymInt {
  Dim dim;
  std::optional<int64_t> hint;
};

struct TensorMeta {
  ir::TensorType type;
  std::vector<int64_t> strides;  // constant ones only
  std::vector<int64_t> example_sizes, example_strides;
  bool has_example = false;
};

struct Input {
  Value* value = nullptr;  // null where the graph itself holds the value
  Arg fixed;
};

std::unexpected<Error> at_node(Error e, std::string_view node, const ir::Origin* origin) {
  if (e.node.empty()) e.node = std::string(node);
  if (e.origin.empty() && origin) {
    e.origin = origin->module_path;
    if (!origin->stack_trace.empty()) e.origin += (e.origin.empty() ? "" : ", ") + origin->stack_trace;
  }
  return std::unexpected(std::move(e));
}

// "key,path,type;key,path,type": the innermost module is the last.
void read_module(std::string_view stack, ir::Origin& o) {
  if (const size_t semi = stack.rfind(';'); semi != std::string_view::npos) stack.remove_prefix(semi + 1);
  const size_t first = stack.find(',');
  if (first == std::string_view::npos) return;
  const size_t second = stack.find(',', first + 1);
  o.module_path = std::string(
      stack.substr(first + 1, second == std::string_view::npos ? std::string_view::npos : second - first - 1));
  if (second != std::string_view::npos) o.module_type = std::string(stack.substr(second + 1));
}

// The last frame of a Python stack trace that lies in a file: 'File "a/model.py", line 12, in forward\n    x = f(x)' -> "model.py:12 in
// forward, x = f(x)".
std::string last_frame(std::string_view trace) {
  const auto trim = [](std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\n')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\n')) s.remove_suffix(1);
    return s;
  };
  for (size_t from = trace.rfind("File \""); from != std::string_view::npos;
       from = from == 0 ? std::string_view::npos : trace.rfind("File \"", from - 1)) {
    std::string_view frame = trace.substr(from + 6);
    if (const size_t next = frame.find("\n  File \""); next != std::string_view::npos) frame = frame.substr(0, next);
    const size_t quote = frame.find('"');
    if (quote == std::string_view::npos || frame.starts_with('<')) continue;
    std::string_view file = frame.substr(0, quote), rest = frame.substr(quote + 1), code;
    if (const size_t slash = file.find_last_of("/\\"); slash != std::string_view::npos) file.remove_prefix(slash + 1);
    if (const size_t line = rest.find('\n'); line != std::string_view::npos) {
      code = trim(rest.substr(line));
      code = trim(code.substr(0, code.find('\n')));  // carets may stand below it
      rest = rest.substr(0, line);
    }
    std::string out(file);
    if (rest.starts_with(", line ")) {
      rest.remove_prefix(7);
      const size_t comma = rest.find(',');
      out += ":" + std::string(trim(rest.substr(0, comma)));
      if (comma != std::string_view::npos) out += " " + std::string(trim(rest.substr(comma + 1)));
    }
    if (!code.empty()) out += ", " + std::string(code.substr(0, 200));
    return out;
  }
  return {};
}

// "torch.ops.aten.add.Tensor" -> "aten.add.Tensor"; ".default" is left away.
std::string op_name(std::string_view target) {
  if (target.starts_with("torch.ops.")) target.remove_prefix(10);
  if (target.ends_with(".default")) target.remove_suffix(8);
  return std::string(target);
}

// Reads one graph, or a subgraph inside it.
class GraphReader {
 public:
  GraphReader(Shared& shared, int depth) : shared_(shared), depth_(depth), g_(std::make_shared<Graph>()) {}

  // Reads the tables of types, which everything else refers to.
  Result<void> start(JsonObject json);
  Result<void> nodes();
  // As a subgraph: every input is an input of the graph.
  Result<std::shared_ptr<Graph>> subgraph(JsonObject json, std::string_view name);

  Result<TensorMeta> tensor_meta(std::string_view name);
  // The type of a tensor or number that the graph's tables describe.
  Result<Type> type_of(std::string_view kind, std::string_view name);
  Result<void> define(std::string_view name, Value* v);
  Result<Arg> arg(std::string_view kind, JsonValue v);
  Result<Arg> arg(JsonValue v) {
    EW_ASSIGN(const auto u, as_union(v, "an argument"));
    return arg(u.first, u.second);
  }
  Value* find(std::string_view name) const {
    const auto it = values_.find(name);
    return it == values_.end() ? nullptr : it->second;
  }
  Graph& graph() { return *g_; }
  std::shared_ptr<Graph> share() { return g_; }
  JsonObject json() const { return json_; }

 private:
  using Table = std::unordered_map<std::string_view, JsonValue>;
  struct Result_ {
    std::string_view name;
    Type type;
    std::vector<int64_t> strides;
  };
  Result<void> table(std::string_view key, Table& into);
  Result<SymInt> sym_int(JsonValue v);
  Result<Dim> dim(std::string_view text);
  Result<Value*> use(JsonValue name);
  Result<void> node(JsonObject n);
  Result<bool> inner_tensor(const std::vector<std::pair<std::string_view, JsonValue>>& args,
                            const std::vector<Result_>& results);
  Result<void> result(std::string_view kind, JsonValue v, std::vector<Result_>& into);
  Result<std::shared_ptr<const ir::Op>> unknown_op(const std::string& name,
                                                   const std::vector<std::pair<std::string_view, JsonValue>>& args,
                                                   size_t results);
  // What was found against each type; empty where nothing was, or the list is.
  Result<std::vector<std::string>> check_types(const ops::OpDef& d, const std::vector<Arg>& args,
                                               std::vector<Type>& types);

  Shared& shared_;
  int depth_;
  std::shared_ptr<Graph> g_;
  JsonObject json_;
  Table tensors_, ints_, floats_, bools_;
  std::unordered_map<std::string_view, Value*> values_;
  std::unordered_map<const Value*, std::string> doubtful_;  // results whose type is not what the file says
};

Result<void> GraphReader::table(std::string_view key, Table& into) {
  const auto t = maybe(json_, key);
  if (!t) return {};
  EW_ASSIGN(const JsonObject o, as_object(*t, key));
  for (const auto [name, value] : o)
    if (!into.emplace(name, value).second) return fail(Code::kMalformed, "{} has '{}' twice", key, name);
  return {};
}

Result<void> GraphReader::start(JsonObject json) {
  if (depth_ > kMaxGraphDepth) return fail(Code::kMalformed, "graphs nested deeper than {}", kMaxGraphDepth);
  json_ = json;
  EW_TRY(member(json, "tensor_values"));
  EW_TRY(table("tensor_values", tensors_));
  EW_TRY(table("sym_int_values", ints_));
  EW_TRY(table("sym_float_values", floats_));
  EW_TRY(table("sym_bool_values", bools_));
  return {};
}

Result<Dim> GraphReader::dim(std::string_view text) {
  if (auto it = shared_.dims.find(text); it != shared_.dims.end()) return it->second;
  auto d = Dim::parse(text);
  if (!d) return std::unexpected(std::move(d.error()));
  shared_.dims.emplace(text, *d);
  return *d;
}

Result<SymInt> GraphReader::sym_int(JsonValue v) {
  EW_ASSIGN(const auto u, as_union(v, "a size"));
  if (u.first == "as_int") {
    EW_ASSIGN(const int64_t i, as_int(u.second, "a size"));
    return SymInt{Dim(i), i};
  }
  if (u.first != "as_expr") return fail(Code::kMalformed, "a size is of kind '{}'", u.first);
  EW_ASSIGN(const JsonObject o, as_object(u.second, "a symbolic size"));
  EW_ASSIGN(const std::string_view text, string_member(o, "expr_str"));
  EW_ASSIGN(Dim d, dim(text));
  SymInt s{d, d.maybe()};
  if (const auto hint = maybe(o, "hint")) {
    int64_t plain = 0;
    if (hint->get(plain)) {
      EW_ASSIGN(const auto h, as_union(*hint, "a hint"));
      EW_ASSIGN(plain, as_int(h.second, "a hint"));
    }
    s.hint = plain;
  }
  return s;
}

Result<TensorMeta> GraphReader::tensor_meta(std::string_view name) {
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) return fail(Code::kMalformed, "tensor '{}' is not described", name);
  EW_ASSIGN(const JsonObject o, as_object(it->second, "a tensor's description"));
  EW_ASSIGN(const JsonValue code_value, member(o, "dtype"));
  EW_ASSIGN(const int64_t code, as_int(code_value, "dtype"));
  EW_ASSIGN(const JsonValue layout_value, member(o, "layout"));
  EW_ASSIGN(const int64_t layout, as_int(layout_value, "layout"));
  if (layout != 7) return fail(Code::kUnsupported, "'{}' is a tensor that is not strided (layout {})", name, layout);
  TensorMeta m;
  EW_ASSIGN(m.type.dtype, dtype_from_code(code));
  EW_ASSIGN(const JsonArray sizes, array_member(o, "sizes"));
  EW_ASSIGN(const JsonArray strides, array_member(o, "strides"));
  m.has_example = true;
  bool constant_strides = true;
  std::vector<int64_t> all_strides;
  for (JsonValue v : sizes) {
    EW_ASSIGN(SymInt s, sym_int(v));
    m.type.shape.push_back(std::move(s.dim));
    m.has_example &= s.hint.has_value();
    m.example_sizes.push_back(s.hint.value_or(0));
  }
  for (JsonValue v : strides) {
    EW_ASSIGN(SymInt s, sym_int(v));
    constant_strides &= s.dim.is_constant();
    all_strides.push_back(s.dim.maybe().value_or(0));
    m.has_example &= s.hint.has_value();
    m.example_strides.push_back(s.hint.value_or(0));
  }
  if (m.type.rank() != all_strides.size())
    return fail(Code::kMalformed, "tensor '{}' has {} sizes but {} strides", name, m.type.rank(), all_strides.size());
  if (m.type.rank() > ops::kMaxRank)
    return fail(Code::kUnsupported, "tensor '{}' has {} dims, more than {}", name, m.type.rank(), ops::kMaxRank);
  std::vector<int64_t> constants;
  for (const Dim& d : m.type.shape) constants.push_back(d.maybe().value_or(1));
  if (auto r = check_sizes(constants); !r) return with_note(std::move(r.error()), "tensor '" + std::string(name) + "'");
  if (constant_strides) m.strides = std::move(all_strides);
  return m;
}

Result<Type> GraphReader::type_of(std::string_view kind, std::string_view name) {
  if (kind == "as_tensor") {
    EW_ASSIGN(TensorMeta m, tensor_meta(name));
    return Type(std::move(m.type));
  }
  if (kind == "as_sym_int") {
    const auto it = ints_.find(name);
    if (it == ints_.end()) return fail(Code::kMalformed, "int '{}' is not described", name);
    EW_ASSIGN(SymInt s, sym_int(it->second));
    return Type(ir::ScalarType{ir::ScalarKind::kInt, std::move(s.dim)});
  }
  const bool is_float = kind == "as_sym_float";
  const Table& t = is_float ? floats_ : bools_;
  if (!t.contains(name)) return fail(Code::kMalformed, "{} '{}' is not described", is_float ? "float" : "bool", name);
  return Type(ir::ScalarType{is_float ? ir::ScalarKind::kFloat : ir::ScalarKind::kBool, std::nullopt});
}

Result<void> GraphReader::define(std::string_view name, Value* v) {
  if (!values_.emplace(name, v).second) return fail(Code::kMalformed, "'{}' is defined twice", name);
  return {};
}

Result<Value*> GraphReader::use(JsonValue name_value) {
  EW_ASSIGN(const std::string_view name, as_string(name_value, "a value's name"));
  if (Value* v = find(name)) {
    if (const auto d = doubtful_.find(v); d != doubtful_.end())
      return fail(Code::kMalformed, "'{}' is used: {}", name, d->second);
    return v;
  }
  if (const auto it = shared_.subclasses.find(name); depth_ == 0 && it != shared_.subclasses.end())
    return std::unexpected(std::move(shared_.weights.find(it->second).error()));
  return fail(Code::kMalformed, "'{}' is used before anything defines it", name);
}

// A list of arguments read by `f` from each element.
template <class F>
Result<Arg> list_of(JsonValue v, std::string_view what, F&& f) {
  EW_ASSIGN(const JsonArray a, as_array(v, what));
  ArgList out;
  for (JsonValue x : a) {
    EW_ASSIGN(Arg item, f(x));
    out.push_back(std::move(item));
  }
  return Arg(std::move(out));
}

Result<Arg> GraphReader::arg(std::string_view kind, JsonValue v) {
  const auto tensor = [&](JsonValue x) -> Result<Arg> {
    EW_ASSIGN(const JsonObject o, as_object(x, "a tensor argument"));
    EW_ASSIGN(const JsonValue name, member(o, "name"));
    EW_ASSIGN(Value * u, use(name));
    return Arg(u);
  };
  const auto optional_tensor = [&](JsonValue x) -> Result<Arg> {
    EW_ASSIGN(const auto u, as_union(x, "an optional tensor"));
    if (u.first == "as_none") return Arg();
    if (u.first != "as_tensor") return fail(Code::kMalformed, "an optional tensor is of kind '{}'", u.first);
    return tensor(u.second);
  };
  const auto integer = [](JsonValue x) -> Result<Arg> {
    EW_ASSIGN(const int64_t i, as_int(x, "an int argument"));
    return Arg(i);
  };
  const auto number = [](JsonValue x) -> Result<Arg> {
    EW_ASSIGN(const double d, as_double(x, "a float argument"));
    return Arg(d);
  };
  const auto boolean = [](JsonValue x) -> Result<Arg> {
    EW_ASSIGN(const bool b, as_bool(x, "a bool argument"));
    return Arg(b);
  };
  const auto string = [](JsonValue x) -> Result<Arg> {
    EW_ASSIGN(const std::string_view s, as_string(x, "a string argument"));
    return Arg(std::string(s));
  };
  // A number of the graph by name, or a plain one under `plain`.
  const auto symbolic = [&](JsonValue x, std::string_view plain, const auto& read) -> Result<Arg> {
    EW_ASSIGN(const auto u, as_union(x, "a symbolic argument"));
    if (u.first == plain) return read(u.second);
    if (u.first != "as_name") return fail(Code::kMalformed, "a symbolic argument is of kind '{}'", u.first);
    EW_ASSIGN(Value * n, use(u.second));
    return Arg(n);
  };
  const auto sym_int_arg = [&](JsonValue x) { return symbolic(x, "as_int", integer); };
  const auto sym_float_arg = [&](JsonValue x) { return symbolic(x, "as_float", number); };
  const auto sym_bool_arg = [&](JsonValue x) { return symbolic(x, "as_bool", boolean); };
  const auto enumerated = [&](JsonValue x, std::span<const char* const> names, std::string_view what) -> Result<Arg> {
    EW_ASSIGN(const int64_t i, as_int(x, what));
    if (i <= 0 || static_cast<size_t>(i) >= names.size()) return fail(Code::kMalformed, "{} {}", what, i);
    return Arg(names[static_cast<size_t>(i)]);
  };
  static constexpr const char* kLayouts[] = {"",           "sparse_coo", "sparse_csr", "sparse_csc",
                                             "sparse_bsr", "sparse_bsc", "_mkldnn",    "strided"};
  static constexpr const char* kMemoryFormats[] = {"", "contiguous_format", "channels_last", "channels_last_3d",
                                                   "preserve_format"};

  if (kind == "as_tensor") return tensor(v);
  if (kind == "as_tensors") return list_of(v, kind, tensor);
  if (kind == "as_optional_tensor") return optional_tensor(v);
  if (kind == "as_optional_tensors") return list_of(v, kind, optional_tensor);
  if (kind == "as_nested_tensors") return list_of(v, kind, [&](JsonValue x) { return list_of(x, kind, tensor); });
  if (kind == "as_none") return Arg();
  if (kind == "as_int") return integer(v);
  if (kind == "as_ints") return list_of(v, kind, integer);
  if (kind == "as_int_lists") return list_of(v, kind, [&](JsonValue x) { return list_of(x, kind, integer); });
  if (kind == "as_float") return number(v);
  if (kind == "as_floats") return list_of(v, kind, number);
  if (kind == "as_float_lists") return list_of(v, kind, [&](JsonValue x) { return list_of(x, kind, number); });
  if (kind == "as_bool") return boolean(v);
  if (kind == "as_bools") return list_of(v, kind, boolean);
  if (kind == "as_string" || kind == "as_operator") return string(v);
  if (kind == "as_strings") return list_of(v, kind, string);
  if (kind == "as_sym_int") return sym_int_arg(v);
  if (kind == "as_sym_ints") return list_of(v, kind, sym_int_arg);
  if (kind == "as_sym_float") return sym_float_arg(v);
  if (kind == "as_sym_floats") return list_of(v, kind, sym_float_arg);
  if (kind == "as_sym_bool") return sym_bool_arg(v);
  if (kind == "as_sym_bools") return list_of(v, kind, sym_bool_arg);
  if (kind == "as_scalar_type") {
    EW_ASSIGN(const int64_t code, as_int(v, "a dtype"));
    EW_ASSIGN(const DType t, dtype_from_code(code));
    return Arg(t);
  }
  if (kind == "as_memory_format") return enumerated(v, kMemoryFormats, "memory format");
  if (kind == "as_layout") return enumerated(v, kLayouts, "layout");
  if (kind == "as_device") {
    EW_ASSIGN(const JsonObject o, as_object(v, "a device"));
    EW_ASSIGN(const std::string_view type, string_member(o, "type"));
    return Arg(std::string(type));
  }
  if (kind == "as_graph") {
    EW_ASSIGN(const JsonObject o, as_object(v, "a graph argument"));
    EW_ASSIGN(const std::string_view name, string_member(o, "name"));
    EW_ASSIGN(const JsonObject graph, object_member(o, "graph"));
    GraphReader inner(shared_, depth_ + 1);
    auto g = inner.subgraph(graph, name);
    if (!g) return with_note(std::move(g.error()), "in graph '" + std::string(name) + "'");
    return Arg(std::move(*g));
  }
  if (kind == "as_string_to_argument") {  // a dict: pairs of key and value
    EW_ASSIGN(const JsonObject o, as_object(v, "a dict argument"));
    ArgList out;
    for (const auto [key, value] : o) {
      EW_ASSIGN(Arg a, arg(value));
      out.push_back(ArgList{Arg(std::string(key)), std::move(a)});
    }
    return Arg(std::move(out));
  }
  if (kind == "as_custom_obj") {
    EW_ASSIGN(const JsonObject o, as_object(v, "a custom object"));
    EW_ASSIGN(const std::string_view type, string_member(o, "class_fqn"));
    return fail(Code::kUnsupported, "a custom object of class {}", type);
  }
  if (kind == "as_complex") return fail(Code::kUnsupported, "a complex number as an argument");
  return fail(Code::kMalformed, "an argument of kind '{}'", kind);
}

Result<void> GraphReader::result(std::string_view kind, JsonValue v, std::vector<Result_>& into) {
  const auto one = [&](std::string_view k, std::string_view name) -> Result<void> {
    Result_ r{name, ir::ScalarType{}, {}};
    if (k == "as_tensor") {
      EW_ASSIGN(TensorMeta m, tensor_meta(name));
      r.type = std::move(m.type);
      r.strides = std::move(m.strides);
    } else {
      EW_ASSIGN(r.type, type_of(k, name));
    }
    into.push_back(std::move(r));
    return {};
  };
  const auto tensor = [&](JsonValue x) -> Result<void> {
    EW_ASSIGN(const JsonObject o, as_object(x, "an output"));
    EW_ASSIGN(const std::string_view name, string_member(o, "name"));
    return one("as_tensor", name);
  };
  if (kind == "as_tensor") return tensor(v);
  if (kind == "as_tensors") {
    EW_ASSIGN(const JsonArray a, as_array(v, "outputs"));
    for (JsonValue x : a) EW_TRY(tensor(x));
    return {};
  }
  if (kind == "as_sym_int" || kind == "as_sym_float" || kind == "as_sym_bool") {
    EW_ASSIGN(const auto u, as_union(v, "an output"));
    if (u.first != "as_name") return fail(Code::kMalformed, "an output is of kind '{}'", u.first);
    EW_ASSIGN(const std::string_view name, as_string(u.second, "an output's name"));
    return one(kind, name);
  }
  if (kind == "as_optional_tensor") {
    EW_ASSIGN(const auto u, as_union(v, "an output"));
    if (u.first == "as_none") return {};
    return result(u.first, u.second, into);
  }
  if (kind == "as_none") return {};  // an undefined tensor: nothing can use it
  return fail(Code::kUnsupported, "an output of kind '{}'", kind);
}

ir::Param param_like(std::string name, std::string_view kind) {
  ir::Param p;
  p.name = std::move(name);
  static constexpr std::tuple<std::string_view, ir::ParamKind, bool> kKinds[] = {
      {"as_tensor", ir::ParamKind::kTensor, false},
      {"as_tensors", ir::ParamKind::kTensor, true},
      {"as_optional_tensor", ir::ParamKind::kTensor, false},
      {"as_optional_tensors", ir::ParamKind::kTensor, true},
      {"as_int", ir::ParamKind::kInt, false},
      {"as_ints", ir::ParamKind::kInt, true},
      {"as_sym_int", ir::ParamKind::kInt, false},
      {"as_sym_ints", ir::ParamKind::kInt, true},
      {"as_float", ir::ParamKind::kFloat, false},
      {"as_floats", ir::ParamKind::kFloat, true},
      {"as_sym_float", ir::ParamKind::kFloat, false},
      {"as_sym_floats", ir::ParamKind::kFloat, true},
      {"as_bool", ir::ParamKind::kBool, false},
      {"as_bools", ir::ParamKind::kBool, true},
      {"as_sym_bool", ir::ParamKind::kBool, false},
      {"as_sym_bools", ir::ParamKind::kBool, true},
      {"as_string", ir::ParamKind::kString, false},
      {"as_strings", ir::ParamKind::kString, true},
      {"as_scalar_type", ir::ParamKind::kDType, false},
      {"as_graph", ir::ParamKind::kGraph, false}};
  p.kind = ir::ParamKind::kOther;
  for (const auto& [k, param_kind, is_list] : kKinds)
    if (k == kind) {
      p.kind = param_kind;
      p.is_list = is_list;
    }
  p.is_optional = kind == "as_none" || kind.starts_with("as_optional");
  return p;
}

Result<std::shared_ptr<const ir::Op>> GraphReader::unknown_op(
    const std::string& name, const std::vector<std::pair<std::string_view, JsonValue>>& args, size_t results) {
  auto op = std::make_shared<ir::Op>();
  op->name = op->schema.name = name;
  op->is_unknown = true;
  op->schema.num_results = results;
  std::string key = name + "/" + std::to_string(results);
  std::unordered_set<std::string_view> seen;
  for (const auto& [param, value] : args) {
    EW_ASSIGN(const auto u, as_union(value, "an argument"));
    if (!param.empty() && !seen.insert(param).second)
      return fail(Code::kMalformed, "argument '{}' is given twice", param);
    op->schema.params.push_back(
        param_like(param.empty() ? "arg" + std::to_string(op->schema.params.size()) : std::string(param), u.first));
    key.append(1, '/').append(param).append(1, ':').append(u.first);
  }
  auto [it, fresh] = shared_.unknown_ops.try_emplace(std::move(key), std::move(op));
  const auto& known = g_->foreign_ops;
  if (std::find(known.begin(), known.end(), it->second) == known.end()) g_->foreign_ops.push_back(it->second);
  return it->second;
}

// A split of a huge dim into pieces of 1 would make the rule list them all.
bool args_are_large(const std::vector<Arg>& args) {
  bool large = false;
  for (const Arg& a : args)
    a.each_value([&](const Value* v) {
      if (const auto* t = v->tensor())
        for (const Dim& d : t->shape) large |= d.maybe().value_or(0) > (1 << 20);
    });
  return large;
}

// What the file says of the results against the op's own rule. A rule that cannot decide is no objection: later stages report it.
// Where the two differ the type becomes the rule's, which is what will be computed: PyTorch's shape functions and kernels differ in
// results that nobody reads (sizes of bags, statistics of norms). Whoever does read such a result is refused.
Result<std::vector<std::string>> GraphReader::check_types(const ops::OpDef& d, const std::vector<Arg>& args,
                                                          std::vector<Type>& types) {
  std::vector<std::string> found;
  if (d.schema.num_results == ir::Schema::kVariadic && args_are_large(args)) return found;
  const auto ours = ops::infer(d, ops::Call::of(d, args));
  if (!ours) return found;
  if (ours->size() != types.size())
    return fail(Code::kMalformed, "{} has {} results, the file says {}", d.name, ours->size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const auto *a = std::get_if<ir::TensorType>(&(*ours)[i]), *b = std::get_if<ir::TensorType>(&types[i]);
    bool same = (a != nullptr) == (b != nullptr);
    if (a && b) {
      same = a->dtype == b->dtype && a->rank() == b->rank();
      for (size_t k = 0; same && k < a->rank(); ++k)
        if (a->shape[k].is_constant() && b->shape[k].is_constant()) same = a->shape[k] == b->shape[k];
    }
    if (same) continue;
    found.resize(types.size());
    found[i] =
        fmt::format("result {} of {} is {}, the file says {}", i, d.name, ir::str((*ours)[i]), ir::str(types[i]));
    types[i] = (*ours)[i];
  }
  return found;
}

// access_subclass_inner_tensor(src_subclass_tensor, attr) of a held tensor: a constant. False where it is of something else.
Result<bool> GraphReader::inner_tensor(const std::vector<std::pair<std::string_view, JsonValue>>& args,
                                       const std::vector<Result_>& results) {
  if (args.size() != 2 || results.size() != 1) return false;
  EW_ASSIGN(const auto source, as_union(args[0].second, "an argument"));
  EW_ASSIGN(const auto attribute, as_union(args[1].second, "an argument"));
  if (source.first != "as_tensor" || attribute.first != "as_string") return false;
  EW_ASSIGN(const JsonObject o, as_object(source.second, "a tensor argument"));
  EW_ASSIGN(const std::string_view name, string_member(o, "name"));
  const auto it = shared_.subclasses.find(name);
  if (depth_ > 0 || it == shared_.subclasses.end()) return false;
  EW_ASSIGN(const std::string_view what, as_string(attribute.second, "an attribute's name"));
  Value*& v = shared_.parts[{std::string(it->second), std::string(what)}];
  if (!v) {
    EW_ASSIGN(ir::Tensor t, shared_.weights.part(it->second, what));
    v = g_->add_constant(std::string(it->second) + "." + std::string(what), std::move(t));
  }
  if (v->type != results[0].type)
    return fail(Code::kMalformed, "'{}' of tensor '{}' is {} but the graph takes it as {}", what, it->second,
                ir::str(v->type), ir::str(results[0].type));
  EW_TRY(define(results[0].name, v));
  return true;
}

Result<void> GraphReader::node(JsonObject n) {
  EW_ASSIGN(const std::string_view target, string_member(n, "target"));
  EW_ASSIGN(const JsonArray inputs, array_member(n, "inputs"));
  EW_ASSIGN(const JsonArray outputs, array_member(n, "outputs"));
  std::vector<Result_> results;
  size_t absent = 0;
  for (JsonValue o : outputs) {
    EW_ASSIGN(const auto u, as_union(o, "an output"));
    const size_t before = results.size();
    EW_TRY(result(u.first, u.second, results));
    absent += results.size() == before && u.first != "as_tensors";
  }
  std::vector<std::pair<std::string_view, JsonValue>> given;
  for (JsonValue i : inputs) {
    EW_ASSIGN(const JsonObject o, as_object(i, "an input"));
    EW_ASSIGN(const std::string_view name, string_member(o, "name"));
    EW_ASSIGN(const JsonValue a, member(o, "arg"));
    given.emplace_back(name, a);
  }

  const std::string name = op_name(target);
  if (name == "export.access_subclass_inner_tensor") {
    EW_ASSIGN(const bool taken, inner_tensor(given, results));
    if (taken) return {};
  }
  const ops::OpDef* def = ops::find(name);
  if (def && absent) return fail(Code::kUnsupported, "{} leaves {} of its results undefined", name, absent);

  std::shared_ptr<const ir::Op> unknown;
  std::vector<Arg> args;
  if (def) {
    const auto& params = def->schema.params;
    std::vector<std::optional<Arg>> placed(params.size());
    size_t last = 0;
    for (size_t k = 0; k < given.size(); ++k) {
      const auto& [param, value] = given[k];
      const size_t i = param.empty() ? k : static_cast<size_t>(def->schema.index_of(param));
      if (i >= params.size())
        return fail(Code::kUnsupported, "{} has no argument '{}' here", def->name,
                    param.empty() ? std::to_string(k) : std::string(param));
      if (placed[i]) return fail(Code::kMalformed, "argument '{}' is given twice", params[i].name);
      auto a = arg(value);
      if (!a) return with_note(std::move(a.error()), "argument '" + params[i].name + "'");
      placed[i] = std::move(*a);
      last = std::max(last, i + 1);
    }
    for (size_t i = 0; i < last; ++i) {
      if (!placed[i] && !params[i].has_default && !params[i].is_optional)
        return fail(Code::kMalformed, "argument '{}' of {} is missing", params[i].name, def->name);
      args.push_back(placed[i] ? std::move(*placed[i]) : ir::default_of(params[i]));
    }
    for (size_t i = last; i < params.size(); ++i)
      if (!params[i].has_default && !params[i].is_optional)
        return fail(Code::kMalformed, "argument '{}' of {} is missing", params[i].name, def->name);
  } else {
    EW_ASSIGN(unknown, unknown_op(name, given, results.size()));
    for (const auto& [param, value] : given) {
      auto a = arg(value);
      if (!a && name == "higher_order.wrap_with_autocast") {
        // The casts of such a region happen while PyTorch runs it; its types then are not those of the ops as written.
        a.error().code = Code::kUnsupported;
        return with_note(std::move(a.error()),
                         "an autocast region; run_decompositions() of the exported program spells its casts out");
      }
      if (!a) return with_note(std::move(a.error()), "argument '" + std::string(param) + "'");
      args.push_back(std::move(*a));
    }
  }

  std::vector<Type> types;
  for (Result_& r : results) types.push_back(std::move(r.type));
  std::vector<std::string> doubts;
  if (def) {
    EW_ASSIGN(doubts, check_types(*def, args, types));
  }

  auto origin = std::make_shared<ir::Origin>();
  if (const auto given_name = maybe(n, "name")) {
    EW_ASSIGN(const std::string_view s, as_string(*given_name, "a node's name"));
    origin->name = std::string(s);
  } else if (!results.empty()) {
    origin->name = std::string(results[0].name);
  }
  if (const auto metadata = maybe(n, "metadata")) {
    EW_ASSIGN(const JsonObject o, as_object(*metadata, "metadata"));
    std::string_view s;
    if (const auto v = maybe(o, "nn_module_stack"); v && !v->get(s)) read_module(s, *origin);
    if (const auto v = maybe(o, "stack_trace"); v && !v->get(s)) origin->stack_trace = last_frame(s);
  }
  const ir::Op& op = def ? static_cast<const ir::Op&>(*def) : *unknown;
  ir::Node* made = g_->add(op, std::move(args), std::move(types), nullptr, std::move(origin),
                           results.size() == 1 ? std::string(results[0].name) : std::string());
  for (size_t i = 0; i < results.size(); ++i) {
    if (results.size() > 1) g_->rename(made->result(i), std::string(results[i].name));
    if (doubts.empty() || doubts[i].empty())
      made->result(i)->strides = std::move(results[i].strides);
    else
      doubtful_.emplace(made->result(i), std::move(doubts[i]));
    EW_TRY(define(results[i].name, made->result(i)));
  }
  return {};
}

Result<void> GraphReader::nodes() {
  EW_ASSIGN(const JsonArray list, array_member(json_, "nodes"));
  size_t number = 0;
  for (JsonValue v : list) {
    EW_ASSIGN(const JsonObject n, as_object(v, "a node"));
    Result<void> r = node(n);
    if (!r) {
      // The node's own name, else its first output's, else its number.
      std::string_view name, target, trace;
      std::string label = "node " + std::to_string(number);
      ir::Origin origin;
      JsonValue x;
      if (!n.at_key("name").get(x) && !x.get(name))
        label = std::string(name);
      else if (!n.at_pointer("/outputs/0/as_tensor/name").get(x) && !x.get(name))
        label = std::string(name);
      if (!n.at_key("target").get(x) && !x.get(target)) label += " (" + op_name(target) + ")";
      if (!n.at_pointer("/metadata/nn_module_stack").get(x) && !x.get(trace)) read_module(trace, origin);
      if (!n.at_pointer("/metadata/stack_trace").get(x) && !x.get(trace)) origin.stack_trace = last_frame(trace);
      return at_node(std::move(r.error()), label, &origin);
    }
    ++number;
  }
  return {};
}

Result<std::shared_ptr<Graph>> GraphReader::subgraph(JsonObject json, std::string_view name) {
  EW_TRY(start(json));
  g_->name = std::string(name);
  EW_ASSIGN(const JsonArray inputs, array_member(json, "inputs"));
  size_t number = 0;
  for (JsonValue v : inputs) {
    EW_ASSIGN(const auto u, as_union(v, "a graph input"));
    if (u.first == "as_tensor" || u.first.starts_with("as_sym_")) {
      std::vector<Result_> described;
      EW_TRY(result(u.first, u.second, described));
      if (described.size() != 1) return fail(Code::kMalformed, "a graph input without a description");
      Value* in = g_->add_input(std::string(described[0].name), std::move(described[0].type));
      in->strides = std::move(described[0].strides);
      EW_TRY(define(described[0].name, in));
    } else {
      // A plain number still takes its place among the operands.
      EW_ASSIGN(const Arg a, arg(u.first, u.second));
      ir::ScalarType t;
      if (a.i())
        t.expr = Dim(*a.i());
      else if (a.f())
        t.kind = ir::ScalarKind::kFloat;
      else if (a.b())
        t.kind = ir::ScalarKind::kBool;
      else
        return fail(Code::kUnsupported, "a subgraph's input of kind '{}'", u.first);
      g_->add_input("in" + std::to_string(number), t);
    }
    ++number;
  }
  EW_TRY(nodes());
  EW_ASSIGN(const JsonArray outputs, array_member(json, "outputs"));
  for (JsonValue v : outputs) {
    EW_ASSIGN(Arg a, arg(v));
    g_->outputs.push_back(std::move(a));
  }
  return g_;
}

// --- the whole program ---

// One view of one storage.
using Region = std::tuple<const std::byte*, DType, std::vector<int64_t>, std::vector<int64_t>>;
std::optional<Region> region_of(const ir::Tensor& t) {
  if (t.numel() == 0) return std::nullopt;
  return Region{t.data, t.dtype, t.sizes, t.strides};
}

class ProgramReader {
 public:
  ProgramReader(const Weights& weights) : weights_(weights), shared_{.weights = weights}, reader_(shared_, 0) {}
  Result<ir::Program> read(JsonValue root, const Bytes& samples);

 private:
  struct Held {  // a parameter, buffer or constant
    std::string_view fqn, arg;
  };
  Result<void> check_version(JsonObject program);
  Result<void> find_mutated(JsonArray output_specs);
  Result<void> inputs(JsonArray graph_inputs, JsonArray specs);
  Result<void> held(std::string_view kind, JsonObject spec);
  Result<void> user_input(JsonValue graph_input, JsonObject spec);
  Result<void> constant_input(JsonObject spec);
  Result<void> outputs(JsonArray graph_outputs, JsonArray specs);
  Result<void> names_and_samples(JsonObject module, const Bytes& samples);
  Result<void> ranges(JsonObject program);

  const Weights& weights_;
  Shared shared_;
  GraphReader reader_;
  ir::Program program_;
  std::unordered_set<std::string_view> mutated_;
  std::set<Region> mutated_regions_;
  std::unordered_map<std::string_view, Value*> by_fqn_;
  std::map<Region, Value*> by_region_;
};

Result<void> ProgramReader::check_version(JsonObject program) {
  EW_ASSIGN(const JsonObject v, object_member(program, "schema_version"));
  EW_ASSIGN(const JsonValue major_value, member(v, "major"));
  EW_ASSIGN(const int64_t major, as_int(major_value, "schema_version.major"));
  if (major < 7 || major > 8)
    return fail(Code::kUnsupported, "export schema version {}; 7 and 8 are read (torch 2.5 to 2.15)", major);
  if (const auto t = maybe(program, "torch_version")) {
    EW_ASSIGN(const std::string_view s, as_string(*t, "torch_version"));
    program_.torch_version = std::string(s);
  }
  return {};
}

// A buffer that the signature says is written becomes a state from the start.
Result<void> ProgramReader::find_mutated(JsonArray output_specs) {
  for (JsonValue v : output_specs) {
    EW_ASSIGN(const auto u, as_union(v, "an output spec"));
    const bool buffer = u.first == "buffer_mutation";
    if (!buffer && u.first != "parameter_mutation") continue;
    EW_ASSIGN(const JsonObject o, as_object(u.second, u.first));
    EW_ASSIGN(const std::string_view name, string_member(o, buffer ? "buffer_name" : "parameter_name"));
    mutated_.insert(name);
    // What is tied to it is mutated too.
    if (const auto t = weights_.find(name))
      if (auto region = region_of(*t)) mutated_regions_.insert(std::move(*region));
  }
  return {};
}

Result<void> ProgramReader::held(std::string_view kind, JsonObject spec) {
  EW_ASSIGN(const JsonObject arg, object_member(spec, "arg"));
  EW_ASSIGN(const std::string_view arg_name, string_member(arg, "name"));
  EW_ASSIGN(const std::string_view fqn, string_member(spec, kind == "parameter" ? "parameter_name"
                                                            : kind == "buffer"  ? "buffer_name"
                                                                                : "tensor_constant_name"));
  if (weights_.has_parts(fqn) && !mutated_.contains(fqn)) {
    shared_.subclasses.emplace(arg_name, fqn);  // refused where it is used as a whole
    return {};
  }
  EW_ASSIGN(ir::Tensor t, weights_.find(fqn));
  EW_ASSIGN(const TensorMeta meta, reader_.tensor_meta(arg_name));
  const ir::TensorType have{t.dtype, ir::Shape(t.sizes.begin(), t.sizes.end())};
  if (have != meta.type)
    return fail(Code::kMalformed, "tensor '{}' is {} but the graph takes it as {}", fqn, ir::str(have),
                ir::str(meta.type));
  const auto region = region_of(t);
  Value* v = nullptr;
  if (region)
    if (const auto it = by_region_.find(*region); it != by_region_.end()) v = it->second;
  if (!v) {
    const bool state = mutated_.contains(fqn) || (region && mutated_regions_.contains(*region));
    v = state ? reader_.graph().add_state(std::string(fqn), std::move(t))
              : reader_.graph().add_constant(std::string(fqn), std::move(t));
    if (region) by_region_.emplace(*region, v);
  }
  by_fqn_.emplace(fqn, v);
  return reader_.define(arg_name, v);
}

Result<void> ProgramReader::user_input(JsonValue graph_input, JsonObject spec) {
  EW_ASSIGN(const JsonValue arg, member(spec, "arg"));
  EW_ASSIGN(const auto u, as_union(arg, "a user input"));
  EW_ASSIGN(const auto in_graph, as_union(graph_input, "a graph input"));
  if (in_graph.first != u.first)
    return fail(Code::kMalformed, "the signature and the graph disagree on an input ('{}', '{}')", u.first,
                in_graph.first);
  ir::InputLeaf leaf;
  std::string_view name;
  if (u.first == "as_tensor") {
    EW_ASSIGN(const JsonObject o, as_object(u.second, "a tensor argument"));
    EW_ASSIGN(name, string_member(o, "name"));
    EW_ASSIGN(TensorMeta m, reader_.tensor_meta(name));
    leaf.value = reader_.graph().add_input(std::string(name), std::move(m.type));
    leaf.value->strides = std::move(m.strides);
    if (m.has_example && std::find(m.example_sizes.begin(), m.example_sizes.end(), 0) == m.example_sizes.end()) {
      int64_t expected = 1;
      bool contiguous = true;
      for (size_t i = m.example_sizes.size(); i-- > 0;) {
        contiguous &= m.example_sizes[i] == 1 || m.example_strides[i] == expected;
        expected = static_cast<int64_t>(static_cast<uint64_t>(expected) * static_cast<uint64_t>(m.example_sizes[i]));
      }
      if (!contiguous) leaf.strides = std::move(m.example_strides);
    }
  } else if (u.first == "as_sym_int" || u.first == "as_sym_float" || u.first == "as_sym_bool") {
    EW_ASSIGN(const auto s, as_union(u.second, "a symbolic input"));
    if (s.first != "as_name") return fail(Code::kMalformed, "a symbolic input is of kind '{}'", s.first);
    EW_ASSIGN(name, as_string(s.second, "an input's name"));
    EW_ASSIGN(Type t, reader_.type_of(u.first, name));
    leaf.value = reader_.graph().add_input(std::string(name), std::move(t));
  } else {
    // A constant, a custom object (refused) or something new.
    EW_ASSIGN(leaf.fixed, reader_.arg(u.first, u.second));
  }
  leaf.name = std::string(name);
  if (leaf.value) EW_TRY(reader_.define(name, leaf.value));
  program_.inputs.push_back(std::move(leaf));
  return {};
}

Result<void> ProgramReader::constant_input(JsonObject spec) {
  EW_ASSIGN(const std::string_view name, string_member(spec, "name"));
  EW_ASSIGN(const JsonValue value, member(spec, "value"));
  EW_ASSIGN(const auto u, as_union(value, "a fixed input"));
  ir::InputLeaf leaf;
  leaf.name = std::string(name);
  if (u.first != "as_none" && u.first != "as_int" && u.first != "as_float" && u.first != "as_string" &&
      u.first != "as_bool")
    return fail(Code::kMalformed, "a fixed input of kind '{}'", u.first);
  bool flag;
  if (u.first == "as_int" && !u.second.get(flag)) {
    leaf.fixed = flag;  // torch 2.5 writes a bool so
  } else {
    EW_ASSIGN(leaf.fixed, reader_.arg(u.first, u.second));
  }
  program_.inputs.push_back(std::move(leaf));
  return {};
}

Result<void> ProgramReader::inputs(JsonArray graph_inputs, JsonArray specs) {
  if (graph_inputs.size() != specs.size())
    return fail(Code::kMalformed, "the graph has {} inputs, its signature {}", graph_inputs.size(), specs.size());
  auto in = graph_inputs.begin();
  for (JsonValue v : specs) {
    const JsonValue graph_input = *in;
    ++in;
    EW_ASSIGN(const auto u, as_union(v, "an input spec"));
    EW_ASSIGN(const JsonObject o, as_object(u.second, u.first));
    if (u.first == "user_input") {
      EW_TRY(user_input(graph_input, o));
    } else if (u.first == "constant_input") {
      EW_TRY(constant_input(o));
    } else if (u.first == "parameter" || u.first == "buffer" || u.first == "tensor_constant") {
      EW_TRY(held(u.first, o));
    } else if (u.first == "custom_obj") {
      EW_ASSIGN(const std::string_view name, string_member(o, "custom_obj_name"));
      return fail(Code::kUnsupported, "the program takes a custom object, '{}'", name);
    } else if (u.first == "token") {
      return fail(Code::kUnsupported, "the program takes a token that orders side effects");
    } else {
      return fail(Code::kMalformed, "an input spec of kind '{}'", u.first);
    }
  }
  return {};
}

Result<void> ProgramReader::outputs(JsonArray graph_outputs, JsonArray specs) {
  if (graph_outputs.size() != specs.size())
    return fail(Code::kMalformed, "the graph has {} outputs, its signature {}", graph_outputs.size(), specs.size());
  Graph& g = reader_.graph();
  auto out = graph_outputs.begin();
  for (JsonValue v : specs) {
    EW_ASSIGN(Arg in_graph, reader_.arg(*out));
    ++out;
    EW_ASSIGN(const auto u, as_union(v, "an output spec"));
    EW_ASSIGN(const JsonObject o, as_object(u.second, u.first));
    EW_ASSIGN(const JsonValue arg_value, member(o, "arg"));
    const auto mutation = [&](std::string_view key, const auto& find) -> Result<void> {
      EW_ASSIGN(const std::string_view name, string_member(o, key));
      EW_ASSIGN(const JsonObject arg, as_object(arg_value, "arg"));
      EW_ASSIGN(const std::string_view value, string_member(arg, "name"));
      Value* target = find(name);
      if (!target) return fail(Code::kMalformed, "{} of '{}', which is no input", u.first, name);
      if (!in_graph.value() || in_graph.value() != reader_.find(value))
        return fail(Code::kMalformed, "the signature and the graph disagree on {} of '{}'", u.first, name);
      if (target->type.index() != in_graph.value()->type.index())
        return fail(Code::kMalformed, "{} of '{}' with a value of another kind", u.first, name);
      g.writes.push_back({target, in_graph.value()});
      return {};
    };
    const auto held = [&](std::string_view name) -> Value* {
      const auto it = by_fqn_.find(name);
      return it == by_fqn_.end() || it->second->kind != ir::ValueKind::kState ? nullptr : it->second;
    };
    if (u.first == "user_output") {
      EW_ASSIGN(const Arg said, reader_.arg(arg_value));
      // Compared by kind and value; NaN is not equal to itself.
      if (said.v.index() != in_graph.v.index() || (said.value() && said.value() != in_graph.value()))
        return fail(Code::kMalformed, "the signature and the graph disagree on output {}", g.outputs.size());
      g.outputs.push_back(std::move(in_graph));
      program_.outputs.emplace_back();
    } else if (u.first == "buffer_mutation") {
      EW_TRY(mutation("buffer_name", held));
    } else if (u.first == "parameter_mutation") {
      EW_TRY(mutation("parameter_name", held));
    } else if (u.first == "user_input_mutation") {
      EW_TRY(mutation("user_input_name", [&](std::string_view name) -> Value* {
        Value* x = reader_.find(name);
        return x && x->kind == ir::ValueKind::kInput ? x : nullptr;
      }));
    } else if (u.first == "token") {
      return fail(Code::kUnsupported, "the program gives a token that orders side effects");
    } else if (u.first == "loss_output" || u.first == "gradient_to_parameter" || u.first == "gradient_to_user_input") {
      return fail(Code::kUnsupported, "a training program (it has a {})", u.first);
    } else {
      return fail(Code::kMalformed, "an output spec of kind '{}'", u.first);
    }
  }
  return {};
}

std::optional<ir::Program::Sample> sample_of(const TreeSpec& spec, PyRef object) {
  std::vector<PyRef> flat;
  if (!flatten(spec, object, flat)) return std::nullopt;
  ir::Program::Sample s;
  for (PyRef r : flat) {
    if (r->as<PyNone>())
      s.leaves.emplace_back(std::monostate{});
    else if (const auto* t = r->as<ir::Tensor>())
      s.leaves.emplace_back(*t);
    else if (const auto* i = r->as<int64_t>())
      s.leaves.emplace_back(*i);
    else if (const auto* d = r->as<double>())
      s.leaves.emplace_back(*d);
    else if (const auto* b = r->as<bool>())
      s.leaves.emplace_back(*b);
    else if (const auto* text = r->as<std::string>())
      s.leaves.emplace_back(*text);
    else
      return std::nullopt;
  }
  return s;
}

Result<void> ProgramReader::names_and_samples(JsonObject module, const Bytes& samples) {
  EW_ASSIGN(const JsonArray calls, array_member(module, "module_call_graph"));
  for (JsonValue v : calls) {
    EW_ASSIGN(const JsonObject entry, as_object(v, "a module call entry"));
    EW_ASSIGN(const std::string_view fqn, string_member(entry, "fqn"));
    const auto signature = maybe(entry, "signature");
    if (!fqn.empty() || !signature) continue;
    EW_ASSIGN(const JsonObject o, as_object(*signature, "a module call signature"));
    EW_ASSIGN(const std::string_view in_text, string_member(o, "in_spec"));
    EW_ASSIGN(const std::string_view out_text, string_member(o, "out_spec"));
    EW_ASSIGN(const TreeSpec in, parse_treespec(in_text));
    EW_ASSIGN(const TreeSpec out, parse_treespec(out_text));
    program_.in_spec = in.str();
    program_.out_spec = out.str();
    std::vector<std::string> in_names = input_names(in), out_names;
    out.names("out", out_names);
    if (in_names.size() != program_.inputs.size())
      return fail(Code::kMalformed, "the input spec has {} leaves, the signature {} inputs", in_names.size(),
                  program_.inputs.size());
    if (out_names.size() != program_.outputs.size())
      return fail(Code::kMalformed, "the output spec has {} leaves, the signature {} outputs", out_names.size(),
                  program_.outputs.size());
    for (size_t i = 0; i < in_names.size(); ++i) program_.inputs[i].name = std::move(in_names[i]);
    for (size_t i = 0; i < out_names.size(); ++i) program_.outputs[i].name = std::move(out_names[i]);
    if (!samples.data.empty()) {
      auto p = read_torch_save(samples);
      // Samples of other classes are not the program: it can be read without them.
      if (p)
        program_.sample_inputs = sample_of(in, p->root);
      else if (p.error().code != Code::kUnsupported)
        return with_note(std::move(p.error()), "sample inputs");
    }
    return {};
  }
  for (size_t i = 0; i < program_.outputs.size(); ++i) program_.outputs[i].name = "out[" + std::to_string(i) + "]";
  return {};
}

Result<void> ProgramReader::ranges(JsonObject program) {
  EW_ASSIGN(const JsonObject constraints, object_member(program, "range_constraints"));
  // Absent, null, infinite or beyond 64 bits: no bound.
  const auto bound = [](JsonObject o, std::string_view key, int64_t none) -> Result<int64_t> {
    const auto v = maybe(o, key);
    int64_t i = 0;
    uint64_t u = 0;
    if (!v || !v->get(u) || !v->get(i)) return v && !v->get(i) ? i : none;
    EW_ASSIGN(const double d, as_double(*v, key));
    if (!std::isinf(d)) return fail(Code::kMalformed, "{} is not an int", key);
    return none;
  };
  for (const auto [key, value] : constraints) {
    EW_ASSIGN(const JsonObject o, as_object(value, "a range constraint"));
    EW_ASSIGN(const Dim d, Dim::parse(key));
    ir::Range r;
    EW_ASSIGN(r.lo, bound(o, "min_val", INT64_MIN));
    EW_ASSIGN(r.hi, bound(o, "max_val", ir::kMaxDim));
    if (r.lo > r.hi) return fail(Code::kMalformed, "the range of '{}' is empty: [{}, {}]", key, r.lo, r.hi);
    std::vector<std::string> symbols;
    d.collect_symbols(symbols);
    if (symbols.size() == 1 && d == Dim::symbol(symbols[0]))
      program_.ranges[symbols[0]] = r;
    else if (!symbols.empty())
      program_.expression_ranges.emplace_back(d, r);
  }
  return {};
}

Result<ir::Program> ProgramReader::read(JsonValue root, const Bytes& samples) {
  EW_ASSIGN(const JsonObject program, as_object(root, "the program"));
  EW_TRY(check_version(program));
  EW_ASSIGN(const JsonObject module, object_member(program, "graph_module"));
  EW_ASSIGN(const JsonObject graph, object_member(module, "graph"));
  EW_ASSIGN(const JsonObject signature, object_member(module, "signature"));
  EW_ASSIGN(const JsonArray input_specs, array_member(signature, "input_specs"));
  EW_ASSIGN(const JsonArray output_specs, array_member(signature, "output_specs"));
  EW_ASSIGN(const JsonArray graph_inputs, array_member(graph, "inputs"));
  EW_ASSIGN(const JsonArray graph_outputs, array_member(graph, "outputs"));
  EW_TRY(reader_.start(graph));
  EW_TRY(ranges(program));
  EW_TRY(find_mutated(output_specs));
  EW_TRY(inputs(graph_inputs, input_specs));
  EW_TRY(reader_.nodes());
  EW_TRY(outputs(graph_outputs, output_specs));
  EW_TRY(names_and_samples(module, samples));
  program_.graph = reader_.share();
  return std::move(program_);
}

}  // namespace

Result<ir::Program> build_program(JsonValue root, const Weights& weights, const Bytes& sample_inputs) {
  return ProgramReader(weights).read(root, sample_inputs);
}

}  // namespace edgewright::read
