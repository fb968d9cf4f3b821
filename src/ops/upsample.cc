// src/ops/upsample.cc - aten.upsample_* (nearest, nearest_exact, linear, bilinear, trilinear, bicubic, antialiased bilinear),
// with sizes or scale factors, and xnn.resize_bilinear2d.
#include "ops/families.h"
#include "ops/resample.h"
#include "ops/xnn_emitter.h"

namespace edgewright::ops {
namespace {

using Values = Result<std::vector<ir::Value*>>;

struct Form {
  Interpolation how;
  size_t spatial;
  bool vec;  // "input", "output_size" or "scale_factors"; otherwise "self", "output_size", "scales..."
};

// The given scale factors, one per axis.
std::vector<std::optional<double>> scales_of(const Form& f, const Call& c) {
  std::vector<std::optional<double>> s(f.spatial);
  if (f.vec) {
    if (!c.has("scale_factors")) return s;
    const std::vector<double> given = c.floats("scale_factors");
    if (given.size() != f.spatial)
      c.error(fmt::format("[upsample.1] {} scale factors for {} dims", given.size(), f.spatial));
    for (size_t d = 0; d < std::min(given.size(), s.size()); ++d) s[d] = given[d];
    return s;
  }
  static constexpr const char* kNames[3][3] = {
      {"scales"}, {"scales_h", "scales_w"}, {"scales_d", "scales_h", "scales_w"}};
  for (size_t d = 0; d < f.spatial; ++d)
    if (const char* p = kNames[f.spatial - 1][d]; c.has(p)) s[d] = c.f(p);
  return s;
}
bool aligns(const Call& c) { return c.op().schema.index_of("align_corners") >= 0 && c.flag("align_corners"); }

Result<Types> rule(const Form& f, const Call& c) {
  const TensorType& x = c.type(0);
  if (x.rank() != f.spatial + 2) c.error(fmt::format("[upsample.2] input has rank {}", x.rank()));
  const bool nearest = f.how == Interpolation::kNearest || f.how == Interpolation::kNearestExact;
  if (!is_float(x.dtype) && !(nearest && x.dtype == DType::u8))
    c.error(fmt::format("[upsample.3] not defined on {}", name(x.dtype)));
  const bool has_size = c.has("output_size");
  const auto scales = scales_of(f, c);
  if (f.vec && has_size == c.has("scale_factors")) c.error("[upsample.1] needs either output_size or scale_factors");
  if (c.failed()) return Types{};
  Shape s = x.shape;
  const Shape sizes = has_size ? c.dims("output_size") : Shape{};
  if (has_size && sizes.size() != f.spatial)
    c.error(fmt::format("[upsample.1] output_size has {} entries", sizes.size()));
  for (size_t d = 0; d < f.spatial && !c.failed(); ++d) {
    Dim& n = s[2 + d];
    if (n == Dim(0)) c.error("[upsample.4] a spatial dim is empty");
    if (has_size)
      n = sizes[d];
    else if (n.is_constant())
      n = float_to_int(static_cast<double>(n.value()) * *scales[d]);
    else if (*scales[d] == std::floor(*scales[d]) && *scales[d] >= 1 && *scales[d] < 1e6)
      n = n * Dim(static_cast<int64_t>(*scales[d]));
    else
      n = c.fresh_symbol();
    if (n.is_constant() && (n.value() < 1 || n.value() > (int64_t{1} << 31)))
      c.error("[upsample.4] a result size is not positive");
  }
  return Types{TensorType{x.dtype, s}};
}

Resample make(const Form& f, const Call& c) {
  const auto types = rule(f, c);
  Resample r;
  if (c.failed()) return r;
  const Shape &in = c.type(0).shape, &out = std::get<TensorType>((*types)[0]).shape;
  const auto scales = scales_of(f, c);
  r.first = 2;
  for (size_t d = 0; d < f.spatial; ++d)
    r.axes.push_back(
        axis_taps(f.how, in[2 + d].value(), out[2 + d].value(), aligns(c), scales[d], c.type(0).dtype == DType::f64));
  return r;
}

// Nearest is data movement.
Point nearest_point(const Resample& r) {
  return move_point([r](Index out, int64_t* in) {
    std::copy(out.begin(), out.end(), in);
    for (size_t d = 0; d < r.axes.size(); ++d)
      in[r.first + d] = r.axes[d][static_cast<size_t>(out[r.first + d])][0].index;
    return 0;
  });
}
void nearest_whole(const Resample& r, const ir::Tensor& in, ir::Tensor& out) {
  const auto width = static_cast<int64_t>(size_of(out.dtype));
  std::vector<int64_t> at(out.sizes.size(), 0), from(at);
  std::byte* to = out.mutable_data();
  if (out.numel() == 0) return;
  do {
    from = at;
    for (size_t d = 0; d < r.axes.size(); ++d)
      from[r.first + d] = r.axes[d][static_cast<size_t>(at[r.first + d])][0].index;
    const std::byte* p = in.data + in.offset_of(from) * width;
    std::copy(p, p + width, to);
    to += width;
  } while (next_index(at, out.sizes));
}

// Rebuilds the op over fewer or other operands: `op` in its vec form over `x`, with this node's sizes.
std::vector<ir::Arg> vec_args(const ir::Node& n, ir::Value* x, std::vector<int64_t> sizes) {
  std::vector<ir::Arg> a{x, ir::Arg::ints(sizes)};
  if (n.op().schema.index_of("align_corners") >= 0) a.push_back(n.arg("align_corners"));
  a.push_back({});
  return a;
}

// Each axis in turn: the k-th tap of every output at once by index_select, times its weights, summed over k. Only elements
// that have a tap are read, so that a NaN or an infinity goes where it does in the op itself.
Values by_axes(const Form& f, const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Shape &in = c.type(0).shape, &out = n.result()->tensor()->shape;
  for (size_t d = 0; d < f.spatial; ++d)
    if (!in[2 + d].is_constant() || !out[2 + d].is_constant()) return std::vector<ir::Value*>{};
  const Resample r = [&] {
    Resample v;
    const auto scales = scales_of(f, c);
    for (size_t d = 0; d < f.spatial; ++d)
      v.axes.push_back(
          axis_taps(f.how, in[2 + d].value(), out[2 + d].value(), aligns(c), scales[d], c.type(0).dtype == DType::f64));
    return v;
  }();
  ir::Value* x = n.args()[0].value();
  const bool nearest = f.how == Interpolation::kNearest || f.how == Interpolation::kNearestExact;
  if (!nearest && x->tensor()->dtype != DType::f32) return std::vector<ir::Value*>{};
  for (size_t d = 0; d < f.spatial; ++d) {
    const int64_t dim = static_cast<int64_t>(2 + d);
    if (nearest) {
      ir::Tensor index = ir::Tensor::empty(DType::i64, {static_cast<int64_t>(r.axes[d].size())});
      for (size_t o = 0; o < r.axes[d].size(); ++o)
        ir::store_i(DType::i64, index.mutable_data(), static_cast<int64_t>(o), r.axes[d][o][0].index);
      x = b("aten.index_select", {x, dim, b.constant(index, "index")});
      continue;
    }
    size_t most = 0;
    for (const auto& taps : r.axes[d]) most = std::max(most, taps.size());
    if (most > 64) return std::vector<ir::Value*>{};
    ir::Value* sum = nullptr;
    for (size_t k = 0; k < most; ++k) {
      const auto n_out = static_cast<int64_t>(r.axes[d].size());
      ir::Tensor index = ir::Tensor::empty(DType::i64, {n_out});
      std::vector<int64_t> spread(f.spatial - d, 1);
      spread[0] = n_out;
      ir::Tensor weight = ir::Tensor::empty(DType::f32, spread);
      for (int64_t o = 0; o < n_out; ++o) {
        const auto& taps = r.axes[d][static_cast<size_t>(o)];
        ir::store_i(DType::i64, index.mutable_data(), o, taps[std::min(k, taps.size() - 1)].index);
        ir::store_f(DType::f32, weight.mutable_data(), o, k < taps.size() ? taps[k].weight : 0);
      }
      ir::Value* term = b("aten.mul.Tensor",
                          {b("aten.index_select", {x, dim, b.constant(index, "index")}), b.constant(weight, "weight")});
      sum = sum ? b("aten.add.Tensor", {sum, term}) : term;
    }
    x = sum;
  }
  return b.done({x});
}

Values decompose(const Form& f, const ir::Node& n, Builder& b, const std::string& stem) {
  const Call c = Call::of(n);
  ir::Value* x = n.args()[0].value();
  const Shape &in = c.type(0).shape, &out = n.result()->tensor()->shape;
  const auto scales = scales_of(f, c);
  const bool no_scales = std::none_of(scales.begin(), scales.end(), [](const auto& s) { return s.has_value(); });
  const bool known = std::all_of(out.begin() + 2, out.end(), [](const Dim& d) { return d.is_constant(); });
  const bool has_stock_vec = (f.how == Interpolation::kNearest || f.how == Interpolation::kLinear) && f.spatial == 2;
  if (has_stock_vec && !f.vec) {
    if (no_scales && known) return b.done({b(stem + ".vec", vec_args(n, x, {out[2].value(), out[3].value()}))});
    // Scales can be said only where they give the same sizes.
    std::vector<double> given;
    for (size_t d = 0; d < 2; ++d) {
      if (!scales[d] || !in[2 + d].is_constant() ||
          float_to_int(static_cast<double>(in[2 + d].value()) * *scales[d]) != out[2 + d].maybe())
        break;
      given.push_back(*scales[d]);
    }
    if (given.size() == 2) {
      std::vector<ir::Arg> a = vec_args(n, x, {});
      a[1] = ir::Arg();
      a.back() = ir::ArgList{given[0], given[1]};
      return b.done({b(stem + ".vec", a)});
    }
  }
  if (f.how == Interpolation::kLinear && f.spatial == 1 && no_scales && known) {  // a row of height 1
    x = b("aten.unsqueeze", {x, 2});
    x = b("aten.upsample_bilinear2d.vec", {x, ir::Arg::ints({1, out[2].value()}), n.arg("align_corners"), {}});
    return b.done({b("aten.squeeze.dim", {x, 2})});
  }
  return by_axes(f, n, b);
}

OpDef definition(std::string stem, Form f) {
  OpDef d;
  const bool aligned =
      f.how == Interpolation::kLinear || f.how == Interpolation::kCubic || f.how == Interpolation::kLinearAntialiased;
  const std::string align = aligned ? ", bool align_corners" : "";
  static constexpr const char* kScales[3] = {", float? scales=None", ", float? scales_h=None, float? scales_w=None",
                                             ", float? scales_d=None, float? scales_h=None, float? scales_w=None"};
  d.schema_text =
      f.vec ? fmt::format("aten::{}.vec(Tensor input, SymInt[]? output_size{}, float[]? scale_factors) -> Tensor", stem,
                          align)
            : fmt::format("aten::{}(Tensor self, SymInt[{}] output_size{}{}) -> Tensor", stem, f.spatial, align,
                          kScales[f.spatial - 1]);
  const bool nearest = !aligned;
  d.infer = [f](const Call& c) { return rule(f, c); };
  d.eval = [=](const Call& c, size_t) -> Result<Point> {
    const Resample r = make(f, c);
    return nearest ? nearest_point(r) : resample_point(r);
  };
  d.whole = [=](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const Resample r = make(f, c);
    if (c.failed()) return {};
    if (nearest)
      nearest_whole(r, in[0], out[0]);
    else
      resample_whole(r, in[0], out[0]);
    return {};
  };
  if (f.vec && f.how == Interpolation::kNearest && f.spatial == 2) d.stock = "aten::upsample_nearest2d.vec_out";
  if (f.vec && f.how == Interpolation::kLinear && f.spatial == 2) d.stock = "aten::upsample_bilinear2d.vec_out";
  d.decompose = [f, op = "aten." + stem](const ir::Node& n, Builder& b) { return decompose(f, n, b, op); };
  d.agreement = nearest ? Agreement::kBitExact : Agreement::kReassociated;
  return d;
}

// xnn.resize_bilinear2d: [n, h, w, c]; align_corners, else half-pixel centres, else src = dst * in / out.
OpDef resize() {
  OpDef d;
  d.schema_text =
      "xnn::resize_bilinear2d(Tensor x, int height, int width, bool align_corners, bool half_pixel) -> Tensor";
  const auto rule = [](const Call& c) -> Result<Types> {
    const TensorType& x = c.tensor("x");
    if (x.rank() != 4 || !is_float(x.dtype)) c.error("[xnn_resize.1] x must be float and have rank 4");
    const int64_t h = c.i("height"), w = c.i("width");
    if (h < 1 || w < 1 || h > (1 << 24) || w > (1 << 24)) c.error(fmt::format("[xnn_resize.2] size {} x {}", h, w));
    if (c.flag("align_corners") && c.flag("half_pixel"))
      c.error("[xnn_resize.3] align_corners and half_pixel exclude each other");
    if (c.failed()) return Types{};
    if (x.shape[1] == Dim(0) || x.shape[2] == Dim(0)) c.error("[xnn_resize.2] x is empty");
    return Types{TensorType{x.dtype, {x.shape[0], h, w, x.shape[3]}}};
  };
  const auto make = [](const Call& c) {
    Resample r;
    r.first = 1;
    const Shape& s = c.type(0).shape;
    for (const auto& [in, out] : {std::pair(s[1].value(), c.i("height")), std::pair(s[2].value(), c.i("width"))})
      r.axes.push_back(axis_taps(Interpolation::kLinear, in, out, c.flag("align_corners"), std::nullopt,
                                 c.type(0).dtype == DType::f64, c.flag("half_pixel")));
    return r;
  };
  d.infer = rule;
  d.eval = [make](const Call& c, size_t) -> Result<Point> { return resample_point(make(c)); };
  d.whole = [make](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    resample_whole(make(c), in[0], out[0]);
    return {};
  };
  d.lower = [](const ir::Node& n, XnnEmitter& out) -> Result<void> {
    const Call c = Call::of(n);
    const int64_t h = c.i("height"), w = c.i("width");
    const bool align = c.flag("align_corners"), half = c.flag("half_pixel");
    if (c.failed()) return fail(Code::kKeptOnHost, "{}", *c.failed());
    return out.resize_bilinear2d(n.arg("x").value(), n.result(), h, w, align, half);
  };
  d.agreement = Agreement::kReassociated;
  return d;
}

}  // namespace

std::vector<OpDef> define_upsample() {
  using I = Interpolation;
  std::vector<OpDef> all;
  for (bool vec : {false, true}) {
    for (size_t d = 1; d <= 3; ++d) {
      all.push_back(definition(fmt::format("upsample_nearest{}d", d), {I::kNearest, d, vec}));
      all.push_back(definition(fmt::format("_upsample_nearest_exact{}d", d), {I::kNearestExact, d, vec}));
    }
    all.push_back(definition("upsample_linear1d", {I::kLinear, 1, vec}));
    all.push_back(definition("upsample_bilinear2d", {I::kLinear, 2, vec}));
    all.push_back(definition("upsample_trilinear3d", {I::kLinear, 3, vec}));
    all.push_back(definition("upsample_bicubic2d", {I::kCubic, 2, vec}));
    all.push_back(definition("_upsample_bilinear2d_aa", {I::kLinearAntialiased, 2, vec}));
  }
  all.push_back(resize());
  return all;
}
}  // namespace edgewright::ops
