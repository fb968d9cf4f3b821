"""Writes test vectors: what PyTorch computes for ops, as text. See README.md. Needs torch."""

import math
import os

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {
    torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
    torch.float16: "f16", torch.float32: "f32", torch.float64: "f64", torch.bool: "bool", torch.bfloat16: "bf16",
    torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64",
}
f16, f32, f64, bf16 = torch.float16, torch.float32, torch.float64, torch.bfloat16
u8, i8, i16, i32, i64, b8 = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool

FILES = {}


def op(name):
    """Registers the function that writes vectors/<name>.vec."""
    def register(f):
        assert name not in FILES, name
        FILES[name] = f
        return f
    return register


def draw(*sizes, dtype=f32, lo=None, hi=None, seed=0):
    """A seeded random tensor: floats uniform in [lo, hi) (default [-2, 2)), ints in [lo, hi) (default [-9, 10), unsigned [0, 10))."""
    g = torch.Generator().manual_seed(seed * 7919 + sum((i + 3) * s for i, s in enumerate(sizes)) + 1)
    if dtype == b8:
        return torch.randint(0, 2, sizes, generator=g).bool()
    if dtype.is_floating_point:
        lo, hi = -2.0 if lo is None else lo, 2.0 if hi is None else hi
        x = torch.rand(sizes, generator=g, dtype=f64) * (hi - lo) + lo
        return torch.round(x * 1024).div(1024).to(dtype)  # short text, exact in every float dtype's neighbourhood
    lo = (0 if not dtype.is_signed else -9) if lo is None else lo
    return torch.randint(lo, 10 if hi is None else hi, sizes, generator=g).to(dtype)


def special(dtype=f32):
    """Values at the edges of a dtype."""
    if dtype == b8:
        return torch.tensor([False, True])
    if not dtype.is_floating_point:
        i = torch.iinfo(dtype)
        return torch.tensor([0, 1, 2, i.min, i.max, i.min + 1, i.max - 1], dtype=dtype)
    i = torch.finfo(dtype)
    return torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan, i.max, -i.max, i.tiny, i.tiny / 2, -100.0, 100.0],
                        dtype=f64).to(dtype)


def number(x, dtype=None):
    if isinstance(x, bool):
        return "1" if x else "0"
    if isinstance(x, int):
        return str(x)
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if dtype in (f32, f16, bf16):
        import numpy as np
        s = np.format_float_positional(np.float32(x), unique=True, trim="-") if 1e-3 <= abs(x) < 1e6 or x == 0 else repr(float(str(np.float32(x))))
        return s
    return repr(x)


def text(x):
    if isinstance(x, torch.Tensor):
        x = x.detach()
        values = x.contiguous().reshape(-1).tolist()
        return f"{NAMES[x.dtype]}{list(x.shape)}{{{' '.join(number(e, x.dtype) for e in values)}}}".replace(", ", ",")
    if x is None or isinstance(x, bool):
        return str(x)
    if isinstance(x, int):
        return str(x)
    if isinstance(x, float):
        s = number(x)
        return s if any(c in s for c in ".en") else s + ".0"
    if isinstance(x, torch.dtype):
        return ":" + NAMES[x]
    if isinstance(x, str):
        return f'"{x}"'
    if isinstance(x, torch._ops.OpOverload):
        return f'"torch.ops.{x}"'
    if isinstance(x, (list, tuple)):
        return "[" + ", ".join(text(e) for e in x) + "]"
    if isinstance(x, (torch.memory_format, torch.layout, torch.device)):
        return "None"  # no value depends on these
    raise TypeError(f"cannot write {type(x)}")


def resolve(name):
    """The callable of "aten.add.Tensor", "_operator.add", "torch.sym_max" or "math.trunc"."""
    space, *rest = name.split(".")
    if space in ("_operator", "math", "torch"):
        import operator
        return getattr({"_operator": operator, "math": math, "torch": torch}[space], rest[0])
    packet = getattr(getattr(torch.ops, space), rest[0])
    if isinstance(packet, torch._ops.HigherOrderOperator):
        return packet
    return getattr(packet, rest[1] if len(rest) > 1 else "default")


class Vectors:
    def __init__(self):
        self.lines = [f"torch {torch.__version__.split('+')[0]}"]

    def _head(self, name, args, kwargs):
        self.lines += [f"case {name}"] + [f"in {text(a)}" for a in args] + [f"kw {k} {text(a)}" for k, a in kwargs.items()]

    @staticmethod
    def _run(name, args, kwargs):
        copy = lambda a: a.clone() if isinstance(a, torch.Tensor) else a  # noqa: E731
        r = resolve(name)(*[copy(a) for a in args], **{k: copy(a) for k, a in kwargs.items()})
        return list(r) if isinstance(r, (list, tuple)) else [r]

    def case(self, name, *args, tol=None, cast=None, **kwargs):
        """cast: dtypes of the results, where the exporter writes others than eager mode gives."""
        out = self._run(name, args, kwargs)
        if cast:
            out = [o.to(t) for o, t in zip(out, cast)]
        self._head(name, args, kwargs)
        self.lines += [f"out {text(o)}" for o in out]
        if tol:
            self.lines.append(f"tol {tol[0]} {tol[1]}")

    def shape(self, name, *args, **kwargs):
        out = self._run(name, args, kwargs)
        self._head(name, args, kwargs)
        self.lines += [f"shape {NAMES[o.dtype]}{list(o.shape)}".replace(", ", ",") for o in out]

    def rejects(self, name, *args, **kwargs):
        try:
            self._run(name, args, kwargs)
        except Exception:
            self._head(name, args, kwargs)
            self.lines.append("error")
            return
        raise AssertionError(f"torch takes {name}{args}")

    def write(self, stem):
        with open(os.path.join(HERE, "vectors", stem + ".vec"), "w") as f:
            f.write("\n".join(self.lines) + "\n")
