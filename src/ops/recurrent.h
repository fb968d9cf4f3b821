// src/ops/recurrent.h - LSTM, GRU and plain recurrent layers: one cell each, run over time, layers and directions.
// Depends on ops/build.h, ops/dense.h.
#pragma once

#include "ops/build.h"
#include "ops/dense.h"

namespace edgewright::ops {

enum class Cell : uint8_t { kLstm, kGru, kTanh, kRelu };
constexpr int64_t gates_of(Cell c) { return c == Cell::kLstm ? 4 : c == Cell::kGru ? 3 : 1; }

// Weights of one layer in one direction. For the evaluation: row-major doubles, empty where absent.
struct CellWeights {
  std::vector<double> w_ih, w_hh, b_ih, b_hh,
      w_hr;                               // [gates * hidden, in], [gates * hidden, state], ..., [state, hidden]
  int64_t in = 0, hidden = 0, state = 0;  // state: width of h, hidden unless projected
};
// One step for `batch` rows: x [batch, in], h [batch, state], c [batch, hidden] (LSTM); h and c are replaced.
void step(Cell cell, const CellWeights& w, int64_t batch, const double* x, std::vector<double>& h,
          std::vector<double>& c);

// The same step in simple ops. `x_part`: x times w_ih plus b_ih, already computed. Returns {h} or {h, c}.
struct CellValues {
  ir::Value *w_ih = nullptr, *w_hh = nullptr, *b_ih = nullptr, *b_hh = nullptr, *w_hr = nullptr;
};
std::vector<ir::Value*> step(Cell cell, Builder& b, const CellValues& w, ir::Value* x_part, ir::Value* h, ir::Value* c,
                             int64_t hidden);

}  // namespace edgewright::ops
