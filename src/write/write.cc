#include "write/write.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "format/pte_build.h"
#include "lower/memory_plan.h"
#include "ops/control_flow.h"
#include "ops/op_def.h"
#include "write/stock_operators.h"

namespace edgewright::write {

using ir::Node;
using ir::Value;

namespace {

std::unexpected<Error> at_node(const Node& n, Error e) {
  if (e.node.empty()) e.node = n.num_results() ? n.result()->name : n.name();
  if (e.origin.empty() && n.origin) e.origin = n.origin->module_path + " " + n.origin->stack_trace;
  return std::unexpected(std::move(e));
}

// Same bytes read the same way.
struct DataKey {
  const std::byte* data;
  DType dtype;
  std::vector<int64_t> sizes, strides;
  auto operator<=>(const DataKey&) const = default;
};
DataKey key_of(const ir::Tensor& t) { return {t.data, t.dtype, t.sizes, t.strides}; }

// What the methods of a file share: constants, delegates' payloads, named data.
struct Shared {
  pte::Program program;
  pte::Blobs blobs;
  Written out;
  std::map<DataKey, uint32_t> constants;
  std::map<std::pair<Bytes::pointer, size_t>, std::string> named;
  // Where several methods are: the place of each state in the arena of states, one place for what they share, and its initial value.
  struct State {
    uint64_t offset = 0;
    uint32_t buffer = 0;
  };
  std::map<const Value*, State> states;
  uint64_t state_bytes = 0;
  // Equal bytes of programs that were read from several files.
  bool several = false;
  std::set<std::string> custom_ops;
  std::unordered_map<size_t, std::vector<Bytes>> contents;

  // The first bytes seen that are equal to these.
  Bytes canonical(Bytes b) {
    if (!several || b.empty()) return b;
    auto& same_hash =
        contents[std::hash<std::string_view>{}({reinterpret_cast<const char*>(b.data()), b.size()}) ^ b.size()];
    for (const Bytes& o : same_hash)
      if (o.size() == b.size() && std::memcmp(o.data(), b.data(), b.size()) == 0) return o;
    same_hash.push_back(b);
    return b;
  }
  std::map<Bytes::pointer, uint32_t> constant_at;

  uint32_t constant(const ir::Tensor& t) {
    auto [it, fresh] = constants.try_emplace(key_of(t), static_cast<uint32_t>(blobs.constants.size()));
    if (fresh) {
      ir::Tensor c = t.contiguous();
      const Bytes b = canonical(c.bytes());
      if (several && !b.empty()) {
        const auto [known, is_new] = constant_at.try_emplace(b.data(), it->second);
        if (!is_new) return it->second = known->second;
      }
      out.owned.push_back(std::move(c));
      blobs.constants.push_back(b);
      out.weight_bytes += b.size();
    }
    return it->second;
  }
};

class PlanWriter {
 public:
  PlanWriter(Shared& s, const ir::Program& p) : s_(s), p_(p), g_(*p.graph) {}

  Result<pte::Plan> run() {
    plan_.name = p_.method;
    plan_.chains.emplace_back();
    plan_.values.emplace_back(pte::Null{});  // 0: None
    for (const ir::InputLeaf& leaf : p_.inputs) {
      if (leaf.value) {
        EW_ASSIGN(const int32_t id, value(leaf.value));
        plan_.inputs.push_back(id);
      } else {
        EW_ASSIGN(const int32_t id, scalar(leaf.fixed, true));
        plan_.inputs.push_back(id);
      }
    }
    step_ = 1;
    EW_TRY(emit(g_));
    for (const ir::Arg& a : g_.outputs) {
      EW_ASSIGN(const int32_t id, argument(a, nullptr));
      plan_.outputs.push_back(id);
      touch(a);
    }
    const int64_t end = step_;
    for (const ir::Write& w : g_.writes) {
      EW_ASSIGN(const int32_t to, value(w.target));
      EW_ASSIGN(const int32_t from, value(w.value));
      EW_ASSIGN(const int32_t no, scalar(ir::Arg(false), false));
      touch(ir::Arg(w.value));
      call("aten::copy.out", {to, from, no, to, to});
    }
    // Results and states live to the end; states from the start.
    for (auto& [v, slot] : planned_) {
      if (g_.is_output(v)) lives_[slot].last = end;
      if (v->kind == ir::ValueKind::kState) lives_[slot] = {lives_[slot].bytes, 0, end};
    }
    const lower::MemoryPlan memory = lower::plan_memory(lives_);
    for (auto& [v, slot] : planned_)
      std::get<pte::Tensor>(plan_.values[static_cast<size_t>(ids_.at(v))]).allocation->offset = memory.offsets[slot];
    plan_.buffer_sizes = {0, static_cast<int64_t>(memory.bytes)};
    if (has_states_) plan_.buffer_sizes.push_back(static_cast<int64_t>(s_.state_bytes));
    s_.out.arena_bytes = std::max<size_t>(s_.out.arena_bytes, memory.bytes);
    return std::move(plan_);
  }

