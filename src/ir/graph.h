// src/ir/graph.h - Graph, Node, Value: the one representation between reading and writing. Depends on base and ir.
//
// A graph is straight-line code in single-assignment form. It owns its nodes; a node owns its results. Pointers to nodes
// and values stay valid until the node is erased. Not thread-safe while edited.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

#include "ir/schema.h"
#include "ir/tensor.h"
#include "ir/type.h"

namespace edgewright::ir {

class Graph;
class Node;
struct Value;
struct Arg;
using ArgList = std::vector<Arg>;

// One argument of a node or one output of a graph. monostate is None.
struct Arg {
  std::variant<std::monostate, Value*, int64_t, double, bool, std::string, DType, ArgList, std::shared_ptr<Graph>> v;

  Arg() = default;
  Arg(Value* x) : v(x) {}                             // NOLINT
  Arg(int64_t x) : v(x) {}                            // NOLINT
  Arg(int x) : v(static_cast<int64_t>(x)) {}          // NOLINT
  Arg(double x) : v(x) {}                             // NOLINT
  Arg(bool x) : v(x) {}                               // NOLINT
  Arg(DType x) : v(x) {}                              // NOLINT
  Arg(std::string x) : v(std::move(x)) {}             // NOLINT
  Arg(const char* x) : v(std::string(x)) {}           // NOLINT
  Arg(ArgList x) : v(std::move(x)) {}                 // NOLINT
  Arg(std::shared_ptr<Graph> g) : v(std::move(g)) {}  // NOLINT
  static Arg ints(const std::vector<int64_t>& xs);
  static Arg values(const std::vector<Value*>& xs);

  bool is_none() const { return v.index() == 0; }
  Value* value() const {
    auto* p = std::get_if<Value*>(&v);
    return p ? *p : nullptr;
  }
  const ArgList* list() const { return std::get_if<ArgList>(&v); }
  const int64_t* i() const { return std::get_if<int64_t>(&v); }
  const double* f() const { return std::get_if<double>(&v); }
  const bool* b() const { return std::get_if<bool>(&v); }
  const DType* dtype() const { return std::get_if<DType>(&v); }
  const std::string* s() const { return std::get_if<std::string>(&v); }
  const std::shared_ptr<Graph>* graph() const { return std::get_if<std::shared_ptr<Graph>>(&v); }
  // Calls f(Value*&) for every value in it, also in nested lists.
  template <class F>
  void each_value(F&& f) {
    if (auto* p = std::get_if<Value*>(&v)) f(*p);
    if (auto* l = std::get_if<ArgList>(&v))
      for (Arg& a : *l) a.each_value(f);
  }
  template <class F>
  void each_value(F&& f) const {
    const_cast<Arg*>(this)->each_value([&](Value*& x) { f(x); });
  }
  bool operator==(const Arg&) const = default;
};

// The default that a schema writes: "None", "1", "-1.5", "True", "[]", "[0,1]", "'mean'", or an enum's name as a string.
Arg default_of(const Param& p);

// Where a node came from, for messages alone; no rewrite may look at it.
struct Origin {
  std::string name;         // the exporter's node name
  std::string module_path;  // "L['self'].layer1.0.conv1"-like, as the exporter wrote it; may be empty
  std::string module_type;
  std::string stack_trace;  // last frame, "file.py:12 in forward, x = self.conv1(x)"
};

enum class ValueKind : uint8_t {
  kInput,     // given at each run
  kConstant,  // `data` holds it; never written
  kState,     // a mutated buffer: persists between runs; `data` holds the initial value
  kResult,    // of `producer`
};

struct Value {
  std::string name;  // unique in its graph
  Type type;
  ValueKind kind = ValueKind::kResult;
  Node* producer = nullptr;
  size_t result_index = 0;
  std::shared_ptr<Tensor> data;  // kConstant and kState
  std::vector<int64_t> strides;  // the exporter's example strides, for alias analysis; empty if unknown
  std::vector<Node*> users;      // one entry per use; graph outputs and writes are not in it

  const TensorType* tensor() const { return std::get_if<TensorType>(&type); }
  const ScalarType* scalar() const { return std::get_if<ScalarType>(&type); }
  bool is_constant() const { return kind == ValueKind::kConstant; }
};

class Node {
 public:
  const Op& op() const { return *op_; }
  const std::string& name() const { return op_->name; }  // of the op
  bool is(std::string_view op_name) const { return op_->name == op_name; }
  Graph& graph() const { return *graph_; }

  // Arguments in schema order; trailing ones may be missing where the schema has a default.
  const std::vector<Arg>& args() const { return args_; }
  // None where it is missing and the default is None; the parsed default otherwise.
  Arg arg(std::string_view param) const;
  void set_arg(size_t i, Arg a);
  // Every value used, in order, with repeats.
  std::vector<Value*> inputs() const;

