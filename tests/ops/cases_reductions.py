"""Reductions."""

import math

import torch
from vectors import b8, bf16, draw, f16, f32, f64, i8, i32, i64, op, special, u8

NAN = torch.tensor([[1.0, math.nan, 3.0], [-math.inf, 2.0, math.inf], [0.0, -0.0, -1.0]])


@op("sum")
def _(v):
    v.case("aten.sum", draw(2, 3))
    v.case("aten.sum", draw())
    v.case("aten.sum", draw(0, 3))
    v.case("aten.sum", draw(2, 3, dtype=i32))
    v.case("aten.sum", draw(2, 3, dtype=b8))
    v.case("aten.sum", draw(2, 3), dtype=f64)
    v.case("aten.sum", draw(2, 3), dtype=i64)
    v.case("aten.sum.dim_IntList", draw(2, 3, 4), [1])
    v.case("aten.sum.dim_IntList", draw(2, 3, 4), [-1, 0], True)
    v.case("aten.sum.dim_IntList", draw(2, 3, 4), [])
    v.case("aten.sum.dim_IntList", draw(2, 3, 4), None, True)
    v.case("aten.sum.dim_IntList", draw(2, 0, 4), [1])
    v.case("aten.sum.dim_IntList", draw(), [0])
    v.case("aten.sum.dim_IntList", draw(2, 3, dtype=i8, lo=-128, hi=127), [0])
    v.case("aten.sum.dim_IntList", draw(2, 3, dtype=f16), [0], dtype=f32)
    v.case("aten.sum.dim_IntList", NAN, [1])
    v.rejects("aten.sum.dim_IntList", draw(2, 3), [2])
    v.rejects("aten.sum.dim_IntList", draw(2, 3), [0, 0])
    v.case("aten.mean", draw(2, 3))
    v.case("aten.mean", draw(0))
    v.case("aten.mean", draw(2, 3, dtype=i64), dtype=f32)
    v.case("aten.mean.dim", draw(2, 3, 4), [1])
    v.case("aten.mean.dim", draw(2, 3, 4), [-1, -2], True)
    v.case("aten.mean.dim", draw(2, 3, 4), None)
    v.case("aten.mean.dim", draw(2, 3, dtype=bf16), [0])
    v.case("aten.mean.dim", draw(2, 0), [1])
    v.rejects("aten.mean.dim", draw(2, 3, dtype=i64), [1])


@op("prod")
def _(v):
    v.case("aten.prod", draw(2, 3))
    v.case("aten.prod", draw(0))
    v.case("aten.prod", draw(2, 3, dtype=i32))
    v.case("aten.prod", draw(2, 3, dtype=b8))
    v.case("aten.prod.dim_int", draw(2, 3), 1)
    v.case("aten.prod.dim_int", draw(2, 3), -2, True)
    v.case("aten.prod.dim_int", draw(2, 3, dtype=i8), 0, dtype=f32)


@op("amax")
def _(v):
    for t in ("aten.amax", "aten.amin"):
        v.case(t, draw(2, 3), [1])
        v.case(t, draw(2, 3), [])
        v.case(t, draw(2, 3, 2), [0, -1], True)
        v.case(t, NAN, [0])
        v.case(t, draw(2, 3, dtype=i64), [0])
        v.case(t, draw(2, 3, dtype=b8), [0])
        v.case(t, draw())
        v.case(t, draw(2, 0), [0])
        v.rejects(t, draw(2, 0), [1])
    for t in ("aten.max", "aten.min"):
        v.case(t, draw(2, 3))
        v.case(t, NAN)
        v.case(t, draw(2, 3, dtype=u8))
        v.case(t + ".dim", draw(2, 3), 1)
        v.case(t + ".dim", draw(2, 3, 2), -2, True)
        v.case(t + ".dim", NAN, 1)
        v.case(t + ".dim", NAN, 0)
        v.case(t + ".dim", torch.tensor([[1, 3, 3, 1], [2, 2, 2, 2]]), 1)
        v.case(t + ".dim", draw(), 0)
        v.rejects(t + ".dim", draw(2, 0), 1)
        v.rejects(t, draw(0))
        v.case(t + ".other", draw(2, 3), draw(3))
        v.case(t + ".other", draw(2, 3, dtype=i32), draw(3, seed=1))
    for t in ("aten.argmax", "aten.argmin"):
        v.case(t, draw(2, 3))
        v.case(t, draw(2, 3), 1)
        v.case(t, draw(2, 3), 0, True)
        v.case(t, draw(2, 3), None, True)
        v.case(t, NAN, 1)
        v.case(t, NAN)
        v.case(t, torch.tensor([5, 7, 7, 5]))
        v.rejects(t, draw(2, 0), 1)
    v.case("aten.aminmax", draw(2, 3))
    v.case("aten.aminmax", draw(2, 3), dim=1)
    v.case("aten.aminmax", NAN, dim=0, keepdim=True)


