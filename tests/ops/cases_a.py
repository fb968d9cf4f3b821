"""Elementwise ops, copies, creation, Python numbers."""

import math

import torch

from vectors import b8, bf16, draw, f16, f32, f64, i8, i16, i32, i64, op, special, u8

A = "aten."
UNARY = {  # op: (lo, hi) of the domain
    "exp": (-3, 3), "expm1": (-3, 3), "exp2": (-3, 3), "log": (0.01, 5), "log2": (0.01, 5), "log10": (0.01, 5), "log1p": (-0.9, 5),
    "sqrt": (0, 5), "rsqrt": (0.01, 5), "reciprocal": (-3, 3), "sin": (-7, 7), "cos": (-7, 7), "tan": (-1.4, 1.4),
    "asin": (-1, 1), "acos": (-1, 1), "atan": (-4, 4), "sinh": (-3, 3), "cosh": (-3, 3), "tanh": (-4, 4),
    "asinh": (-4, 4), "acosh": (1, 5), "atanh": (-0.95, 0.95), "erf": (-3, 3), "erfc": (-3, 3), "sigmoid": (-6, 6),
}
for name, (lo, hi) in UNARY.items():
    def cases(v, name=name, lo=lo, hi=hi):
        v.case(A + name, draw(2, 3, lo=lo, hi=hi))
        v.case(A + name, draw(0, 2, lo=lo, hi=hi))
        v.case(A + name, draw(lo=lo, hi=hi, dtype=f64))
        v.case(A + name, draw(3, lo=lo, hi=hi, dtype=f16))
        v.case(A + name, draw(3, lo=lo, hi=hi, dtype=bf16))
        v.case(A + name, draw(3, dtype=i32, lo=1, hi=2))
        v.case(A + name, torch.tensor([False, True]))
        v.case(A + name, special()[:12])
    op(name)(cases)

SAME = ["neg", "abs", "ceil", "floor", "trunc", "sign", "sgn", "square", "frac"]
for name in SAME:
    def cases(v, name=name):
        v.case(A + name, draw(2, 3))
        v.case(A + name, special())
        v.case(A + name, draw(3, dtype=f64))
        v.case(A + name, draw(3, dtype=f16))
        v.case(A + name, draw(0, dtype=bf16))
        if name != "frac":
            for t in (i64, i32, u8, i8):
                v.case(A + name, special(t))
    op(name)(cases)


@op("round")
def _(v):
    v.case("aten.round", special())
    v.case("aten.round", draw(5, lo=-9, hi=9))
    v.case("aten.round", draw(2, dtype=i32))
    v.case("aten.round.decimals", draw(4), decimals=2)
    v.case("aten.round.decimals", draw(4, lo=-900, hi=900), decimals=-1)
    v.case("aten.round.decimals", draw(4, dtype=f64), decimals=0)


for name in ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not"):
    def cases(v, name=name):
        v.case(A + name, special())
        v.case(A + name, special(f16))
        v.case(A + name, draw(2, 2, dtype=i32, lo=0, hi=2))
        v.case(A + name, draw(3, dtype=b8))
    op(name)(cases)

NAN = torch.tensor([1.0, math.nan, 2.0, -0.0, math.inf])
NAN2 = torch.tensor([math.nan, 0.5, 2.0, 0.0, -math.inf])
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    def cases(v, name=name):
        t, s = f"aten.{name}.Tensor", f"aten.{name}.Scalar"
        v.case(t, draw(2, 3, dtype=i32), draw(3, dtype=i32, seed=1))
        v.case(t, NAN, NAN2)
        v.case(t, draw(2, 1), draw(1, 3, dtype=i64))
        v.case(t, draw(3, dtype=b8), draw(3, dtype=b8, seed=1))
        v.case(t, torch.tensor([0.1, 0.2]), torch.tensor(0.1, dtype=f64))
        v.case(s, torch.tensor([0.1, 0.2]), 0.1)
        v.case(s, draw(4, dtype=i64), 3)
        v.case(s, torch.tensor([1, 2, 3]), 1.5)
        v.rejects(t, draw(2, 3), draw(2))
    op(name)(cases)
for name in ("logical_and", "logical_or", "logical_xor"):
    def cases(v, name=name):
        v.case(A + name, draw(4, dtype=b8), draw(4, dtype=b8, seed=1))
        v.case(A + name, NAN, torch.tensor([0.0, 0.0, 1.0, 1.0, -0.0]))
        v.case(A + name, draw(2, 3, dtype=i32, lo=0, hi=2), draw(3, dtype=b8, seed=3))
    op(name)(cases)
