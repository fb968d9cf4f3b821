#!/usr/bin/env python3
"""Writes small exported programs in the container of the torch that runs it (2.5 and later), with inputs and PyTorch's outputs.

    python tests/containers/make_data.py OUT [CASE...]

OUT/<torch major.minor>/<case>.pt2, <case>.in.safetensors, <case>.out.safetensors (keys: leaf numbers; `_other` in the header's
metadata: the leaves that are no tensors, as JSON). OUT/<major.minor>/written_by holds the exact version. README.md says which
of them are committed.
"""
import collections
import dataclasses
import json
import pathlib
import re
import struct
import sys
import warnings

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")
CODES = {torch.float32: "F32", torch.float64: "F64", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
         torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL"}

def save_safetensors(leaves, path):
    head, blobs, at = {"__metadata__": {"other": json.dumps({str(i): v for i, v in enumerate(leaves) if not isinstance(v, torch.Tensor)})}}, [], 0
    for i, t in enumerate(leaves):
        if not isinstance(t, torch.Tensor): continue
        b = t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
        head[str(i)] = {"dtype": CODES[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + len(b)]}
        at += len(b)
        blobs.append(b)
    h = json.dumps(head).encode()
    h += b" " * (-len(h) % 8)
    path.write_bytes(struct.pack("<Q", len(h)) + h + b"".join(blobs))

class Weights(torch.nn.Module):
    """Every way in which a tensor can be kept: tied, strided, sliced, sharing a storage, expanded, empty, of each dtype, not persistent,
    unused, a lifted constant; with a convolution and a batch norm."""
    def __init__(self):
        super().__init__()
        base, pair = torch.randn(6, 8), torch.randn(10)
        self.a, self.b = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
        self.b.weight = self.a.weight
        self.c, self.n = torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.BatchNorm2d(3)
        self.t, self.o = torch.nn.Parameter(base.t()), torch.nn.Parameter(base[1:5, 2:8])
        self.first, self.second = torch.nn.Parameter(pair[:5]), torch.nn.Parameter(pair[5:])
        self.unused = torch.nn.Parameter(torch.zeros(2))
        self.short = torch.nn.Parameter(torch.randn(6).bfloat16())
        self.register_buffer("e", torch.randn(1, 6).expand(4, 6))
        self.register_buffer("cl", torch.randn(1, 3, 4, 6).to(memory_format=torch.channels_last))
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)
        self.register_buffer("none", torch.zeros(0, 3))
        for d in (torch.float64, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool):
            self.register_buffer("b_" + str(d).split(".")[1], torch.tensor([0, 1, 1, 0]).to(d))

    def forward(self, x):
        y = self.n(self.c(x)) + self.cl
        y = self.b(torch.relu(self.a(y))) * self.scale + torch.tensor([1.0, 2.0, -3.0, 0.0, -0.0, 0.25])
        many = sum(getattr(self, n).float() for n, _ in self.named_buffers() if n.startswith("b_"))
        return (y, y[0, 0] @ self.t.t()[:, :6].t(), self.o * self.e, self.first - self.second, self.none * 2, self.short * 2,
                many, self.b_int64 + 1, self.b_bool)

class State(torch.nn.Module):
    """Mutated buffers, one with a start that is not zero and one that counts in ints; a cache written at a position; a mutated input."""
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.full((3,), 2.0))
        self.register_buffer("steps", torch.tensor(4))
        self.register_buffer("cache", torch.zeros(2, 8, 4))

    def forward(self, x, pos):
        self.n.add_(1)
        self.steps.add_(1)
        self.cache.index_copy_(1, pos, x.unsqueeze(1))
        x.mul_(2)
        return x + self.n.sum() + self.cache.sum((1,)) * self.steps

class Nested(torch.nn.Module):
    """Dicts, lists, None, numbers and a string among the inputs; keywords; nested outputs with None and numbers."""
    def forward(self, d, xs, k: int, flag=None, mode: str = "a", *, scale=1.5, on=True):
        y = d["a"] * scale + sum(xs) * k
        if mode == "b" and on: y = y + d["sub"]["c"][0]
        return {"y": y, "parts": [y, d["b"]], "none": None, "k": k}

