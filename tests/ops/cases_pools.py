"""Pools."""

import math

import torch
from vectors import bf16, draw, i64, op


@op("max_pool")
def _(v):
    v.case("aten.max_pool1d", draw(1, 2, 7), [3])
    v.case("aten.max_pool1d", draw(2, 7), [3], [2], [1], [1], True)
    v.case("aten.max_pool1d_with_indices", draw(1, 2, 7), [2])
    v.case("aten.max_pool2d", draw(1, 2, 5, 4), [2, 3])
    v.case("aten.max_pool2d", draw(2, 5, 5), [3, 3], [2, 2], [1, 1], [1, 1], True)
    v.case("aten.max_pool2d", draw(1, 1, 6, 7), 2, 2, 1, 2, True)
    v.case("aten.max_pool2d", draw(1, 1, 4, 4, dtype=i64), [2, 2])
    n = torch.tensor([[[[1.0, math.nan, 0.0, -math.inf], [2.0, 3.0, -math.inf, -math.inf]]]])
    v.case("aten.max_pool2d_with_indices", n, [2, 2])
    v.case("aten.max_pool2d_with_indices", draw(1, 2, 5, 4), [3, 2], [1, 2], [1, 1])
    v.case("aten.max_pool2d_with_indices", torch.ones(1, 1, 3, 3), [2, 2], [1, 1])
    v.case("aten.max_pool2d", draw(0, 2, 5, 4), [2, 3])
    v.rejects("aten.max_pool2d", draw(1, 1, 4, 4), [2, 2], [2, 2], [2, 2])
    v.rejects("aten.max_pool2d", draw(1, 1, 2, 2), [3, 3])
    v.case("aten.max_pool3d", draw(1, 2, 3, 4, 4), [2, 2, 2])
    v.case("aten.max_pool3d", draw(2, 4, 4, 5), [3, 2, 3], [2, 1, 2], [1, 0, 1], [1, 2, 1], True)
    v.case("aten.max_pool3d_with_indices", draw(1, 1, 3, 3, 4), [2, 2, 2], [1, 1, 2])


@op("avg_pool")
def _(v):
    v.case("aten.avg_pool1d", draw(1, 2, 7), [3])
    v.case("aten.avg_pool1d", draw(2, 7), [3], [2], [1], True, False)
    v.case("aten.avg_pool2d", draw(1, 2, 5, 4), [2, 3])
    v.case("aten.avg_pool2d", draw(1, 1, 5, 5), [3, 3], [2, 2], [1, 1])
    v.case("aten.avg_pool2d", draw(1, 1, 5, 5), [3, 3], [2, 2], [1, 1], False, False)
    v.case("aten.avg_pool2d", draw(1, 1, 6, 6), [3, 3], [2, 2], [1, 1], True, True)
    v.case("aten.avg_pool2d", draw(1, 1, 6, 6), [3, 3], [2, 2], [1, 1], True, False)
    v.case("aten.avg_pool2d", draw(1, 1, 6, 6), [3, 3], [2, 2], [1, 1], True, True, 5)
    v.case("aten.avg_pool2d", draw(2, 4, 4, dtype=bf16), [2, 2])
    v.case("aten.avg_pool3d", draw(1, 2, 3, 4, 4), [2, 2, 2])
    v.case("aten.avg_pool3d", draw(1, 4, 5, 5), [3, 2, 3], [2, 2, 2], [1, 1, 0], True, False)
    v.case("aten.avg_pool3d", draw(1, 1, 4, 5, 4), [3, 2, 3], [2, 2, 2], [1, 1, 1], True, True)
    v.case("aten.avg_pool3d", draw(1, 1, 4, 4, 4), [2, 2, 2], [2, 2, 2], [1, 1, 0], False, True, 3)
    v.rejects("aten.avg_pool2d", draw(1, 1, 4, 4), [2, 2], [2, 2], [2, 2])


@op("adaptive_avg_pool")
def _(v):
    v.case("aten.adaptive_avg_pool1d", draw(1, 2, 7), [3])
    v.case("aten.adaptive_avg_pool1d", draw(2, 6), [3])
    v.case("aten.adaptive_avg_pool2d", draw(1, 2, 5, 4), [1, 1])
    v.case("aten.adaptive_avg_pool2d", draw(1, 2, 6, 4), [3, 2])
    v.case("aten.adaptive_avg_pool2d", draw(2, 5, 4), [3, 3])
    v.case("aten.adaptive_avg_pool2d", draw(1, 1, 2, 3), [4, 5])
    v.case("aten._adaptive_avg_pool2d", draw(1, 2, 5, 4), [2, 3])
    v.case("aten.adaptive_avg_pool2d", draw(1, 2, 6, 4), [6, 4])
    v.case("aten._adaptive_avg_pool2d", draw(2, 3, 2), [3, 2])
    v.case("aten.adaptive_avg_pool3d", draw(1, 2, 3, 5, 4), [2, 3, 4])
    v.case("aten.adaptive_avg_pool3d", draw(1, 2, 4, 4), [1, 1, 1])
    v.case("aten.adaptive_avg_pool3d", draw(1, 1, 2, 4, 4), [1, 2, 2])
    v.case("aten._adaptive_avg_pool3d", draw(1, 1, 3, 2, 2), [2, 2, 2])


@op("adaptive_max_pool")
def _(v):
    v.case("aten.adaptive_max_pool1d", draw(1, 2, 7), [3])
    v.case("aten.adaptive_max_pool1d", draw(2, 6), [3])
    v.case("aten.adaptive_max_pool2d", draw(1, 2, 5, 4), [3, 3])
    v.case("aten.adaptive_max_pool2d", draw(2, 6, 4), [3, 2])
    v.case("aten.adaptive_max_pool2d", draw(1, 1, 2, 3), [4, 5])
    v.case("aten.adaptive_max_pool3d", draw(1, 2, 3, 5, 4), [2, 3, 4])
    v.case("aten.adaptive_max_pool3d", draw(1, 4, 4, 4), [2, 2, 2])