for name in ("and", "or", "xor"):
    def cases(v, name=name):
        for p in (f"aten.bitwise_{name}", f"aten.__{name}__"):
            v.case(p + ".Tensor", draw(2, 3, dtype=i32), draw(3, dtype=i32, seed=1))
            v.case(p + ".Tensor", draw(4, dtype=b8), draw(4, dtype=b8, seed=1))
            v.case(p + ".Tensor", draw(4, dtype=u8), draw(4, dtype=i8, seed=1))
            v.case(p + ".Scalar", draw(4, dtype=i16), 6)
            v.rejects(p + ".Tensor", draw(2), draw(2))
        v.case(f"aten.bitwise_{name}.Scalar_Tensor", 5, draw(4, dtype=i16))
    op("bitwise_" + name)(cases)


@op("bitwise_not")
def _(v):
    for t in (i64, u8, i8, b8):
        v.case("aten.bitwise_not", special(t))


for side, method in (("left", "__lshift__"), ("right", "__rshift__")):
    def cases(v, side=side, method=method):
        v.case(f"aten.bitwise_{side}_shift.Tensor", draw(4, dtype=i32), torch.tensor([0, 1, 3, 31], dtype=i32))
        v.case(f"aten.bitwise_{side}_shift.Tensor", draw(4, dtype=i8), torch.tensor([0, 1, 7, 8], dtype=i8))
        v.case(f"aten.bitwise_{side}_shift.Tensor", draw(4, dtype=u8), torch.tensor([0, 1, 7, 9], dtype=u8))
        v.case(f"aten.bitwise_{side}_shift.Tensor", draw(2, dtype=i64), torch.tensor([64, 100]))
        v.case(f"aten.bitwise_{side}_shift.Tensor_Scalar", draw(4, dtype=i64), 3)
        v.case(f"aten.{method}.Tensor", draw(4, dtype=i64), draw(4, dtype=i64, lo=0, seed=1))
        v.case(f"aten.{method}.Scalar", draw(4, dtype=i64), 2)
    op(f"bitwise_{side}_shift")(cases)


def promotions(v, name, **kw):
    """Pairs whose result dtype shows the promotion rules."""
    pairs = [(i32, f32), (u8, i8), (i64, f16), (f16, bf16), (i16, i32), (f32, f64), (b8, i8), (bf16, f32)]
    for a, b in pairs:
        v.case(name, draw(2, dtype=a, lo=1 if a != b8 else None), draw(2, dtype=b, lo=1, hi=3), **kw)
    v.case(name, draw(2, dtype=f16, lo=1), draw(dtype=f64, lo=1), **kw)       # dims over 0-dim
    v.case(name, draw(2, dtype=i32, lo=1), draw(dtype=f64, lo=1), **kw)       # category first
    v.case(name, draw(2, dtype=i8, lo=1), draw(dtype=i64, lo=1), **kw)
    v.case(name, draw(dtype=f16, lo=1), draw(dtype=i64, lo=1), **kw)
    v.case(name, draw(2, dtype=i32, lo=1), 2.5, **kw)
    v.case(name, draw(2, dtype=f16, lo=1), 2.5, **kw)
    v.case(name, draw(2, dtype=u8, lo=1), 3, **kw)
    v.case(name, draw(2, dtype=f64, lo=1), 3, **kw)


@op("add")
def _(v):
    promotions(v, "aten.add.Tensor")
    v.case("aten.add.Tensor", draw(2, 3), draw(3), alpha=2)
    v.case("aten.add.Tensor", draw(2, 1, 3), draw(4, 1), alpha=-1.5)
    v.case("aten.add.Tensor", special(i64), special(i64).flip(0), alpha=3)
    v.case("aten.add.Tensor", draw(3, dtype=b8), draw(3, dtype=b8, seed=1))
    v.case("aten.add.Tensor", draw(0, 3), draw(1, 3))
    v.case("aten.add.Tensor", draw(), draw(seed=1))
    v.case("aten.add.Tensor", NAN, NAN2)
    v.case("aten.add.Scalar", draw(2, 2), 1.5, 2)
    v.case("aten.add.Scalar", draw(2, 2, dtype=i32), 3)
    v.case("aten.add_.Tensor", draw(2, 3), draw(3))
    v.rejects("aten.add.Tensor", draw(2, 3), draw(2))


@op("sub")
def _(v):
    for a, b in [(i32, f32), (u8, i8), (u8, u8), (f32, f64), (f16, f16)]:
        v.case("aten.sub.Tensor", draw(3, dtype=a), draw(3, dtype=b, seed=1))
    v.case("aten.sub.Tensor", draw(2, 3), draw(3), alpha=2)
    v.case("aten.sub.Scalar", draw(2, 2), 1.5)
    v.case("aten.sub.Tensor", draw(2, 2), 1)
    v.rejects("aten.sub.Tensor", draw(2, dtype=b8), draw(2, dtype=b8))


