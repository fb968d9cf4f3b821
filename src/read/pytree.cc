#include "read/pytree.h"

#include <unordered_map>

namespace edgewright::read {

namespace {
constexpr int kMaxDepth = 64;

// A dict key as it stands in a context: a string, or another plain constant by its text.
Result<std::string> key_text(JsonValue v) {
  std::string_view s;
  if (!v.get(s)) return std::string(s);
  int64_t i = 0;
  if (!v.get(i)) return std::to_string(i);
  return std::string(simdjson::minify(v));
}

Result<void> parse_keys(std::string_view context, TreeSpec& spec) {
  EW_ASSIGN(const auto doc, parse_json(context));
  JsonValue keys = doc->root;
  // collections.defaultdict's context is [factory, keys].
  if (spec.type == "collections.defaultdict") {
    JsonArray pair;
    JsonValue second;
    if (doc->root.get(pair) || pair.at(1).get(second))
      return fail(Code::kMalformed, "a defaultdict's context has no keys");
    keys = second;
  }
  EW_ASSIGN(const JsonArray list, as_array(keys, "a dict's context"));
  for (JsonValue k : list) {
    EW_ASSIGN(std::string text, key_text(k));
    spec.keys.push_back(std::move(text));
  }
  if (spec.keys.size() != spec.children.size())
    return fail(Code::kMalformed, "a dict's context has {} keys for {} values", spec.keys.size(), spec.children.size());
  return {};
}

// The attributes that the children of a user's own class are, where its context names as many as there are children.
std::vector<std::string> attributes(std::string_view context, size_t children) {
  const auto doc = parse_json(context);
  JsonArray names;
  if (!doc || (*doc)->root.get(names)) return {};
  if (JsonArray fields; !names.at(0).get(fields)) names = fields;
  std::vector<std::string> out;
  for (JsonValue n : names) {
    std::string_view s;
    if (n.get(s)) return {};
    out.emplace_back(s);
  }
  return out.size() == children ? out : std::vector<std::string>{};
}

Result<TreeSpec> parse_node(JsonValue v, int depth) {
  if (depth > kMaxDepth) return fail(Code::kMalformed, "a tree spec nested deeper than {}", kMaxDepth);
  EW_ASSIGN(const JsonObject o, as_object(v, "a tree spec"));
  EW_ASSIGN(const JsonArray children, array_member(o, "children_spec"));
  TreeSpec spec;
  const auto type = maybe(o, "type");
  if (!type) {
    if (children.size() != 0) return fail(Code::kMalformed, "a leaf of a tree spec has children");
    return spec;
  }
  EW_ASSIGN(const std::string_view type_name, as_string(*type, "a tree spec's type"));
  spec.type = std::string(type_name);
  for (JsonValue c : children) {
    EW_ASSIGN(TreeSpec child, parse_node(c, depth + 1));
    spec.children.push_back(std::move(child));
  }
  if (spec.type == "builtins.tuple" || spec.type == "torch.Size") {
    spec.kind = TreeSpec::Kind::kTuple;
  } else if (spec.type == "builtins.list" || spec.type == "collections.deque") {
    spec.kind = TreeSpec::Kind::kList;
  } else if (spec.type == "builtins.dict" || spec.type == "collections.OrderedDict" ||
             spec.type == "collections.defaultdict") {
    spec.kind = TreeSpec::Kind::kDict;
    EW_ASSIGN(const std::string_view context, string_member(o, "context"));
    EW_TRY(parse_keys(context, spec));
  } else {
    spec.kind = TreeSpec::Kind::kOther;
    std::string_view context;
    if (const auto c = maybe(o, "context"); c && !c->get(context))
      spec.keys = attributes(context, spec.children.size());
  }
  return spec;
}
}  // namespace

Result<TreeSpec> parse_treespec(std::string_view text) {
  EW_ASSIGN(const auto doc, parse_json(text));
  EW_ASSIGN(const JsonArray a, as_array(doc->root, "a tree spec"));
  JsonValue version, root;
  int64_t number = 0;
  if (a.at(0).get(version) || version.get(number) || a.at(1).get(root))
    return fail(Code::kMalformed, "a tree spec without version or root");
  if (number != 1) return fail(Code::kUnsupported, "tree spec version {}", number);
  return parse_node(root, 0);
}

size_t TreeSpec::num_leaves() const {
  if (kind == Kind::kLeaf) return 1;
  size_t n = 0;
  for (const TreeSpec& c : children) n += c.num_leaves();
  return n;
}

std::string TreeSpec::str() const {
  if (kind == Kind::kLeaf) return "*";
  std::string s = kind == Kind::kTuple ? "(" : kind == Kind::kList ? "[" : kind == Kind::kDict ? "{" : type + "(";
  for (size_t i = 0; i < children.size(); ++i) {
    if (i) s += ", ";
    if (i < keys.size()) s += "'" + keys[i] + "': ";
    s += children[i].str();
  }
  if (kind == Kind::kTuple && children.size() == 1) s += ",";
  return s + (kind == Kind::kList ? "]" : kind == Kind::kDict ? "}" : ")");
}

void TreeSpec::names(const std::string& prefix, std::vector<std::string>& into) const {
  if (kind == Kind::kLeaf) {
    into.push_back(prefix);
    return;
  }
  for (size_t i = 0; i < children.size(); ++i)
    children[i].names(i < keys.size() ? prefix + "." + keys[i] : prefix + "[" + std::to_string(i) + "]", into);
}

std::vector<std::string> input_names(const TreeSpec& spec) {
  std::vector<std::string> out;
  if (spec.kind == TreeSpec::Kind::kTuple && spec.children.size() == 2) {
    spec.children[0].names("args", out);
    spec.children[1].names("kwargs", out);
  } else {
    spec.names("args", out);
  }
  return out;
}

namespace {
bool flatten_items(const TreeSpec& spec, const std::vector<std::pair<PyRef, PyRef>>& items, std::vector<PyRef>& into) {
  std::unordered_map<std::string, PyRef> by_key;
  for (const auto& [k, v] : items) {
    if (const auto* s = k->as<std::string>()) by_key[*s] = v;
    if (const auto* n = k->as<int64_t>()) by_key[std::to_string(*n)] = v;
  }
  for (size_t i = 0; i < spec.children.size(); ++i) {
    const auto found = by_key.find(spec.keys[i]);
    if (found == by_key.end() || !flatten(spec.children[i], found->second, into)) return false;
  }
  return true;
}
}  // namespace

bool flatten(const TreeSpec& spec, PyRef object, std::vector<PyRef>& into) {
  using Kind = TreeSpec::Kind;
  const std::vector<PyRef>* items = nullptr;
  switch (spec.kind) {
    case Kind::kLeaf: into.push_back(object); return true;
    case Kind::kDict: {
      const auto* d = object->as<PyDict>();
      if (!d || d->items.size() != spec.children.size()) return false;
      return flatten_items(spec, d->items, into);
    }
    case Kind::kTuple:
      if (const auto* t = object->as<PyTuple>()) items = &t->items;
      break;
    case Kind::kList:
      if (const auto* l = object->as<PyList>()) items = &l->items;
      break;
    case Kind::kOther: {
      const auto* o = object->as<PyRefused>();
      if (!o) return false;
      if (const auto* d = o->state ? o->state->as<PyDict>() : nullptr; d && !spec.keys.empty())
        return flatten_items(spec, d->items, into);
      if (spec.type != "collections.namedtuple") return false;
      items = &o->args;
      break;
    }
  }
  if (!items || items->size() != spec.children.size()) return false;
  for (size_t i = 0; i < items->size(); ++i)
    if (!flatten(spec.children[i], (*items)[i], into)) return false;
  return true;
}

}  // namespace edgewright::read
