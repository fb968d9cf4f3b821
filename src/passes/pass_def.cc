#include "passes/pass_def.h"

#include <algorithm>

#include "ops/view_rules.h"

namespace edgewright::passes {

// Made by the build from the file names of this folder (see CMakeLists.txt).
std::vector<PassDef> all_passes();

const std::vector<PassDef>& table() {
  static const std::vector<PassDef> all = all_passes();
  return all;
}
const PassDef* find(std::string_view name) {
  for (const PassDef& p : table())
    if (p.name == name) return &p;
  return nullptr;
}

Node* Rewriter::previous() const { return g_.previous(&root_); }

std::vector<Node*> Rewriter::new_nodes() const {
  std::vector<Node*> out;  // they stand directly in front of the root
  for (Node* n = previous(); n != first_new_; n = g_.previous(n)) out.push_back(n);
  std::reverse(out.begin(), out.end());
  return out;
}

Value* Rewriter::permute(Value* v, const std::vector<int64_t>& dims) {
  if (!v || !v->is_constant()) return build_("aten.permute", {v, ir::Arg::ints(dims)});
  ir::Tensor t = *v->data;
  for (size_t i = 0; i < dims.size(); ++i) {
    t.sizes[i] = v->data->sizes[static_cast<size_t>(dims[i])];
    t.strides[i] = v->data->strides[static_cast<size_t>(dims[i])];
  }
  return constant(std::move(t), v->name);
}

Value* Rewriter::view(Value* v, const std::vector<int64_t>& sizes) {
  if (!v || !v->is_constant()) return build_("aten.view", {v, ir::Arg::ints(sizes)});
  ir::Tensor t = v->data->contiguous();
  t.sizes = sizes;
  t.strides = ir::contiguous_strides(sizes);
  return constant(std::move(t), v->name);
}

Match Rewriter::replace(std::vector<Value*> values) {
  auto done = build_.done(std::move(values));
  if (!done) return {false, "the replacement could not be built", std::move(done.error())};
  values_ = std::move(*done);
  for (size_t i = 0; i < values_.size(); ++i)
    if (!values_[i] && !root_.result(i)->users.empty())
      return {false, "a result is still used", fail(Code::kInternal, "rewrite lost result {}", i).error()};
  return {true, {}, std::nullopt};
}

bool only_user(const Value* v) { return v->users.size() == 1 && v->producer && !v->producer->graph().is_output(v); }
bool is_f32(const Value* v) { return v && v->tensor() && v->tensor()->dtype == DType::f32; }

std::optional<std::vector<int64_t>> sizes_of(const Value* v) {
  if (!v || !v->tensor() || !ir::is_static(v->tensor()->shape)) return std::nullopt;
  return ir::static_sizes(v->tensor()->shape);
}

std::optional<double> scalar_constant(const Value* v) {
  if (!v || !v->is_constant() || v->data->numel() != 1 || is_complex(v->data->dtype)) return std::nullopt;
  return ir::load_f(v->data->dtype, v->data->data, 0);
}

bool shares_storage(const Node& n) {
  if (!n.is("aten.contiguous") && !ops::views_or_copies(n)) return true;
  const Value *from = n.inputs()[0], *to = n.result();
  const auto a = sizes_of(from), b = sizes_of(to);
  if (!a || !b || from->strides.size() != a->size()) return true;  // dynamic shapes: exported inputs are contiguous
  if (n.is("aten.contiguous")) return from->strides == ir::contiguous_strides(*a);
  return ops::reshape_is_view(*a, from->strides, *b);
}

std::optional<std::vector<int64_t>> permutation(const Node* n) {
  if (!n) return std::nullopt;
  const auto rank_of = [&] { return static_cast<int64_t>(n->inputs()[0]->tensor()->rank()); };
  if (n->is("aten.permute") || n->is("aten.permute_copy")) {
    std::vector<int64_t> dims;
    const ir::Arg a = n->arg("dims");
    const int64_t r = rank_of();
    for (const ir::Arg& d : *a.list()) {
      if (!d.i()) return std::nullopt;
      dims.push_back(*d.i() < 0 ? *d.i() + r : *d.i());
    }
    return dims;
  }
  if (n->is("aten.t") || n->is("aten.t_copy"))
    return rank_of() < 2 ? std::vector<int64_t>{0} : std::vector<int64_t>{1, 0};
  if (n->is("aten.transpose.int") || n->is("aten.transpose_copy.int")) {
    const int64_t r = rank_of();
    const ir::Arg a = n->arg("dim0"), b = n->arg("dim1");
    if (!a.i() || !b.i() || r == 0) return std::nullopt;
    std::vector<int64_t> dims;
    for (int64_t i = 0; i < r; ++i) dims.push_back(i);
    std::swap(dims[static_cast<size_t>(*a.i() < 0 ? *a.i() + r : *a.i())],
              dims[static_cast<size_t>(*b.i() < 0 ? *b.i() + r : *b.i())]);
    return dims;
  }
  return std::nullopt;
}

}  // namespace edgewright::passes