@op("rsub")
def _(v):
    v.case("aten.rsub.Tensor", draw(2, 3), draw(3), alpha=2)
    v.case("aten.rsub.Tensor", draw(3, dtype=i32), draw(3, dtype=f32))
    v.case("aten.rsub.Scalar", draw(2, 2), 1.5)
    v.case("aten.rsub.Scalar", draw(2, 2, dtype=u8), 1, 2)


@op("mul")
def _(v):
    promotions(v, "aten.mul.Tensor")
    v.case("aten.mul.Tensor", special(i64), special(i64).flip(0))
    v.case("aten.mul.Tensor", draw(3, dtype=b8), draw(3, dtype=b8, seed=1))
    v.case("aten.mul.Tensor", NAN, NAN2)
    v.case("aten.mul.Tensor", draw(3, 1, 2), draw(2, 1))
    v.case("aten.mul.Scalar", draw(2, 2), -0.1)
    v.case("aten.mul.Scalar", draw(2, dtype=i32), 2.5)


@op("div")
def _(v):
    promotions(v, "aten.div.Tensor")
    v.case("aten.div.Tensor", NAN, NAN2)
    v.case("aten.div.Tensor", draw(3, dtype=i64), draw(3, dtype=i64, lo=1, seed=1))
    v.case("aten.div.Scalar", draw(2, 2), 3)
    v.case("aten.div.Scalar", draw(2, 2, dtype=i32), 0)
    a = torch.tensor([7, -7, 7, -7, 6, 0], dtype=i32)
    b = torch.tensor([2, 2, -2, -2, 3, 5], dtype=i32)
    for mode in (None, "trunc", "floor"):
        v.case("aten.div.Tensor_mode", a, b, rounding_mode=mode)
        v.case("aten.div.Tensor_mode", a.float(), b.float(), rounding_mode=mode)
        v.case("aten.div.Tensor_mode", torch.tensor([1.0, -1.0, 0.0, -0.0, 5.0, math.inf, math.nan, 0.3]), torch.tensor([0.0, 0.0, 0.0, 2.0, math.inf, 2.0, 1.0, 0.1]), rounding_mode=mode)
        v.case("aten.div.Scalar_mode", a, 3, rounding_mode=mode)
        v.case("aten.div.Scalar_mode", a.double(), 2.5, rounding_mode=mode)
    v.rejects("aten.div.Tensor_mode", a, b, rounding_mode="ceil")
    v.case("aten.true_divide.Tensor", a, b)
    v.case("aten.true_divide.Scalar", a, 4)


@op("floor_divide")
def _(v):
    a, b = torch.tensor([7, -7, 7, -7, 6, 0], dtype=i32), torch.tensor([2, 2, -2, -2, 3, 5], dtype=i32)
    v.case("aten.floor_divide", a, b)
    v.case("aten.floor_divide", a.float(), b.double())
    v.case("aten.floor_divide", torch.tensor([1.0, -1.0, 0.0, 0.3, math.nan]), torch.tensor([0.0, 0.0, 0.0, 0.1, 1.0]))
    v.case("aten.floor_divide.Scalar", a, -4)
    v.case("aten.floor_divide.Scalar", a.float(), 2.5)


for name in ("remainder", "fmod"):
    def cases(v, name=name):
        a, b = torch.tensor([7, -7, 7, -7, 6, 0], dtype=i32), torch.tensor([2, 2, -2, -2, 3, 5], dtype=i32)
        v.case(f"aten.{name}.Tensor", a, b)
        v.case(f"aten.{name}.Tensor", a.float() + 0.25, b.double())
        v.case(f"aten.{name}.Tensor", torch.tensor([1.0, -1.0, math.inf, 5.0, -5.0]), torch.tensor([0.0, 3.0, 2.0, 2.5, 2.5]))
        v.case(f"aten.{name}.Scalar", a, 3)
        v.case(f"aten.{name}.Scalar", draw(4), -0.75)
        if name == "remainder":
            v.case("aten.remainder.Scalar_Tensor", 7, b)
    op(name)(cases)


