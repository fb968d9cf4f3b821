// src/ops/lstm.cc - aten.lstm.input, gru.input, rnn_tanh.input, rnn_relu.input and their cells, mkldnn_rnn_layer: recurrent
// layers over a sequence; sequential, so only whole tensors are computed.
#include "ops/recurrent.h"
#include "ops/view_rules.h"

namespace edgewright::ops {
namespace {

// A call of one of the layered ops.
struct Layers {
  std::vector<int> params;  // operands
  int x = -1, h0 = -1, c0 = -1;
  int64_t layers = 0, directions = 1, per_cell = 0;  // params per layer and direction
  bool biases = false, projected = false, batch_first = false;
  Dim time, batch, in, state;  // state: width of h
  int64_t hidden = 0;
};

Layers read(Cell cell, const Call& c) {
  Layers l;
  l.x = c.operand("input");
  const TensorType& x = c.type(l.x);
  const std::vector<int> hx = c.operands("hx");
  l.h0 = hx.empty() ? -1 : hx[0];
  l.c0 = cell == Cell::kLstm && hx.size() > 1 ? hx[1] : -1;
  if (l.h0 < 0 || (cell == Cell::kLstm && l.c0 < 0)) c.error("[rnn.1] initial states are missing");
  if (x.rank() != 3) c.error(fmt::format("[rnn.2] input has rank {}", x.rank()));
  if (!is_float(x.dtype)) c.error(fmt::format("[rnn.2] input is {}", name(x.dtype)));
  l.params = c.operands("params");
  l.biases = c.flag("has_biases");
  l.layers = c.i("num_layers");
  l.directions = c.flag("bidirectional") ? 2 : 1;
  l.batch_first = c.flag("batch_first");
  if (c.flag("train") && c.f("dropout") != 0) c.error("[rnn.3] dropout; export the model in eval mode");
  if (l.layers < 1 || l.layers > 1024) c.error(fmt::format("[rnn.4] {} layers", l.layers));
  if (c.failed()) return l;
  const int64_t cells = l.layers * l.directions, plain = l.biases ? 4 : 2,
                count = static_cast<int64_t>(l.params.size());
  l.projected = cell == Cell::kLstm && count == cells * (plain + 1);
  l.per_cell = plain + (l.projected ? 1 : 0);
  if (count != cells * l.per_cell) c.error(fmt::format("[rnn.4] {} parameters for {} cells", count, cells));
  if (c.failed()) return l;
  l.time = x.shape[l.batch_first ? 1 : 0];
  l.batch = x.shape[l.batch_first ? 0 : 1];
  l.in = x.shape.back();
  const Shape &w_hh = c.type(l.params[1]).shape, &w_ih = c.type(l.params[0]).shape;
  if (w_hh.size() != 2 || w_ih.size() != 2 || !w_hh[0].is_constant() || !w_hh[1].is_constant() ||
      !w_ih[1].is_constant()) {
    c.error("[rnn.5] weights must be matrices of known size");
    return l;
  }
  l.hidden = w_hh[0].value() / gates_of(cell);
  l.state = w_hh[1];
  for (int64_t k = 0; k < cells; ++k) {
    const int64_t wide = k < l.directions ? l.in.maybe().value_or(w_ih[1].value()) : l.state.value() * l.directions;
    std::vector<std::vector<int64_t>> want{{gates_of(cell) * l.hidden, wide},
                                           {gates_of(cell) * l.hidden, l.state.value()}};
    if (l.biases) want.insert(want.end(), 2, {gates_of(cell) * l.hidden});
    if (l.projected) want.push_back({l.state.value(), l.hidden});
    for (int64_t p = 0; p < l.per_cell; ++p) {
      const int operand = l.params[static_cast<size_t>(k * l.per_cell + p)];
      if (operand < 0 || c.type(operand).dtype != x.dtype || !ir::is_static(c.type(operand).shape) ||
          ir::static_sizes(c.type(operand).shape) != want[static_cast<size_t>(p)]) {
        c.error(fmt::format("[rnn.5] parameter {} of cell {} has the wrong type", p, k));
        return l;
      }
    }
  }
  const auto check = [&](int operand, const Dim& width) {
    const TensorType& t = c.type(operand);
    const Shape want{cells, l.batch, width};
    bool ok = t.dtype == x.dtype && t.rank() == want.size();
    for (size_t d = 0; ok && d < want.size(); ++d) ok = !differ(t.shape[d], want[d]);
    if (!ok) c.error("[rnn.6] an initial state has the wrong type");
  };
  check(l.h0, l.state);
  if (l.c0 >= 0) check(l.c0, l.hidden);
  if (!l.projected && l.state.value() != l.hidden) c.error("[rnn.5] hidden sizes differ");
  return l;
}

Result<Types> rule(Cell cell, const Call& c) {
  const Layers l = read(cell, c);
  if (c.failed()) return Types{};
  Shape y = c.type(l.x).shape;
  y.back() = l.state * Dim(l.directions);
  const DType t = c.type(l.x).dtype;
  Types types{TensorType{t, y}, TensorType{t, c.type(l.h0).shape}};
  if (l.c0 >= 0) types.push_back(TensorType{t, c.type(l.c0).shape});
  return types;
}

CellWeights weights(const Layers& l, int64_t cell, std::span<const ir::Tensor> in) {
  CellWeights w;
  const auto param = [&](int64_t p) -> const ir::Tensor& {
    return in[static_cast<size_t>(l.params[static_cast<size_t>(cell * l.per_cell + p)])];
  };
  w.w_ih = to_doubles(param(0));
  w.w_hh = to_doubles(param(1));
  if (l.biases) w.b_ih = to_doubles(param(2)), w.b_hh = to_doubles(param(3));
  if (l.projected) w.w_hr = to_doubles(param(l.per_cell - 1));
  w.in = param(0).sizes[1];
  w.hidden = l.hidden;
  w.state = l.state.value();
  return w;
}

Result<void> whole(Cell cell, const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
  const Layers l = read(cell, c);
  if (c.failed()) return {};
  const int64_t time = l.time.value(), batch = l.batch.value(), state = l.state.value();
  ir::Tensor xt = in[static_cast<size_t>(l.x)];
  if (l.batch_first) xt = permuted_view(xt, std::vector<int64_t>{1, 0, 2});
  std::vector<double> x = to_doubles(xt);  // [time, batch, width]
  int64_t width = l.in.value();
  const std::vector<double> h0 = to_doubles(in[static_cast<size_t>(l.h0)]),
                            c0 = l.c0 >= 0 ? to_doubles(in[static_cast<size_t>(l.c0)]) : std::vector<double>();
  std::vector<double> hn(h0.size()), cn(c0.size());
  for (int64_t layer = 0; layer < l.layers; ++layer) {
    const int64_t wide = state * l.directions;
    std::vector<double> y(static_cast<size_t>(time * batch * wide));
    for (int64_t d = 0; d < l.directions; ++d) {
      const int64_t k = layer * l.directions + d;
      const CellWeights w = weights(l, k, in);
      const auto slice = [&](const std::vector<double>& v, int64_t n) {
        return v.empty() ? std::vector<double>()
                         : std::vector<double>(v.begin() + static_cast<ptrdiff_t>(k * batch * n),
                                               v.begin() + static_cast<ptrdiff_t>((k + 1) * batch * n));
      };
      std::vector<double> h = slice(h0, state), cs = slice(c0, l.hidden);
      for (int64_t i = 0; i < time; ++i) {
        const int64_t t = d == 0 ? i : time - 1 - i;
        step(cell, w, batch, x.data() + t * batch * width, h, cs);
        for (int64_t r = 0; r < batch; ++r)
          std::copy_n(h.begin() + static_cast<ptrdiff_t>(r * state), state,
                      y.begin() + static_cast<ptrdiff_t>((t * batch + r) * wide + d * state));
      }
      std::copy(h.begin(), h.end(), hn.begin() + static_cast<ptrdiff_t>(k * batch * state));
      std::copy(cs.begin(), cs.end(), cn.begin() + static_cast<ptrdiff_t>(k * batch * (cs.empty() ? 0 : l.hidden)));
    }
    x = std::move(y);
    width = wide;
  }
  if (l.batch_first) {  // [time, batch, w] -> [batch, time, w]
    std::vector<double> y(x.size());
    for (int64_t t = 0; t < time; ++t)
      for (int64_t r = 0; r < batch; ++r)
        std::copy_n(x.begin() + static_cast<ptrdiff_t>((t * batch + r) * width), width,
                    y.begin() + static_cast<ptrdiff_t>((r * time + t) * width));
    x = std::move(y);
  }
  assign(out[0], x);
  assign(out[1], hn);
  if (out.size() > 2) assign(out[2], cn);
  return {};
}

constexpr int64_t kMostSteps = 1024;  // cells times steps that are unrolled

// The input's product for the whole sequence at once, then step by step.
Result<std::vector<ir::Value*>> decompose(Cell cell, const ir::Node& n, Builder& b) {
  const Call c = Call::of(n);
  const Layers l = read(cell, c);
  if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
  if (!l.time.is_constant() || l.time.value() < 1 || l.time.value() * l.layers * l.directions > kMostSteps)
    return std::vector<ir::Value*>{};
  const int64_t time = l.time.value(), axis = l.batch_first ? 1 : 0;
  const auto operand = [&](int k) { return const_cast<ir::Value*>(c.value(k)); };
  ir::Value* x = operand(l.x);
  const auto initial = [&](int k, int64_t i) { return b("aten.select.int", {operand(k), 0, i}); };
  std::vector<ir::Value*> hn, cn;
  for (int64_t layer = 0; layer < l.layers; ++layer) {
    std::vector<ir::Value*> outputs;
    for (int64_t d = 0; d < l.directions; ++d) {
      const int64_t k = layer * l.directions + d;
      const auto param = [&](int64_t p) { return operand(l.params[static_cast<size_t>(k * l.per_cell + p)]); };
      CellValues w{param(0), param(1)};
      if (l.biases) w.b_ih = param(2), w.b_hh = param(3);
      if (l.projected) w.w_hr = param(l.per_cell - 1);
      ir::Value* parts = b("aten.linear", {x, w.w_ih, w.b_ih ? ir::Arg(w.b_ih) : ir::Arg()});
      ir::Value *h = initial(l.h0, k), *cs = l.c0 >= 0 ? initial(l.c0, k) : nullptr;
      std::vector<ir::Value*> steps(static_cast<size_t>(time));
      for (int64_t i = 0; i < time; ++i) {
        const int64_t t = d == 0 ? i : time - 1 - i;
        const auto next = step(cell, b, w, b("aten.select.int", {parts, axis, t}), h, cs, l.hidden);
        h = next[0];
        if (cs) cs = next[1];
        if (b.failed()) return b.done({});
        steps[static_cast<size_t>(t)] = h;
      }
      outputs.push_back(b("aten.stack", {ir::Arg::values(steps), axis}));
      hn.push_back(h);
      if (cs) cn.push_back(cs);
    }
    x = outputs.size() == 1 ? outputs[0] : b("aten.cat", {ir::Arg::values(outputs), -1});
  }
  std::vector<ir::Value*> results{x, b("aten.stack", {ir::Arg::values(hn), 0})};
  if (!cn.empty()) results.push_back(b("aten.stack", {ir::Arg::values(cn), 0}));
  return b.done(results);
}

OpDef layered(std::string op, Cell cell) {
  OpDef d;
  d.schema_text = fmt::format(
      "aten::{}.input(Tensor input, Tensor{} hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool "
      "train, bool bidirectional, "
      "bool batch_first) -> (Tensor, Tensor{})",
      op, cell == Cell::kLstm ? "[]" : "", cell == Cell::kLstm ? ", Tensor" : "");
  d.infer = [cell](const Call& c) { return rule(cell, c); };
  d.whole = [cell](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) {
    return whole(cell, c, in, out);
  };
  d.decompose = [cell](const ir::Node& n, Builder& b) { return decompose(cell, n, b); };
  d.agreement = Agreement::kApproximate;
  return d;
}

// --- single steps ---

struct One {
  int x, h, c;
  bool batched;
  int64_t hidden;
};
One read_cell(Cell cell, const Call& c) {
  const std::vector<int> hx = c.operands("hx");
  One o{c.operand("input"), hx.empty() ? -1 : hx[0], cell == Cell::kLstm && hx.size() > 1 ? hx[1] : -1, true, 0};
  const TensorType &x = c.type(o.x), &wi = c.tensor("w_ih"), &wh = c.tensor("w_hh");
  o.batched = x.rank() == 2;
  if (o.h < 0 || (cell == Cell::kLstm && o.c < 0)) c.error("[rnn.1] initial states are missing");
  if (x.rank() < 1 || x.rank() > 2 || wi.rank() != 2 || wh.rank() != 2) c.error("[rnn.2] ranks do not fit a cell");
  if (c.failed()) return o;
  if (!is_float(x.dtype) || !wh.shape[0].is_constant() || !ir::is_static(wi.shape) || !ir::is_static(wh.shape))
    c.error("[rnn.2] not a float cell of known size");
  if (c.failed()) return o;
  o.hidden = wh.shape[0].value() / gates_of(cell);
  bool ok = !differ(x.shape.back(), wi.shape[1]) && wi.shape[0].value() == gates_of(cell) * o.hidden &&
            wh.shape[1].value() == o.hidden && wi.shape[0] == wh.shape[0];
  for (int k : {o.h, o.c})
    if (k >= 0)
      ok = ok && c.type(k).rank() == x.rank() && !differ(c.type(k).shape.back(), o.hidden) &&
           (!o.batched || !differ(c.type(k).shape[0], x.shape[0]));
  for (const char* p : {"b_ih", "b_hh"})
    if (c.operand(p) >= 0) ok = ok && c.tensor(p).rank() == 1 && !differ(c.tensor(p).shape[0], wi.shape[0]);
  for (size_t k = 0; k < c.num_operands(); ++k) ok = ok && c.type(static_cast<int>(k)).dtype == x.dtype;
  if (!ok) c.error("[rnn.5] the cell's operands do not fit each other");
  return o;
}

OpDef single(std::string op, Cell cell) {
  OpDef d;
  d.schema_text = fmt::format(
      "aten::{}(Tensor input, Tensor{} hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> {}", op,
      cell == Cell::kLstm ? "[]" : "", cell == Cell::kLstm ? "(Tensor, Tensor)" : "Tensor");
  d.infer = [cell](const Call& c) -> Result<Types> {
    const One o = read_cell(cell, c);
    if (c.failed()) return Types{};
    Types t{c.type(o.h)};
    if (o.c >= 0) t.push_back(c.type(o.c));
    return t;
  };
  d.whole = [cell](const Call& c, std::span<const ir::Tensor> in, std::span<ir::Tensor> out) -> Result<void> {
    const One o = read_cell(cell, c);
    if (c.failed()) return {};
    const auto get = [&](int k) { return k < 0 ? std::vector<double>() : to_doubles(in[static_cast<size_t>(k)]); };
    CellWeights w{get(c.operand("w_ih")), get(c.operand("w_hh")), get(c.operand("b_ih")), get(c.operand("b_hh")), {}};
    w.in = c.tensor("w_ih").shape[1].value();
    w.hidden = w.state = o.hidden;
    std::vector<double> h = get(o.h), cs = get(o.c);
    step(cell, w, o.batched ? in[static_cast<size_t>(o.x)].sizes[0] : 1, get(o.x).data(), h, cs);
    assign(out[0], h);
    if (out.size() > 1) assign(out[1], cs);
    return {};
  };
  d.decompose = [cell](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
    const Call c = Call::of(n);
    const One o = read_cell(cell, c);
    if (c.failed()) return fail(Code::kInternal, "{}: {}", n.name(), *c.failed());
    const CellValues w{n.arg("w_ih").value(), n.arg("w_hh").value(), n.arg("b_ih").value(), n.arg("b_hh").value()};
    const auto operand = [&](int k) { return k < 0 ? nullptr : const_cast<ir::Value*>(c.value(k)); };
    ir::Value* part = b("aten.linear", {n.arg("input"), w.w_ih, n.arg("b_ih")});
    return b.done(step(cell, b, w, part, operand(o.h), operand(o.c), o.hidden));
  };
  d.agreement = Agreement::kApproximate;
  return d;
}

}  // namespace

std::vector<OpDef> define_lstm() {
  return {layered("lstm", Cell::kLstm),         layered("gru", Cell::kGru),          layered("rnn_tanh", Cell::kTanh),
          layered("rnn_relu", Cell::kRelu),     single("lstm_cell", Cell::kLstm),    single("gru_cell", Cell::kGru),
          single("rnn_tanh_cell", Cell::kTanh), single("rnn_relu_cell", Cell::kRelu)};
}
}  // namespace edgewright::ops
