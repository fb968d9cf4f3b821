#include "ops/call.h"

#include <algorithm>

namespace edgewright::ops {

namespace {
const TensorType kNoTensor{DType::f32, {}};
const ir::Arg kNone;
}  // namespace

Call Call::of(const ir::Op& op, const std::vector<ir::Arg>& args) {
  return with(op, args, [](const ir::Value* v) { return Known{v->type, std::nullopt}; });
}

Call Call::with(const ir::Op& op, const std::vector<ir::Arg>& args, const Lookup& lookup) {
  Call c;
  c.op_ = &op;
  c.args_ = args;
  const auto& params = op.schema.params;
  if (c.args_.size() > params.size()) {
    c.error(fmt::format("{} arguments for {} parameters", args.size(), params.size()));
    c.args_.resize(params.size());
  }
  for (size_t i = c.args_.size(); i < params.size(); ++i) {
    if (!params[i].has_default && !params[i].is_optional)
      c.error(fmt::format("argument '{}' is missing", params[i].name));
    c.args_.push_back(ir::default_of(params[i]));
  }
  c.operand_numbers_.resize(params.size());
  for (size_t p = 0; p < params.size(); ++p) {
    const auto take = [&](const ir::Arg& a) {
      const ir::Value* v = a.value();
      if (!v) {
        if (params[p].kind == ir::ParamKind::kTensor) {
          c.operand_numbers_[p].push_back(-1);
          if (!a.is_none() && !a.i() && !a.f() && !a.b()) c.error(fmt::format("'{}' is not a tensor", params[p].name));
        }
        return;
      }
      Known k = lookup(v);
      if (auto* t = std::get_if<TensorType>(&k.type)) {
        c.operand_numbers_[p].push_back(static_cast<int>(c.operands_.size()));
        c.operands_.push_back({v, std::move(*t)});
      } else {
        if (params[p].kind == ir::ParamKind::kTensor) c.operand_numbers_[p].push_back(-1);
        c.scalars_.emplace(v, std::move(k));
      }
    };
    if (const auto* l = c.args_[p].list()) {
      if (params[p].kind == ir::ParamKind::kTensor && !params[p].is_list)
        c.error(fmt::format("'{}' is a list, not a tensor", params[p].name));
      for (const ir::Arg& a : *l) take(a);
    } else {
      if (params[p].kind == ir::ParamKind::kTensor && c.args_[p].is_none() && !params[p].is_optional &&
          !params[p].has_default && !params[p].is_list)
        c.error(fmt::format("tensor '{}' is None", params[p].name));
      take(c.args_[p]);
    }
  }
  return c;
}

const TensorType& Call::type(int operand) const {
  if (operand < 0 || static_cast<size_t>(operand) >= operands_.size()) return kNoTensor;
  return operands_[static_cast<size_t>(operand)].type;
}

const ir::Param* Call::param(std::string_view name, size_t& index) const {
  const int i = op_->schema.index_of(name);
  if (i < 0) {
    error(fmt::format("{} has no parameter '{}'", op_->name, name));
    return nullptr;
  }
  index = static_cast<size_t>(i);
  return &op_->schema.params[index];
}

int Call::operand(std::string_view name) const {
  size_t i;
  if (!param(name, i) || operand_numbers_[i].empty()) return -1;
  return operand_numbers_[i][0];
}
std::vector<int> Call::operands(std::string_view name) const {
  size_t i;
  if (!param(name, i)) return {};
  return operand_numbers_[i];
}
const TensorType& Call::tensor(std::string_view name) const {
  const int k = operand(name);
  if (k < 0) {
    error(fmt::format("'{}' is {}, not a tensor", name, has(name) ? "a number" : "None"));
    return kNoTensor;
  }
  return type(k);
}
std::optional<ir::ScalarKind> Call::number_kind(std::string_view name) const {
  const ir::Arg& a = raw(name);
  if (const ir::Value* v = a.value()) {
    const auto it = scalars_.find(v);
    const auto* s = it == scalars_.end() ? nullptr : std::get_if<ir::ScalarType>(&it->second.type);
    return s ? std::optional(s->kind) : std::nullopt;
  }
  const auto n = number(a);
  return n ? std::optional(n->kind) : std::nullopt;
}

const ir::Arg& Call::raw(std::string_view name) const {
  size_t i;
  return param(name, i) ? args_[i] : kNone;
}
bool Call::has(std::string_view name) const { return !raw(name).is_none(); }

std::optional<Scalar> Call::number(const ir::Arg& a) const {
  if (a.i()) return Scalar{ir::ScalarKind::kInt, *a.i(), static_cast<double>(*a.i())};
  if (a.f()) return Scalar{ir::ScalarKind::kFloat, 0, *a.f()};
  if (a.b()) return Scalar{ir::ScalarKind::kBool, *a.b(), static_cast<double>(*a.b())};
  if (const ir::Value* v = a.value()) {
    const auto it = scalars_.find(v);
    if (it == scalars_.end()) return std::nullopt;
    if (it->second.number) return it->second.number;
    if (const auto* s = std::get_if<ir::ScalarType>(&it->second.type); s && s->expr && s->expr->is_constant())
      return Scalar{s->kind, s->expr->value(), static_cast<double>(s->expr->value())};
  }
  return std::nullopt;
}

std::optional<Dim> Call::as_dim(const ir::Arg& a) const {
  if (const ir::Value* v = a.value()) {
    const auto it = scalars_.find(v);
    if (it == scalars_.end()) return std::nullopt;
    if (it->second.number) return Dim(it->second.number->i);
    const auto* s = std::get_if<ir::ScalarType>(&it->second.type);
    if (s && s->kind != ir::ScalarKind::kFloat) return s->expr ? *s->expr : Dim::symbol("u_" + v->name);
    return std::nullopt;
  }
  if (const auto n = number(a); n && !n->is_float()) return Dim(n->i);
  return std::nullopt;
}

Scalar Call::scalar(std::string_view name) const {
  if (const auto n = number(raw(name))) return *n;
  // A number known only at run time still has its kind.
  if (const ir::Value* v = raw(name).value())
    if (const auto it = scalars_.find(v); it != scalars_.end())
      if (const auto* s = std::get_if<ir::ScalarType>(&it->second.type)) {
        error(fmt::format("'{}' is known only at run time", name));
        return Scalar{s->kind, 0, 0};
      }
  error(fmt::format("'{}' is not a number", name));
  return {};
}
int64_t Call::i(std::string_view name) const {
  const Scalar s = scalar(name);
  if (s.is_float()) error(fmt::format("'{}' is a float where an int is needed", name));
  return s.i;
}
double Call::f(std::string_view name) const { return scalar(name).f; }
bool Call::flag(std::string_view name) const { return scalar(name).f != 0; }
Dim Call::dim(std::string_view name) const {
  if (auto d = as_dim(raw(name))) return *d;
  error(fmt::format("'{}' is not an int", name));
  return 0;
}
std::string Call::str(std::string_view name) const {
  if (const auto* s = raw(name).s()) return *s;
  error(fmt::format("'{}' is not a string", name));
  return {};
}
std::optional<DType> Call::dtype(std::string_view name) const {
  const ir::Arg& a = raw(name);
  if (a.is_none()) return std::nullopt;
  if (a.dtype()) return *a.dtype();
  error(fmt::format("'{}' is not a dtype", name));
  return std::nullopt;
}

Shape Call::dims(std::string_view name) const {
  size_t i;
  const ir::Param* p = param(name, i);
  if (!p) return {};
  Shape out;
  if (const auto* l = args_[i].list()) {
    for (const ir::Arg& a : *l) {
      auto d = as_dim(a);
      if (!d) error(fmt::format("'{}' holds something that is not an int", name));
      out.push_back(d.value_or(Dim(0)));
    }
    if (p->list_size > 1 && out.size() == 1) out.resize(static_cast<size_t>(p->list_size), Dim(out[0]));
  } else if (!args_[i].is_none()) {
    out.assign(p->list_size > 0 ? static_cast<size_t>(p->list_size) : 1, dim(name));
  }
  return out;
}
std::vector<int64_t> Call::ints(std::string_view name) const {
  std::vector<int64_t> out;
  for (const Dim& d : dims(name)) {
    if (!d.is_constant()) error(fmt::format("'{}' is known only at run time", name));
    out.push_back(d.maybe().value_or(0));
  }
  return out;
}
std::vector<double> Call::floats(std::string_view name) const {
  std::vector<double> out;
  if (const auto* l = raw(name).list()) {
    for (const ir::Arg& a : *l) {
      const auto n = number(a);
      if (!n) error(fmt::format("'{}' holds something that is not a number", name));
      out.push_back(n ? n->f : 0);
    }
  }
  return out;
}
int64_t Call::axis(std::string_view name, int64_t rank) const {
  const int64_t d = i(name), r = std::max<int64_t>(rank, 1);
  if (d < -r || d >= r) {
    error(fmt::format("'{}' is {}, outside [{}, {}]", name, d, -r, r - 1));
    return 0;
  }
  return d < 0 ? d + r : d;
}
std::vector<int64_t> Call::axes(std::string_view name, int64_t rank, bool empty_is_all) const {
  const int64_t r = std::max<int64_t>(rank, 1);
  std::vector<int64_t> out;
  for (int64_t d : ints(name)) {
    if (d < -r || d >= r) {
      error(fmt::format("'{}' holds {}, outside [{}, {}]", name, d, -r, r - 1));
      return {};
    }
    d = d < 0 ? d + r : d;
    if (std::find(out.begin(), out.end(), d) != out.end()) error(fmt::format("'{}' names dim {} twice", name, d));
    if (rank > 0) out.push_back(d);
  }
  if (out.empty() && (empty_is_all || !has(name)))
    for (int64_t d = 0; d < rank; ++d) out.push_back(d);
  return out;
}

Dim Call::fresh_symbol() const {
  std::string n = op_->name;
  std::replace(n.begin(), n.end(), '.', '_');
  for (const Operand& o : operands_) n += "_" + (o.value ? o.value->name : "");
  return Dim::symbol("u_" + n + "_" + std::to_string(fresh_++));
}

}  // namespace edgewright::ops