@op("pow")
def _(v):
    for p in (2, 3, 0.5, -0.5, -1, 1, 0, 2.5):
        v.case("aten.pow.Tensor_Scalar", draw(3, lo=0.1, hi=3), p)
    v.case("aten.pow.Tensor_Scalar", draw(4), 2)
    v.case("aten.pow.Tensor_Scalar", draw(4, dtype=i32), 3)
    v.case("aten.pow.Tensor_Scalar", draw(4, dtype=i32, lo=0), 0.5)
    v.case("aten.pow.Tensor_Tensor", draw(2, 3, lo=0.1, hi=3), draw(3))
    v.case("aten.pow.Tensor_Tensor", draw(4, dtype=i64), draw(4, dtype=i64, lo=0, seed=1))
    v.case("aten.pow.Tensor_Tensor", torch.tensor([0.0, -2.0, math.nan, 2.0]), torch.tensor([0.0, 3.0, 0.0, math.inf]))
    v.case("aten.pow.Scalar", 2, draw(3))
    v.case("aten.pow.Scalar", 2, draw(3, dtype=i64, lo=0))
    v.case("aten.pow.Scalar", 10000.0, draw(3, lo=0, hi=1))


@op("atan2")
def _(v):
    v.case("aten.atan2", draw(2, 3), draw(3, seed=1))
    v.case("aten.atan2", torch.tensor([0.0, -0.0, 0.0, -0.0]), torch.tensor([-1.0, -1.0, 1.0, 1.0]))
    v.case("aten.atan2", draw(3, dtype=i32), draw(3, dtype=i32, seed=1))


for name in ("maximum", "minimum", "fmax", "fmin"):
    def cases(v, name=name):
        v.case(A + name, draw(2, 3), draw(3, seed=1))
        v.case(A + name, NAN, NAN2)
        v.case(A + name, draw(3, dtype=i32), draw(3, dtype=i64, seed=1))
        v.case(A + name, draw(3, dtype=i32), draw(3, dtype=f32, seed=1))
        v.case(A + name, draw(3, dtype=b8), draw(3, dtype=b8, seed=1))
    op(name)(cases)


@op("clamp")
def _(v):
    x = special()
    for lo, hi in ((None, 1), (-1, None), (-0.5, 0.5), (2, 1), (0, 6), (math.nan, 1)):
        v.case("aten.clamp", x, lo, hi)
    v.case("aten.clamp", draw(4, dtype=i32), -2, 2)
    v.case("aten.clamp", draw(4, dtype=i32), -2.5, 2)
    v.case("aten.clamp", draw(4, dtype=u8), 3, None)
    v.case("aten.clamp.Tensor", draw(2, 3), draw(3, seed=1, hi=0), draw(3, seed=2, lo=0))
    v.case("aten.clamp.Tensor", draw(2, 3), None, draw(2, 1, seed=2))
    v.case("aten.clamp.Tensor", draw(2, 3, dtype=i32), draw(2, 1, seed=2), None)
    v.case("aten.clamp.Tensor", NAN, NAN2, None)
    v.case("aten.clamp_min", x, 0.5)
    v.case("aten.clamp_min", draw(4, dtype=i64), 1)
    v.case("aten.clamp_max", x, -0.5)
    v.case("aten.clamp_min.Tensor", NAN, NAN2)
    v.case("aten.clamp_max.Tensor", NAN, NAN2)
    v.case("aten.clip", x, -1, 1)


ACTIVATIONS = {
    "relu": [()], "relu6": [()], "silu": [()], "mish": [()], "hardsigmoid": [()], "hardswish": [()], "selu": [()], "log_sigmoid": [()],
    "leaky_relu": [(), (0.2,)], "elu": [(), (0.5,), (1.0, 2.0, 0.5)], "celu": [(), (0.7,)], "hardtanh": [(), (-0.5, 2.0)],
    "softplus": [(), (2.0, 1.0), (0.5, 20)], "threshold": [(0.5, 9.0), (0, 0)],
}
FILES = {"relu6": "relu", "selu": "elu", "celu": "elu"}
groups = {}
for name, variants in ACTIVATIONS.items():
    groups.setdefault(FILES.get(name, name), []).append((name, variants))
for stem, members in groups.items():
    def cases(v, members=members):
        for name, variants in members:
            for args in variants:
                v.case(A + name, draw(2, 3, lo=-8, hi=8), *args)
                v.case(A + name, special()[:12], *args)
                v.case(A + name, draw(3, dtype=f64, lo=-8, hi=8), *args)
                v.case(A + name, draw(3, dtype=bf16, lo=-8, hi=8), *args)
                v.case(A + name, draw(0, 2), *args)
            if name in ("relu", "hardtanh", "threshold", "relu6"):
                v.case(A + name, draw(4, dtype=i32), *[int(a) for a in variants[-1]])
            if name == "hardtanh":  # bounds of ints are ints
                v.case(A + name, torch.tensor([-4, 0, 2, 8, 1], dtype=torch.int8), -1.9, 1.5)
                v.rejects(A + name, draw(3, dtype=torch.uint8), -1, 2)
            if name == "threshold":
                v.rejects(A + name, torch.tensor([True, False]), 1, 0)
        if members[0][0] == "log_sigmoid":
            y, b = torch.ops.aten.log_sigmoid_forward(draw(4, lo=-8, hi=8))
            v.case("aten.log_sigmoid_forward", draw(4, lo=-8, hi=8))
        if members[0][0] == "leaky_relu":
            v.case("aten.rrelu", draw(5), 0.1, 0.3)
    op(stem)(cases)


