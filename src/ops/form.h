// src/ops/form.h - definitions of ops that are forms of one: the same functions with a description of the form first.
// Depends on ops/op_def.h.
#pragma once

#include "ops/build.h"

namespace edgewright::ops {

template <class Form>
struct FormFunctions {
  Result<Types> (*rule)(const Form&, const Call&);
  Result<Point> (*eval)(const Form&, const Call&, size_t r);
  Result<void> (*whole)(const Form&, const Call&, std::span<const ir::Tensor> in, std::span<ir::Tensor> out);
  Result<std::vector<ir::Value*>> (*decompose)(const Form&, const ir::Node&, Builder&) = nullptr;
};

template <class Form>
OpDef formed(std::string schema, Form form, FormFunctions<Form> f, Agreement agreement) {
  OpDef d;
  d.schema_text = std::move(schema);
  d.infer = [=](const Call& c) { return f.rule(form, c); };
  d.eval = [=](const Call& c, size_t r) { return f.eval(form, c, r); };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
    return f.whole(form, c, in, out);
  };
  if (f.decompose) d.decompose = [=](const ir::Node& n, Builder& b) { return f.decompose(form, n, b); };
  d.agreement = agreement;
  return d;
}

}  // namespace edgewright::ops