 private:
  Result<void> emit(const ir::Graph& g) {
    for (const auto& n : g.nodes()) {
      auto r = n->is("xnn.delegate") ? delegate(*n) : ops::control_kind(n->op()) ? control_flow(*n) : kernel(*n);
      if (!r) return at_node(*n, std::move(r.error()));
      ++step_;
    }
    return {};
  }

  Result<int32_t> value(const Value* v) {
    if (auto it = ids_.find(v); it != ids_.end()) return it->second;
    if (auto it = bound_.find(v); it != bound_.end()) return argument(it->second, nullptr);
    const auto id = static_cast<int32_t>(plan_.values.size());
    if (const ir::ScalarType* s = v->scalar()) {
      if (s->kind == ir::ScalarKind::kInt) plan_.values.emplace_back(int64_t{0});
      if (s->kind == ir::ScalarKind::kFloat) plan_.values.emplace_back(0.0);
      if (s->kind == ir::ScalarKind::kBool) plan_.values.emplace_back(false);
      ids_[v] = id;
      return id;
    }
    EW_ASSIGN(pte::Tensor t, tensor(*v));
    if (v->is_constant()) {
      t.buffer = s_.constant(*v->data);
    } else if (t.dynamism == pte::Dynamism::kUnbound) {
      // The runtime allocates it as it grows.
    } else if (v->kind == ir::ValueKind::kState && s_.states.contains(v)) {
      const Shared::State& state = s_.states.at(v);
      t.allocation = pte::Allocation{2, state.offset};
      t.buffer = state.buffer;
      t.name = v->name;
      t.has_extra = true;
      has_states_ = true;
    } else if (v->kind != ir::ValueKind::kInput || slices_.contains(v)) {
      t.allocation = pte::Allocation{};
      planned_.emplace_back(v, lives_.size());
      slots_[v] = lives_.size();
      lives_.push_back({pte::byte_size(t), step_, step_});
      if (v->kind == ir::ValueKind::kState) {
        ir::Tensor c = v->data->contiguous();
        t.buffer = static_cast<uint32_t>(s_.blobs.mutable_data.size());
        s_.blobs.mutable_data.push_back(c.bytes());
        s_.out.owned.push_back(std::move(c));
        t.name = v->name;
        t.has_extra = true;
      }
    }
    plan_.values.emplace_back(std::move(t));
    ids_[v] = id;
    return id;
  }

  // Its type at the upper bounds of its sizes; where they have none, or would take more memory than anybody plans, open sizes are 0.
  Result<pte::Tensor> tensor(const Value& v) {
    constexpr int64_t kMostPlanned = int64_t{1} << 33;  // bytes
    pte::Tensor t;
    t.dtype = v.tensor()->dtype;
    const ir::Dim* open = nullptr;  // the symbolic size with the largest bound
    int64_t bytes = static_cast<int64_t>(size_of(t.dtype)), largest = 0;
    for (const ir::Dim& d : v.tensor()->shape) {
      const int64_t n = d.is_constant() ? d.value() : d.bounds(p_.ranges).hi;
      if (n < 0) return fail(Code::kMalformed, "{}: size {} is negative", v.name, d.str());
      if (n > INT32_MAX && d.is_constant())
        return fail(Code::kUnsupported, "{}: size {} is more than the file format has room for", v.name, n);
      if (!d.is_constant() && n > largest) open = &d, largest = n;
      if (__builtin_mul_overflow(bytes, std::max<int64_t>(n, 1), &bytes)) bytes = INT64_MAX;
      t.sizes.push_back(static_cast<int32_t>(std::min<int64_t>(n, INT32_MAX)));
      t.dim_order.push_back(static_cast<uint8_t>(t.dim_order.size()));
    }
    if (!open) return t;
    t.dynamism = pte::Dynamism::kBound;
    if (bytes <= kMostPlanned) return t;
    t.dynamism = pte::Dynamism::kUnbound;
    for (size_t i = 0; i < t.sizes.size(); ++i)
      if (!v.tensor()->shape[i].is_constant()) t.sizes[i] = 0;
    if (unbound_.insert(open->str()).second)
      s_.out.needs_own_runtime.push_back(fmt::format(
          "{}: size {} has {}, and the stock runtime's memory is planned ahead; export it with a maximum "
          "(torch.export.Dim(..., max=...))",
          v.name, open->str(), largest >= INT32_MAX ? "no upper bound" : fmt::format("an upper bound of {}", largest)));
    return t;
  }

