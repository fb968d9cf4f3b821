// src/ops/addmm.cc - aten.addmm, aten.baddbmm, aten.addmv: beta * self + alpha * product, self broadcast to the result.
#include "ops/products.h"

namespace edgewright::ops {
namespace {

// The names that differ between the three.
struct Kind {
  const char *a, *b, *product;
  size_t rank_a, rank_b;
};
constexpr Kind kAddmm{"mat1", "mat2", "aten.mm", 2, 2}, kBaddbmm{"batch1", "batch2", "aten.bmm", 3, 3},
    kAddmv{"mat", "vec", "aten.mv", 2, 1};

Result<Types> rule(const Kind& k, const Call& c) {
  const TensorType &a = c.tensor(k.a), &b = c.tensor(k.b), &self = c.tensor("self");
  if (a.rank() != k.rank_a || b.rank() != k.rank_b)
    c.error(fmt::format("[addmm.1] {} must have rank {} and {} rank {}", k.a, k.rank_a, k.b, k.rank_b));
  if (c.failed()) return Types{};
  check_product(c, a, b, a.shape.back(), b.shape[k.rank_b == 1 ? 0 : k.rank_b - 2]);
  if (self.dtype != a.dtype)
    c.error(fmt::format("[addmm.2] self is {}, the operands are {}", name(self.dtype), name(a.dtype)));
  if (k.rank_a == 3 && differ(a.shape[0], b.shape[0])) c.error("[addmm.3] batch sizes differ");
  if (!is_float(a.dtype) && (c.scalar("alpha").is_float() || c.scalar("beta").is_float()))
    c.error("[addmm.4] a float factor with int operands");
  Shape out(a.shape.begin(), a.shape.end() - 1);
  if (k.rank_b > 1) out.push_back(b.shape.back());
  const Shape both = broadcast(c, self.shape, out);
  if (both.size() != out.size()) c.error("[addmm.5] self has more dims than the result");
  for (size_t d = 0; d < out.size() && !c.failed(); ++d)
    if (differ(both[d], out[d])) c.error("[addmm.5] self does not expand to the result");
  return Types{TensorType{a.dtype, out}};
}

Contraction make(const Kind& k, const Call& c) {
  const int a = c.operand(k.a), b = c.operand(k.b);
  Contraction r{.dtype = c.type(a).dtype, .inner = {c.type(a).shape.back().value()}};
  r.a = {a, k.rank_a == 3 ? std::vector<int>{0, 1, ~0} : std::vector<int>{0, ~0}};
  r.b = {b, k.rank_b == 3   ? std::vector<int>{0, ~0, 2}
            : k.rank_b == 2 ? std::vector<int>{~0, 1}
                            : std::vector<int>{~0}};
  r.add = broadcast_side(c, c.operand("self"), k.rank_b == 1 ? 1 : k.rank_b);
  r.f = {c.scalar("alpha"), c.scalar("beta")};
  return r;
}

Result<std::vector<ir::Value*>> decompose(const Kind& k, const ir::Node& n, Builder& b) {
  const auto is_one = [](const ir::Arg& a) { return (a.i() && *a.i() == 1) || (a.f() && *a.f() == 1); };
  const auto is_zero = [](const ir::Arg& a) { return (a.i() && *a.i() == 0) || (a.f() && *a.f() == 0); };
  ir::Value* y = b(k.product, {n.arg(k.a), n.arg(k.b)});
  if (!is_one(n.arg("alpha"))) y = b("aten.mul.Scalar", {y, n.arg("alpha")});
  if (is_zero(n.arg("beta"))) return b.done({y});
  ir::Value* self = n.arg("self").value();
  if (!is_one(n.arg("beta"))) self = b("aten.mul.Scalar", {self, n.arg("beta")});
  return b.done({b("aten.add.Tensor", {y, self})});
}

Result<void> lower_addmm(const ir::Node& n, XnnEmitter& out) {
  const ir::Value *self = n.arg("self").value(), *w = n.arg("mat2").value();
  if (constant_number(n, "alpha") != 1 || constant_number(n, "beta") != 1)
    return fail(Code::kKeptOnHost, "alpha or beta is not 1");
  if (self->tensor()->rank() != 1 || self->tensor()->shape[0] != w->tensor()->shape[1])
    return fail(Code::kKeptOnHost, "self is not a bias of one element per column");
  return out.fully_connected(n.arg("mat1").value(), w, self, n.result(), true);
}

OpDef definition(const char* schema, const Kind& k, std::string stock) {
  OpDef d = contraction(
      schema, [&k](const Call& c) { return rule(k, c); }, [&k](const Call& c) { return make(k, c); }, std::move(stock));
  d.decompose = [&k](const ir::Node& n, Builder& b) { return decompose(k, n, b); };
  return d;
}

}  // namespace

std::vector<OpDef> define_addmm() {
  std::vector<OpDef> all{
      definition("aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                 kAddmm, "aten::addmm.out"),
      definition("aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
                 kBaddbmm, ""),
      definition("aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor", kAddmv,
                 "")};
  all[0].lower = lower_addmm;
  return all;
}
}  // namespace edgewright::ops
