#include "ops/plain_blocks.h"

namespace edgewright::ops {

Result<std::vector<ir::Value*>> plain_quantizing(const ir::Node& n, Builder& b, std::vector<int64_t> block,
                                                 const PlainSteps& steps) {
  PlainBlocks p(n, b, std::move(block));
  ir::Value *scale = n.arg(steps.scale).value(), *zero = n.arg(steps.zero_point).value();
  if (!p.ok() || !p.fits(scale) || !p.fits(zero)) return std::vector<ir::Value*>{};
  ir::Value* x = steps.converts_input ? p.cast(p.input(), DType::f32) : p.input();
  x = b("aten.mul.Tensor", {x, b("aten.reciprocal", {p.shaped(scale)})});
  const auto round = [&] { x = b("aten.round", {x}); };
  if (!steps.adds_before_rounding) round();
  x = b("aten.add.Tensor", {x, p.shaped(zero)});
  if (steps.adds_before_rounding) round();
  x = b("aten.clamp", {x, steps.lo, steps.hi});
  return b.done({p.whole(p.cast(x, n.result()->tensor()->dtype))});
}

Result<std::vector<ir::Value*>> plain_dequantizing(const ir::Node& n, Builder& b, std::vector<int64_t> block,
                                                   const PlainSteps& steps) {
  PlainBlocks p(n, b, std::move(block));
  ir::Value *scale = n.arg(steps.scale).value(), *zero = n.arg(steps.zero_point).value();
  if (!p.ok() || !p.fits(scale) || (zero && !p.fits(zero))) return std::vector<ir::Value*>{};
  const DType t = n.result()->tensor()->dtype;
  const auto side = [&](ir::Value* v) { return steps.in_result ? p.cast(v, t) : v; };
  ir::Value* x = side(p.input());
  if (zero) x = b("aten.sub.Tensor", {x, side(p.shaped(zero))});
  return b.done({p.whole(p.cast(b("aten.mul.Tensor", {x, p.shaped(scale)}), t))});
}

}  // namespace edgewright::ops