@op("gelu")
def _(v):
    for a in ("none", "tanh"):
        v.case("aten.gelu", draw(2, 5, lo=-4, hi=4), approximate=a)
        v.case("aten.gelu", draw(3, dtype=f64), approximate=a)
        v.case("aten.gelu", draw(3, dtype=f16), approximate=a)
    v.case("aten.gelu", draw(3))
    v.rejects("aten.gelu", draw(3), approximate="sigmoid")
    v.rejects("aten.gelu", draw(3, dtype=i32))


@op("logit")
def _(v):
    v.case("aten.logit", draw(5, lo=0.01, hi=0.99))
    v.case("aten.logit", torch.tensor([0.0, 1.0, 0.5, -0.5, math.nan]))
    v.case("aten.logit", torch.tensor([0.0, 1.0, 0.5, -0.5, math.nan]), 0.1)
    v.case("aten.logit", draw(2, dtype=f64, lo=0.1, hi=0.9), 1e-6)


@op("prelu")
def _(v):
    v.case("aten.prelu", draw(2, 3, 2, 2), draw(3, seed=1))
    v.case("aten.prelu", draw(2, 3), draw(3, seed=1))
    v.case("aten.prelu", draw(2, 3, 2), draw(1, seed=1))
    v.case("aten.prelu", draw(4), draw(1, seed=1))
    v.case("aten.prelu", special(), draw(1, seed=1))
    v.case("aten._prelu_kernel", draw(2, 3, 2), draw(1, 3, 1, seed=1))
    v.rejects("aten.prelu", draw(2, 3), draw(2))


@op("glu")
def _(v):
    v.case("aten.glu", draw(2, 4))
    v.case("aten.glu", draw(4, 3), 0)
    v.case("aten.glu", draw(2, 2, 3, dtype=f64), -2)
    v.rejects("aten.glu", draw(2, 3))


@op("where")
def _(v):
    c = draw(2, 3, dtype=b8)
    v.case("aten.where.self", c, draw(2, 3), draw(3, seed=1))
    v.case("aten.where.self", c, draw(3, dtype=i32), draw(2, 1, seed=1))
    v.case("aten.where.self", c, torch.full((2, 3), math.nan), draw(2, 3))
    v.case("aten.where.self", draw(2, 1, dtype=b8), draw(1, 3, dtype=i64), draw(dtype=i64))
    v.case("aten.where.self", c, draw(2, 3, dtype=f16), draw(dtype=f32))
    v.case("aten.where.ScalarSelf", c, 1.5, draw(2, 3))
    v.case("aten.where.ScalarOther", c, draw(2, 3), -math.inf)
    v.case("aten.where.ScalarOther", c, draw(2, 3, dtype=i32), 2)
    v.case("aten.where.Scalar", c, 1, 2)
    v.case("aten.where.Scalar", c, 1.0, 2)


@op("masked_fill")
def _(v):
    m = draw(2, 3, dtype=b8)
    v.case("aten.masked_fill.Scalar", draw(2, 3), m, -math.inf)
    v.case("aten.masked_fill.Scalar", draw(3), m, 2)
    v.case("aten.masked_fill.Scalar", draw(2, 3, dtype=i32), m, 2)
    v.case("aten.masked_fill.Scalar", draw(2, 3, dtype=f16), draw(3, dtype=b8), 1.5)
    v.case("aten.masked_fill.Tensor", draw(2, 3), m, torch.tensor(7.5))
    v.case("aten.masked_fill.Tensor", draw(2, 3), m, torch.tensor(7.5, dtype=f64))
    v.rejects("aten.masked_fill.Scalar", draw(2, 3), draw(2, 3, dtype=i32), 1.0)
    v.case("aten.masked_fill.Scalar", draw(2, 3, dtype=i32), m, 1.5)


