"""Distances, medians, bags, sums of products by letters, sampling."""

import math

import torch
from vectors import draw, f64, i32, i64, op, resolve, text


@op("cdist")
def _(v):
    for p in (2.0, 1.0, 0.0, math.inf, 3.0):
        v.case("aten.cdist", draw(3, 4), draw(2, 4), p)
    v.case("aten.cdist", draw(2, 1, 3, 4), draw(3, 2, 4))
    v.case("aten.cdist", draw(2, 0), draw(3, 0))
    v.case("aten._cdist_forward", draw(3, 4), draw(2, 4), 2.0, None)
    v.rejects("aten.cdist", draw(3, 4), draw(2, 5))


@op("median")
def _(v):
    v.case("aten.median", draw(2, 4))
    v.case("aten.median", draw(5, dtype=i64))
    v.case("aten.median", torch.tensor([1.0, math.nan, 3.0]))
    v.case("aten.median.dim", draw(2, 4), 1)
    v.case("aten.median.dim", draw(3, 5, 2), 1, True)
    v.case("aten.median.dim", draw(3, 5, dtype=i32, lo=-1000, hi=1000), -2)
    v.case("aten.median.dim", torch.tensor([[1.0, math.nan, 3.0], [3.0, 1.0, 2.0]]), 1)
    v.rejects("aten.median.dim", draw(2, 0), 1)


@op("embedding_bag")
def _(v):
    w, i, o = draw(5, 3), torch.tensor([1, 2, 4, 0, 3, 2]), torch.tensor([0, 2, 2, 5])

    e = "aten.embedding_bag.padding_idx"
    for mode in (0, 1, 2):
        v.case(e, w, i, o, False, mode, False, None, False, None)
        v.case(e, w, i[:5], o, False, mode, False, None, True, None)
        v.case(e, w, i, o, False, mode, False, None, False, 2)
    v.case(e, w, i, o, False, 0, False, draw(6), False, None)
    v.case(e, w, i.int(), o.int(), False, 0, False, None, False, -1)
    v.case("aten.embedding_bag", w, i, o)
    v.case("aten.embedding_bag", w.double(), i, o)
    for mode in (0, 1, 2):
        v.case("aten._embedding_bag", w, i[:5], o, False, mode, False, None, True)
        v.case("aten._embedding_bag_forward_only", w, i[:5], o.int(), False, mode, False, None, True)
        v.case(e, w, i[:0], o[:1], False, mode, False, None, False, None)
        v.case(e, w, i, o, False, mode, False, None, True, None)  # the last offset is not the end of the indices
        v.case(e, w, i, o, False, mode, False, None, True, 2)
        v.case(e, w.double(), i, o, False, mode, False, None, True, None)
    w[1, 0] = w[4, 1] = math.nan  # a maximum passes over a NaN that is not the first of its bag
    v.case(e, w, torch.tensor([0, 1, 2, 1, 0, 4, 3, 4]), torch.tensor([0, 3, 5]), False, 2, False, None, False, None)
    v.case(e, w, torch.tensor([0, 1, 2, 1, 0, 4, 3, 4]), torch.tensor([0, 3, 5]), False, 2, False, None, False, 0)
    v.rejects(e, w, i, torch.tensor([1, 3]), False, 0, False, None, False, None)
    v.rejects(e, w, i, torch.tensor([0, 7]), False, 0, False, None, False, None)
    v.rejects(e, w, torch.tensor([7]), torch.tensor([0]), False, 0, False, None, False, None)