  // A constant tensor that no value of the graph stands for.
  int32_t constant(const ir::Tensor& t) {
    const uint32_t buffer = s_.constant(t);
    auto [it, fresh] = constant_values_.try_emplace(buffer, static_cast<int32_t>(plan_.values.size()));
    if (fresh) {
      pte::Tensor x;
      x.dtype = t.dtype;
      x.buffer = buffer;
      for (int64_t s : t.sizes) {
        x.sizes.push_back(static_cast<int32_t>(s));
        x.dim_order.push_back(static_cast<uint8_t>(x.dim_order.size()));
      }
      plan_.values.emplace_back(std::move(x));
    }
    return it->second;
  }

  // A Python number, string or None; equal ones share a value unless `own` (inputs have one each).
  Result<int32_t> scalar(const ir::Arg& a, bool own) {
    pte::Value v = pte::Null{};
    std::string key = "none";
    if (a.i())
      v = *a.i(), key = "i" + std::to_string(*a.i());
    else if (a.f())
      v = *a.f(), key = "f" + std::to_string(std::bit_cast<uint64_t>(*a.f()));
    else if (a.b())
      v = *a.b(), key = *a.b() ? "true" : "false";
    else if (a.s())
      v = *a.s(), key = "s" + *a.s();
    else if (a.dtype())
      v = static_cast<int64_t>(*a.dtype()), key = "i" + std::to_string(static_cast<int>(*a.dtype()));
    else if (!a.is_none())
      return fail(Code::kInternal, "an argument that is no number");
    if (!own) {
      if (a.is_none()) return 0;
      if (auto it = scalars_.find(key); it != scalars_.end()) return it->second;
    }
    const auto id = static_cast<int32_t>(plan_.values.size());
    plan_.values.push_back(std::move(v));
    if (!own) scalars_[key] = id;
    return id;
  }

  // A Python number where the kernel has a tensor: a 0-dim constant, which promotes as a number does (its category alone counts,
  // next to tensors that have dims). Beside f64 it keeps all its digits.
  Result<int32_t> number(const ir::Arg& a) {
    const DType t = a.b() ? DType::b8 : a.i() ? DType::i64 : f64_ ? DType::f64 : DType::f32;
    if (!a.b() && !a.i() && !a.f()) return fail(Code::kInternal, "an argument that is no number");
    ir::Tensor c = ir::Tensor::empty(t, {});
    if (a.f())
      ir::store_f(t, c.mutable_data(), 0, *a.f());
    else
      ir::store_i(t, c.mutable_data(), 0, a.b() ? *a.b() : *a.i());
    return constant(c);
  }

  Result<int32_t> argument(const ir::Arg& a, const ir::Param* p) {
    if (Value* v = a.value()) return value(v);
    if (const auto* l = a.list()) {
      pte::Value out;
      if (p && p->kind == ir::ParamKind::kTensor) {
        std::vector<int32_t> items;
        bool optional = false;
        for (const ir::Arg& x : *l) {
          if (x.is_none()) {
            optional = true;
            items.push_back(-1);
            continue;
          }
          EW_ASSIGN(const int32_t id, value(x.value()));
          items.push_back(id);
        }
        // "Tensor?[]" has its own kind also where nothing is missing.
        if (optional || p->name == "indices")
          out = pte::OptionalTensorList{std::move(items)};
        else
          out = pte::TensorList{std::move(items)};
      } else if (p && p->kind == ir::ParamKind::kBool) {
        pte::BoolList b;
        for (const ir::Arg& x : *l) b.items.push_back(x.b() && *x.b());
        out = std::move(b);
      } else if (p && p->kind == ir::ParamKind::kFloat) {
        pte::DoubleList d;
        for (const ir::Arg& x : *l) d.items.push_back(x.f() ? *x.f() : x.i() ? static_cast<double>(*x.i()) : 0);
        out = std::move(d);
      } else {
        pte::IntList ints;
        for (const ir::Arg& x : *l) {
          EW_ASSIGN(const int32_t id, argument(x, nullptr));
          ints.items.push_back(id);
        }
        out = std::move(ints);
      }
      plan_.values.push_back(std::move(out));
      return static_cast<int32_t>(plan_.values.size() - 1);
    }
    if (p && !a.is_none()) {
      if (p->kind == ir::ParamKind::kTensor) return number(a);
      if (p->kind == ir::ParamKind::kFloat && a.i()) return scalar(ir::Arg(static_cast<double>(*a.i())), false);
      if (p->kind == ir::ParamKind::kOther) return 0;  // device, layout, memory format: None
      if (p->is_list && a.i()) return argument(ir::ArgList(static_cast<size_t>(std::max(1, p->list_size)), a), p);
    }
    return scalar(a, false);
  }

