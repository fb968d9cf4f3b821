// src/passes/xnn_forms.cc - xnn-forms: ops whose XNNPACK node has another layout or other parameters -> our xnn.* ops, which are
// those nodes one to one, with the permutes and views that this needs around them in plain sight (sink-permutes then moves
// them together, where they cancel).
//   convolution(x, w)        -> permute(xnn.conv2d(permute(x, NHWC), permute(w, OHWI)), NCHW); grouped, depthwise, transposed, 1-d
//   max_pool2d, avg_pool2d, mean over (2,3), upsample_bilinear2d -> the same around their NHWC nodes
//   upsample_nearest2d by whole factors -> permute(view(expand(view(permute(x)))))
//   linear(x, w, b), mm, addmm with a constant weight -> xnn.fully_connected, with transposed_weight for mm and addmm
//   linear, matmul of two computed values -> batch matmul
//   view(xnn.fully_connected(view(x))) -> xnn.fully_connected(x), where the views only count the rows otherwise
//   softmax over another dim -> permute(softmax(permute(x), -1))
// Every form computes the same sums in another order at most.
#include <algorithm>

#include "ops/xnn_quant.h"
#include "ops/xnn_support.h"
#include "passes/convolution_form.h"
#include "passes/movement.h"

namespace edgewright::passes {
namespace {

// Ends a match whose XNNPACK node is `y`'s producer; `result` is what stands for the root.
Match if_taken(Rewriter& rw, Value* y, Value* result) {
  if (!y || !result) return rw.replace(result);  // reports the failure
  std::string reason;
  if (!ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  return rw.replace(result);
}

// [c, h, w] -> [1, c, h, w]
Value* with_batch(Rewriter& rw, Value* x) {
  auto sizes = sizes_of(x);
  if (!sizes) return rw("aten.unsqueeze", {x, 0});
  sizes->insert(sizes->begin(), 1);
  return rw.view(x, *sizes);
}

Match convolution(Node& n, Rewriter& rw) {
  Value *x = n.arg("input").value(), *w = n.arg("weight").value(), *b = n.arg("bias").value();
  if (!w->is_constant()) return no_match("the weight is not a constant");
  if (b && !b->is_constant()) return no_match("the bias is not a constant");
  if (!is_f32(x) || !is_f32(w)) return no_match("it is not f32");
  auto form = convolution_form(n, rw, x, w);
  if (const auto* reason = std::get_if<std::string>(&form)) return no_match(*reason);
  auto& f = std::get<ConvolutionForm>(form);
  if (b) f.args[2] = b;
  Value* y = rw("xnn." + f.op, f.args);
  return if_taken(rw, y, f.restored(rw, y));
}

// Bottom and right padding that give the result's size: what ceil_mode adds, or less than asked where it is not reached. Where the size
// is known only at run time it is the padding asked for, as long as there is no ceil_mode.
std::optional<int64_t> far_padding(const ir::Dim& in, const ir::Dim& out, int64_t near, int64_t kernel, int64_t stride,
                                   int64_t dilation, bool ceil_mode) {
  if (in.is_constant() && out.is_constant())
    return std::max<int64_t>(0, (out.value() - 1) * stride + dilation * (kernel - 1) + 1 - in.value() - near);
  if (ceil_mode) return std::nullopt;
  return near;
}
const ir::Dim& spatial_size(const Value* v, size_t i) { return v->tensor()->shape[v->tensor()->rank() - 2 + i]; }
bool ceil_mode(const Node& n) { return n.arg("ceil_mode").b() && *n.arg("ceil_mode").b(); }

Match max_pool(Node& n, Rewriter& rw) {
  if (n.num_results() > 1 && (!n.result(1)->users.empty() || n.graph().is_output(n.result(1))))
    return no_match("its indices are used");
  Value* x = n.arg("self").value();
  if (!is_f32(x)) return no_match("it is not f32");
  const auto kernel = constant_ints(n, "kernel_size", 2), padding = constant_ints(n, "padding", 2),
             dilation = constant_ints(n, "dilation", 2);
  const ir::Arg s = n.arg("stride");
  const auto stride = s.is_none() || (s.list() && s.list()->empty()) ? kernel : constant_ints(n, "stride", 2);
  if (!kernel || !padding || !dilation || !stride) return no_match("an argument is known only at run time");
  const std::vector<int64_t> ones{1, 1};
  if (*kernel == ones && *stride == ones && *padding == std::vector<int64_t>{0, 0}) {  // each element by itself
    std::vector<Value*> same(n.num_results(), nullptr);
    same[0] = x;
    return rw.replace(std::move(same));
  }
  const bool unbatched = x->tensor()->rank() == 3;
  std::vector<int64_t> pad4{(*padding)[0], (*padding)[1], 0, 0};
  for (size_t i : {0, 1}) {
    const auto far = far_padding(spatial_size(x, i), spatial_size(n.result(), i), (*padding)[i], (*kernel)[i],
                                 (*stride)[i], (*dilation)[i], ceil_mode(n));
    if (!far) return no_match("ceil_mode on a size known only at run time");
    pad4[2 + i] = *far;
  }
  // Integers are in the order of what they stand for.
  Node* dq = x->producer && ops::dequantizes(*x->producer) ? x->producer : nullptr;
  if (dq) {
    rw.matched(dq);
    x = dq->inputs()[0];
  }
  if (unbatched) x = with_batch(rw, x);
  Value* y = rw("xnn.max_pool2d", {rw.permute(x, kToNhwc), ir::Arg::ints(*kernel), ir::Arg::ints(*stride),
                                   ir::Arg::ints(pad4), ir::Arg::ints(*dilation)});
  if (!y) return rw.replace(y);
  Value* nchw = rw.permute(y, kToNchw);
  Value* result = unbatched ? without_dim(rw, nchw, 0, *n.result()) : nchw;
  std::string reason;
  if (result && !ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  if (dq && result) {
    std::vector<ir::Arg> args = dq->args();
    args[0] = result;
    result = rw(dq->name(), std::move(args));
  }
  std::vector<Value*> out(n.num_results(), nullptr);
  out[0] = result;
  return rw.replace(std::move(out));
}

Match avg_pool(Node& n, Rewriter& rw) {
  Value* x = n.arg("self").value();
  if (!is_f32(x)) return no_match("it is not f32");
  const auto kernel = constant_ints(n, "kernel_size", 2), padding = constant_ints(n, "padding", 2);
  const ir::Arg s = n.arg("stride");
  const auto stride = s.is_none() || (s.list() && s.list()->empty()) ? kernel : constant_ints(n, "stride", 2);
  if (!kernel || !padding || !stride) return no_match("an argument is known only at run time");
  const ir::Arg divisor = n.arg("divisor_override");
  if (!divisor.is_none() && !divisor.i()) return no_match("an argument is known only at run time");
  const bool include = n.arg("count_include_pad").b() && *n.arg("count_include_pad").b();
  const bool unbatched = x->tensor()->rank() == 3;
  // XNNPACK divides by the number of elements in the window. PyTorch's divisor, where it is another, comes in by their ratio.
  bool plain = divisor.is_none();
  std::vector<int64_t> pad4{0, 0, 0, 0};
  std::array<std::vector<double>, 2> valid, counted;  // per output, along each dim
  for (size_t i : {0, 1}) {
    const ir::Dim &in = spatial_size(x, i), &out = spatial_size(n.result(), i);
    const auto far = far_padding(in, out, (*padding)[i], (*kernel)[i], (*stride)[i], 1, ceil_mode(n));
    if (!far) return no_match("ceil_mode on a size known only at run time");
    pad4[i] = (*padding)[i];
    pad4[2 + i] = *far;
    if (!in.is_constant() || !out.is_constant()) {
      if (!plain || (include && (*padding)[i])) return no_match("its divisors depend on a size known only at run time");
      continue;
    }
    for (int64_t o = 0; o < out.value(); ++o) {
      const int64_t size = in.value(), from = o * (*stride)[i] - (*padding)[i], to = from + (*kernel)[i];
      valid[i].push_back(static_cast<double>(std::min(to, size) - std::max<int64_t>(from, 0)));
      counted[i].push_back(include ? static_cast<double>(std::min(to, size + (*padding)[i]) - from) : valid[i].back());
      plain = plain && (valid[i].back() == counted[i].back());
      if (valid[i].back() < 1) return no_match("a window without an element");
    }
  }
  const int64_t rows = static_cast<int64_t>(valid[0].size()), columns = static_cast<int64_t>(valid[1].size());
  if (!plain && (rows == 0 || columns == 0)) return no_match("its divisors depend on a size known only at run time");
  if (unbatched) x = with_batch(rw, x);
  Value* nhwc = rw.permute(x, kToNhwc);
  Value* y = rw("xnn.avg_pool2d", {nhwc, ir::Arg::ints(*kernel), ir::Arg::ints(*stride), ir::Arg::ints(pad4)});
  if (!y) return rw.replace(y);
  std::string reason;
  if (!ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  if (!plain) {
    ir::Tensor ratio = ir::Tensor::empty(DType::f32, {1, rows, columns, 1});
    for (int64_t h = 0; h < rows; ++h)
      for (int64_t w = 0; w < columns; ++w) {
        const auto of = [&](const auto& a) { return a[0][static_cast<size_t>(h)] * a[1][static_cast<size_t>(w)]; };
        const double d = divisor.i() ? static_cast<double>(*divisor.i()) : of(counted);
        ir::store_f(DType::f32, ratio.mutable_data(), h * columns + w, of(valid) / d);
      }
    y = rw("aten.mul.Tensor", {y, rw.constant(std::move(ratio), "valid_over_divisor")});
  }
  Value* nchw = rw.permute(y, kToNchw);
  return rw.replace(unbatched ? without_dim(rw, nchw, 0, *n.result()) : nchw);
}

Match mean(Node& n, Rewriter& rw) {
  Value* x = n.arg("self").value();
  if (!is_f32(x) || !is_f32(n.result())) return no_match("it is not an f32 mean");
  const auto ys = sizes_of(n.result());
  const ir::Arg dim = n.arg("dim");
  if (!dim.list() || x->tensor()->rank() != 4)
    return no_match("XNNPACK's payload has the mean over height and width only");
  std::vector<int64_t> dims;
  for (const ir::Arg& d : *dim.list()) {
    if (!d.i()) return no_match("a dim known only at run time");
    dims.push_back(*d.i() < 0 ? *d.i() + 4 : *d.i());
  }
  std::sort(dims.begin(), dims.end());
  Value* in = x;
  if (dims == std::vector<int64_t>{2, 3}) {
    in = rw.permute(x, kToNhwc);
  } else if (dims != std::vector<int64_t>{1, 2}) {
    return no_match("XNNPACK's payload has the mean over height and width only");
  }
  Value* y = rw("xnn.global_avg_pool2d", {in});
  if (ys) return if_taken(rw, y, rw.view(y, *ys));
  if (!y) return rw.replace(y);
  // [n, 1, 1, c] of an n known only at run time
  Value* result = n.result()->tensor()->rank() == 2 ? rw("aten.squeeze.dims", {y, ir::Arg::ints({1, 2})})
                  : in != x                         ? rw.permute(y, kToNchw)
                                                    : y;
  return if_taken(rw, y, result);
}

Match upsample(Node& n, Rewriter& rw) {
  const bool vec = n.is("aten.upsample_bilinear2d.vec");
  Value* x = n.arg(vec ? "input" : "self").value();
  const auto xs = sizes_of(x), ys = sizes_of(n.result());
  if (!xs || !ys || !is_f32(x)) return no_match("it is not a statically shaped f32 resize");
  const ir::Arg align = n.arg("align_corners");
  // PyTorch uses given scale factors instead of the sizes' ratio; XNNPACK has the ratio alone.
  const auto scale_is_ratio = [&](const ir::Arg& a, size_t d) {
    return a.is_none() || (a.f() && *a.f() == static_cast<double>((*ys)[d]) / static_cast<double>((*xs)[d]));
  };
  if (!*align.b()) {
    bool ok = true;
    if (vec) {
      const ir::Arg f = n.arg("scale_factors");
      if (f.list())
        ok = f.list()->size() == 2 && scale_is_ratio((*f.list())[0], 2) && scale_is_ratio((*f.list())[1], 3);
    } else {
      ok = scale_is_ratio(n.arg("scales_h"), 2) && scale_is_ratio(n.arg("scales_w"), 3);
    }
    if (!ok) return no_match("a scale factor that is not the ratio of the sizes");
  }
  Value* y = rw("xnn.resize_bilinear2d", {rw.permute(x, kToNhwc), (*ys)[2], (*ys)[3], *align.b(), !*align.b()});
  return if_taken(rw, y, y ? rw.permute(y, kToNchw) : y);
}

// Whole repeats: one row and column more per element, then views together.
Match nearest(Node& n, Rewriter& rw) {
  Value* x = n.inputs()[0];
  const auto xs = sizes_of(x), ys = sizes_of(n.result());
  if (!xs || !ys || !is_f32(x) || xs->size() != 4) return no_match("it is not a statically shaped f32 resize");
  const int64_t h = (*xs)[2], w = (*xs)[3], c = (*xs)[1], rows = (*ys)[2] / h, columns = (*ys)[3] / w;
  if (rows * h != (*ys)[2] || columns * w != (*ys)[3]) return no_match("a scale that is not a whole number");
  for (const char* param : {"scale_factors", "scales_h", "scales_w"}) {
    const int k = n.op().schema.index_of(param);
    if (k < 0) continue;
    const ir::Arg a = n.args()[static_cast<size_t>(k)];
    const auto whole = [](const ir::Arg& f) { return f.is_none() || (f.f() && *f.f() == std::floor(*f.f())); };
    if (a.list() ? !std::all_of(a.list()->begin(), a.list()->end(), whole) : !whole(a))
      return no_match("a scale factor that is not a whole number");
  }
  const int64_t b = (*xs)[0];
  Value* y = rw.permute(x, kToNhwc);
  y = rw.view(y, {b, h, 1, w, 1, c});
  y = rw("aten.expand", {y, ir::Arg::ints({b, h, rows, w, columns, c})});
  std::string reason;
  if (y && !ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  y = rw.view(y, {b, h * rows, w * columns, c});
  return rw.replace(y ? rw.permute(y, kToNchw) : y);
}

// Sizes for a view: at most one of them known only at run time, which the view derives.
std::optional<std::vector<int64_t>> view_of(const ir::Shape& s) {
  std::vector<int64_t> out;
  for (const ir::Dim& d : s) out.push_back(d.maybe().value_or(-1));
  if (std::count(out.begin(), out.end(), -1) > 1) return std::nullopt;
  return out;
}

bool is_one(const ir::Arg& a) { return (a.i() && *a.i() == 1) || (a.f() && *a.f() == 1); }

Match linear(Node& n, Rewriter& rw) {
  const bool is_linear = n.is("aten.linear"), addmm = n.is("aten.addmm");
  Value* x = n.arg(is_linear ? "input" : addmm ? "mat1" : "self").value();
  Value* w = n.arg(is_linear ? "weight" : "mat2").value();
  Value* b = is_linear ? n.arg("bias").value() : addmm ? n.arg("self").value() : nullptr;
  const ir::Shape &xs = x->tensor()->shape, &ys = n.result()->tensor()->shape;
  if (xs.empty() || w->tensor()->rank() != 2) return no_match("it is not a product with a matrix");
  if (!is_f32(x) || !is_f32(w)) return no_match("it is not f32");
  if (w->producer && w->producer->name().find(".dequantize_") != std::string::npos)
    return no_match("the weight is dequantized when it runs");
  const ir::Arg alpha = addmm ? n.arg("alpha") : ir::Arg(1), beta = addmm ? n.arg("beta") : ir::Arg(1);
  const auto number = [](const ir::Arg& a) { return a.f() ? *a.f() : a.i() ? static_cast<double>(*a.i()) : NAN; };
  const double scale = number(alpha), bias_scale = number(beta);
  if (!(std::isfinite(scale) && std::isfinite(bias_scale))) return no_match("alpha or beta is not a finite constant");
  const bool row_bias = b && b->is_constant() && b->tensor()->rank() == 1 && b->tensor()->shape[0] == ys.back();
  const bool bias_inside = row_bias && is_one(alpha) && is_one(beta) && w->is_constant();
  Value* y;
  if (w->is_constant()) {
    y = rw("xnn.fully_connected", {x, w, bias_inside ? ir::Arg(b) : ir::Arg(), !is_linear});
  } else {
    Value* x2 = x;
    if (xs.size() != 2) {
      const ir::Dim rows = ir::numel(ir::Shape(xs.begin(), xs.end() - 1));
      if (!xs.back().is_constant() || !view_of(ys)) return no_match("several sizes are known only at run time");
      x2 = rw.view(x, {rows.maybe().value_or(-1), xs.back().value()});
    }
    y = rw("aten.mm", {x2, is_linear ? rw.permute(w, {1, 0}) : w});
    if (!is_linear && !addmm) return no_match("a product of two computed values stays a matmul");
  }
  if (!y) return rw.replace(y);
  std::string reason;
  if (w->is_constant() && !ops::xnn_takes(*y->producer, &reason)) return no_match(reason);
  if (!(y->tensor()->shape == ys)) y = rw.view(y, *view_of(ys));
  if (b && !bias_inside) {
    if (scale != 1) y = rw("aten.mul.Scalar", {y, alpha});
    // beta = 0 ignores the bias, NaN and all
    if (bias_scale != 0) y = rw("aten.add.Tensor", {y, bias_scale == 1 ? b : rw("aten.mul.Scalar", {b, beta})});
  }
  return rw.replace(y);
}

// view(fc(view(x))) -> fc(x): rows may stand in as many dims as they like.
Match rows(Node& n, Rewriter& rw) {
  Node* fc = producer(n.args()[0].value(), "xnn.fully_connected");
  const auto ys = sizes_of(n.result());
  if (!fc || !ys || ys->empty() || !only_user(fc->result())) return no_match();
  for (const Source& s : sources(fc->args()[0].value())) {
    if (s.path.empty() || !s.map.is_reshape()) continue;
    const auto xs = sizes_of(s.value);
    if (xs->size() != ys->size() || !std::equal(xs->begin(), xs->end() - 1, ys->begin())) continue;
    if (xs->back() != sizes_of(fc->args()[0].value())->back() || ys->back() != sizes_of(fc->result())->back()) continue;
    rw.matched(fc);
    for (Node* p : s.path) rw.matched(p);
    std::vector<ir::Arg> args = fc->args();
    args[0] = s.value;
    Value* y = rw("xnn.fully_connected", std::move(args));
    return if_taken(rw, y, y);
  }
  return no_match();
}

Match softmax(Node& n, Rewriter& rw) {
  Value* x = n.arg("self").value();
  const ir::Arg dim = n.arg("dim");
  if (x->tensor()->rank() == 0 || !is_f32(x) || !is_f32(n.result()) || !dim.i())
    return no_match("it is not an f32 softmax");
  const auto rank = static_cast<int64_t>(x->tensor()->rank());
  const int64_t d = *dim.i() < 0 ? *dim.i() + rank : *dim.i();
  if (d == rank - 1) return no_match();
  std::vector<int64_t> perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[static_cast<size_t>(d)], perm.back());  // its own inverse
  std::vector<ir::Arg> args = n.args();
  args[0] = rw.permute(x, perm);
  args[1] = static_cast<int64_t>(-1);
  Value* y = rw(n.name(), std::move(args));
  return if_taken(rw, y, y ? rw.permute(y, perm) : y);
}

Match rewrite(Node& n, Rewriter& rw) {
  if (n.is("aten.convolution")) return convolution(n, rw);
  if (n.name().starts_with("aten.max_pool2d")) return max_pool(n, rw);
  if (n.is("aten.avg_pool2d")) return avg_pool(n, rw);
  if (n.is("aten.mean.dim")) return mean(n, rw);
  if (n.name().starts_with("aten.upsample_nearest")) return nearest(n, rw);
  if (n.name().starts_with("aten.upsample")) return upsample(n, rw);
  if (n.is("aten.view")) return rows(n, rw);
  if (n.name().ends_with("softmax") || n.name().ends_with("softmax.int")) return softmax(n, rw);
  return linear(n, rw);
}

}  // namespace
PassDef define_xnn_forms() {
  return {.name = "xnn-forms",
          .roots = {"aten.convolution", "aten.max_pool2d", "aten.max_pool2d_with_indices", "aten.avg_pool2d",
                    "aten.mean.dim", "aten.upsample_bilinear2d", "aten.upsample_bilinear2d.vec",
                    "aten.upsample_nearest2d", "aten.upsample_nearest2d.vec", "aten.linear", "aten.mm", "aten.addmm",
                    "aten._softmax", "aten.softmax.int", "aten.view"},
          .rewrite = rewrite,
          .agreement = Agreement::kReassociated,
          .summary =
              "convolution, pooling, resize, linear, softmax -> the XNNPACK node's own form, with explicit permutes"};
}
}  // namespace edgewright::passes
