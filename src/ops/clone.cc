// src/ops/clone.cc - a copy: clone, contiguous (a copy or the tensor itself: the layout in memory is no part of a value here). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {

std::vector<OpDef> define_clone() {
  OpDef d;
  d.schema_text = "aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor";
  d.infer = [](const Call& c) -> Result<Types> { return Types{c.type(0)}; };
  d.eval = [](const Call&, size_t) -> Result<Point> {
    return move_point([](Index at, int64_t* in) {
      std::copy(at.begin(), at.end(), in);
      return 0;
    });
  };
  d.whole = [](const Call&, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    copy_into(in[0], out[0]);
    return {};
  };
  d.decompose = [](const ir::Node& n, Builder& b) { return b.done({n.arg("self").value()}); };
  d.lower = [](const ir::Node& n, XnnEmitter& x) { return x.copy(n.arg("self").value(), n.result()); };
  d.stock = "aten::clone.out";
  d.stock_args = [](const ir::Node& n) { return std::vector<ir::Arg>{n.arg("self"), ir::Arg()}; };
  OpDef contiguous = d;
  contiguous.schema_text = "aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)";
  contiguous.view_of = "self";
  contiguous.scatter_back = [](const ir::Node&, size_t, ir::Value*, ir::Value* written,
                               Builder&) -> Result<ir::Value*> { return written; };
  contiguous.lower = {};
  contiguous.stock = {};
  contiguous.stock_args = {};
  return {std::move(d), std::move(contiguous)};
}

}  // namespace edgewright::ops