  void touch(const ir::Arg& a) {
    a.each_value([&](const Value* v) {
      if (auto it = bound_.find(v); it != bound_.end()) touch(it->second);
      if (auto it = slots_.find(v); it != slots_.end())
        lives_[it->second].last = std::max(lives_[it->second].last, step_);
    });
  }

  void call(const std::string& op, std::vector<int32_t> args) {
    auto [it, fresh] = operators_.try_emplace(op, static_cast<int32_t>(plan_.operators.size()));
    if (fresh) {
      const size_t dot = op.rfind('.');
      const size_t colons = op.rfind("::");
      const bool has = dot != std::string::npos && dot > colons;
      plan_.operators.push_back({has ? op.substr(0, dot) : op, has ? op.substr(dot + 1) : ""});
    }
    instructions().emplace_back(pte::KernelCall{it->second, std::move(args)});
  }

  // --- control flow: jumps over and back ---

  std::vector<pte::Instruction>& instructions() { return plan_.chains[0].instructions; }
  size_t here() { return instructions().size(); }
  // A jump that is taken where `condition` is false; its target is set by land() or given.
  size_t jump_unless(int32_t condition, size_t target = 0) {
    instructions().emplace_back(pte::JumpFalseCall{condition, static_cast<int32_t>(target)});
    return here() - 1;
  }
  Result<size_t> jump(size_t target = 0) {
    EW_ASSIGN(const int32_t never, scalar(ir::Arg(false), false));
    return jump_unless(never, target);
  }
  void land(size_t jump) { std::get<pte::JumpFalseCall>(instructions()[jump]).target = static_cast<int32_t>(here()); }
  int32_t fresh_scalar(pte::Value v) {
    plan_.values.push_back(std::move(v));
    return static_cast<int32_t>(plan_.values.size() - 1);
  }

  // `to` (already with a place of its own) receives what `from` holds; its sizes follow.
  Result<void> assign(const Value* to, const ir::Arg& from) {
    EW_ASSIGN(const int32_t source, argument(from, nullptr));
    EW_ASSIGN(const int32_t target, value(to));
    touch(from);
    touch(ir::Arg(const_cast<Value*>(to)));
    if (to->scalar()) {
      instructions().emplace_back(pte::MoveCall{source, target});
    } else {
      EW_ASSIGN(const int32_t no, scalar(ir::Arg(false), false));
      call("aten::copy.out", {source, source, no, target, target});
    }
    ++step_;
    return {};
  }

  // A value that no graph has, with a place of its own.
  const Value* extra(const ir::Type& type) {
    extras_.emplace_back();
    extras_.back().type = type;
    extras_.back().name = "carried_" + std::to_string(extras_.size());
    return &extras_.back();
  }

  void bind_inputs(const ir::Graph& g, size_t first, const ir::ArgList& to) {
    for (size_t i = 0; i < to.size(); ++i) bound_[g.inputs()[first + i]] = to[i];
  }

  Result<void> branch(const ir::Graph& g, const ops::ControlFlow& flow, const Node& n) {
    bind_inputs(g, 0, flow.more);
    std::vector<bool> direct(n.num_results());
    for (size_t i = 0; i < n.num_results(); ++i) {
      const Value *out = g.outputs[i].value(), *result = n.result(i);
      // What the branch computes goes straight to where the result lies. An operand or a constant is copied there.
      if (!out || out->kind != ir::ValueKind::kResult || !out->tensor() || ids_.contains(out)) continue;
      direct[i] = true;
      ids_[out] = ids_.at(result);
      if (const auto it = slots_.find(result); it != slots_.end()) slots_[out] = it->second;
    }
    EW_TRY(emit(g));
    for (size_t i = 0; i < n.num_results(); ++i) {
      if (direct[i])
        touch(ir::Arg(n.result(i)));
      else
        EW_TRY(assign(n.result(i), g.outputs[i]));
    }
    return {};
  }

