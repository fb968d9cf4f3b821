// src/ops/pixel_shuffle.cc - blocks of channels and pixels exchanged: pixel_(un)shuffle, channel_shuffle. Depends on ops/view_rules.h.
//
// All are view, permute, view; the permute has at most six dims for a batch of images, so that XNNPACK takes it.
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

using Rewrite = Result<std::vector<ir::Value*>>;

// [pixel_shuffle.1] At least 3 dims. [pixel_shuffle.2] The factor is positive. [pixel_shuffle.3] It divides what it must.
int64_t factor(const Call& c, const char* param) {
  const int64_t r = c.i(param);
  if (c.tensor("self").rank() < 3)
    c.error(fmt::format("[pixel_shuffle.1] self has {} dims, fewer than 3", c.tensor("self").rank()));
  if (r <= 0 || r > 1 << 15) {
    c.error(fmt::format("[pixel_shuffle.2] a factor of {}", r));
    return 1;
  }
  return r;
}
void check_divides(const Call& c, const Dim& n, int64_t by) {
  if (n.is_constant() && n.value() % by != 0)
    c.error(fmt::format("[pixel_shuffle.3] {} does not divide by {}", n.value(), by));
}
Result<Types> infer_shuffle(const Call& c) {
  TensorType t = c.tensor("self");
  const int64_t r = factor(c, "upscale_factor");
  if (c.failed()) return Types{t};
  const size_t n = t.rank();
  check_divides(c, t.shape[n - 3], r * r);
  t.shape[n - 3] = floordiv(t.shape[n - 3], r * r);
  t.shape[n - 2] = t.shape[n - 2] * Dim(r);
  t.shape[n - 1] = t.shape[n - 1] * Dim(r);
  return Types{t};
}
Result<Point> eval_shuffle(const Call& c, size_t) {
  return move_point([r = factor(c, "upscale_factor")](Index at, int64_t* in) {
    const size_t n = at.size();
    for (size_t d = 0; d + 3 < n; ++d) in[d] = at[d];
    in[n - 3] = (at[n - 3] * r + at[n - 2] % r) * r + at[n - 1] % r;
    in[n - 2] = at[n - 2] / r;
    in[n - 1] = at[n - 1] / r;
    return 0;
  });
}
Result<Types> infer_unshuffle(const Call& c) {
  TensorType t = c.tensor("self");
  const int64_t r = factor(c, "downscale_factor");
  if (c.failed()) return Types{t};
  const size_t n = t.rank();
  check_divides(c, t.shape[n - 2], r);
  check_divides(c, t.shape[n - 1], r);
  t.shape[n - 3] = t.shape[n - 3] * Dim(r * r);
  t.shape[n - 2] = floordiv(t.shape[n - 2], r);
  t.shape[n - 1] = floordiv(t.shape[n - 1], r);
  return Types{t};
}
Result<Point> eval_unshuffle(const Call& c, size_t) {
  return move_point([r = factor(c, "downscale_factor")](Index at, int64_t* in) {
    const size_t n = at.size();
    for (size_t d = 0; d + 3 < n; ++d) in[d] = at[d];
    in[n - 3] = at[n - 3] / (r * r);
    in[n - 2] = at[n - 2] * r + at[n - 3] / r % r;
    in[n - 1] = at[n - 1] * r + at[n - 3] % r;
    return 0;
  });
}
// Leading dims, then those given by `tail`.
ir::Arg with_leading(Builder& b, ir::Value* x, ir::ArgList tail) {
  ir::ArgList l;
  for (int64_t d = 0; d + 3 < rank_of(x); ++d) l.push_back(size_arg(b, x, d));
  l.insert(l.end(), tail.begin(), tail.end());
  return l;
}
ir::Arg leading_perm(int64_t lead, std::vector<int64_t> tail) {
  std::vector<int64_t> p;
  for (int64_t d = 0; d < lead; ++d) p.push_back(d);
  for (int64_t d : tail) p.push_back(lead + d);
  return ir::Arg::ints(p);
}
// [.., c*r*r, h, w] as [.., c, r, r, h, w], permuted to [.., c, h, r, w, r].
Rewrite shuffle(const ir::Node& n, Builder& b) {
  ir::Value* x = self_of(n);
  const int64_t r = Call::of(n).i("upscale_factor"), lead = rank_of(x) - 3;
  const Dim c = shape_of(n.result())[static_cast<size_t>(lead)];
  if (!c.is_constant()) return std::vector<ir::Value*>{};
  const ir::Arg h = size_arg(b, x, lead + 1), w = size_arg(b, x, lead + 2);
  ir::Value* y = b("aten.view", {x, with_leading(b, x, {c.value(), r, r, h, w})});
  y = b("aten.permute", {y, leading_perm(lead, {0, 3, 1, 4, 2})});
  return all(b, {b("aten.view", {y, with_leading(b, x, {c.value(), product_arg(b, h, r), product_arg(b, w, r)})})});
}
// [.., c, h/r, r, w/r, r] permuted to [.., c, r, r, h/r, w/r].
Rewrite unshuffle(const ir::Node& n, Builder& b) {
  ir::Value* x = self_of(n);
  const int64_t r = Call::of(n).i("downscale_factor"), lead = rank_of(x) - 3;
  const Shape& s = shape_of(n.result());
  const Shape tail(s.begin() + lead, s.end());
  if (!is_static(tail)) return std::vector<ir::Value*>{};
  const int64_t c = tail[0].value() / (r * r), h = tail[1].value(), w = tail[2].value();
  ir::Value* y = b("aten.view", {x, with_leading(b, x, {c, h, r, w, r})});
  y = b("aten.permute", {y, leading_perm(lead, {0, 2, 4, 1, 3})});
  return all(b, {b("aten.view", {y, with_leading(b, x, {c * r * r, h, w})})});
}

