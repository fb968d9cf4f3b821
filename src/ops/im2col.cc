// src/ops/im2col.cc - image patches as columns (nn.Unfold) and their sum back (nn.Fold). Depends on ops/pick_rules.h.
#include <algorithm>

#include "ops/families.h"
#include "ops/pick_rules.h"

namespace edgewright::ops {
namespace {

struct Grid {
  std::array<int64_t, 2> kernel{1, 1}, dilation{1, 1}, padding{0, 0}, stride{1, 1};
  std::array<Dim, 2> image, windows;  // heights, then widths
  int64_t patch() const { return kernel[0] * kernel[1]; }
};
// [im2col.1] Positive kernel, dilation and stride; padding not negative. [im2col.2] At least one window fits.
Grid grid(const Call& c, const Dim& height, const Dim& width) {
  Grid g;
  const auto pair = [&](const char* name, int64_t least) {
    const auto v = c.ints(name);
    std::array<int64_t, 2> out{1, 1};
    if (v.size() != 2)
      c.error(fmt::format("[im2col.1] {} has {} elements", name, v.size()));
    else
      out = {v[0], v[1]};
    for (int64_t& x : out)
      if (x < least || x > 1 << 20) {
        c.error(fmt::format("[im2col.1] {} is {}", name, x));
        x = 1;
      }
    return out;
  };
  g.kernel = pair("kernel_size", 1);
  g.dilation = pair("dilation", 1);
  g.padding = pair("padding", 0);
  g.stride = pair("stride", 1);
  g.image = {height, width};
  for (size_t d = 0; d < 2; ++d) {
    const Dim room = g.image[d] + Dim(2 * g.padding[d] - g.dilation[d] * (g.kernel[d] - 1) - 1);
    if (room.is_constant() && room.value() < 0)
      c.error(fmt::format("[im2col.2] no window of {} fits into {}", g.kernel[d], g.image[d].str()));
    g.windows[d] = floordiv(room, g.stride[d]) + Dim(1);
  }
  return g;
}
// [im2col.3] self is [c, h, w] or [n, c, h, w].
Result<Types> infer_columns(const Call& c) {
  const TensorType& t = c.tensor("self");
  if (t.rank() != 3 && t.rank() != 4) {
    c.error(fmt::format("[im2col.3] self has {} dims, not 3 or 4", t.rank()));
    return Types{t};
  }
  const size_t n = t.rank();
  const Grid g = grid(c, t.shape[n - 2], t.shape[n - 1]);
  Shape s(t.shape.begin(), t.shape.end() - 3);
  s.push_back(t.shape[n - 3] * Dim(g.patch()));
  s.push_back(g.windows[0] * g.windows[1]);
  return Types{TensorType{t.dtype, s}};
}
Result<Point> eval_columns(const Call& c, size_t) {
  const Shape& s = c.tensor("self").shape;
  const Grid g = grid(c, s[s.size() - 2], s[s.size() - 1]);
  return move_point([g, lead = s.size() - 3, h = g.image[0].maybe().value_or(0), w = g.image[1].maybe().value_or(0),
                     across = g.windows[1].maybe().value_or(1)](Index at, int64_t* in) {
    if (lead) in[0] = at[0];
    const int64_t row = at[lead], window = at[lead + 1];
    const int64_t y = window / across * g.stride[0] - g.padding[0] + row / g.kernel[1] % g.kernel[0] * g.dilation[0];
    const int64_t x = window % across * g.stride[1] - g.padding[1] + row % g.kernel[1] * g.dilation[1];
    if (y < 0 || y >= h || x < 0 || x >= w) return kFill;
    in[lead] = row / g.patch();
    in[lead + 1] = y;
    in[lead + 2] = x;
    return 0;
  });
}

// Row or column numbers in the padded image: [kernel, windows].
ir::Tensor coordinates(const Grid& g, size_t d) {
  const int64_t n = g.windows[d].value();
  ir::Tensor t = ir::Tensor::empty(DType::i64, {g.kernel[d], n});
  for (int64_t k = 0; k < g.kernel[d]; ++k)
    for (int64_t i = 0; i < n; ++i)
      ir::store_i(DType::i64, t.mutable_data(), k * n + i, i * g.stride[d] + k * g.dilation[d]);
  return t;
}
// Pads, then picks rows [kh, oh] and columns [kw, ow] at once: [n, c, kh, oh, kw, ow], permuted and merged.
Result<std::vector<ir::Value*>> columns_as_index(const ir::Node& n, Builder& b) {
  ir::Value* x = self_of(n);
  const Shape s = shape_of(x);
  const bool batched = s.size() == 4;
  const Grid g = grid(Call::of(n), s[s.size() - 2], s[s.size() - 1]);
  if (!is_static(s)) return std::vector<ir::Value*>{};
  if (!batched) x = b("aten.unsqueeze", {x, 0});
  if (g.padding[0] != 0 || g.padding[1] != 0)
    x = b("aten.constant_pad_nd", {x, ir::Arg::ints({g.padding[1], g.padding[1], g.padding[0], g.padding[0]})});
  ir::Tensor rows = coordinates(g, 0), cols = coordinates(g, 1);
  rows.sizes = {g.kernel[0], g.windows[0].value(), 1, 1};
  rows.strides = ir::contiguous_strides(rows.sizes);
  ir::Value* y = b("aten.index.Tensor",
                   {x, ir::ArgList{ir::Arg(), ir::Arg(), b.constant(rows, "rows"), b.constant(cols, "columns")}});
  y = b("aten.permute", {y, ir::Arg::ints({0, 1, 2, 4, 3, 5})});
  return all(b, {b("aten.view", {y, ir::Arg::ints(ir::static_sizes(shape_of(n.result())))})});
}

// --- col2im ---
// [col2im.1] self is [c * patch, windows] or [n, c * patch, windows] with as many windows as output_size has.
Result<Types> infer_image(const Call& c) {
  const TensorType& t = c.tensor("self");
  const Shape size = c.dims("output_size");
  if ((t.rank() != 2 && t.rank() != 3) || size.size() != 2) {
    c.error(fmt::format("[col2im.1] self has {} dims, output_size {} elements", t.rank(), size.size()));
    return Types{t};
  }
  const Grid g = grid(c, size[0], size[1]);
  const Dim rows = t.shape[t.rank() - 2], windows = g.windows[0] * g.windows[1];
  if (rows.is_constant() && rows.value() % g.patch() != 0)
    c.error(fmt::format("[col2im.1] {} rows do not divide by a patch of {}", rows.value(), g.patch()));
  if (windows.is_constant() && t.shape.back().is_constant() && !(windows == t.shape.back()))
    c.error(fmt::format("[col2im.1] {} columns where there are {} windows", t.shape.back().value(), windows.value()));
  Shape s(t.shape.begin(), t.shape.end() - 2);
  s.push_back(floordiv(rows, g.patch()));
  s.push_back(size[0]);
  s.push_back(size[1]);
  return Types{TensorType{t.dtype, s}};
}
// The sum over the kernel places that cover a pixel.
Result<Point> eval_image(const Call& c, size_t) {
  const TensorType& t = c.tensor("self");
  if (!is_float(t.dtype)) return fail(Code::kUnsupported, "{}: {}", c.name(), name(t.dtype));
  const Shape size = c.dims("output_size");
  const Grid g = grid(c, size[0], size[1]);
  return float_point([g, lead = t.rank() - 2, down = g.windows[0].maybe().value_or(0),
                      across = g.windows[1].maybe().value_or(0)](const auto& in, Index at) {
    typename std::decay_t<decltype(in)>::F sum = 0;
    IndexBuffer x{};
    if (lead) x[0] = at[0];
    for (int64_t i = 0; i < g.kernel[0]; ++i) {
      const int64_t y = at[lead + 1] + g.padding[0] - i * g.dilation[0];
      if (y < 0 || y % g.stride[0] != 0 || y / g.stride[0] >= down) continue;
      for (int64_t j = 0; j < g.kernel[1]; ++j) {
        const int64_t z = at[lead + 2] + g.padding[1] - j * g.dilation[1];
        if (z < 0 || z % g.stride[1] != 0 || z / g.stride[1] >= across) continue;
        x[lead] = (at[lead] * g.kernel[0] + i) * g.kernel[1] + j;
        x[lead + 1] = y / g.stride[0] * across + z / g.stride[1];
        sum += in.f(0, Index{x.data(), lead + 2});
      }
    }
    return sum;
  });
}
// An index_put that accumulates into a padded image of zeros, its border cut away.
Result<std::vector<ir::Value*>> image_as_put(const ir::Node& n, Builder& b) {
  ir::Value* x = self_of(n);
  const Shape to = shape_of(n.result());
  if (!is_static(shape_of(x)) || !is_static(to) || !is_float(x->tensor()->dtype)) return std::vector<ir::Value*>{};
  const bool batched = rank_of(x) == 3;
  const Grid g = grid(Call::of(n), to[to.size() - 2], to[to.size() - 1]);
  const int64_t batch = batched ? to[0].value() : 1, channels = to[to.size() - 3].value(), h = g.image[0].value(),
                w = g.image[1].value();
  ir::Value* y =
      b("aten.view",
        {x, ir::Arg::ints({batch, channels, g.kernel[0], g.kernel[1], g.windows[0].value(), g.windows[1].value()})});
  y = b("aten.permute", {y, ir::Arg::ints({0, 1, 2, 4, 3, 5})});
  ir::Tensor zeros =
      ir::Tensor::empty(x->tensor()->dtype, {batch, channels, h + 2 * g.padding[0], w + 2 * g.padding[1]});
  std::memset(zeros.mutable_data(), 0, zeros.nbytes());
  ir::Tensor rows = coordinates(g, 0), cols = coordinates(g, 1);
  rows.sizes = {g.kernel[0], g.windows[0].value(), 1, 1};
  rows.strides = ir::contiguous_strides(rows.sizes);
  y = b("aten.index_put",
        {b.constant(std::move(zeros), "zeros"),
         ir::ArgList{ir::Arg(), ir::Arg(), b.constant(rows, "rows"), b.constant(cols, "columns")}, y, true});
  y = b("aten.constant_pad_nd", {y, ir::Arg::ints({-g.padding[1], -g.padding[1], -g.padding[0], -g.padding[0]})});
  return all(b, {batched ? y : b("aten.squeeze.dim", {y, 0})});
}

}  // namespace

std::vector<OpDef> define_im2col() {
  OpDef columns, image;
  columns.schema_text =
      "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor";
  columns.infer = infer_columns;
  columns.eval = eval_columns;
  columns.decompose = columns_as_index;
  image.schema_text =
      "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] "
      "stride) -> Tensor";
  image.infer = infer_image;
  image.eval = eval_image;
  image.decompose = image_as_put;
  return {columns, image};
}

}  // namespace edgewright::ops