  size_t num_results() const { return results_.size(); }
  Value* result(size_t i = 0) const { return results_[i].get(); }

  std::shared_ptr<const Origin> origin;

 private:
  friend class Graph;
  const Op* op_ = nullptr;
  Graph* graph_ = nullptr;
  std::vector<Arg> args_;
  std::vector<std::unique_ptr<Value>> results_;
  std::list<std::unique_ptr<Node>>::iterator self_;
};

// A value that the graph stores when it ends: a mutated buffer (kState) or an input that the caller sees changed (kInput).
struct Write {
  Value* target = nullptr;
  Value* value = nullptr;
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // --- values that no node makes ---
  Value* add_input(std::string name, Type type);
  Value* add_constant(std::string name, Tensor data);
  Value* add_state(std::string name, Tensor initial);
  const std::vector<Value*>& inputs() const { return inputs_; }
  // Constants and states in order of creation.
  std::vector<Value*> constants() const;
  std::vector<Value*> states() const;

  // --- nodes ---
  // Appends (or inserts before `before`) a node with results of the given types; names are made unique.
  Node* add(const Op& op, std::vector<Arg> args, std::vector<Type> result_types, Node* before = nullptr,
            std::shared_ptr<const Origin> origin = nullptr, std::string name_hint = "");
  // Removes a node whose results have no users and are not outputs.
  void erase(Node* n);
  // Every use of `from` (nodes, outputs, written values) becomes `to`.
  void replace_all_uses(Value* from, Value* to);
  // Removes unused constants and states that nothing reads or writes.
  void remove_unused_constants();
  // In execution order. Safe against erasing or inserting before the current node: copy() gives a snapshot.
  const std::list<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  std::vector<Node*> snapshot() const;
  void move_before(Node* n, Node* before);
  bool is_output(const Value* v) const;  // among outputs or written values
  Node* next(Node* n) const;             // nullptr at the end
  Node* previous(Node* n) const;         // nullptr at the start

  std::vector<Arg> outputs;   // one per output leaf: a value, a constant scalar or None
  std::vector<Write> writes;  // carried out after all nodes, in order; outputs see the values before
  std::string name;           // of a subgraph
  // Values of the enclosing scope cannot be used inside a subgraph: they are passed as its inputs.

  // A structural hash over everything that computes (not names or origins).
  uint64_t hash() const;
  std::string fresh_name(std::string hint);
  // Gives a value of this graph another name; false, and nothing done, if the name is taken or not of [A-Za-z0-9_.]+.
  bool rename(Value* v, std::string name);
  // True if `a` stands before `b`.
  bool is_before(const Node* a, const Node* b) const;
  // Ops without a definition that a file brought along; kept alive with the graph.
  std::vector<std::shared_ptr<const Op>> foreign_ops;
  // A deep copy; constants share their bytes. `map` (optional) receives old value -> new value.
  std::shared_ptr<Graph> clone(std::unordered_map<const Value*, Value*>* map = nullptr) const;

 private:
  Value* own(std::unique_ptr<Value> v, std::string hint);
  std::vector<std::unique_ptr<Value>> loose_;  // inputs, constants, states
  std::vector<Value*> inputs_;
  std::list<std::unique_ptr<Node>> nodes_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, int> next_suffix_;
};

// One leaf of the flattened positional and keyword inputs, in pytree order.
struct InputLeaf {
  std::string name;
  Value* value = nullptr;        // the graph input; null where the export fixed it
  Arg fixed;                     // the fixed int, float, bool, string or None where value is null
  std::vector<int64_t> strides;  // of the example, where it is not contiguous; empty otherwise
};
struct OutputLeaf {
  std::string name;
};

// A whole exported program (one method).
struct Program {
  std::shared_ptr<Graph> graph;
  std::string method = "forward";
  std::vector<InputLeaf> inputs;
  std::vector<OutputLeaf> outputs;  // parallel to graph->outputs
  SymbolRanges ranges;
  std::vector<std::pair<Dim, Range>> expression_ranges;  // constraints keyed by an expression
  std::string in_spec, out_spec;                         // pytree, as text for people
  std::string torch_version;
  std::string path;  // the file it came from
  struct Sample {
    std::vector<std::variant<std::monostate, Tensor, int64_t, double, bool, std::string>> leaves;
  };
  std::optional<Sample> sample_inputs;
};

// Checks structure: definition before use, unique names, users lists, data of constants, types of writes; subgraphs too.
// Op rules are ops::verify's. The text form stands in ir/text.h. Errors: `blame`.
Result<void> verify_structure(const Graph& g, Code blame = Code::kInternal);

}  // namespace edgewright::ir
