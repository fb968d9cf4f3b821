"""Quantize and dequantize. Every result is exact."""

import math

import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401 - registers quantized_decomposed.embedding_*
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 - registers quantized_decomposed
import torchao.quantization.quant_primitives  # noqa: F401 - registers torchao

from vectors import b8, bf16, draw, f16, f32, f64, i8, i16, i32, i64, op, special, u8  # noqa: F401

Q = "quantized_decomposed."
EXACT = (0, 0)
RANGES = {i8: (-128, 127), u8: (0, 255), i16: (-32768, 32767), i32: (-(2**31), 2**31 - 1), torch.uint16: (0, 65535)}
# Halves and their neighbours, what becomes infinite under 1/scale, and what leaves each dtype.
EDGES = torch.tensor([0.0, -0.0, 0.25, 0.5, 0.75, -0.25, -0.5, -0.75, 1.25, 0.24999998, 0.25000003, 63.4, 63.5, 64.0, -64.0, -64.25, 1e30, -1e30,
                      math.inf, -math.inf, math.nan, 1e-38, 1e-45, 1e-45])
TIES = torch.arange(-12, 13) / 20.0  # in steps of 0.1, whose inverse is no power of 2
SCALES = [0.5, 0.1, 1e-40, 1e-320, 1e38, 1e300, math.inf, math.nan, -0.5]


@op("quantize_per_tensor")
def _(v):
    name = Q + "quantize_per_tensor"
    for dtype, (lo, hi) in RANGES.items():
        v.case(name, EDGES, 0.5, 3, lo, hi, dtype)
    for scale in SCALES:
        v.case(name, EDGES, scale, 3, -128, 127, i8)
        v.case(name, TIES, scale, 0, 0, 255, u8)
    for zero in (-128, 127, 3000, -3000, 2**31 - 1):
        v.case(name, EDGES, 0.5, zero, -128, 127, i8)
    v.case(name, EDGES, 0.5, 3, -8, 7, i8)
    v.case(name, EDGES, 0.5, 3, 100, -100, i8)
    v.case(name, draw(3, 5, lo=-9, hi=9), 0.0123, -7, -127, 127, i8)
    v.case(name, draw(520, lo=-9, hi=9), 0.07, 7, -127, 127, i8)  # longer than a block
    v.case(name, draw(), 0.0123, -7, -127, 127, i8)
    v.case(name, draw(0, 3), 0.0123, -7, -127, 127, i8)
    v.case(name, special(f16), 0.3, 5, -128, 127, i8)
    v.case(name, special(bf16), 0.3, 5, -128, 127, i8)
    v.rejects(name, draw(3, dtype=f64), 0.5, 0, -128, 127, i8)
    v.rejects(name, draw(3, dtype=i32), 0.5, 0, -128, 127, i8)
    v.rejects(name, draw(3), 0.5, 0, -129, 127, i8)
    v.rejects(name, draw(3), 0.5, 0, 0, 127, i64)
    name += ".tensor"
    for scale in SCALES:
        v.case(name, EDGES, torch.tensor([scale], dtype=f64), torch.tensor([3]), -128, 127, i8)
        v.case(name, EDGES, torch.tensor(scale, dtype=f32), torch.tensor(-7, dtype=i32), 0, 255, u8) if scale not in (1e-320,) else None
    v.case(name, special(f16), torch.tensor([[0.3]]), torch.tensor([5]), -128, 127, i8)
    v.rejects(name, draw(3), torch.tensor([0.3, 0.3]), torch.tensor([5, 5]), -128, 127, i8)
    name += "2"
    v.case(name, EDGES, torch.tensor([0.1], dtype=f64), torch.tensor([3]), torch.tensor(-100), torch.tensor([100]), i8)