  Result<void> cond(const ops::ControlFlow& flow, const Node& n) {
    for (size_t i = 0; i < n.num_results(); ++i) EW_TRY(value(n.result(i)));
    EW_ASSIGN(const int32_t predicate, argument(flow.predicate, nullptr));
    touch(flow.predicate);
    ++step_;
    const size_t to_else = jump_unless(predicate);
    EW_TRY(branch(*flow.graphs[0], flow, n));
    EW_ASSIGN(const size_t to_end, jump());
    land(to_else);
    EW_TRY(branch(*flow.graphs[1], flow, n));
    land(to_end);
    return {};
  }

  // What a round gives becomes what the next one is given, all at once: an output that is another carried value is set aside first.
  Result<void> carry(const ir::Graph& body, const std::vector<const Value*>& carried) {
    std::vector<ir::Arg> next;
    for (size_t i = 0; i < carried.size(); ++i) {
      ir::Arg from = body.outputs[i];
      const auto& in = body.inputs();
      const auto at = std::find(in.begin(), in.end(), from.value());
      if (from.value() && at != in.end()) {
        const auto k = static_cast<size_t>(at - in.begin());
        if (k == i) from = ir::Arg();  // stays
        if (k < carried.size() && k != i) {
          const Value* aside = extra(carried[i]->type);
          EW_TRY(assign(aside, from));
          from = ir::Arg(const_cast<Value*>(aside));
        }
      }
      next.push_back(from);
    }
    for (size_t i = 0; i < carried.size(); ++i)
      if (!next[i].is_none()) EW_TRY(assign(carried[i], next[i]));
    return {};
  }

  // Whatever the loop read from outside is needed until its last round ends.
  void end_loop(int64_t first_step) {
    for (lower::Lifetime& l : lives_)
      if (l.first < first_step && l.last >= first_step) l.last = step_;
  }

  Result<void> while_loop(const ops::ControlFlow& flow, const Node& n) {
    std::vector<const Value*> carried;
    for (size_t i = 0; i < n.num_results(); ++i) carried.push_back(n.result(i));
    for (const Value* v : carried) EW_TRY(value(v));
    for (size_t i = 0; i < carried.size(); ++i) EW_TRY(assign(carried[i], flow.carried[i]));
    for (const auto& g : flow.graphs) {
      for (size_t i = 0; i < carried.size(); ++i) bound_[g->inputs()[i]] = ir::Arg(const_cast<Value*>(carried[i]));
      bind_inputs(*g, carried.size(), flow.more);
    }
    const int64_t first_step = ++step_;
    const size_t head = here();
    EW_TRY(emit(*flow.graphs[0]));
    EW_ASSIGN(const int32_t go, argument(flow.graphs[0]->outputs[0], nullptr));
    touch(flow.graphs[0]->outputs[0]);
    const size_t to_end = jump_unless(go);
    EW_TRY(emit(*flow.graphs[1]));
    EW_TRY(carry(*flow.graphs[1], carried));
    EW_TRY(jump(head));
    land(to_end);
    for (const Value* v : carried) touch(ir::Arg(const_cast<Value*>(v)));
    end_loop(first_step);
    return {};
  }

