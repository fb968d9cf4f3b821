#include "ir/graph.h"

#include <algorithm>
#include <cstring>
#include <functional>

namespace edgewright::ir {

std::string str(const Type& t) {
  if (const auto* x = std::get_if<TensorType>(&t)) {
    std::string s(name(x->dtype));
    s += '[';
    for (size_t i = 0; i < x->shape.size(); ++i) s += (i ? "," : "") + x->shape[i].str();
    return s + ']';
  }
  const auto& s = std::get<ScalarType>(t);
  if (s.kind == ScalarKind::kFloat) return "float";
  if (s.kind == ScalarKind::kBool) return "bool";
  return s.expr ? "int(" + s.expr->str() + ")" : "int";
}

Arg Arg::ints(const std::vector<int64_t>& xs) { return ArgList(xs.begin(), xs.end()); }
Arg Arg::values(const std::vector<Value*>& xs) { return ArgList(xs.begin(), xs.end()); }

namespace {
Arg parse_default(std::string_view s) {
  if (s == "None" || s.empty()) return {};
  if (s == "True") return true;
  if (s == "False") return false;
  if (s.front() == '[') {
    ArgList l;
    size_t at = 1;
    while (at < s.size() && s[at] != ']') {
      const size_t end = s.find_first_of(",]", at);
      std::string_view item = s.substr(at, end - at);
      while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
      if (!item.empty()) l.push_back(parse_default(item));
      at = end + (s[end] == ',' ? 1 : 0);
    }
    return l;
  }
  if (s.front() == '"' || s.front() == '\'') return std::string(s.substr(1, s.size() - 2));
  const std::string text(s);
  if (text == "inf") return INFINITY;
  if (text == "-inf") return -INFINITY;
  char* end = nullptr;
  if (text.find_first_of(".e") == std::string::npos) {
    const int64_t v = std::strtoll(text.c_str(), &end, 10);
    if (*end == '\0') return v;
  }
  const double v = std::strtod(text.c_str(), &end);
  if (*end == '\0') return v;
  return text;  // an enum name such as contiguous_format, Mean
}

void drop_use(Value* v, const Node* n) {
  auto it = std::find(v->users.begin(), v->users.end(), n);
  EW_CHECK(it != v->users.end());
  v->users.erase(it);
}
}  // namespace

Arg default_of(const Param& p) { return parse_default(p.default_text); }

Arg Node::arg(std::string_view param) const {
  const int i = op_->schema.index_of(param);
  EW_CHECK(i >= 0);
  if (static_cast<size_t>(i) < args_.size()) return args_[static_cast<size_t>(i)];
  return default_of(op_->schema.params[static_cast<size_t>(i)]);
}

void Node::set_arg(size_t i, Arg a) {
  while (args_.size() <= i) args_.push_back(default_of(op_->schema.params[args_.size()]));
  args_[i].each_value([&](Value*& v) { drop_use(v, this); });
  args_[i] = std::move(a);
  args_[i].each_value([&](Value*& v) { v->users.push_back(this); });
}

std::vector<Value*> Node::inputs() const {
  std::vector<Value*> out;
  for (const Arg& a : args_) a.each_value([&](Value* v) { out.push_back(v); });
  return out;
}

std::string Graph::fresh_name(std::string hint) {
  if (hint.empty()) hint = "v";
  for (char& c : hint)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') c = '_';
  if (names_.insert(hint).second) return hint;
  int& n = next_suffix_[hint];
  for (;;) {
    std::string s = hint + "_" + std::to_string(++n);
    if (names_.insert(s).second) return s;
  }
}

bool Graph::rename(Value* v, std::string name) {
  if (name == v->name) return true;
  if (name.empty() || names_.contains(name)) return false;
  for (char c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.') return false;
  names_.erase(v->name);
  names_.insert(name);
  v->name = std::move(name);
  return true;
}

Value* Graph::own(std::unique_ptr<Value> v, std::string hint) {
  v->name = fresh_name(std::move(hint));
  loose_.push_back(std::move(v));
  return loose_.back().get();
}

Value* Graph::add_input(std::string name, Type type) {
  auto v = std::make_unique<Value>();
  v->kind = ValueKind::kInput;
  v->type = std::move(type);
  inputs_.push_back(own(std::move(v), std::move(name)));
  return inputs_.back();
}

namespace {
std::unique_ptr<Value> with_data(ValueKind kind, Tensor data) {
  auto v = std::make_unique<Value>();
  v->kind = kind;
  v->type = TensorType{data.dtype, Shape(data.sizes.begin(), data.sizes.end())};
  v->strides = data.strides;
  v->data = std::make_shared<Tensor>(std::move(data));
  return v;
}
}  // namespace

Value* Graph::add_constant(std::string name, Tensor data) {
  return own(with_data(ValueKind::kConstant, std::move(data)), std::move(name));
}
Value* Graph::add_state(std::string name, Tensor initial) {
  return own(with_data(ValueKind::kState, std::move(initial)), std::move(name));
}

std::vector<Value*> Graph::constants() const {
  std::vector<Value*> out;
  for (const auto& v : loose_)
    if (v->kind == ValueKind::kConstant) out.push_back(v.get());
  return out;
}
std::vector<Value*> Graph::states() const {
  std::vector<Value*> out;
  for (const auto& v : loose_)
    if (v->kind == ValueKind::kState) out.push_back(v.get());
  return out;
}

Node* Graph::add(const Op& op, std::vector<Arg> args, std::vector<Type> result_types, Node* before,
                 std::shared_ptr<const Origin> origin, std::string name_hint) {
  auto n = std::make_unique<Node>();
  n->op_ = &op;
  n->graph_ = this;
  n->args_ = std::move(args);
  n->origin = std::move(origin);
  if (name_hint.empty()) {  // "aten.add.Tensor" -> "add"
    const size_t dot = op.name.find('.');
    name_hint = dot == std::string::npos ? op.name : op.name.substr(dot + 1);
    if (const size_t second = name_hint.find('.'); second != std::string::npos) name_hint.resize(second);
  }
  for (size_t i = 0; i < result_types.size(); ++i) {
    auto v = std::make_unique<Value>();
    v->name = fresh_name(result_types.size() > 1 ? name_hint + "_" + std::to_string(i) : name_hint);
    v->type = std::move(result_types[i]);
    v->producer = n.get();
    v->result_index = i;
    n->results_.push_back(std::move(v));
  }
  Node* raw = n.get();
  for (Arg& a : n->args_) a.each_value([&](Value*& v) { v->users.push_back(raw); });
  n->self_ = nodes_.insert(before ? before->self_ : nodes_.end(), nullptr);
  *n->self_ = std::move(n);
  return raw;
}

void Graph::erase(Node* n) {
  for (const auto& r : n->results_) {
    EW_CHECK(r->users.empty());
    names_.erase(r->name);
  }
  for (Arg& a : n->args_) a.each_value([&](Value*& v) { drop_use(v, n); });
  nodes_.erase(n->self_);
}

void Graph::replace_all_uses(Value* from, Value* to) {
  if (from == to) return;
  const std::vector<Node*> users = std::move(from->users);
  from->users.clear();
  for (Node* n : users) {
    bool done = false;  // `users` has one entry per use: replace one use for each entry
    for (Arg& a : n->args_)
      a.each_value([&](Value*& v) {
        if (!done && v == from) {
          v = to;
          done = true;
        }
      });
    to->users.push_back(n);
  }
  for (Arg& a : outputs)
    a.each_value([&](Value*& v) {
      if (v == from) v = to;
    });
  for (Write& w : writes)
    if (w.value == from) w.value = to;
}

bool Graph::is_output(const Value* v) const {
  bool found = false;
  for (const Arg& a : outputs) a.each_value([&](const Value* x) { found |= x == v; });
  for (const Write& w : writes) found |= w.value == v;
  return found;
}

void Graph::remove_unused_constants() {
  std::unordered_set<const Value*> kept;
  for (const Arg& a : outputs) a.each_value([&](const Value* x) { kept.insert(x); });
  for (const Write& w : writes) {
    kept.insert(w.value);
    kept.insert(w.target);
  }
  std::erase_if(loose_, [&](const std::unique_ptr<Value>& v) {
    if (v->kind == ValueKind::kInput || !v->users.empty() || kept.contains(v.get())) return false;
    names_.erase(v->name);
    return true;
  });
}

std::vector<Node*> Graph::snapshot() const {
  std::vector<Node*> out;
  out.reserve(nodes_.size());
  for (const auto& n : nodes_) out.push_back(n.get());
  return out;
}

void Graph::move_before(Node* n, Node* before) {
  nodes_.splice(before ? before->self_ : nodes_.end(), nodes_, n->self_);
}

Node* Graph::next(Node* n) const {
  auto it = std::next(n->self_);
  return it == nodes_.end() ? nullptr : it->get();
}

Node* Graph::previous(Node* n) const { return n->self_ == nodes_.begin() ? nullptr : std::prev(n->self_)->get(); }

bool Graph::is_before(const Node* a, const Node* b) const {
  for (const auto& n : nodes_) {
    if (n.get() == b) return false;
    if (n.get() == a) return true;
  }
  return false;
}

namespace {
struct Hasher {
  uint64_t h = 0xcbf29ce484222325;
  void bytes(const void* p, size_t n) {
    const auto* b = static_cast<const unsigned char*>(p);
    for (size_t i = 0; i < n; ++i) h = (h ^ b[i]) * 0x100000001b3;
  }
  void word(uint64_t x) { bytes(&x, 8); }
  void text(std::string_view s) {
    word(s.size());
    bytes(s.data(), s.size());
  }
};
}  // namespace

uint64_t Graph::hash() const {
  Hasher h;
  std::unordered_map<const Value*, uint64_t> number;
  const auto id = [&](const Value* v) {
    auto [it, fresh] = number.try_emplace(v, number.size());
    return it->second;
  };
  const std::function<void(const Arg&)> arg = [&](const Arg& a) {
    h.word(a.v.index());
    if (Value* v = a.value()) {
      const bool first = !number.contains(v);
      h.word(id(v));
      if (first && v->data) {  // large constants by address: bytes behind one address do not change
        h.text(str(v->type));
        if (v->data->nbytes() <= 256) {
          const Tensor t = v->data->contiguous();
          h.bytes(t.data, t.nbytes());
        } else {
          h.word(reinterpret_cast<uintptr_t>(v->data->data));
        }
      }
    } else if (const auto* l = a.list()) {
      h.word(l->size());
      for (const Arg& x : *l) arg(x);
    } else if (a.i()) {
      h.word(static_cast<uint64_t>(*a.i()));
    } else if (a.f()) {
      h.bytes(a.f(), 8);
    } else if (a.b()) {
      h.word(*a.b());
    } else if (a.s()) {
      h.text(*a.s());
    } else if (a.dtype()) {
      h.word(static_cast<uint64_t>(*a.dtype()));
    } else if (a.graph()) {
      h.word((*a.graph())->hash());
    }
  };
  for (const Value* v : inputs_) {
    h.word(id(v));
    h.text(str(v->type));
  }
  for (const auto& n : nodes_) {
    h.text(n->name());
    for (const Arg& a : n->args()) arg(a);
    for (const auto& r : n->results_) {
      h.word(id(r.get()));
      h.text(str(r->type));
    }
  }
  for (const Arg& a : outputs) arg(a);
  for (const Write& w : writes) {
    arg(Arg(w.target));
    arg(Arg(w.value));
  }
  return h.h;
}

std::shared_ptr<Graph> Graph::clone(std::unordered_map<const Value*, Value*>* map) const {
  auto g = std::make_shared<Graph>();
  std::unordered_map<const Value*, Value*> local;
  auto& to = map ? *map : local;
  g->name = name;
  g->foreign_ops = foreign_ops;
  for (const auto& v : loose_) {
    Value* c = nullptr;
    if (v->kind == ValueKind::kInput) c = g->add_input(v->name, v->type);
    if (v->kind == ValueKind::kConstant) c = g->add_constant(v->name, *v->data);
    if (v->kind == ValueKind::kState) c = g->add_state(v->name, *v->data);
    c->strides = v->strides;
    to[v.get()] = c;
  }
  const std::function<Arg(const Arg&)> copy = [&](const Arg& a) -> Arg {
    if (Value* v = a.value()) return to.at(v);
    if (const auto* l = a.list()) {
      ArgList out;
      for (const Arg& x : *l) out.push_back(copy(x));
      return out;
    }
    if (a.graph() && *a.graph()) return (*a.graph())->clone();
    return a;
  };
  for (const auto& n : nodes_) {
    std::vector<Arg> args;
    for (const Arg& a : n->args()) args.push_back(copy(a));
    std::vector<Type> types;
    for (const auto& r : n->results_) types.push_back(r->type);
    Node* c = g->add(n->op(), std::move(args), std::move(types), nullptr, n->origin);
    for (const auto& r : c->results_) g->names_.erase(r->name);  // all first: one's own name may be another's fresh one
    for (size_t i = 0; i < n->num_results(); ++i) {
      Value* r = c->result(i);
      r->name = n->result(i)->name;
      g->names_.insert(r->name);
      r->strides = n->result(i)->strides;
      to[n->result(i)] = r;
    }
  }
  for (const Arg& a : outputs) g->outputs.push_back(copy(a));
  for (const Write& w : writes) g->writes.push_back({to.at(w.target), to.at(w.value)});
  return g;
}

}  // namespace edgewright::ir