@op("einsum")
def _(v):
    s = "aten.einsum"
    v.case(s, "ij,jk->ik", [draw(2, 3), draw(3, 4)])
    v.case(s, "ij,jk", [draw(2, 3), draw(3, 4)])
    v.case(s, "bhqd, bhkd -> bhqk", [draw(1, 2, 3, 4), draw(1, 2, 2, 4)])
    v.case(s, "bhwc,hkc->bhwk", [draw(1, 2, 3, 4), draw(2, 3, 4)])
    v.case(s, "ijk,jil->kl", [draw(2, 3, 2), draw(3, 2, 4)])
    v.case(s, "i,j->ij", [draw(2), draw(3)])
    v.case(s, "i,i->", [draw(4), draw(4, seed=1)])
    v.case(s, "ij->ji", [draw(2, 3)])
    v.case(s, "ij->", [draw(2, 3)])
    v.case(s, "ii->i", [draw(3, 3)])
    v.case(s, "...ij,...jk->...ik", [draw(2, 1, 2, 3), draw(3, 3, 2)])
    v.case(s, "ij,jk,kl->il", [draw(2, 3), draw(3, 2), draw(2, 2)])
    v.case(s, "ij,kj->i", [draw(2, 3), draw(4, 3)])
    v.case(s, "ij,jk->ik", [draw(2, 3, dtype=i64), draw(3, 4, dtype=i64)])
    v.case(s, "ij,jk->ik", [draw(2, 0), draw(0, 4)])
    v.rejects(s, "ij,jk->ik", [draw(2, 3), draw(4, 4)])
    v.rejects(s, "ij,jk->il", [draw(2, 3), draw(3, 4)])


@op("bilinear")
def _(v):
    v.case("aten.bilinear", draw(2, 3), draw(2, 4), draw(5, 3, 4), draw(5))
    v.case("aten.bilinear", draw(2, 2, 3), draw(2, 2, 2), draw(3, 3, 2))
    v.rejects("aten.bilinear", draw(2, 3), draw(2, 4), draw(5, 3, 3))


@op("cosine_similarity")
def _(v):
    c = "aten.cosine_similarity"
    v.case(c, draw(2, 3), draw(2, 3, seed=1))
    v.case(c, draw(2, 3, 2), draw(2, 3, 2, seed=1), -3)
    v.case(c, draw(2, 3), draw(3), 1)
    v.case(c, torch.zeros(2, 3), draw(2, 3), 1, 1e-6)
    v.case(c, torch.zeros(2, 3, dtype=torch.float16), draw(2, 3, dtype=torch.float16), 1)  # the default eps is 0 in half floats


@op("grid_sampler")
def _(v):
    x, g = draw(1, 2, 4, 5), draw(1, 3, 2, 2, lo=-1.3, hi=1.3)
    for mode in (0, 1, 2):
        for padding in (0, 1, 2):
            for align in (False, True):
                v.case("aten.grid_sampler_2d", x, g, mode, padding, align, tol=(1e-4, 1e-5))
    v.case("aten.grid_sampler", x, g, 0, 0, False, tol=(1e-4, 1e-5))
    v.rejects("aten.grid_sampler_2d", x, draw(1, 3, 2, 3), 0, 0, False)


@op("weight_norm")
def _(v):
    g = draw(3, 1, 1, lo=0.5, hi=2)
    v.case("aten._weight_norm", draw(3, 2, 2), g, 0)
    v.case("aten._weight_norm", draw(3, 2), draw(1, 2), 1)
    v.case("aten._weight_norm_interface", draw(3, 2, 2), g, 0)


@op("diff")
def _(v):
    d = "aten.diff"
    for t in (None, f64, torch.float16, i64, i32, torch.uint8, torch.bool):
        x = draw(3, 4) if t is None else draw(3, 4, dtype=t)
        v.case(d, x)
        v.case(d, x, 1, 0, x[:1], x[1:])
    v.case(d, draw(5), 2)
    v.case(d, draw(2, 5), 3, -1, draw(2, 1))
    v.case(d, draw(2, 3), 5, 1)
    v.case(d, draw(2, 3), 0, 1)
    v.case(d, draw(0, 3), 1, 0)
    v.case(d, draw(2, 1, 3), 1, 1, None, draw(2, 2, 3))
    v.rejects(d, draw(2, 3), -1)
    v.rejects(d, draw(2, 3), 1, 2)
    v.rejects(d, draw(2, 3), 1, 0, draw(1, 4))
    v.rejects(d, torch.tensor(1.0))
