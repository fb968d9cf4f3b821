"""Normalizations."""

import torch
from vectors import bf16, draw, f16, f32, op


def positive(*sizes, **k):
    return draw(*sizes, lo=0.25, hi=2, **k)


@op("batch_norm")
def _(v):
    b = "aten.batch_norm"
    v.case(b, draw(2, 3), draw(3), draw(3, seed=1), draw(3, seed=2), positive(3), False, 0.1, 1e-5, True)
    v.case(b, draw(2, 3, 2, 2), draw(3), draw(3, seed=1), draw(3, seed=2), positive(3), False, 0.1, 1e-3, False)
    v.case(b, draw(1, 2, 3), None, None, draw(2), positive(2), False, 0.1, 1e-5, False)
    v.case(b, draw(1, 2, 1, 2, 1), draw(2), None, draw(2), positive(2), False, 0.1, 1e-5, False)
    n = "aten._native_batch_norm_legit_no_training"
    v.case(n, draw(2, 3, 2, 2), draw(3), draw(3, seed=1), draw(3, seed=2), positive(3), 0.1, 1e-5)
    v.case(n, draw(2, 3), None, None, draw(3), positive(3), 0.1, 1e-5)
    v.case("aten.native_batch_norm", draw(2, 3), None, None, draw(3), positive(3), False, 0.1, 1e-5)
    v.case("aten._native_batch_norm_legit.no_stats", draw(2, 3, 2), draw(3), draw(3, seed=1), True, 0.1, 1e-5)


@op("layer_norm")
def _(v):
    v.case("aten.layer_norm", draw(2, 4), [4], draw(4), draw(4, seed=1))
    v.case("aten.layer_norm", draw(2, 3, 4), [3, 4], draw(3, 4), None, 1e-3)
    v.case("aten.layer_norm", draw(2, 4), [4])
    v.case("aten.layer_norm", draw(4), [4])
    v.case("aten.layer_norm", draw(2, 4, dtype=bf16), [4], draw(4, dtype=bf16), draw(4, dtype=bf16, seed=1))
    v.case("aten.native_layer_norm", draw(2, 3, 4), [4], draw(4), draw(4, seed=1), 1e-5)
    v.case("aten.native_layer_norm", draw(0, 4), [4], None, None, 1e-5)
    v.case("aten.native_layer_norm", draw(2, 1), [1], None, None, 1e-5)
    v.rejects("aten.layer_norm", draw(2, 4), [3])
    v.case("aten.rms_norm", draw(2, 4), [4], draw(4), 1e-5)
    v.case("aten.rms_norm", draw(2, 3, 4), [3, 4])
    v.case("aten.rms_norm", draw(2, 4, dtype=f16), [4], draw(4, dtype=f16))
    v.case("aten._fused_rms_norm", draw(2, 4), [4], draw(4), 1e-5)


@op("group_norm")
def _(v):
    v.case("aten.group_norm", draw(2, 4, 3), 2, draw(4), draw(4, seed=1))
    v.case("aten.group_norm", draw(1, 4, 2, 2), 4)
    v.case("aten.group_norm", draw(2, 4), 1, draw(4))
    v.rejects("aten.group_norm", draw(2, 4, 3), 3)
    v.case("aten.native_group_norm", draw(2, 4, 3, 2), draw(4), draw(4, seed=1), 2, 4, 6, 2, 1e-5)
    v.case("aten.native_group_norm", draw(2, 4, 3), None, None, 2, 4, 3, 4, 1e-5)
    v.case("aten.instance_norm", draw(2, 3, 4), draw(3), draw(3, seed=1), None, None, True, 0.1, 1e-5, False)
    v.case("aten.instance_norm", draw(2, 3, 2, 2), None, None, None, None, True, 0.1, 1e-5, False)
    v.case("aten.instance_norm", draw(2, 3, 4), draw(3), draw(3, seed=1), draw(3, seed=2), positive(3), False, 0.1, 1e-5, False)
