"""Products of matrices."""

import math

import torch
from vectors import b8, bf16, draw, f16, f32, f64, i8, i32, i64, op, special

INT = dict(lo=-5, hi=6)


@op("mm")
def _(v):
    v.case("aten.mm", draw(2, 3), draw(3, 4))
    v.case("aten.mm", draw(1, 1), draw(1, 1))
    v.case("aten.mm", draw(7, 9), draw(9, 11))
    v.case("aten.mm", draw(2, 0), draw(0, 3))
    v.case("aten.mm", draw(0, 2), draw(2, 3))
    v.case("aten.mm", draw(2, 3, dtype=f64), draw(3, 2, dtype=f64))
    v.case("aten.mm", draw(2, 3, dtype=f16), draw(3, 2, dtype=f16))
    v.case("aten.mm", draw(2, 3, dtype=bf16), draw(3, 2, dtype=bf16))
    v.case("aten.mm", draw(2, 3, dtype=i64), draw(3, 2, dtype=i64))
    v.case("aten.mm", draw(2, 3, dtype=i8, lo=-128, hi=127), draw(3, 2, dtype=i8, lo=-128, hi=127))
    v.case("aten.mm", torch.tensor([[math.inf, 1.0], [math.nan, 2.0]]), torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    v.rejects("aten.mm", draw(2, 3), draw(2, 3))
    v.rejects("aten.mm", draw(2, 3), draw(3))
    v.rejects("aten.mm", draw(2, 3), draw(3, 2, dtype=f64))


@op("bmm")
def _(v):
    v.case("aten.bmm", draw(2, 3, 4), draw(2, 4, 5))
    v.case("aten.bmm", draw(1, 2, 1), draw(1, 1, 2))
    v.case("aten.bmm", draw(0, 2, 1), draw(0, 1, 2))
    v.case("aten.bmm", draw(2, 2, 0), draw(2, 0, 2))
    v.case("aten.bmm", draw(2, 2, 3, dtype=i32), draw(2, 3, 2, dtype=i32))
    v.rejects("aten.bmm", draw(2, 3, 4), draw(3, 4, 5))
    v.rejects("aten.bmm", draw(2, 3, 4), draw(2, 3, 5))


@op("addmm")
def _(v):
    v.case("aten.addmm", draw(4), draw(2, 3), draw(3, 4))
    v.case("aten.addmm", draw(2, 1), draw(2, 3), draw(3, 4))
    v.case("aten.addmm", draw(2, 4), draw(2, 3), draw(3, 4), beta=0.5, alpha=2)
    v.case("aten.addmm", draw(4), draw(2, 3), draw(3, 4), beta=0, alpha=-1.5)
    v.case("aten.addmm", torch.tensor([math.nan, math.inf]), draw(2, 3), draw(3, 2), beta=0)
    v.case("aten.addmm", draw(4), draw(2, 0), draw(0, 4))
    v.case("aten.addmm", draw(4, dtype=i64), draw(2, 3, dtype=i64), draw(3, 4, dtype=i64), beta=2, alpha=3)
    v.rejects("aten.addmm", draw(3), draw(2, 3), draw(3, 4))
    v.case("aten.baddbmm", draw(4), draw(2, 2, 3), draw(2, 3, 4), beta=0.5, alpha=2)
    v.case("aten.baddbmm", draw(2, 1, 4), draw(2, 2, 3), draw(2, 3, 4))
    v.case("aten.addmv", draw(2), draw(2, 3), draw(3), beta=2, alpha=0.25)
    v.case("aten.addmv", draw(1), draw(2, 3), draw(3))


@op("mv")
def _(v):
    v.case("aten.mv", draw(2, 3), draw(3))
    v.case("aten.mv", draw(2, 0), draw(0))
    v.case("aten.dot", draw(5), draw(5, seed=1))
    v.case("aten.dot", draw(5, dtype=i64), draw(5, seed=1, dtype=i64))
    v.case("aten.dot", draw(0), draw(0))
    v.case("aten.vdot", draw(3), draw(3, seed=1))
    v.case("aten.outer", draw(3), draw(2))
    v.case("aten.outer", draw(3, dtype=i64), draw(2))
    v.rejects("aten.dot", draw(5), draw(4))


@op("linear")
def _(v):
    v.case("aten.linear", draw(2, 3), draw(4, 3), draw(4))
    v.case("aten.linear", draw(2, 3), draw(4, 3))
    v.case("aten.linear", draw(3), draw(4, 3), draw(4))
    v.case("aten.linear", draw(2, 2, 3), draw(4, 3), draw(4))
    v.case("aten.linear", draw(2, 1, 2, 3), draw(1, 3), draw(1))
    v.case("aten.linear", draw(2, 3), draw(3))
    v.case("aten.linear", draw(0, 3), draw(4, 3), draw(4))
    v.case("aten.linear", draw(2, 3, dtype=bf16), draw(4, 3, dtype=bf16), draw(4, dtype=bf16))
    v.rejects("aten.linear", draw(2, 3), draw(3, 4), draw(4))


@op("matmul")
def _(v):
    v.case("aten.matmul", draw(3), draw(3, seed=1))
    v.case("aten.matmul", draw(2, 3), draw(3))
    v.case("aten.matmul", draw(3), draw(3, 2))
    v.case("aten.matmul", draw(2, 3), draw(3, 2))
    v.case("aten.matmul", draw(2, 2, 3), draw(3, 2))
    v.case("aten.matmul", draw(2, 2, 3), draw(3))
    v.case("aten.matmul", draw(3), draw(2, 3, 2))
    v.case("aten.matmul", draw(2, 3), draw(2, 3, 2))
    v.case("aten.matmul", draw(2, 2, 3), draw(2, 3, 2))
    v.case("aten.matmul", draw(1, 2, 3), draw(2, 3, 2))
    v.case("aten.matmul", draw(2, 1, 2, 3), draw(3, 3, 2))
    v.case("aten.matmul", draw(2, 3, 2, 3), draw(2, 3, 3, 2))
    v.case("aten.matmul", draw(3, 2, 3), draw(2, 1, 3, 2))
    v.case("aten.matmul", draw(0, 2, 3), draw(3, 2))
    v.case("aten.matmul", draw(2, 2, 3, dtype=i64), draw(3, 2, dtype=i64))
    v.rejects("aten.matmul", draw(2, 3), draw(2, 3))
    v.rejects("aten.matmul", draw(2, 2, 3), draw(3, 3, 2))