// --- channel_shuffle: [n, g*c, ...] as [n, g, c, ...], transposed ---
Result<Types> infer_channels(const Call& c) {
  const TensorType& t = c.tensor("self");
  const int64_t g = c.i("groups");
  if (t.rank() < 3) c.error(fmt::format("[channel_shuffle.1] self has {} dims, fewer than 3", t.rank()));
  if (g <= 0) c.error(fmt::format("[channel_shuffle.2] {} groups", g));
  if (!c.failed()) check_divides(c, t.shape[1], g);
  return Types{t};
}
Result<Point> eval_channels(const Call& c, size_t) {
  const int64_t g = c.i("groups"), per = c.tensor("self").shape[1].maybe().value_or(g) / g;
  return move_point([g, per](Index at, int64_t* in) {
    for (size_t d = 0; d < at.size(); ++d) in[d] = at[d];
    in[1] = at[1] % g * per + at[1] / g;
    return 0;
  });
}
Rewrite shuffle_channels(const ir::Node& n, Builder& b) {
  ir::Value* x = self_of(n);
  const int64_t g = Call::of(n).i("groups");
  const Dim c = shape_of(x)[1];
  if (!c.is_constant()) return std::vector<ir::Value*>{};
  const ir::Arg sizes = size_args(b, x);
  ir::ArgList split = *sizes.list();
  split[1] = c.value() / g;
  split.insert(split.begin() + 1, g);
  ir::Value* y = b("aten.view", {x, std::move(split)});
  return all(b, {b("aten.view", {b("aten.transpose.int", {y, 1, 2}), sizes})});
}

OpDef named(const char* schema, Result<Types> (*infer)(const Call&), Result<Point> (*eval)(const Call&, size_t),
            Rewrite (*rewrite)(const ir::Node&, Builder&)) {
  OpDef d;
  d.schema_text = schema;
  d.infer = infer;
  d.eval = eval;
  d.decompose = rewrite;
  return d;
}

}  // namespace

std::vector<OpDef> define_pixel_shuffle() {
  return {named("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", infer_shuffle, eval_shuffle, shuffle),
          named("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", infer_unshuffle, eval_unshuffle,
                unshuffle),
          named("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", infer_channels, eval_channels,
                shuffle_channels),
          named("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", infer_channels, eval_channels,
                shuffle_channels)};
}

}  // namespace edgewright::ops