@op("addcmul")
def _(v):
    v.case("aten.addcmul", draw(2, 3), draw(3, seed=1), draw(2, 1, seed=2))
    v.case("aten.addcmul", draw(2, 3), draw(3, seed=1), draw(2, 1, seed=2), value=0.5)
    v.case("aten.addcmul", draw(3, dtype=i32), draw(3, dtype=i32, seed=1), draw(3, dtype=i32, seed=2), value=2)
    v.case("aten.addcmul", draw(3, dtype=i32), draw(3, dtype=i32, seed=1), draw(3, dtype=i32, seed=2), value=2.75)


@op("addcdiv")
def _(v):
    v.case("aten.addcdiv", draw(2, 3), draw(3, seed=1), draw(2, 1, seed=2, lo=1))
    v.case("aten.addcdiv", draw(2, 3), draw(3, seed=1), draw(2, 1, seed=2, lo=1), value=-0.5)


@op("lerp")
def _(v):
    v.case("aten.lerp.Scalar", draw(2, 3), draw(3, seed=1), 0.25)
    v.case("aten.lerp.Scalar", draw(2, 3), draw(3, seed=1), 0.75)
    v.case("aten.lerp.Tensor", draw(2, 3), draw(2, 3, seed=1), draw(3, seed=2))


@op("nan_to_num")
def _(v):
    for t in (f32, f64, f16, bf16):
        v.case("aten.nan_to_num", special(t)[:12])
    v.case("aten.nan_to_num", special(), 1.0, 2.0, 3.0)
    v.case("aten.nan_to_num", draw(3, dtype=i32))


@op("to_copy")
def _(v):
    everything = (f32, f64, f16, bf16, i64, i32, i16, i8, u8, b8)
    for a in everything:
        for b in everything:
            v.case("aten._to_copy", draw(2, 2, dtype=a, lo=0 if b == u8 else None), dtype=b)
    v.case("aten._to_copy", special(f64), dtype=f16)
    v.case("aten._to_copy", special(f64), dtype=bf16)
    v.case("aten._to_copy", special(f64)[:9], dtype=b8)
    v.case("aten._to_copy", special(i64), dtype=i8)
    for a in (f32, f64, f16):
        for b in (i8, i16, i32, i64, u8):
            v.case("aten._to_copy", special(a), dtype=b)  # NaN, infinities, what does not fit
    v.case("aten._to_copy", draw(2, 3))
    v.case("aten.to.dtype", draw(2, 3), i32)
    v.case("aten.to.dtype", draw(2, 3), f32)
    v.case("aten.to.dtype", draw(2, 3), f32, False, True)
    v.case("aten.to.dtype_layout", draw(2, 3), dtype=f16)
    v.case("aten.to.device", draw(2, 3), torch.device("cpu"), f64)
    v.case("aten.to.other", draw(2, 3), draw(2, dtype=f64))
    v.case("aten.type_as", draw(2, 3), draw(2, dtype=i32))


@op("clone")
def _(v):
    v.case("aten.clone", draw(2, 3))
    v.case("aten.clone", draw(2, 0, dtype=b8))
    v.case("aten.contiguous", draw(2, 3))


@op("copy")
def _(v):
    v.case("aten.copy", draw(2, 3), draw(3, seed=1))
    v.case("aten.copy", draw(2, 3, dtype=i32), draw(2, 1, seed=1))
    v.case("aten.copy", draw(2, dtype=f16), draw(seed=1))
    v.case("aten.copy_", draw(2, 3), draw(2, 3, dtype=i64, seed=1))
    v.case("aten.fill.Scalar", draw(2, 3), 1.5)
    v.case("aten.fill.Scalar", draw(2, 3, dtype=i32), 2)
    v.case("aten.fill_.Scalar", draw(2, dtype=b8), 1)
    v.case("aten.fill.Tensor", draw(2, 3), torch.tensor(3, dtype=i64))
    v.case("aten.zero", draw(2, 3))
    v.rejects("aten.fill.Tensor", draw(2, 3), draw(1))