@op("any")
def _(v):
    x = torch.tensor([[0.0, 1.0, math.nan], [0.0, -0.0, 0.0]])
    for t in ("aten.any", "aten.all"):
        v.case(t, x)
        v.case(t, draw(2, 3, dtype=b8))
        v.case(t, torch.ones(2, 2, dtype=b8))
        v.case(t, draw(0))
        v.case(t + ".dim", x, 1)
        v.case(t + ".dim", x, -2, True)
        v.case(t + ".dim", draw(2, 3, dtype=i64, lo=0, hi=2), 0)
        v.case(t + ".dim", draw(2, 3, dtype=u8, lo=0, hi=2), 0)
        v.case(t + ".dims", x, [0, 1])
        v.case(t + ".dims", x, None, True)
        v.case(t + ".dim", draw(2, 0), 1)


@op("var")
def _(v):
    for t in ("aten.var", "aten.std", "aten.var_mean", "aten.std_mean"):
        v.case(t, draw(2, 3))
        v.case(t, draw(2, 3), False)
        v.case(t + ".dim", draw(2, 3, 4), [1])
        v.case(t + ".dim", draw(2, 3, 4), [0, 2], False, True)
        v.case(t + ".correction", draw(2, 3, 4), [-1])
        v.case(t + ".correction", draw(2, 3, 4), None, correction=0, keepdim=True)
        v.case(t + ".correction", draw(2, 3), [1], correction=0.5)
        v.case(t + ".correction", draw(2, 1), [1])
    v.rejects("aten.var", draw(3, dtype=i64))


@op("norm")
def _(v):
    n = "aten.linalg_vector_norm"
    for p in (0, 1, 2, math.inf, 3):
        v.case(n, torch.tensor(-0.75), p)
    v.case(n, torch.tensor(0.0), 0)
    v.case(n, draw(2, 3))
    v.case(n, draw(2, 3), 1, [1])
    v.case(n, draw(2, 3), math.inf, [0], True)
    v.case(n, draw(2, 3), -math.inf, [-1])
    v.case(n, torch.tensor([[0.0, 1.0, -2.0], [0.0, 0.0, 3.0]]), 0, [1])
    v.case(n, draw(2, 3), 3, [1])
    v.case(n, draw(2, 3), 0.5, None, True)
    v.case(n, draw(2, 3), 2, [1], dtype=f64)
    v.case(n, draw(2, 3, dtype=f16), 2, [1])
    v.case(n, NAN, 2, [1])
    v.case(n, draw(2, 0), 2, [1])
    v.case("aten.norm.Scalar", draw(2, 3), 2)
    v.case("aten.norm.ScalarOpt_dim", draw(2, 3), None, [1])
    v.case("aten.norm.ScalarOpt_dim", draw(2, 3), 1, [0], True)
    v.case("aten.norm.ScalarOpt_dim", draw(2, 3), 2, [])
    v.case("aten.norm.ScalarOpt_dim_dtype", draw(2, 3), 2, [1], False, dtype=f64)
    v.case("aten.norm.ScalarOpt_dtype", draw(2, 3), 2, dtype=f64)
    v.rejects(n, draw(3, dtype=i64))


@op("logsumexp")
def _(v):
    v.case("aten.logsumexp", draw(2, 3), [1])
    v.case("aten.logsumexp", draw(2, 3), [0, 1], True)
    v.case("aten.logsumexp", NAN, [1])
    v.case("aten.logsumexp", torch.tensor([[-math.inf, -math.inf], [1000.0, 1001.0]]), [1])
    v.case("aten.logsumexp", draw(2, 3, dtype=i64), [1])


@op("softmax")
def _(v):
    for t in ("aten.softmax.int", "aten.log_softmax.int"):
        v.case(t, draw(2, 3), 1)
        v.case(t, draw(2, 3, 4), 1)
        v.case(t, draw(2, 3), -2)
        v.case(t, draw(), 0)
        v.case(t, draw(0, 3), 1)
        v.case(t, draw(2, 3) * 100, 1)
        v.case(t, torch.tensor([[-math.inf, 0.0], [-math.inf, -math.inf], [math.inf, 1.0]]), 1)
        v.case(t, draw(2, 3, dtype=i64), 1, f32)
        v.case(t, draw(2, 3, dtype=f16), 1, f32)
        v.case(t, draw(2, 3, dtype=bf16), 1)
        v.rejects(t, draw(2, 3), 2)
    v.case("aten._softmax", draw(2, 3), 1, False)
    v.case("aten._log_softmax", draw(2, 3), 0, False)
    v.case("aten._safe_softmax", torch.tensor([[-math.inf, 0.0], [-math.inf, -math.inf]]), 1)