  // map, scan, associative_scan: rounds over the first dim of xs. Results are collected row by row, in tensors whose first size
  // grows with them.
  Result<void> rounds(const ops::ControlFlow& flow, const Node& n) {
    const bool pairs = flow.kind == ops::ControlKind::kAssociativeScan;
    const ir::Graph& body = *flow.graphs[0];
    std::vector<const Value*> carried, rows;
    const size_t kept = flow.carried.size(), num_xs = flow.xs.size();
    for (size_t i = 0; i < n.num_results(); ++i) (i < kept ? carried : rows).push_back(n.result(i));
    for (size_t i = 0; i < n.num_results(); ++i) EW_TRY(value(n.result(i)));
    for (const Value* v : rows)
      std::get<pte::Tensor>(plan_.values[static_cast<size_t>(ids_.at(v))]).dynamism = pte::Dynamism::kBound;
    EW_ASSIGN(const int32_t zero, scalar(ir::Arg(0), false));
    EW_ASSIGN(const int32_t one, scalar(ir::Arg(1), false));
    const int32_t index = fresh_scalar(int64_t{0}), go = fresh_scalar(false);
    std::vector<int32_t> xs;
    for (const ir::Arg& x : flow.xs) {
      EW_ASSIGN(const int32_t id, argument(x, nullptr));
      xs.push_back(id);
      touch(x);
    }
    const ir::Dim& count = flow.xs[0].value()->tensor()->shape[0];
    int32_t end;
    if (count.is_constant()) {
      EW_ASSIGN(end, scalar(ir::Arg(count.value()), false));
    } else {
      end = fresh_scalar(int64_t{0});
      call("aten::sym_size.int", {xs[0], zero, end});
    }
    const auto take_row = [&](size_t k, const Value* into) -> Result<void> {
      slices_.insert(into);
      EW_ASSIGN(const int32_t id, value(into));
      touch(ir::Arg(const_cast<Value*>(into)));
      touch(flow.xs[k]);
      call("aten::select_copy.int_out", {xs[k], zero, index, id, id});
      ++step_;
      return {};
    };
    const auto give_row = [&](const Value* to, const ir::Arg& from) -> Result<void> {
      EW_ASSIGN(const int32_t id, argument(from, nullptr));
      touch(from);
      touch(ir::Arg(const_cast<Value*>(to)));
      call("executorch_prim::et_copy_index.tensor", {ids_.at(to), id, index});
      ++step_;
      return {};
    };
    ++step_;
    instructions().emplace_back(pte::MoveCall{zero, index});
    for (size_t i = 0; i < kept; ++i) EW_TRY(assign(carried[i], flow.carried[i]));
    size_t skip = 0;
    if (pairs) {  // the first row is given as it is and is what the second is combined with
      call("executorch_prim::lt.Scalar", {index, end, go});
      skip = jump_unless(go);
      for (size_t k = 0; k < num_xs; ++k) {
        carried.push_back(extra(body.inputs()[k]->type));
        EW_TRY(take_row(k, carried[k]));
        EW_TRY(give_row(rows[k], ir::Arg(const_cast<Value*>(carried[k]))));
      }
      instructions().emplace_back(pte::MoveCall{one, index});
    }
    for (size_t i = 0; i < carried.size(); ++i) bound_[body.inputs()[i]] = ir::Arg(const_cast<Value*>(carried[i]));
    bind_inputs(body, carried.size() + num_xs, flow.more);

    const int64_t first_step = ++step_;
    const size_t head = here();
    call("executorch_prim::lt.Scalar", {index, end, go});
    const size_t to_end = jump_unless(go);
    for (size_t k = 0; k < num_xs; ++k) EW_TRY(take_row(k, body.inputs()[carried.size() + k]));
    EW_TRY(emit(body));
    for (size_t k = 0; k < rows.size(); ++k) EW_TRY(give_row(rows[k], body.outputs[pairs ? k : kept + k]));
    EW_TRY(carry(body, carried));
    call("executorch_prim::add.Scalar", {index, one, index});
    EW_TRY(jump(head));
    land(to_end);
    if (pairs) land(skip);
    for (size_t i = 0; i < n.num_results(); ++i) touch(ir::Arg(n.result(i)));
    for (const Value* v : carried) touch(ir::Arg(const_cast<Value*>(v)));
    end_loop(first_step);
    return {};
  }

  Result<void> control_flow(const Node& n) {
    EW_ASSIGN(const ops::ControlFlow flow, ops::control_flow(n));
    for (const auto& g : flow.graphs)
      if (!g->writes.empty() || !g->states().empty())
        return fail(Code::kUnsupported, "{}: graph {} writes to what it is given", n.name(), g->name);
    switch (flow.kind) {
      case ops::ControlKind::kCond: return cond(flow, n);
      case ops::ControlKind::kWhileLoop: return while_loop(flow, n);
      case ops::ControlKind::kMap:
      case ops::ControlKind::kScan:
      case ops::ControlKind::kAssociativeScan: return rounds(flow, n);
      case ops::ControlKind::kWrap: break;
    }
    return fail(Code::kUnsupported, "nothing runs {}", n.name());
  }

