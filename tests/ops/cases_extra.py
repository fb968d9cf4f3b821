"""Special functions, pairwise distances, powers as sequences, bytes read as another type, positions of maxima."""
from vectors import bf16, draw, f16, f32, f64, i8, i16, i32, i64, op, special, u8

NAN = float("nan")


@op("digamma")
def _(v):
    for t in (f32, f64, f16, bf16):
        v.case("aten.digamma", draw(3, 4, dtype=t, lo=0.1, hi=6))
        v.case("aten.erfinv", draw(3, 4, dtype=t, lo=-0.95, hi=0.95))
    v.case("aten.digamma", draw(12, dtype=f64, lo=-4.5, hi=-0.1))
    v.case("aten.digamma", draw(3, dtype=f64, lo=20, hi=1e6))
    v.case("aten.erfinv", draw(5, dtype=f64, lo=0.99, hi=0.9999999))
    v.case("aten.erfinv", special(f32))
    for t in (i32, i64, u8):
        v.case("aten.digamma", draw(3, dtype=t, lo=1, hi=9))
    v.case("aten.digamma", draw(0, 3))


@op("logspace")
def _(v):
    v.case("aten.logspace", 0, 2, 5)
    v.case("aten.logspace", -1.0, 2.0, 4, 2.0, dtype=f64)
    v.case("aten.logspace", 1, 3, 1)
    v.case("aten.logspace", 1, 3, 0)
    v.rejects("aten.logspace", 0, 1, -1)


@op("pdist")
def _(v):
    for p in (0.0, 1.0, 2.0, 3.5, float("inf")):
        v.case("aten._pdist_forward", draw(4, 3), p)
    v.case("aten._pdist_forward", draw(3, 2, dtype=f64), 2.0)
    v.case("aten._pdist_forward", draw(1, 3), 2.0)


@op("view_dtype")
def _(v):
    for to in (i32, f32, i16, f16, u8, i64, f64):
        v.case("aten.view.dtype", draw(2, 4, lo=1, hi=2), to)
    v.case("aten.view.dtype", draw(2, 8, dtype=u8, hi=9), i32)
    v.case("aten.view.dtype", draw(3, dtype=i64, hi=9), i8)
    v.case("aten.view.dtype", draw(0, 2), i64)
    v.rejects("aten.view.dtype", draw(2, 3), i64)
    v.rejects("aten.view.dtype", draw(lo=0, hi=1), i64)


@op("positions")
def _(v):
    import torch

    x = draw(1, 2, 4, 5, 6)
    v.case("aten.max_pool3d_with_indices", x, [2, 2, 2])
    v.case("aten.max_pool3d_with_indices", draw(1, 1, 1, 1, 2), [3, 3, 3], [3, 3, 3], [0, 0, 0], [1, 1, 1], True)  # over the end
    v.rejects("aten.max_pool3d_with_indices", draw(1, 1, 1, 1, 2), [4, 3, 3], [3, 3, 3], [0, 0, 0], [1, 1, 1], True)
    v.case("aten.max_pool3d_with_indices", x, [3, 2, 3], [1, 2, 2], [1, 0, 1], [1, 2, 1], True)
    v.case("aten.adaptive_max_pool3d", x, [2, 3, 4])
    v.case("aten.adaptive_max_pool2d", x[0], [3, 4])
    y = draw(1, 1, 4, 4)
    y[0, 0, 1, 2] = y[0, 0, 3, 3] = NAN
    v.case("aten.adaptive_max_pool2d", y, [2, 2])
    v.case("aten.adaptive_max_pool3d", torch.stack([y[0], y[0] * 2], 1), [1, 2, 2])
    v.case("aten.adaptive_max_pool2d", y.double(), [3, 2])