@op("dequantize_per_tensor")
def _(v):
    name = Q + "dequantize_per_tensor"
    for dtype, (lo, hi) in RANGES.items():
        x = torch.tensor([0, 1, 2, 5, 100, hi, lo, hi - 1, lo + 1, hi // 2 + 1], dtype=dtype)
        for out in (None, f32, f64, f16, bf16):
            v.case(name, x, 0.1, 7, lo, hi, dtype, out_dtype=out, tol=EXACT)
        v.case(name, x, 0.1, lo, lo, hi, dtype, tol=EXACT)
        v.case(name, x, 0.1, hi, lo, hi, dtype, tol=EXACT)
    x = special(i8)
    for scale in SCALES + [0.0, -0.0]:
        v.case(name, x, scale, 2, -128, 127, i8, tol=EXACT)
        v.case(name, x, scale, 2, -128, 127, i8, out_dtype=f16, tol=EXACT)
    v.case(name, x, 0.1, 3000, -8, 7, i8, tol=EXACT)
    v.case(name, x, 0.1, 2**31 - 1, -8, 7, i8, tol=EXACT)
    v.case(name, draw(2, 0, dtype=i8), 0.1, 3, -128, 127, i8, tol=EXACT)
    v.case(name, draw(dtype=i8), 0.1, 3, -128, 127, i8, tol=EXACT)
    v.rejects(name, x, 0.1, 3, 0, 255, u8)
    v.rejects(name, draw(3), 0.1, 3, 0, 255, u8)
    name += ".tensor"
    for scale in SCALES + [0.0]:
        v.case(name, x, torch.tensor([scale], dtype=f64), torch.tensor([2]), -128, 127, i8, tol=EXACT)
    v.case(name, x, torch.tensor(0.1), torch.tensor(2, dtype=i32), -128, 127, i8, out_dtype=f64, tol=EXACT)
    v.case(name, x, torch.tensor(0.1), torch.tensor(2, dtype=i32), -128, 127, i8, out_dtype=bf16, tol=EXACT)
    v.rejects(name, x, torch.tensor([0.3, 0.3]), torch.tensor([5, 5]), -128, 127, i8)
    v.case(name + "2", x, torch.tensor(0.1), torch.tensor(2), torch.tensor(-128), torch.tensor(127), i8, tol=EXACT)


# Scales of every kind, one per channel.
ODD_SCALES = torch.tensor([0.5, 0.1, 0.0, -0.5, 1e-40, 1e38, math.inf, math.nan])


@op("quantize_per_channel")
def _(v):
    name = Q + "quantize_per_channel"
    edges, zeros = EDGES.expand(8, -1).contiguous(), torch.arange(-4, 4)
    v.case(name, edges, ODD_SCALES, zeros, 0, -128, 127, i8)
    v.case(name, edges.t().contiguous(), ODD_SCALES, zeros.int(), 1, -128, 127, i8)
    v.case(name, edges.t().contiguous(), ODD_SCALES, zeros.abs(), -1, 0, 255, u8)
    v.case(name, draw(3, 4, 5, lo=-9, hi=9), draw(4, lo=0.01, hi=0.1), draw(4, dtype=i64), 1, -127, 127, i8)
    v.case(name, draw(3, 4, 5, lo=-9, hi=9), draw(3, lo=0.01, hi=0.1), draw(3, dtype=i32), 0, -8, 7, i8)
    v.case(name, draw(3, 4, 5, lo=-9, hi=9), draw(5, lo=0.01, hi=0.1, dtype=f64), draw(5, dtype=i64), 2, -32768, 32767, i16)
    v.case(name, draw(3, 4, lo=-9, hi=9), draw(3, lo=0.01, hi=0.1, dtype=f16), draw(3, dtype=i64), 0, -128, 127, i8)
    v.case(name, draw(3, 4, lo=-9, hi=9, dtype=bf16), draw(3, lo=0.01, hi=0.1, dtype=bf16), draw(3, dtype=f32), 0, -128, 127, i8)
    v.case(name, draw(3, 4), draw(1, lo=0.01, hi=0.1), draw(1, dtype=i64), 0, -128, 127, i8)
    v.case(name, draw(3, 0), draw(3, lo=0.01, hi=0.1), draw(3, dtype=i64), 0, -128, 127, i8)
    v.rejects(name, draw(3, 4), draw(2), draw(2, dtype=i64), 0, -128, 127, i8)
    v.rejects(name, draw(3, 4), draw(3), draw(2, dtype=i64), 0, -128, 127, i8)
    v.rejects(name, draw(3, 4), draw(3), draw(3, dtype=i64), 2, -128, 127, i8)
    v.rejects(name, draw(3, 4), draw(3), draw(3, dtype=i64), 0, -128, 300, i8)


@op("dequantize_per_channel")
def _(v):
    name = Q + "dequantize_per_channel"
    x, zeros = special(i8).expand(8, -1).contiguous(), torch.arange(-4, 4)
    v.case(name, x, ODD_SCALES, zeros, 0, -128, 127, i8, tol=EXACT)
    v.case(name, x, ODD_SCALES, None, 0, -128, 127, i8, tol=EXACT)
    v.case(name, x, ODD_SCALES, zeros.to(i8) * 31, 0, -128, 127, i8, tol=EXACT)  # the difference wraps
    v.case(name, x, ODD_SCALES, zeros.float() + 0.3, 0, -128, 127, i8, tol=EXACT)
    v.case(name, x.t().contiguous(), ODD_SCALES.double(), zeros.int(), 1, -128, 127, i8, tol=EXACT)
    v.case(name, x.t().contiguous(), ODD_SCALES.half(), zeros.int(), -1, -8, 7, i8, tol=EXACT)
    for out in (f32, f64, f16, bf16):
        v.case(name, x, ODD_SCALES, zeros, 0, -128, 127, i8, out_dtype=out, tol=EXACT)
        v.case(name, x, ODD_SCALES.bfloat16(), zeros, 0, -128, 127, i8, out_dtype=out, tol=EXACT)
    v.case(name, draw(3, 4, 5, dtype=u8), draw(4, lo=0.01, hi=0.1), draw(4, dtype=i64), 1, 0, 255, u8, tol=EXACT)
    v.case(name, draw(3, 4, 5, dtype=i32, lo=-(2**31), hi=2**31 - 1), draw(3, lo=0.01, hi=0.1), draw(3, dtype=i32), 0, -(2**31), 2**31 - 1, i32, tol=EXACT)
    v.case(name, draw(3, 0, dtype=i8), draw(3), draw(3, dtype=i64), 0, -128, 127, i8, tol=EXACT)
    v.rejects(name, draw(3, 4, dtype=i8), draw(2), draw(2, dtype=i64), 0, -128, 127, i8)
    v.rejects(name, draw(3, 4, dtype=i8), draw(3), draw(3, dtype=i64), 0, 0, 255, u8)


@op("choose_qparams")
def _(v):
    ranges = [torch.tensor(x) for x in ([-1.0, 2.0], [1.0, 2.0], [-2.0, -1.0], [0.0, 0.0], [-0.0], [1e-45], [3e38, -3e38], [1e-30, -2e-30], [math.inf, 1.0],
                                        [-math.inf, 1.0], [math.inf, -math.inf])]
    for x in ranges + [draw(3, 4), draw(), draw(5, dtype=f16), draw(5, dtype=bf16), special(f16)[:9]]:
        for eps in (1.1920928955078125e-07, 1e-3):
            v.case(Q + "choose_qparams.tensor", x, -128, 127, eps, i8, tol=EXACT)
        v.case(Q + "choose_qparams.tensor", x, 0, 255, 1e-5, u8, tol=EXACT)
        v.case(Q + "choose_qparams_symmetric.tensor", x, -127, 127, 1e-5, i8, tol=EXACT)
        v.case(Q + "choose_qparams_symmetric.tensor", x, -128, 127, 1e-5, u8, tol=EXACT)
    v.case(Q + "choose_qparams.tensor", draw(600, seed=3), -128, 127, 1e-5, i8, tol=EXACT)  # longer than a block
    v.rejects(Q + "choose_qparams.tensor", draw(3, dtype=f64), -128, 127, 1e-5, i8)
    v.rejects(Q + "choose_qparams.tensor", draw(3), 1, 127, 1e-5, i8)
    rows = torch.stack([x.expand(2) for x in ranges])
    for x in [rows, draw(3, 4), draw(2, 3, 5), draw(4), draw(2, 5, dtype=bf16), draw(2, 5, dtype=f16), torch.tensor([[math.nan, 1.0], [1.0, -math.inf]])]:
        v.case(Q + "choose_qparams_per_token_asymmetric", x, i8, tol=EXACT)
    v.case(Q + "_choose_qparams_per_token_asymmetric_impl", draw(2, 5), i8, tol=EXACT)
    for x in [rows, draw(3, 4), draw(2, 5, dtype=bf16), draw(2, 5, dtype=f16)]:
        # The exporter's dtypes, not those of the results in eager mode.
        v.case(Q + "choose_qparams_per_token", x, i8, tol=EXACT, cast=(f64, i64))


@op("quantize_per_token")
def _(v):
    name = Q + "quantize_per_token"
    edges = EDGES.nan_to_num(nan=math.nan).expand(8, -1).contiguous()
    for t in (f32, f64):  # what choose_qparams_per_token gives
        scales = ODD_SCALES.to(t).view(8, 1)
        v.case(name, edges, scales, torch.arange(-4, 4).view(8, 1), -128, 127, i8)
        v.case(name, TIES.expand(8, -1).contiguous(), scales, torch.arange(-4, 4, dtype=f32).view(8, 1), -128, 127, i8)
    v.case(name, draw(2, 3, 5, lo=-9, hi=9), draw(2, 3, 1, lo=0.01, hi=0.1), draw(2, 3, 1, dtype=i64), -128, 127, i8)
    v.case(name, draw(3, 5, lo=-9, hi=9, dtype=f16), draw(3, 1, lo=0.01, hi=0.1), draw(3, 1, dtype=i32), -128, 127, i8)
    v.case(name, draw(3, 5, lo=-9, hi=9, dtype=bf16), draw(3, 1, lo=0.01, hi=0.1, dtype=bf16), draw(3, 1, dtype=i64), -8, 7, i8)
    v.case(name, draw(4, lo=-9, hi=9), draw(1, lo=0.01, hi=0.1), draw(1, dtype=i64), 0, 255, u8)
    v.case(name, draw(3, 3), draw(3, lo=0.01, hi=0.1), draw(3, dtype=i64), -128, 127, i8)  # broadcasts over the rows
    v.rejects(name, draw(3, 5), draw(2, 1), draw(2, 1, dtype=i64), -128, 127, i8)
    v.rejects(name, draw(3, 5), draw(3, 1), draw(3, 1, dtype=i64), -128, 128, i8)
    name = Q + "dequantize_per_token"
    x = special(i8).expand(8, -1).contiguous()
    for t in (f32, f64, f16, bf16):
        v.case(name, x, ODD_SCALES.to(t).view(8, 1), torch.arange(-4, 4).view(8, 1), -128, 127, i8, f32, tol=EXACT)
        v.case(name, x, ODD_SCALES.view(8, 1), torch.arange(-4, 4, dtype=t).view(8, 1), -128, 127, i8, t, tol=EXACT)
    v.case(name, draw(2, 3, 5, dtype=u8), draw(2, 3, 1, lo=0.01, hi=0.1), draw(2, 3, 1, dtype=i32), 0, 255, u8, f32, tol=EXACT)


@op("quantize_per_channel_group")
def _(v):
    name = Q + "quantize_per_channel_group"
    edges = EDGES[~EDGES.isnan()][:16].expand(2, -1).contiguous()  # PyTorch refuses NaN
    v.case(name, edges, ODD_SCALES.view(2, 4), torch.arange(-4, 4).view(2, 4), -8, 7, i8, 4)
    v.case(name, draw(3, 8, lo=-9, hi=9), draw(3, 2, lo=0.01, hi=0.1), draw(3, 2, dtype=i32), -128, 127, i8, 4)
    v.case(name, draw(3, 8, lo=-9, hi=9, dtype=f16), draw(3, 1, lo=0.01, hi=0.1, dtype=f16), draw(3, 1, dtype=f16), -128, 127, i8, 128)
    v.case(name, draw(3, 8, lo=-9, hi=9, dtype=bf16), draw(3, 2, lo=0.01, hi=0.1, dtype=bf16), draw(3, 2, dtype=bf16), 0, 15, u8, 4)
    v.rejects(name, draw(3, 8), draw(3, 3), draw(3, 3, dtype=i64), -8, 7, i8, 3)
    v.rejects(name, draw(3, 8), draw(3, 8), draw(3, 8, dtype=i64), -8, 7, i8, 1)
    v.rejects(name, draw(8), draw(2), draw(2, dtype=i64), -8, 7, i8, 4)
    name = Q + "dequantize_per_channel_group"
    x = special(i8)[:4].repeat(2, 4)
    v.case(name, x, ODD_SCALES.view(2, 4), torch.arange(-4, 4).view(2, 4), -128, 127, i8, 4, f32, tol=EXACT)
    v.case(name, x, ODD_SCALES.view(2, 4), None, -128, 127, i8, 4, f32, tol=EXACT)
    v.case(name, x, ODD_SCALES.view(2, 4).half(), torch.arange(-4, 4).view(2, 4).half(), -128, 127, i8, 4, f16, tol=EXACT)
    v.case(name, x, draw(2, 1, lo=0.01, hi=0.1), draw(2, 1, dtype=i32), -128, 127, i8, 128, bf16, tol=EXACT)
    v.rejects(name, x, draw(2, 3), None, -128, 127, i8, 4, f32)


@op("quantize_affine")
def _(v):
    name = "torchao.quantize_affine"
    for t in (f32, f16, bf16):
        x = torch.cat([EDGES, EDGES[:8]]).to(t).expand(2, -1).contiguous()
        for s in (f32, t, f64):
            v.case(name, x, [1, 8], ODD_SCALES.to(s).view(2, 4), torch.arange(-4, 4, dtype=i8).view(2, 4), i8, -128, 127)
        v.case(name, x, [1, 8], ODD_SCALES.view(2, 4), torch.arange(-4, 4, dtype=f32).view(2, 4), i8, -8, 7)
    v.case(name, draw(2, 3, 4, lo=-9, hi=9), [1, 1, 4], draw(2, 3, lo=0.01, hi=0.1), draw(2, 3, dtype=i8), i8, -128, 127)
    v.case(name, draw(4, 6, lo=-9, hi=9), [2, 3], draw(4, lo=0.01, hi=0.1), draw(4, dtype=i64), i8, -128, 127)
    v.case(name, draw(4, 6, lo=-9, hi=9), [2, 3], draw(2, 2, lo=0.01, hi=0.1), draw(2, 2, dtype=i64), u8)
    v.case(name, draw(4, 6, lo=-9, hi=9), [4, 6], draw(1, lo=0.01, hi=0.1), draw(1, dtype=i64), torch.int16)
    v.case(name, draw(4, 6, lo=-9, hi=9), [4, 1], draw(6, lo=0.01, hi=0.1), draw(6, dtype=i64), i32)
    v.case(name, draw(2, 3, lo=-9, hi=9), [1, 1], draw(2, 3, lo=0.01, hi=0.1), draw(2, 3, dtype=i64), i8)
    v.case(name, draw(), [], draw(lo=0.01, hi=0.1), draw(dtype=i64), i8)
    v.rejects(name, draw(4, 6), [2, 4], draw(4), draw(4, dtype=i64), i8)
    v.rejects(name, draw(4, 6), [2], draw(4), draw(4, dtype=i64), i8)
    v.rejects(name, draw(4, 6), [2, 3], draw(3), draw(3, dtype=i64), i8)
    v.rejects(name, draw(4, 6), [2, 3], draw(4), draw(4, dtype=i64), i8, -129, 127)
    v.rejects(name, draw(4, 6), [2, 3], draw(4), None, i8)
    name = "torchao.dequantize_affine"
    x = special(i8)[:4].repeat(2, 4)
    for out in (f32, f16, bf16):
        for s in (f32, out, f64):
            v.case(name, x, [1, 4], ODD_SCALES.to(s).view(2, 4), torch.arange(-4, 4, dtype=i8).view(2, 4), i8, -128, 127, output_dtype=out, tol=EXACT)
        v.case(name, x, [1, 4], ODD_SCALES.view(2, 4), None, i8, -8, 7, output_dtype=out, tol=EXACT)
        v.case(name, x.int() * 99999, [2, 16], ODD_SCALES[:1], torch.tensor([77777]), i32, output_dtype=out, tol=EXACT)
    v.case(name, draw(4, 6, dtype=u8), [2, 3], draw(4, lo=0.01, hi=0.1), draw(4, dtype=i64), u8, 0, 15, tol=EXACT)
    v.case(name, draw(4, 2, 3, dtype=u8), [1, 2, 3], draw(4, lo=0.01, hi=0.1), draw(4, dtype=f32), u8, tol=EXACT)
    v.rejects(name, draw(4, 6, dtype=u8), [2, 3], draw(4), draw(4, dtype=i64), i8)
    v.rejects(name, draw(4, 6, dtype=i8), [2, 3], draw(4), draw(4, dtype=i64), i8, output_dtype=f64)
    name = "torchao.choose_qparams_affine"
    rows = torch.tensor([[-1.0, 2.0], [1.0, 2.0], [-2.0, -1.0], [0.0, -0.0], [3e38, -3e38], [1e-30, -2e-30], [math.inf, 1.0], [-math.inf, math.inf], [math.nan, 1.0]])
    for mapping in ("ASYMMETRIC", "SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"):
        zero = dict(zero_point_dtype=i32)
        for t in (f32, f16, bf16):
            v.case(name, rows.to(t), mapping, [1, 2], i8, -128, 127, 1.1920928955078125e-07, tol=EXACT, **zero)
            v.case(name, rows.to(t), mapping, [1, 2], i8, -8, 7, tol=EXACT, **zero)
            v.case(name, draw(2, 3, 8, dtype=t), mapping, [1, 1, 4], i8, -128, 127, 1e-5, scale_dtype=f32, zero_point_dtype=i8, tol=EXACT)
        v.case(name, draw(4, 6), mapping, [2, 3], i8, tol=EXACT, **zero)
        v.case(name, draw(4, 6), mapping, [2, 3], u8, keepdim=True, tol=EXACT, **zero)
        v.case(name, draw(4, 6), mapping, [4, 6], torch.int16, tol=EXACT, **zero)
        v.case(name, draw(4, 6), mapping, [4, 6], i8, keepdim=True, tol=EXACT, **zero)
        v.case(name, draw(4, 1), mapping, [1, 1], i8, tol=EXACT, **zero)
        v.case(name, draw(4, 6), mapping, [1, 6], i8, zero_point_dtype=f32, scale_dtype=f64, tol=EXACT)
        v.case(name, draw(1, 520, seed=4), mapping, [1, 520], i8, tol=EXACT, **zero) if mapping == "ASYMMETRIC" else None
    v.case(name, draw(4, 6), "ASYMMETRIC", [1, 6], i8, tol=EXACT)
    v.case(name, draw(4, 6, dtype=f16), "SYMMETRIC", [1, 6], i8, tol=EXACT)
    v.rejects(name, draw(4, 6), "ASYMMETRIC", [1, 4], i8)
    v.rejects(name, draw(4, 6), "NONE", [1, 6], i8)


@op("embedding_byte")
def _(v):
    rows = torch.randint(0, 256, (4, 4), generator=torch.Generator().manual_seed(3)).to(u8)
    for bits, name in ((8, "embedding_byte"), (4, "embedding_4bit"), (2, "embedding_2bit")):
        lo, hi = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        for t in (f32, f16, bf16):
            scales, zeros = draw(4, 2, lo=0.01, hi=0.1, dtype=t), draw(4, 2, dtype=t)
            # Packed tables: the exporter's dtype.
            v.case(Q + name, rows, scales, zeros, lo, hi, torch.tensor([3, 0]), tol=EXACT, cast=(t,) if bits == 8 else (f32,))
            v.case(Q + name + ".dtype", rows, scales, zeros, lo, hi, torch.tensor(1), dtype=f16 if t == f32 else f32, tol=EXACT)
        for index in (torch.tensor([[2, 2]], dtype=i32), torch.empty(0, dtype=i64)):
            v.case(Q + name, rows, draw(4, lo=0.01, hi=0.1), None, lo, hi, index, tol=EXACT)
        v.rejects(Q + name, rows, draw(3, 2), None, lo, hi, torch.tensor([0]))
        v.rejects(Q + name, rows.int(), draw(4, 2), None, lo, hi, torch.tensor([0]))
        v.rejects(Q + name, rows, draw(4, 2), draw(4, 2, dtype=i64), lo, hi, torch.tensor([0]))
    v.case(Q + "embedding_byte", rows.view(i8), draw(4, 2, lo=0.01, hi=0.1), None, -128, 127, torch.tensor([3, 0, 1]), tol=EXACT)
    v.case(Q + "embedding_byte", rows.view(i8), ODD_SCALES.view(4, 2), draw(4, 2), -128, 127, torch.tensor([3, 0, 1, 2]), tol=EXACT)
    v.rejects(Q + "embedding_4bit", rows, draw(4, 2), None, 0, 15, torch.tensor([0]))


@op("convert_element_type")
def _(v):
    for t in (f16, bf16, i8, f64):
        v.case(Q + "convert_element_type.no_fuse", draw(2, 3), t)
        v.case("prims.convert_element_type", draw(2, 3), t)
    v.case(Q + "convert_element_type.no_fuse", draw(3), f32)


@op("out_dtype")
def _(v):
    name, aten = "higher_order.out_dtype", torch.ops.aten
    v.case(name, aten.mul.Tensor, i32, draw(2, 3, dtype=i32), 1.1386)  # in f32, then truncated
    v.case(name, aten.mul.Tensor, i32, draw(2, 3, dtype=i8, lo=-128, hi=127), draw(3, dtype=i8, lo=-128, hi=127))
    v.case(name, aten.mul.Tensor, i32, draw(2, 3, dtype=i16, lo=-30000, hi=30000), 3)
    v.case(name, aten.mm.default, i32, draw(2, 3, dtype=i8, lo=-128, hi=127), draw(3, 2, dtype=i8, lo=-128, hi=127))
    v.case(name, aten.linear.default, i32, draw(2, 3, dtype=i8, lo=-128, hi=127), draw(4, 3, dtype=i8, lo=-128, hi=127), draw(4, dtype=i32, lo=-999, hi=999))
    v.case(name, aten.convolution.default, i32, draw(1, 2, 4, 4, dtype=i8, lo=-128, hi=127), draw(2, 2, 3, 3, dtype=i8, lo=-128, hi=127), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
    v.case(name, aten.div.Tensor, i32, draw(3, dtype=i32, lo=-128, hi=127), 0.37)
    v.case(name, aten.mul.Scalar, i32, draw(3, dtype=i32, lo=-128, hi=127), 0.37)


@op("fake_quantize")
def _(v):
    name, per_channel = "aten.fake_quantize_per_tensor_affine", "aten.fake_quantize_per_channel_affine"
    for scale in (0.5, 0.1, -0.5, 1e-40, math.inf, math.nan, 0.0):
        v.case(name + "_cachemask", EDGES, scale, 3, -8, 7, tol=EXACT)
    for x in (EDGES, draw(2, 3), draw(), draw(0, 2), special(f16), special(bf16)):
        v.case(name, x, 0.1, 3, -128, 127, tol=EXACT)
        v.case(name + ".tensor_qparams", x, torch.tensor(0.1), torch.tensor(-2, dtype=i32), 0 - 8, 7, tol=EXACT)
    for on in (0, 1):
        v.case("aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams", EDGES, torch.tensor([0.1]), torch.tensor([3], dtype=i32),
               torch.tensor([on]), -8, 7, tol=EXACT)
    # By channel PyTorch casts to int64 before it clamps; what leaves that is undefined there, and clamped here.
    x, scales, zeros = EDGES.clamp(max=1e9).view(2, 4, 3), torch.tensor([0.1, 0.5, 0.25, 0.03]), torch.tensor([0, 3, -2, 7], dtype=i32)
    v.case(per_channel, x, scales, zeros, 1, -8, 7, tol=EXACT)
    v.case(per_channel + "_cachemask", x, scales, zeros, 1, -8, 7, tol=EXACT)
    v.case(per_channel, draw(3, 4), scales[:3].contiguous(), zeros[:3].contiguous(), 0, -8, 7, tol=EXACT)
    v.rejects(name, draw(3), 0.1, 300, -128, 127)
    v.rejects(name, draw(3, dtype=i32), 0.1, 3, -128, 127)
    v.rejects(per_channel, draw(3, 4), scales, zeros, 0, -8, 7)
    v.case(Q + "fake_quant_per_channel", x, scales, zeros, 1, -8, 7, tol=EXACT)


@op("int_mm")
def _(v):
    v.case("aten._int_mm", draw(3, 5, dtype=i8, lo=-128, hi=128), draw(5, 4, dtype=i8, lo=-128, hi=128))
    v.case("aten._int_mm", draw(1, 8, dtype=i8, lo=-128, hi=128), draw(8, 1, dtype=i8, lo=-128, hi=128))
    v.case("aten._int_mm", draw(2, 8, dtype=u8, lo=0, hi=256), draw(8, 3, dtype=i8, lo=-128, hi=128))
    v.rejects("aten._int_mm", draw(3, 5, dtype=i8), draw(4, 4, dtype=i8))
    v.rejects("aten._int_mm", draw(3, 5, dtype=i32), draw(5, 4, dtype=i32))
