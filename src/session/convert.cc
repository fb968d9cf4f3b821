// src/session/convert.cc - conversions between tensor types.
#include "session/convert.h"

namespace edgewright::session {

HostTensor to_host(const ir::Tensor& t) {
  ir::Tensor dense = t.contiguous();
  return {dense.dtype, dense.sizes, dense.bytes(), dense.owner};
}

ir::Tensor to_graph(const HostTensor& t) {
  const auto aligned = [](Bytes b, DType d) { return reinterpret_cast<uintptr_t>(b.data()) % size_of(d) == 0; };
  const HostTensor from = t.owner && aligned(t.bytes, t.dtype) ? t : t.copy();
  return {from.dtype, from.sizes, ir::contiguous_strides(from.sizes), from.bytes.data(), from.owner};
}

interp::Datum to_datum(const Value& v) {
  if (const HostTensor* t = tensor_of(v)) return to_graph(*t);
  if (const auto* i = std::get_if<int64_t>(&v)) return interp::int_datum(*i);
  if (const auto* f = std::get_if<double>(&v)) return interp::float_datum(*f);
  if (const auto* b = std::get_if<bool>(&v)) return interp::bool_datum(*b);
  if (const auto* s = std::get_if<std::string>(&v)) return *s;
  return {};
}

Value to_value(const interp::Datum& d) {
  if (const ir::Tensor* t = interp::tensor(d)) return to_host(*t);
  if (const auto* s = std::get_if<std::string>(&d)) return *s;
  const ops::Scalar* n = interp::number(d);
  if (!n) return std::monostate();
  if (n->is_bool()) return n->i != 0;
  return n->is_float() ? Value(n->f) : Value(n->i);
}

std::vector<Value> to_values(const ir::Program::Sample& s) {
  std::vector<Value> all;
  for (const auto& leaf : s.leaves)
    all.push_back(std::visit(
        []<class T>(const T& v) -> Value {
          if constexpr (std::is_same_v<T, ir::Tensor>) {
            return to_host(v);
          } else {
            return v;
          }
        },
        leaf));
  return all;
}

}  // namespace edgewright::session