class Dynamic(torch.nn.Module):
    def forward(self, x, y):
        z = torch.cat([x, y], 0)
        return z.view(z.shape[0] // 2, -1), x.shape[0] * 2 + 1, z.mean(0)

Point = collections.namedtuple("Point", "x y")

@dataclasses.dataclass
class Box:
    low: torch.Tensor
    high: torch.Tensor
    name: str = "box"

class Cache:
    """A container of a user's own, as caches of keys and values are."""
    def __init__(self, keys, values): self.keys, self.values = keys, values

class Own(torch.nn.Module):
    """Inputs and outputs in containers of the user's own: a named tuple, a data class, a registered class."""
    def forward(self, p, box, cache, last=None):
        return Point(p.x + box.low, p.y * box.high), Cache([k + p.x for k in cache.keys], cache.values), [last]

def register_own():
    from torch.export import register_dataclass
    if hasattr(pytree, "_register_namedtuple"): pytree._register_namedtuple(Point, serialized_type_name="containers.Point")
    register_dataclass(Box, serialized_type_name="containers.Box")
    pytree.register_pytree_node(Cache, lambda c: ([c.keys, c.values], ["keys", "values"]), lambda v, _: Cache(*v),
                                serialized_type_name="containers.Cache", flatten_with_keys_fn=lambda c: (
                                    [(pytree.MappingKey("keys"), c.keys), (pytree.MappingKey("values"), c.values)], ["keys", "values"]))

class Plain(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 2)

    def forward(self, x): return self.l(x)

def cases():
    torch.manual_seed(1)
    r = torch.randn
    yield "plain", Plain(), (r(2, 3),), {}, None
    yield "weights", Weights(), (r(2, 2, 4, 6),), {}, None
    yield "state", State(), (r(2, 4), torch.tensor([3])), {}, None
    yield "nested", Nested(), ({"b": r(1), "a": r(2, 3), "sub": collections.OrderedDict(c=(r(3),))}, [r(2, 3), r(2, 3)], 3, None, "b"), {"on": True, "scale": 0.5}, None
    yield "dynamic", Dynamic(), (r(4, 6), r(6, 6)), {}, {"x": {0: 2 * Dim("h", min=2, max=16)}, "y": {0: 2 * Dim("k", min=2, max=16)}}
    yield "own", Own(), (Point(r(3), r(2)), Box(r(3), r(2)), Cache([r(3), r(1)], [r(2)])), {}, None

def without_paths(ep):
    """Drops from stack traces where files lie on this machine."""
    for module in ep.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", []):
            if node.meta.get("stack_trace"):
                node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', node.meta["stack_trace"])
    return ep

def main(out, only):
    out = pathlib.Path(out) / ".".join(torch.__version__.split("+")[0].split(".")[:2])
    out.mkdir(parents=True, exist_ok=True)
    (out / "written_by").write_text("torch " + torch.__version__ + "\n")
    try: register_own()
    except Exception as e: print("registration:", type(e).__name__, e)
    failed = 0
    for name, model, args, kwargs, dynamic in cases():
        if only and name not in only: continue

        try:
            ep = torch.export.export(model.eval(), args, kwargs, dynamic_shapes=dynamic, strict=False)
            torch.export.save(without_paths(ep), out / (name + ".pt2"))
            ins = [v.clone() if isinstance(v, torch.Tensor) else v for v in pytree.tree_leaves((args, kwargs))]
            outs = pytree.tree_leaves(model(*args, **kwargs))
            save_safetensors(ins, out / (name + ".in.safetensors"))
            save_safetensors(outs, out / (name + ".out.safetensors"))
            print(torch.__version__, name, (out / (name + ".pt2")).stat().st_size)
        except Exception as e:
            failed += 1
            print(torch.__version__, name, "FAILED", type(e).__name__, str(e)[:300])
    return 1 if failed else 0

if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
