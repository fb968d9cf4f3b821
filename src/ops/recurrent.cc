#include "ops/recurrent.h"

namespace edgewright::ops {
namespace {

// y[row, o] += sum over i of x[row, i] * w[o, i], plus b[o].
void add_product(const std::vector<double>& w, const std::vector<double>& b, const double* x, int64_t rows, int64_t in,
                 int64_t out, double* y) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < out; ++o) {
      const double *p = w.data() + o * in, *q = x + r * in;
      double s[4] = {0, 0, 0, 0};
      int64_t i = 0;
      for (; i + 4 <= in; i += 4)
        for (int64_t j = 0; j < 4; ++j) s[j] += p[i + j] * q[i + j];
      for (; i < in; ++i) s[0] += p[i] * q[i];
      y[r * out + o] += (s[0] + s[1]) + (s[2] + s[3]) + (b.empty() ? 0 : b[static_cast<size_t>(o)]);
    }
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void step(Cell cell, const CellWeights& w, int64_t batch, const double* x, std::vector<double>& h,
          std::vector<double>& c) {
  const int64_t n = w.hidden, g = gates_of(cell);
  std::vector<double> from_x(static_cast<size_t>(batch * g * n), 0.0), from_h(from_x);
  add_product(w.w_ih, w.b_ih, x, batch, w.in, g * n, from_x.data());
  add_product(w.w_hh, w.b_hh, h.data(), batch, w.state, g * n, from_h.data());
  std::vector<double> next(static_cast<size_t>(batch * n));
  for (int64_t r = 0; r < batch; ++r)
    for (int64_t k = 0; k < n; ++k) {
      const auto at = static_cast<size_t>(r * n + k);
      const auto gate = [&](int64_t i) { return static_cast<size_t>((r * g + i) * n + k); };
      const auto sum = [&](int64_t i) { return from_x[gate(i)] + from_h[gate(i)]; };
      switch (cell) {
        case Cell::kLstm:
          c[at] = sigmoid(sum(1)) * c[at] + sigmoid(sum(0)) * std::tanh(sum(2));
          next[at] = sigmoid(sum(3)) * std::tanh(c[at]);
          break;
        case Cell::kGru: {
          const double reset = sigmoid(sum(0)), update = sigmoid(sum(1));
          const double fresh = std::tanh(from_x[gate(2)] + reset * from_h[gate(2)]);
          next[at] = (1 - update) * fresh + update * h[static_cast<size_t>(r * w.state + k)];
          break;
        }
        case Cell::kTanh: next[at] = std::tanh(sum(0)); break;
        case Cell::kRelu: next[at] = num::maximum(sum(0), 0.0); break;
      }
    }
  if (w.w_hr.empty()) {
    h = std::move(next);
  } else {
    h.assign(static_cast<size_t>(batch * w.state), 0.0);
    add_product(w.w_hr, {}, next.data(), batch, n, w.state, h.data());
  }
}

std::vector<ir::Value*> step(Cell cell, Builder& b, const CellValues& w, ir::Value* x_part, ir::Value* h, ir::Value* c,
                             int64_t hidden) {
  const auto opt = [](ir::Value* v) { return v ? ir::Arg(v) : ir::Arg(); };
  ir::Value* h_part = b("aten.linear", {h, w.w_hh, opt(w.b_hh)});
  const auto gate = [&](ir::Value* v, int64_t i) {
    return gates_of(cell) == 1 ? v : b("aten.slice.Tensor", {v, -1, i * hidden, (i + 1) * hidden, 1});
  };
  ir::Value* next = nullptr;
  if (cell == Cell::kGru) {
    ir::Value* both =
        b("aten.sigmoid", {b("aten.add.Tensor", {b("aten.slice.Tensor", {x_part, -1, 0, 2 * hidden, 1}),
                                                 b("aten.slice.Tensor", {h_part, -1, 0, 2 * hidden, 1})})});
    ir::Value *reset = gate(both, 0), *update = gate(both, 1);
    ir::Value* fresh =
        b("aten.tanh", {b("aten.add.Tensor", {gate(x_part, 2), b("aten.mul.Tensor", {reset, gate(h_part, 2)})})});
    // (1 - z) n + z h = n + z (h - n)
    next = b("aten.add.Tensor", {fresh, b("aten.mul.Tensor", {update, b("aten.sub.Tensor", {h, fresh})})});
    return {next};
  }
  ir::Value* sum = b("aten.add.Tensor", {x_part, h_part});
  if (cell == Cell::kTanh || cell == Cell::kRelu) return {b(cell == Cell::kTanh ? "aten.tanh" : "aten.relu", {sum})};
  ir::Value* in_forget = b("aten.sigmoid", {b("aten.slice.Tensor", {sum, -1, 0, 2 * hidden, 1})});
  ir::Value* fresh = b("aten.tanh", {gate(sum, 2)});
  ir::Value* out = b("aten.sigmoid", {gate(sum, 3)});
  c = b("aten.add.Tensor",
        {b("aten.mul.Tensor", {gate(in_forget, 1), c}), b("aten.mul.Tensor", {gate(in_forget, 0), fresh})});
  next = b("aten.mul.Tensor", {out, b("aten.tanh", {c})});
  if (w.w_hr) next = b("aten.linear", {next, w.w_hr});
  return {next, c};
}

}  // namespace edgewright::ops
