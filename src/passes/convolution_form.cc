#include "passes/convolution_form.h"

namespace edgewright::passes {

std::optional<std::vector<int64_t>> constant_ints(const Node& n, std::string_view param, size_t count) {
  const ir::Arg a = n.arg(param);
  std::vector<int64_t> out;
  if (a.i()) return std::vector<int64_t>(count, *a.i());
  if (!a.list()) return std::nullopt;
  for (const ir::Arg& x : *a.list()) {
    if (!x.i()) return std::nullopt;
    out.push_back(*x.i());
  }
  if (out.size() == 1) out.resize(count, out[0]);
  if (out.size() != count) return std::nullopt;
  return out;
}

Value* with_row(Rewriter& rw, Value* x) {
  auto sizes = sizes_of(x);
  if (!sizes) return rw("aten.unsqueeze", {x, 2});
  sizes->insert(sizes->begin() + 2, 1);
  return rw.view(x, *sizes);
}
Value* without_dim(Rewriter& rw, Value* x, int64_t dim, const Value& like) {
  if (!x) return x;
  const auto sizes = sizes_of(&like);
  return sizes ? rw.view(x, *sizes) : rw("aten.squeeze.dim", {x, dim});
}

std::variant<ConvolutionForm, std::string> convolution_form(const Node& n, Rewriter& rw, Value* x, Value* w) {
  ConvolutionForm f;
  const ir::Shape& xs = x->tensor()->shape;
  const auto ws = sizes_of(w);
  const size_t spatial = xs.size() - 2;
  if (!ws || xs.size() < 3 || spatial > 2) return "XNNPACK has convolutions over one or two dims";
  if (!xs[1].is_constant()) return "the channels are known only at run time";
  const int64_t channels = xs[1].value();
  auto stride = constant_ints(n, "stride", spatial), padding = constant_ints(n, "padding", spatial),
       dilation = constant_ints(n, "dilation", spatial), output_padding = constant_ints(n, "output_padding", spatial);
  const ir::Arg transposed = n.arg("transposed"), groups_arg = n.arg("groups");
  if (!stride || !padding || !dilation || !output_padding || !transposed.b() || !groups_arg.i())
    return "an argument is known only at run time";
  for (int64_t p : *padding)
    if (p < 0) return "negative padding";
  const int64_t groups = *groups_arg.i();
  std::vector<int64_t> wsz = *ws;
  f.result = n.result();
  f.groups = groups;
  f.out_channels = *transposed.b() ? wsz[1] * groups : wsz[0];
  f.one_dim = spatial == 1;
  if (f.one_dim) {  // a row of height 1
    wsz.insert(wsz.begin() + 2, 1);
    x = with_row(rw, x);
    w = rw.view(w, wsz);
    stride->insert(stride->begin(), 1);
    dilation->insert(dilation->begin(), 1);
    padding->insert(padding->begin(), 0);
    output_padding->insert(output_padding->begin(), 0);
  }
  Value* nhwc = rw.permute(x, kToNhwc);
  const std::vector<int64_t> pad4{(*padding)[0], (*padding)[1], (*padding)[0], (*padding)[1]};
  const ir::Arg none;
  if (!*transposed.b() && groups > 1 && groups == channels && wsz[1] == 1) {
    f.op = "depthwise_conv2d";
    f.args = {
        nhwc, rw.permute(w, {1, 2, 3, 0}), none, ir::Arg::ints(*stride), ir::Arg::ints(pad4), ir::Arg::ints(*dilation)};
  } else if (!*transposed.b()) {
    f.op = "conv2d";
    f.args = {
        nhwc,  rw.permute(w, {0, 2, 3, 1}), none, ir::Arg::ints(*stride), ir::Arg::ints(pad4), ir::Arg::ints(*dilation),
        groups};
  } else {
    // [i, o/g, kh, kw] -> [o, kh, kw, i/g]
    f.op = "deconv2d";
    if (groups > 1) {
      w = rw.view(w, {groups, wsz[0] / groups, wsz[1], wsz[2], wsz[3]});
      w = rw.permute(w, {0, 2, 3, 4, 1});
      w = rw.view(w, {groups * wsz[1], wsz[2], wsz[3], wsz[0] / groups});
    } else {
      w = rw.permute(w, {1, 2, 3, 0});
    }
    f.args = {nhwc,
              w,
              none,
              ir::Arg::ints(*stride),
              ir::Arg::ints(pad4),
              ir::Arg::ints(*dilation),
              ir::Arg::ints(*output_padding),
              groups};
  }
  return f;
}

}  // namespace edgewright::passes
