#include "ops/build.h"

#include <cstring>

namespace edgewright::ops {

Result<ir::Node*> add_node(ir::Graph& g, std::string_view op, std::vector<ir::Arg> args, ir::Node* before,
                           std::shared_ptr<const ir::Origin> origin) {
  const OpDef* d = find(op);
  if (!d) return fail(Code::kInternal, "no op named {}", op);
  EW_ASSIGN(Types types, infer(*d, Call::of(*d, args)));
  return g.add(*d, std::move(args), std::move(types), before, std::move(origin));
}

ir::Value* Builder::operator()(std::string_view op, std::vector<ir::Arg> args) {
  const auto r = multi(op, std::move(args));
  return r.empty() ? nullptr : r[0];
}

std::vector<ir::Value*> Builder::multi(std::string_view op, std::vector<ir::Arg> args) {
  if (error_) return {};
  auto n = add_node(g_, op, std::move(args), before_, origin_);
  if (!n) {
    error_ = std::move(n.error());
    return {};
  }
  std::vector<ir::Value*> out;
  for (size_t i = 0; i < (*n)->num_results(); ++i) out.push_back((*n)->result(i));
  return out;
}

ir::Value* Builder::constant(ir::Tensor t, std::string name) { return g_.add_constant(std::move(name), std::move(t)); }

ir::Value* Builder::scalar(DType t, double v) {
  ir::Tensor x = ir::Tensor::empty(t, {});
  ir::store_f(t, x.mutable_data(), 0, v);
  return constant(std::move(x), "scalar");
}

Result<std::vector<ir::Value*>> Builder::done(std::vector<ir::Value*> values) {
  if (error_) return std::unexpected(*error_);
  return values;
}

}  // namespace edgewright::ops
