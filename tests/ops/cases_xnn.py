"""XNNPACK's own forms: what PyTorch computes for the same thing in its own layout."""

import math

import torch
import torch.nn.functional as F
from vectors import draw, op, text


def expect(v, name, args, out):
    v._head(name, args, {})
    v.lines.append(f"out {text(out)}")


def nchw(x):
    return x.permute(0, 3, 1, 2)


def nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous()


def clamp(x, lo, hi):
    return x.clamp(lo, hi)


INF = math.inf


@op("xnn_conv2d")
def _(v):
    def conv(x, w, b, stride, pad, dil, groups, lo=-INF, hi=INF):
        t, l, bo, r = pad
        y = F.conv2d(F.pad(nchw(x), (l, r, t, bo)), nchw(w), b, stride, 0, dil, groups)
        expect(v, "xnn.conv2d", [x, w, b, stride, pad, dil, groups, float(lo), float(hi)], clamp(nhwc(y), lo, hi))

    conv(draw(1, 4, 5, 2), draw(3, 3, 2, 2), draw(3), [1, 1], [0, 0, 0, 0], [1, 1], 1)
    conv(draw(2, 4, 5, 2), draw(3, 3, 2, 2), None, [2, 1], [1, 0, 2, 1], [1, 2], 1, -0.5, 1.5)
    conv(draw(1, 3, 3, 4), draw(6, 2, 2, 2), draw(6), [1, 1], [1, 1, 0, 0], [1, 1], 2, 0)
    conv(draw(1, 2, 2, 5), draw(7, 1, 1, 5), draw(7), [1, 1], [0, 0, 0, 0], [1, 1], 1)

    def depthwise(x, w, b, stride, pad, dil, lo=-INF, hi=INF):
        t, l, bo, r = pad
        y = F.conv2d(F.pad(nchw(x), (l, r, t, bo)), w.permute(3, 0, 1, 2), b, stride, 0, dil, x.shape[3])
        expect(v, "xnn.depthwise_conv2d", [x, w, b, stride, pad, dil, float(lo), float(hi)], clamp(nhwc(y), lo, hi))

    depthwise(draw(1, 4, 5, 3), draw(1, 3, 3, 3), draw(3), [1, 1], [1, 1, 1, 1], [1, 1], 0, 1)
    depthwise(draw(1, 4, 4, 2), draw(1, 2, 3, 4), None, [2, 2], [0, 1, 1, 1], [1, 1])

    def deconv(x, w, b, stride, pad, dil, out_pad, groups):
        o, kh, kw, i = w.shape
        ww = w.reshape(groups, o // groups, kh, kw, i).permute(0, 4, 1, 2, 3).reshape(groups * i, o // groups, kh, kw)
        y = F.conv_transpose2d(nchw(x), ww, b, stride, (pad[0], pad[1]), out_pad, groups, dil)
        expect(v, "xnn.deconv2d", [x, w, b, stride, pad, dil, out_pad, groups], nhwc(y))

    deconv(draw(1, 3, 3, 2), draw(3, 3, 2, 2), draw(3), [2, 1], [1, 0, 1, 0], [1, 1], [1, 0], 1)
    deconv(draw(1, 2, 3, 4), draw(2, 2, 2, 2), None, [2, 2], [0, 0, 0, 0], [1, 1], [0, 0], 2)


@op("xnn_pool2d")
def _(v):
    def pool(x, kernel, stride, pad, dil, lo=-INF, hi=INF):
        t, l, bo, r = pad
        y = F.max_pool2d(F.pad(nchw(x), (l, r, t, bo), value=-INF), kernel, stride, 0, dil)
        expect(v, "xnn.max_pool2d", [x, kernel, stride, pad, dil, float(lo), float(hi)], clamp(nhwc(y), lo, hi))

    pool(draw(1, 5, 4, 2), [3, 2], [2, 2], [1, 0, 1, 1], [1, 1])
    pool(draw(1, 6, 5, 2), [2, 2], [1, 2], [0, 0, 0, 0], [2, 1], -1, 0.5)

    def mean(x, kernel, stride, pad, lo=-INF, hi=INF):
        t, l, bo, r = pad
        p = (l, r, t, bo)
        total = F.avg_pool2d(F.pad(nchw(x), p), kernel, stride, divisor_override=1)
        count = F.avg_pool2d(F.pad(torch.ones_like(nchw(x)), p), kernel, stride, divisor_override=1)
        expect(v, "xnn.avg_pool2d", [x, kernel, stride, pad, float(lo), float(hi)], clamp(nhwc(total / count), lo, hi))

    mean(draw(1, 5, 4, 2), [3, 2], [2, 2], [1, 0, 1, 1])
    mean(draw(2, 4, 4, 1), [2, 2], [2, 2], [0, 0, 0, 0], 0, 1)
    x = draw(2, 3, 4, 2)
    expect(v, "xnn.global_avg_pool2d", [x], x.mean((1, 2), keepdim=True))
    expect(v, "xnn.global_avg_pool2d", [x, 0.0, 0.25], x.mean((1, 2), keepdim=True).clamp(0, 0.25))
    for size, align in (([6, 8], False), ([2, 3], True), ([5, 5], False), ([1, 1], True)):
        y = F.interpolate(nchw(x), size, mode="bilinear", align_corners=align)
        expect(v, "xnn.resize_bilinear2d", [x, size[0], size[1], align, not align], nhwc(y))


@op("xnn_fully_connected")
def _(v):
    x, w, b = draw(2, 3, 4), draw(5, 4), draw(5)
    expect(v, "xnn.fully_connected", [x, w], F.linear(x, w))
    expect(v, "xnn.fully_connected", [x, w, b, False, -1.0, INF], F.linear(x, w, b).clamp(min=-1))
    expect(v, "xnn.fully_connected", [x, w.t().contiguous(), b, True], F.linear(x, w, b))
    expect(v, "xnn.fully_connected", [draw(4), w, b, False, 0.0, 0.5], F.linear(draw(4), w, b).clamp(0, 0.5))
    expect(v, "xnn.batch_matmul", [draw(2, 3, 4), draw(2, 4, 2)], torch.matmul(draw(2, 3, 4), draw(2, 4, 2)))
    expect(v, "xnn.batch_matmul", [draw(3, 4), draw(4, 2)], torch.matmul(draw(3, 4), draw(4, 2)))
    a, c = draw(2, 3), draw(3, lo=0.5, hi=2)
    for name, f in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul), ("div", torch.div), ("minimum", torch.minimum), ("maximum", torch.maximum)):
        expect(v, "xnn." + name, [a, c], f(a, c))
        expect(v, "xnn." + name, [a, c, -0.5, 1.0], f(a, c).clamp(-0.5, 1.0))
