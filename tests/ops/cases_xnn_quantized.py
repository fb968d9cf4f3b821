"""XNNPACK's quantized forms: what PyTorch computes of the dequantized operands, in f64, quantized."""

import math

import torch
import torch.nn.functional as F
from cases_xnn import INF, expect, nchw, nhwc
from vectors import bf16, draw, f32, f64, i8, i32, op


def i8s(*sizes, seed=0):
    return draw(*sizes, dtype=i8, lo=-128, hi=128, seed=seed)


def real(q, scale, zero_point=0):
    return (q.to(f64) - zero_point) * scale


def stored(v, scale, zero_point):
    return torch.clamp(torch.round(v / scale) + zero_point, -128, 127).to(i8)


def scales(*values):
    return torch.tensor(values, dtype=f32)


@op("xnn_quant")
def _(v):
    def out(name, args, y, ys, yz, lo, hi):
        expect(v, name, args, stored(y.clamp(lo, hi), ys, yz))

    X = (0.037, -3)  # of x
    Y = (0.053, 5)

    def conv(x, w, b, stride, pad, dil, groups, ws, lo=-INF, hi=INF, X=X, Y=Y):
        t, l, bo, r = pad
        wr = real(w, ws.to(f64).reshape(-1, 1, 1, 1))
        br = None if b is None else b.to(f64) * X[0] * ws.to(f64)
        y = F.conv2d(F.pad(nchw(real(x, *X)), (l, r, t, bo)), nchw(wr), br, stride, 0, dil, groups)
        out("xnn.q_conv2d", [x, w, b, stride, pad, dil, groups, float(lo), float(hi), *X, ws, *Y], nhwc(y), *Y, lo, hi)

    b = draw(3, dtype=i32, lo=-3000, hi=3000)
    conv(i8s(1, 4, 5, 2), i8s(3, 3, 2, 2), b, [1, 1], [1, 0, 2, 1], [1, 1], 1, scales(0.01))
    conv(i8s(1, 4, 5, 2), i8s(3, 3, 2, 2), None, [2, 1], [0, 0, 0, 0], [1, 2], 1, scales(0.01, 0.003, 0.02), -0.5, 1.5)
    conv(i8s(1, 3, 3, 4), i8s(6, 2, 2, 2), None, [1, 1], [1, 1, 0, 0], [1, 1], 2, scales(0.01), 0)
    conv(i8s(1, 2, 2, 5), i8s(4, 1, 1, 5), None, [1, 1], [0, 0, 0, 0], [1, 1], 1, scales(0.02), X=(0.5, 127), Y=(0.25, -128))

    x, w, ws = i8s(1, 4, 5, 3), i8s(1, 3, 3, 3), scales(0.01, 0.003, 0.02)
    y = F.conv2d(F.pad(nchw(real(x, *X)), (1, 1, 1, 1)), real(w, ws.to(f64)).permute(3, 0, 1, 2), b.to(f64) * X[0] * ws.to(f64), 1, 0, 1, 3)
    out("xnn.q_depthwise_conv2d", [x, w, b, [1, 1], [1, 1, 1, 1], [1, 1], -INF, INF, *X, ws, *Y], nhwc(y), *Y, -INF, INF)
    x, w, ws = i8s(1, 3, 3, 2), i8s(3, 3, 2, 2), scales(0.01, 0.003, 0.02)
    y = F.conv_transpose2d(nchw(real(x, *X)), real(w, ws.to(f64).reshape(-1, 1, 1, 1)).permute(3, 0, 1, 2), b.to(f64) * X[0] * ws.to(f64), [2, 1], (1, 0), [1, 0])
    out("xnn.q_deconv2d", [x, w, b, [2, 1], [1, 0, 1, 0], [1, 1], [1, 0], 1, -INF, INF, *X, ws, *Y], nhwc(y), *Y, -INF, INF)

    x, w = i8s(2, 2, 4), i8s(3, 4)
    y = F.linear(real(x, *X), real(w, ws.to(f64)[:, None]), b.to(f64) * X[0] * ws.to(f64))
    out("xnn.q_fully_connected", [x, w, b, False, -INF, INF, *X, ws, *Y], y, *Y, -INF, INF)
    out("xnn.q_fully_connected", [x, w.t().contiguous(), b, True, -0.5, 1.0, *X, ws, *Y], y, *Y, -0.5, 1.0)
    y = F.linear(real(x, *X), real(w, 0.01))
    out("xnn.q_fully_connected", [x, w, None, False, 0.0, INF, *X, scales(0.01), *Y], y, *Y, 0.0, INF)

    a, c = i8s(2, 3), i8s(3, seed=1)
    for name, f in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul)):
        y = f(real(a, 0.037, -3), real(c, 0.011, 40))
        out("xnn.q_" + name, [a, c, -INF, INF, 0.037, -3, 0.011, 40, *Y], y, *Y, -INF, INF)
        out("xnn.q_" + name, [a, c, -0.5, 1.0, 0.037, -3, 0.011, 40, *Y], y, *Y, -0.5, 1.0)
    x = i8s(2, 3, 4, 2)
    out("xnn.q_global_avg_pool2d", [x, -INF, INF, *X, *Y], real(x, *X).mean((1, 2), keepdim=True), *Y, -INF, INF)
    x = torch.tensor([-128, -60, -3, -2, 0, 50, 127], dtype=i8)
    r = real(x, *X)
    for name, args, y in (("sigmoid", [], torch.sigmoid(r)), ("tanh", [], torch.tanh(r)), ("hardswish", [], F.hardswish(r)),
                          ("elu", [1.0, 1.0, 1.0], F.elu(r)), ("leaky_relu", [0.1], F.leaky_relu(r, 0.1))):
        out("xnn.q_" + name, [x, *args, *X, 0.0153, -7], y, 0.0153, -7, -INF, INF)

    def rows(x, first):
        """Each row quantized by its own range, 0 in it."""
        flat = x.to(f64).reshape(math.prod(x.shape[:first]), -1)
        lo, hi = flat.min(1, keepdim=True).values.clamp(max=0), flat.max(1, keepdim=True).values.clamp(min=0)
        s = torch.where(lo == hi, 1.0, (hi - lo) / 255)
        z = torch.clamp(torch.round(-128 - lo / s), -128, 127)
        return ((torch.clamp(torch.round(flat / s) + z, -128, 127) - z) * s).reshape(x.shape)

    x, w, bias = draw(2, 2, 8), i8s(3, 8), draw(3)
    for args, wr in (([scales(0.01, 0.003, 0.02), 8], real(w, scales(0.01, 0.003, 0.02).to(f64)[:, None])),):
        y = F.linear(rows(x, 2), wr, bias.to(f64))
        expect(v, "xnn.qd_fully_connected", [x, w, bias, False, -INF, INF, *args], y.to(f32))
        expect(v, "xnn.qd_fully_connected", [x, w.t().contiguous(), bias, True, 0.0, 1.0, *args], y.clamp(0, 1).to(f32))
        expect(v, "xnn.qw_fully_connected", [x, w, bias, False, -INF, INF, *args], F.linear(x.to(f64), wr, bias.to(f64)).to(f32))
    w4, block = draw(3, 8, dtype=i8, lo=-8, hi=8), torch.tensor([[0.5, 0.25], [0.125, 1.0], [0.75, 0.375]]).to(bf16)
    y = F.linear(rows(x, 2), (w4.to(f64).reshape(3, 2, 4) * block.to(f64)[:, :, None]).reshape(3, 8))
    expect(v, "xnn.qd_fully_connected", [x, w4, None, False, -INF, INF, block, 4], y.to(f32))
    expect(v, "xnn.qd_fully_connected", [torch.zeros(2, 8), w, None, False, -INF, INF, scales(0.01, 0.003, 0.02), 8], torch.zeros(2, 3))
    x, w, ws = draw(2, 3, 3, 2), i8s(3, 2, 2, 2), scales(0.01, 0.003, 0.02)
    wr = real(w, ws.to(f64).reshape(-1, 1, 1, 1))
    y = F.conv2d(nchw(rows(x, 1)), nchw(wr), bias.to(f64))
    expect(v, "xnn.qd_conv2d", [x, w, bias, [1, 1], [0, 0, 0, 0], [1, 1], 1, -INF, INF, ws, 8], nhwc(y).to(f32))
    y = F.conv_transpose2d(nchw(rows(x, 1)), wr.permute(3, 0, 1, 2), bias.to(f64))
    expect(v, "xnn.qd_deconv2d", [x, w, bias, [1, 1], [0, 0, 0, 0], [1, 1], [0, 0], 1, -INF, INF, ws, 8], nhwc(y).to(f32))

    def rejects(name, *args):
        v._head(name, args, {})
        v.lines.append("error")

    for scale in (0.0, -0.5, 1e-40, INF, math.nan):
        rejects("xnn.q_add", a, c, -INF, INF, scale, 0, 0.5, 0, 0.5, 0)
        rejects("xnn.q_add", a, c, -INF, INF, 0.5, 0, 0.5, 0, scale, 0)
    for zero_point in (-129, 128):
        rejects("xnn.q_add", a, c, -INF, INF, 0.5, zero_point, 0.5, 0, 0.5, 0)
    rejects("xnn.q_add", draw(2, 3), c, -INF, INF, 0.5, 0, 0.5, 0, 0.5, 0)
    x, w = i8s(2, 4), i8s(3, 4)
    rejects("xnn.q_fully_connected", x, w, None, False, -INF, INF, *X, scales(1.0, 2.0), *Y)
    rejects("xnn.q_fully_connected", x, w, draw(3), False, -INF, INF, *X, scales(1.0), *Y)
    rejects("xnn.qd_fully_connected", draw(2, 4), w, None, False, -INF, INF, scales(1.0), 8)
    rejects("xnn.qd_fully_connected", draw(2, 4), w, None, False, -INF, INF, torch.ones(3, 3), 4)
    rejects("xnn.qd_fully_connected", draw(2, 4), w, None, False, -INF, INF, scales(1.0, 1.0, 1.0), 7)