@op("full")
def _(v):
    v.case("aten.full", [2, 3], 1.5)
    v.case("aten.full", [2], 3)
    v.case("aten.full", [], True)
    v.case("aten.full", [2], 1.5, dtype=i32)
    v.case("aten.full", [0, 2], 1, dtype=f16)
    v.case("aten.zeros", [2, 3])
    v.case("aten.zeros", [2], dtype=i64)
    v.case("aten.ones", [2, 3])
    v.case("aten.ones", [2], dtype=b8)
    v.shape("aten.empty.memory_format", [2, 3])
    v.shape("aten.empty_strided", [2, 3], [1, 2])
    v.shape("aten.empty_permuted", [2, 3], [1, 0])
    v.case("aten.full_like", draw(2, 2), 7)
    v.case("aten.full_like", draw(2, 2, dtype=i32), 7, dtype=f64)
    v.case("aten.zeros_like", draw(2, 2, dtype=i32))
    v.case("aten.ones_like", draw(2, 2))
    v.case("aten.ones_like", draw(2), dtype=b8)
    v.shape("aten.empty_like", draw(2, 2, dtype=u8))
    v.case("aten.new_full", draw(2, dtype=i32), [3], 2)
    v.case("aten.new_zeros", draw(2, dtype=f16), [3, 1])
    v.case("aten.new_ones", draw(2, dtype=f16), [1], dtype=i64)
    v.shape("aten.new_empty", draw(2), [4])
    v.shape("aten.new_empty_strided", draw(2), [4], [1])
    v.case("aten.scalar_tensor", 2)
    v.case("aten.scalar_tensor", 2.5, dtype=f64)
    v.case("aten.scalar_tensor", True, dtype=b8)
    v.rejects("aten.zeros", [-1])


@op("arange")
def _(v):
    v.case("aten.arange", 5)
    v.case("aten.arange", 2.5)
    v.case("aten.arange", 5, dtype=f32)
    v.case("aten.arange", 0)
    v.case("aten.arange.start", 2, 7)
    v.case("aten.arange.start", -1, 3, dtype=i32)
    v.case("aten.arange.start_step", 0, 10, 3)
    v.case("aten.arange.start_step", 10, 0, -4)
    v.case("aten.arange.start_step", 0.0, 1.0, 0.1)
    v.case("aten.arange.start_step", 1, 2, 0.25, dtype=f64)
    v.rejects("aten.arange.start_step", 0, 5, -1)
    v.rejects("aten.arange.start_step", 0, 5, 0)


@op("linspace")
def _(v):
    v.case("aten.linspace", 0, 1, 5)
    v.case("aten.linspace", -1.0, 2.0, 4, dtype=f64)
    v.case("aten.linspace", 3, 9, 1)
    v.case("aten.linspace", 3, 9, 0)
    v.case("aten.linspace", 0, 9, 4, dtype=i64)
    v.rejects("aten.linspace", 0, 1, -1)


@op("eye")
def _(v):
    v.case("aten.eye", 3)
    v.case("aten.eye.m", 2, 3, dtype=i64)
    v.case("aten.eye.m", 3, 0)


@op("one_hot")
def _(v):
    v.case("aten.one_hot", torch.tensor([0, 2, 1]), 3)
    v.case("aten.one_hot", torch.tensor([[0, 2], [1, 1]]), 4)
    v.case("aten.one_hot", torch.tensor(1), 2)


@op("rand")
def _(v):
    v.shape("aten.rand", [2, 3])
    v.shape("aten.randn", [2], dtype=f64)
    v.shape("aten.randint", 5, [2])
    v.shape("aten.randint.low", 2, 5, [2, 1], dtype=i32)
    v.shape("aten.rand_like", draw(2, 3))
    v.shape("aten.randn_like", draw(2, 3, dtype=f16))
    v.shape("aten.randint_like", draw(2), 4)
    v.shape("aten.bernoulli", draw(2, lo=0, hi=1))


@op("dropout")
def _(v):
    v.case("aten.dropout", draw(2, 3), 0.5, False)
    v.case("aten.feature_dropout", draw(2, 3), 0.5, False)
    v.case("aten.native_dropout", draw(2, 3), 0.5, False)


@op("sizes")
def _(v):
    v.case("aten.sym_size.int", draw(2, 3), 1)
    v.case("aten.sym_size.int", draw(2, 3), -2)
    v.case("aten.sym_numel", draw(2, 3))
    v.case("aten.sym_stride.int", draw(2, 3), 0)
    v.case("aten.sym_storage_offset", draw(2, 3))
    v.rejects("aten.sym_size.int", draw(2, 3), 2)


@op("item")
def _(v):
    v.case("aten._local_scalar_dense", draw(1, 1))
    v.case("aten._local_scalar_dense", draw(dtype=i32))
    v.case("aten.item", draw(dtype=b8))
    v.case("aten.item", draw(1, dtype=f16))
    v.case("aten.is_nonzero", draw(1))
    v.rejects("aten.item", draw(2))


