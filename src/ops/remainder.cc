// src/ops/remainder.cc - remainder of the division rounded down: the divisor's sign (Python's %). Depends on ops/families.h.
#include "ops/families.h"

namespace edgewright::ops {
namespace {

Formula remainder() {
  return floats<2>([](auto a, auto b) {
           return num::other(a, b, [](double x, double y) {
             const double r = std::fmod(x, y);
             return r != 0 && (r < 0) != (y < 0) ? r + y : r;
           });
         })
      .ints<2>([](int64_t a, int64_t b) { return wrap_sub(a, wrap_mul(int_div_floor(a, b), b)); });
}

// The stock kernel (1.5.1) gives ints the dividend's sign, so theirs is composed; floats stay.
OpDef of(const char* schema, const char* overload, const char* stock) {
  OpDef d = binary(schema, remainder(), stock);
  d.lower = [](const ir::Node& n, XnnEmitter&) -> Result<void> {
    return fail(Code::kKeptOnHost, "{}: XNNPACK has no remainder", n.name());
  };
  d.decompose = [overload](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    if (!is_int(n.result()->tensor()->dtype)) return std::vector<ir::Value*>{};
    const ir::Arg x = n.arg("self"), y = n.arg("other");
    const bool is_number = std::string_view(overload) == "Scalar";
    ir::Value* quotient = is_number ? b("aten.div.Scalar_mode", {x, y, "floor"}) : b("aten.floor_divide", {x, y});
    return b.done({b("aten.sub.Tensor", {x, b(is_number ? "aten.mul.Scalar" : "aten.mul.Tensor", {quotient, y})})});
  };
  return d;
}

}  // namespace

std::vector<OpDef> define_remainder() {
  return {of("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", "Tensor", "aten::remainder.Tensor_out"),
          of("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", "Scalar", "aten::remainder.Scalar_out"),
          with_decompose(binary("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", remainder()),
                         numbers_to_tensors("aten.remainder.Tensor"))};
}

}  // namespace edgewright::ops