  Result<void> kernel(const Node& n) {
    const ops::OpDef* d = ops::def(n);
    if (!d && !s_.custom_ops.contains(n.name()))
      return fail(Code::kUnsupported, "no op named {} is known here; a kernel of your own for it needs --custom-op {}",
                  n.name(), n.name());
    if (!d) {
      s_.out.needs_own_runtime.push_back(fmt::format("{}: {} is to be registered under {}",
                                                     n.num_results() ? n.result()->name : n.name(), n.name(),
                                                     custom_kernel_name(n.name())));
      return kernel_call(n, custom_kernel_name(n.name()), nullptr, n.op().schema.params);
    }
    const std::string what = n.num_results() && n.result()->tensor()
                                 ? fmt::format("{} on {}", n.name(), ir::str(n.result()->type))
                                 : n.name();
    if (d->stock.empty()) {
      if (d->has_side_effect && n.num_results() == 0)
        return {};  // an assertion that holds by construction of the export
      return fail(Code::kUnsupported, "nothing runs {}", what);
    }
    std::string limit = !stock_has(d->stock) ? "the stock runtime has no kernel for it"
                        : d->stock_limit     ? d->stock_limit(n)
                                             : "";
    if (!limit.empty())
      s_.out.needs_own_runtime.push_back(
          fmt::format("{} ({}): {}", n.num_results() ? n.result()->name : n.name(), what, limit));
    return kernel_call(n, d->stock, d, d->schema.params);
  }

  // "mylib.op" -> "mylib::op.out", "mylib.op.Tensor" -> "mylib::op.Tensor_out": what PyTorch and ExecuTorch call the variant with outputs.
  static std::string custom_kernel_name(const std::string& op) {
    const size_t dot = op.find('.');
    const std::string space = op.substr(0, dot), name = dot == std::string::npos ? "" : op.substr(dot + 1);
    return space + "::" + name + (name.find('.') == std::string::npos ? ".out" : "_out");
  }

  // `d`: null for an op that has no definition here, whose arguments go in as they stand.
  Result<void> kernel_call(const Node& n, const std::string& kernel, const ops::OpDef* d,
                           const std::vector<ir::Param>& params) {
    std::vector<int32_t> ids;
    std::vector<ir::Arg> args;
    const bool own_args = d && d->stock_args;
    if (own_args)
      args = d->stock_args(n);
    else if (!d)
      args = n.args();
    else
      for (const ir::Param& p : params) args.push_back(n.arg(p.name));
    const auto inputs = n.inputs();
    f64_ = std::any_of(inputs.begin(), inputs.end(),
                       [](const Value* v) { return v->tensor() && v->tensor()->dtype == DType::f64; });
    for (size_t i = 0; i < args.size(); ++i) {
      EW_ASSIGN(const int32_t id, argument(args[i], own_args || i >= params.size() ? nullptr : &params[i]));
      ids.push_back(id);
      touch(args[i]);
    }
    std::vector<int32_t> outs;
    for (size_t i = 0; i < n.num_results(); ++i) {
      EW_ASSIGN(const int32_t id, value(n.result(i)));
      outs.push_back(id);
    }
    // Outputs, and after them what the call returns: the output again, or the list of them.
    const bool variadic = d && d->schema.num_results == ir::Schema::kVariadic;
    if (outs.size() == 1 && !variadic) {
      ids.push_back(outs[0]);
      if (n.result()->tensor()) ids.push_back(outs[0]);
    } else if (!outs.empty()) {
      if (!variadic) ids.insert(ids.end(), outs.begin(), outs.end());
      plan_.values.emplace_back(pte::TensorList{outs});
      const auto list = static_cast<int32_t>(plan_.values.size() - 1);
      if (variadic) ids.push_back(list);
      ids.push_back(list);
    }
    call(kernel, std::move(ids));
    return {};
  }

  Result<void> delegate(const Node& n) {
    const auto body = *n.args()[1].graph();
    EW_ASSIGN(lower::LoweredDelegate lowered, lower::lower_delegate(*body, p_.ranges));
    pte::DelegateCall call;
    call.delegate = static_cast<int32_t>(plan_.delegates.size());
    for (const ir::Arg& a : *n.args()[0].list()) {
      EW_ASSIGN(const int32_t id, value(a.value()));
      call.args.push_back(id);
      touch(a);
    }
    for (const ir::Tensor& c : lowered.constant_inputs) call.args.push_back(constant(c));
    for (size_t i = 0; i < n.num_results(); ++i) {
      EW_ASSIGN(const int32_t id, value(n.result(i)));
      call.args.push_back(id);
    }
    s_.out.delegates.push_back(std::move(lowered));
    // The payload's index is that of the delegate in the file: payloads are built when all delegates are known.
    plan_.delegates.push_back({"XnnpackBackend", static_cast<uint32_t>(s_.out.delegates.size() - 1), {}});
    instructions().emplace_back(std::move(call));
    return {};
  }