@op("python_numbers")
def _(v):
    for name in ("add", "sub", "mul", "floordiv", "mod", "truediv"):
        for a, b in ((7, 2), (-7, 2), (7, -2), (2.5, 2), (-7, 2.0), (0, 3)):
            v.case("_operator." + name, a, b)
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        for a, b in ((1, 2), (2, 2), (2.5, 2), (2.0, 2)):
            v.case("_operator." + name, a, b)
    v.case("_operator.pow", 3, 4)
    v.case("_operator.pow", 2.0, -1)
    v.case("_operator.neg", 3)
    v.case("_operator.neg", 2.5)
    v.case("_operator.pos", -2)
    v.case("_operator.lshift", 3, 4)
    v.case("_operator.rshift", -17, 2)
    v.case("_operator.and_", True, False)
    v.case("_operator.and_", 6, 3)
    v.case("_operator.or_", True, False)
    v.case("torch.sym_not", False)
    v.case("torch.sym_max", 3, 5)
    v.case("torch.sym_max", 3.5, 2)
    v.case("torch.sym_min", 3, 5)
    v.case("torch.sym_ite", True, 3, 4)
    v.case("torch.sym_ite", False, 3, 4)
    v.case("torch.sym_float", 3)
    v.case("torch.sym_int", -2.5)
    v.case("torch.sym_int", 7)
    v.case("torch.sym_sum", [1, 2, 3])
    v.case("math.trunc", -2.5)
    v.case("math.ceil", 2.25)
    v.case("math.floor", -2.25)
    v.rejects("_operator.floordiv", 1, 0)
    v.rejects("_operator.truediv", 1.0, 0)


@op("second_names")
def _(v):
    for name in ("absolute", "negative", "arccos", "arcsin", "arctan", "arcsinh", "arctanh", "fix", "special_erf", "special_erfc", "special_expit",
                 "special_exp2", "special_expm1", "special_log1p", "special_round", "deg2rad", "rad2deg", "sinc"):
        v.case(A + name, draw(2, 3, lo=-0.9, hi=0.9))
    v.case("aten.arccosh", draw(3, lo=1, hi=3))
    v.case("aten.lgamma", draw(3, lo=0.1, hi=5))
    v.case("aten.rad2deg", draw(3, dtype=i32))
    for name in ("greater", "greater_equal", "less", "less_equal", "not_equal", "multiply", "subtract", "divide"):
        v.case(f"aten.{name}.Tensor", draw(2, 3), draw(3, seed=1))
        v.case(f"aten.{name}.Scalar", draw(2, 3), 0.5)
    v.case("aten.divide.Tensor_mode", draw(2, 3), draw(3, seed=1), rounding_mode="floor")
    v.case("aten.arctan2", draw(2, 3), draw(3, seed=1))


for name in ("hypot", "logaddexp", "copysign", "xlogy", "heaviside"):
    def cases(v, name=name):
        if name == "logaddexp":
            logs(v, "logaddexp2")
        logs(v, name)

    def logs(v, name):
        n = f"aten.{name}.Tensor" if name in ("copysign", "xlogy") else A + name
        v.case(n, draw(2, 3), draw(3, seed=1, lo=0.1))
        v.case(n, torch.tensor([0.0, 1.0, math.inf, -1.0, math.nan]), torch.tensor([2.0, 3.0, math.inf, 2.0, 1.0]))
        v.case(n, draw(3, dtype=f64), draw(3, seed=1, lo=0.1, dtype=f64))
        if name == "copysign":
            v.case("aten.copysign.Scalar", draw(3, dtype=i32), -1)
        if name == "xlogy":
            v.case("aten.xlogy.Scalar_Other", draw(3, dtype=i32), 2)
            v.case("aten.xlogy.Scalar_Self", 0.5, draw(3, lo=0.1))
    op(name)(cases)
for name in ("hardshrink", "softshrink"):
    def cases(v, name=name):
        v.case(A + name, draw(2, 3))
        v.case(A + name, special()[:12], 1.0)
        v.case(A + name, draw(2, dtype=f16))
    op(name)(cases)


@op("signbit")
def _(v):
    v.case("aten.signbit", special()[:11])
    v.case("aten.signbit", special(i32))


@op("float_power")
def _(v):
    v.case("aten.float_power.Tensor_Tensor", draw(3, lo=0.1), draw(3, seed=1))
    v.case("aten.float_power.Tensor_Scalar", draw(3, dtype=i32), 2)
    v.case("aten.float_power.Scalar", 2, draw(3))


@op("isclose")
def _(v):
    a = torch.tensor([1.0, 1.0, math.nan, math.inf, 0.0, 100.0])
    b = torch.tensor([1.0, 1.00001, math.nan, math.inf, 1e-9, 100.1])
    v.case("aten.isclose", a, b)
    v.case("aten.isclose", a, b, 1e-2, 1e-3, True)
    v.case("aten.isclose", draw(3, dtype=i32), draw(3, dtype=i32, seed=1))
