// tests/ir/toy_ops.h - a handful of ops without meaning, to test graphs by themselves. Depends on ir.
#pragma once

#include <map>

#include "ir/text.h"

namespace edgewright::ir {

// Every op gives the type of its first value as its result types; toy.split gives it twice, toy.check gives nothing.
inline const Op* toy_op(std::string_view name) {
  static const std::map<std::string, Op, std::less<>> ops = [] {
    std::map<std::string, Op, std::less<>> m;
    for (const char* text :
         {"toy::relu(Tensor self) -> Tensor", "toy::add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
          "toy::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor",
          "toy::split(Tensor self, int size, int dim=0) -> (Tensor, Tensor)", "toy::check(Tensor self) -> ()",
          "toy::cat(Tensor[] tensors, int dim=0) -> Tensor",
          "toy::cast(Tensor self, *, ScalarType dtype, str mode=\"wrap\", float[] scales=[]) -> Tensor",
          "toy::cond(Tensor self, Graph yes, Graph no, Tensor[] operands) -> Tensor"}) {
      Op op;
      op.schema = *parse_schema(text);
      op.name = op.schema.name;
      m.emplace(op.name, op);
    }
    return m;
  }();
  const auto it = ops.find(name);
  return it == ops.end() ? nullptr : &it->second;
}

inline ParseContext toy_context() {
  return {.find_op = toy_op,
          .infer = [](const Op& op, const std::vector<Arg>& args) -> Result<std::vector<Type>> {
            Value* first = nullptr;
            for (const Arg& a : args)
              a.each_value([&](Value* v) {
                if (!first) first = v;
              });
            if (!first) return fail(Code::kUnsupported, "{} needs a tensor", op.name);
            return std::vector<Type>(op.schema.num_results, first->type);
          },
          .find_constant = nullptr};
}

}  // namespace edgewright::ir
