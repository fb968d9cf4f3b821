"""Attention and recurrent layers."""

import math

import torch
from vectors import bf16, draw, f64, op


@op("scaled_dot_product_attention")
def _(v):
    s = "aten.scaled_dot_product_attention"
    q, k, w = draw(1, 2, 3, 4), draw(1, 2, 5, 4), draw(1, 2, 5, 2)
    m = torch.tensor([[True, False, True, True, False], [True, True, False, False, True], [False, False, False, True, False]])
    f = torch.where(m, 0.5, -math.inf)
    v.case(s, q, k, w)
    v.case(s, q, k, w, m)
    v.case(s, q, k, w, f)
    v.case(s, q, k, w, draw(1, 2, 3, 5))
    v.case(s, q, k, w, draw(1, 1, 1, 5), scale=0.25)
    v.case(s, q, k, w, None, 0.0, True)
    v.case(s, draw(3, 4), draw(3, 4, seed=1), draw(3, 4, seed=2), None, 0.0, True)
    v.case(s, draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 4, seed=1))
    v.case(s, draw(1, 4, 2, 4), draw(1, 2, 3, 4), draw(1, 2, 3, 4, seed=1), enable_gqa=True)
    v.case(s, q.to(bf16), k.to(bf16), w.to(bf16))
    v.rejects(s, q, draw(1, 2, 5, 3), w)
    # rows that are masked throughout
    full = torch.tensor([[True, False, True, True, False], [False] * 5, [False, False, False, True, False]])
    t = "aten._scaled_dot_product_attention_math"
    v.case(t, q, k, w)
    v.case(t, q, k, w, full)
    v.case(t, q, k, w, torch.where(full, 0.5, -math.inf))
    v.case(s, q, k, w, full)
    v.case(s, q, k, w, torch.where(full, 0.5, -math.inf))
    c = "aten._scaled_dot_product_flash_attention_for_cpu"
    v.case(c, q, k, k)
    v.case(c, q, k, k, attn_mask=f)
    v.case(c, q, q, q, 0.0, True, scale=0.5)


def weights(gates, inputs, hidden, layers=1, directions=1, biases=True, proj=0, **k):
    out, state = [], proj or hidden
    for layer in range(layers):
        for d in range(directions):
            wide = inputs if layer == 0 else state * directions
            n = len(out)
            out += [draw(gates * hidden, wide, seed=n, lo=-1, hi=1), draw(gates * hidden, state, seed=n + 1, lo=-1, hi=1)]
            if biases:
                out += [draw(gates * hidden, seed=n + 2), draw(gates * hidden, seed=n + 3)]
            if proj:
                out.append(draw(proj, hidden, seed=n + 4))
    return out


@op("lstm")
def _(v):
    v.case("aten.lstm.input", draw(3, 2, 3), [draw(1, 2, 2), draw(1, 2, 2, seed=1)], weights(4, 3, 2), True, 1, 0.0, False, False, False)
    v.case("aten.lstm.input", draw(2, 3, 3), [draw(2, 2, 2), draw(2, 2, 2, seed=1)], weights(4, 3, 2, directions=2), True, 1, 0.0, False, True, True)
    v.case("aten.lstm.input", draw(3, 1, 2), [draw(4, 1, 2), draw(4, 1, 2, seed=1)], weights(4, 2, 2, layers=2, directions=2, biases=False), False, 2, 0.5, False, True, False)
    v.case("aten.lstm.input", draw(3, 2, 3), [draw(1, 2, 1), draw(1, 2, 2)], weights(4, 3, 2, proj=1), True, 1, 0.0, False, False, False)
    v.case("aten.gru.input", draw(3, 2, 3), draw(1, 2, 2), weights(3, 3, 2), True, 1, 0.0, False, False, False)
    v.case("aten.gru.input", draw(2, 3, 3), draw(4, 2, 2), weights(3, 3, 2, layers=2, directions=2), True, 2, 0.0, False, True, True)
    v.case("aten.rnn_tanh.input", draw(3, 2, 3), draw(1, 2, 2), weights(1, 3, 2), True, 1, 0.0, False, False, False)
    v.case("aten.rnn_relu.input", draw(3, 2, 3), draw(2, 2, 2), weights(1, 3, 2, directions=2), True, 1, 0.0, False, True, False)
    v.case("aten.lstm_cell", draw(2, 3), [draw(2, 2), draw(2, 2, seed=1)], *weights(4, 3, 2))
    v.case("aten.gru_cell", draw(2, 3), draw(2, 2), *weights(3, 3, 2))
    v.case("aten.rnn_tanh_cell", draw(2, 3), draw(2, 2), *weights(1, 3, 2, biases=False))
    v.case("aten.rnn_relu_cell", draw(2, 3), draw(2, 2), *weights(1, 3, 2))