  Shared& s_;
  const ir::Program& p_;
  const ir::Graph& g_;
  pte::Plan plan_;
  bool has_states_ = false;  // in the arena of states
  int64_t step_ = 0;
  std::unordered_map<const Value*, int32_t> ids_;
  std::vector<std::pair<const Value*, size_t>> planned_;
  std::unordered_map<const Value*, size_t> slots_;
  std::unordered_map<const Value*, ir::Arg> bound_;  // inputs of inner graphs -> what they are given
  std::set<std::string> unbound_;                    // sizes without a bound that were told of
  std::unordered_set<const Value*> slices_;          // rows that a loop takes: a place of their own
  std::list<Value> extras_;                          // values that no graph has
  std::vector<lower::Lifetime> lives_;
  std::map<std::string, int32_t> scalars_, operators_;
  bool f64_ = false;                             // the node at hand has an operand of f64
  std::map<uint32_t, int32_t> constant_values_;  // by buffer
};

// Constants that several delegates use go into named data, once; the others stay in their payload.
void share_weights(Shared& s) {
  for (auto& d : s.out.delegates)
    for (xnn::Constant& c : d.graph.constants) c.data = s.canonical(c.data);
  const auto key = [](const xnn::Constant& c) { return std::pair(c.data.data(), c.data.size()); };
  std::map<std::pair<Bytes::pointer, size_t>, int> uses;
  for (const auto& d : s.out.delegates)
    for (const xnn::Constant& c : d.graph.constants)
      if (!c.data.empty()) ++uses[key(c)];
  for (auto& d : s.out.delegates)
    for (xnn::Constant& c : d.graph.constants) {
      if (c.data.empty()) continue;
      if (uses[key(c)] < 2) {
        s.out.weight_bytes += c.data.size();
        continue;
      }
      auto [it, fresh] = s.named.try_emplace(key(c), "");
      if (fresh) {
        it->second = "weight_" + std::to_string(s.program.named_data.size());
        s.program.named_data.push_back({it->second, static_cast<uint32_t>(s.blobs.named.size())});
        s.blobs.named.emplace_back(c.data);
        s.out.weight_bytes += c.data.size();
      }
      c.named_key = it->second;
      c.data = {};
    }
}

// Buffers that several methods have under one name, of one type and with the same initial value, become one: a cache that one method
// fills and another reads. All states lie in an arena without anything else: the stock Module, asked to share arenas, lets methods
// overwrite each other's other one.
void place_states(Shared& s, const std::vector<ir::Program>& programs) {
  std::vector<std::pair<const Value*, ir::Tensor>> placed;
  for (const ir::Program& p : programs)
    for (const Value* v : p.graph->states()) {
      const ir::Tensor t = v->data->contiguous();
      const auto same = std::find_if(placed.begin(), placed.end(), [&](const auto& o) {
        return o.first->name == v->name && o.second.dtype == t.dtype && o.second.sizes == t.sizes &&
               std::equal(t.bytes().begin(), t.bytes().end(), o.second.bytes().begin());
      });
      if (same != placed.end()) {
        s.states[v] = s.states.at(same->first);
        continue;
      }
      const uint64_t size = std::max<uint64_t>(t.bytes().size(), 1);
      s.states[v] = {s.state_bytes, static_cast<uint32_t>(s.blobs.mutable_data.size())};
      s.state_bytes += (size + lower::kArenaAlignment - 1) / lower::kArenaAlignment * lower::kArenaAlignment;
      s.blobs.mutable_data.push_back(t.bytes());
      s.out.owned.push_back(t);
      placed.emplace_back(v, t);
    }
}

}  // namespace

Result<Written> write_programs(const std::vector<ir::Program>& programs, const std::set<std::string>& custom_ops) {
  Shared s;
  s.custom_ops = custom_ops;
  s.blobs.constants.emplace_back();
  s.blobs.mutable_data.emplace_back();
  s.several = programs.size() > 1;
  if (s.several) place_states(s, programs);
  for (const ir::Program& p : programs) {
    EW_ASSIGN(pte::Plan plan, PlanWriter(s, p).run());
    s.program.plans.push_back(std::move(plan));
  }
  share_weights(s);
  for (const auto& d : s.out.delegates) {
    EW_ASSIGN(Pieces payload, xnn::build(d.graph));
    s.blobs.payloads.push_back(std::move(payload));
  }
  if (s.blobs.constants.size() == 1) s.blobs.constants.clear();
  if (s.blobs.mutable_data.size() == 1) s.blobs.mutable_data.clear();
  EW_ASSIGN(s.out.file, pte::build(s.program, std::move(s.blobs)));
  return std::move(s.out);
}

}  // namespace edgewright::write
