#!/usr/bin/env python3
"""Makes vectors/*.pt2 and vectors/expected.json, what PyTorch itself says those programs are. Needs torch (2.13 was used).

Usage: python tests/read/make_vectors.py

The files of the older layout (vectors/torch26_*.pt2) are not made here; README.md says where they come from.
"""
import collections, re, io, json, pathlib, warnings, zipfile, zlib

import torch
from torch.export import Dim, export
from torch.export.pt2_archive._package import package_pt2
from torch.utils import _pytree as pytree

warnings.filterwarnings("ignore")
OUT = pathlib.Path(__file__).parent / "vectors"
DTYPES = {torch.uint8: "u8", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.float16: "f16",
          torch.float32: "f32", torch.float64: "f64", torch.complex32: "c32", torch.complex64: "c64", torch.complex128: "c128",
          torch.bool: "bool", torch.bfloat16: "bf16", torch.float8_e5m2: "f8e5m2", torch.float8_e4m3fn: "f8e4m3fn",
          torch.float8_e5m2fnuz: "f8e5m2fnuz", torch.float8_e4m3fnuz: "f8e4m3fnuz", torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64"}


# --- what PyTorch says of a program ---

def tensor_facts(t):
    flat = t.detach().contiguous().reshape(-1)
    raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return {"dtype": DTYPES[t.dtype], "sizes": list(t.shape), "strides": list(t.stride()), "crc32": zlib.crc32(raw)}


def type_text(v):
    if isinstance(v, torch.Tensor):
        return "%s[%s]" % (DTYPES[v.dtype], ",".join(str(s) if isinstance(s, int) else "?" for s in v.shape))
    if isinstance(v, (bool, torch.SymBool)): return "bool"
    if isinstance(v, (int, torch.SymInt)): return "int"
    if isinstance(v, (float, torch.SymFloat)): return "float"
    return None


def key_text(path):
    """(SequenceKey(0), SequenceKey(1), MappingKey('a')) -> args[1].a"""
    head, out = path[0].idx, ""
    for k in path[1:]:
        out += "[%d]" % k.idx if isinstance(k, pytree.SequenceKey) else ".%s" % k.key
    return ("args" if head == 0 else "kwargs") + out


def target_text(t):
    if isinstance(t, torch._ops.OpOverload):
        name = "%s.%s" % (t.namespace, t._schema.name.split("::")[1])
        return name if t._overloadname == "default" else name + "." + t._overloadname
    if isinstance(t, torch._ops.HigherOrderOperator): return "higher_order." + t.name()
    return "%s.%s" % (t.__module__, t.__name__)


def facts(ep, method):
    import operator
    sig, state, kinds = ep.graph_signature, {**ep.state_dict, **ep.constants}, torch.export.graph_signature.InputKind
    paths = [key_text(p) for p, _ in pytree.tree_flatten_with_path((ep.example_inputs[0], ep.example_inputs[1]))[0]]
    leaves = pytree.tree_leaves(ep.example_inputs)
    held = {s.target: tensor_facts(state[s.target]) for s in sig.input_specs if s.kind in (kinds.PARAMETER, kinds.BUFFER, kinds.CONSTANT_TENSOR)}
    users = [s for s in sig.input_specs if s.kind == kinds.USER_INPUT]
    assert len(users) == len(leaves) == len(paths)
    fixed = [isinstance(s.arg, torch.export.graph_signature.ConstantArgument) for s in users]
    inputs = [{"name": p, "fixed": f, "sample": tensor_facts(v) if isinstance(v, torch.Tensor) else v} for p, f, v in zip(paths, fixed, leaves)]
    nodes = []
    for n in ep.graph.nodes:
        if n.op != "call_function" or n.target is operator.getitem: continue
        val = n.meta.get("val")
        vals = val if isinstance(val, (list, tuple)) else [val]
        nodes.append([target_text(n.target), [type_text(v) for v in vals if type_text(v)]])
    out = {s.kind.name: 0 for s in sig.output_specs}
    for s in sig.output_specs: out[s.kind.name] += 1
    return {"method": method, "inputs": inputs, "held": held, "nodes": nodes, "outputs": out,
            "mutated": [s.target for s in sig.output_specs if s.kind.name.endswith("_MUTATION")],
            "ranges": {str(k): [int(b) if b.is_Integer else None for b in (v.lower, v.upper)] for k, v in ep.range_constraints.items()}}


# --- programs ---

class Net(torch.nn.Module):
    """Tied weights, a non-persistent buffer, batch norm with its i64 counter, an unused parameter, a lifted constant."""
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
        self.b.weight = self.a.weight
        self.c, self.n = torch.nn.Conv2d(2, 3, 3, padding=1), torch.nn.BatchNorm2d(3)
        self.unused = torch.nn.Parameter(torch.zeros(2))
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)
    def forward(self, x):
        return self.b(torch.relu(self.a(self.n(self.c(x))))) * self.scale + torch.tensor([1.0, float("inf"), float("nan"), 0.0, -0.0, 2.0])


class Small(torch.nn.Module):
    """What is wrapped in every container: tied weights, a non-persistent buffer, a lifted constant."""
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6)
        self.b.weight = self.a.weight
        self.register_buffer("scale", torch.tensor(0.5), persistent=False)
    def forward(self, x): return self.b(self.a(x)) * self.scale + torch.tensor([1.0, 2.0, 3.0, 0.0, -0.0, float("nan")])


class Strided(torch.nn.Module):
    """Views as parameters: transposed, sliced at an offset, expanded, channels-last, two disjoint halves of one storage, empty."""
    def __init__(self):
        super().__init__()
        base, pair = torch.randn(8, 12), torch.randn(10)
        self.t, self.o = torch.nn.Parameter(base.t()), torch.nn.Parameter(base[2:7, 3:9])
        self.first, self.second = torch.nn.Parameter(pair[:5]), torch.nn.Parameter(pair[5:])
        self.register_buffer("e", torch.randn(1, 6).expand(5, 6))
        self.register_buffer("cl", torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last))
        self.register_buffer("none", torch.zeros(0, 3))
    def forward(self, x, y):
        return x @ self.t.t(), self.o * self.e, self.cl + y, self.first - self.second, self.none * 2


class Dtypes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for d, name in DTYPES.items():
            src = torch.tensor([0, 1, 2, 3, 1, 0])
            self.register_buffer("b_" + name, src.to(torch.float32).to(d) if name.startswith("f8") or name == "c32" else src.to(d))
    def forward(self, x):
        return [x + self.b_f16, *self.buffers()]


class Counter(torch.nn.Module):
    """A mutated buffer whose initial value is not zero, a cache written at a position, a mutated input."""
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.full((3,), 2.0))
        self.register_buffer("cache", torch.zeros(2, 8, 4))
    def forward(self, x, pos):
        self.n.add_(1)
        self.cache.index_copy_(1, pos, x.unsqueeze(1))
        x.mul_(2)
        return x + self.n.sum() + self.cache.sum((1,))


class Nested(torch.nn.Module):
    def forward(self, d, xs, k: int, flag=None, mode: str = "a", *, scale=1.5, on=True):
        y = d["a"] * scale + sum(xs) * k
        if mode == "b" and on: y = y + d["sub"]["c"][0]
        return {"y": y, "parts": [y, d["b"]], "none": None, "k": k}


class Dynamic(torch.nn.Module):
    def forward(self, x, y, n: int):
        z = torch.cat([x, y], 0)
        return z.view(z.shape[0] // 2, -1), x.shape[0] * 2 + 1, z.mean(0) * n


class Lists(torch.nn.Module):
    """Several results, lists of tensors, None among tensors, lists of ints and floats, dtypes, devices, memory formats."""
    def forward(self, x, i):
        a, b, c = x.split([1, 2, 3], dim=1)
        v, k = x.topk(2, dim=1)
        m, _ = x.max(dim=0)
        up = torch.nn.functional.interpolate(x[None, None], scale_factor=(2.0, 2.0), mode="bilinear")
        z = torch.zeros(2, dtype=torch.float16, device="cpu")
        return torch.cat([a, b, c], 1)[:, i], v, k, m, up, z, x[None, None].contiguous(memory_format=torch.channels_last), x.clamp(max=1)


class Flow(torch.nn.Module):
    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,))
        return torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), (torch.tensor(0), y))


class Item(torch.nn.Module):
    """Numbers taken out of tensors: unbacked ints, a float, a bool."""
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 1)
        torch._check(k <= 4)
        return torch.ones(k) * x.sum().item(), x.narrow(0, 0, 2)


@torch.library.custom_op("readtest::twice", mutates_args=())
def twice(x: torch.Tensor, times: int = 2) -> torch.Tensor:
    return x * times
twice.register_fake(lambda x, times=2: torch.empty_like(x))


class Custom(torch.nn.Module):
    def forward(self, x): return torch.ops.readtest.twice(x, times=3)


class Odd(torch.Tensor):
    """A tensor subclass: its pickles must be refused by name."""


# --- archives ---

def entries(path):
    with zipfile.ZipFile(path) as z: return [(n, z.read(n)) for n in z.namelist()]


def write(name, items, method=zipfile.ZIP_STORED, zip64=False):
    with zipfile.ZipFile(OUT / (name + ".pt2"), "w") as z:
        for n, data in items:
            info = zipfile.ZipInfo(n, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            with z.open(info, "w", force_zip64=zip64) as f: f.write(data)


def saved(obj, protocol=2):
    b = io.BytesIO()
    torch.save(obj, b, pickle_protocol=protocol)
    return b.getvalue()


def without_paths(ep):
    """Drops from stack traces where files lie on this machine."""
    for module in ep.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", []):
            if node.meta.get("stack_trace"):
                node.meta["stack_trace"] = re.sub(r'File "[^"]*/(?=(site-packages|tests)/)', 'File "', node.meta["stack_trace"])
    return ep


def subclass_parts():
    """A weight that wraps plain tensors, as torchao quantizes them: the program takes them out one by one."""
    from torchao.quantization import IntxUnpackedToInt8Tensor
    linear = torch.nn.Linear(32, 1, bias=False)
    qdata, scale, zero = (torch.arange(32) % 16 - 8).to(torch.int8).view(1, 32), torch.full((1, 1), 0.5), torch.zeros(1, 1, dtype=torch.int8)
    linear.weight = torch.nn.Parameter(IntxUnpackedToInt8Tensor(qdata, scale, zero, torch.int4, (1, 32), torch.float32, None), requires_grad=False)
    torch.export.save(without_paths(export(linear.eval(), (torch.ones(1, 32),), strict=False)), OUT / "subclass_parts.pt2")


def main():
    OUT.mkdir(exist_ok=True)
    subclass_parts()
    torch.manual_seed(7)
    r, expected = torch.randn, {}

    def case(name, model, args, kwargs=None, dynamic=None, core=False):
        ep = export(model.eval(), args, kwargs or {}, dynamic_shapes=dynamic, strict=False)
        if core: ep = ep.run_decompositions()
        torch.export.save(without_paths(ep), OUT / (name + ".pt2"))
        expected[name] = [facts(ep, "forward")]
        return ep

    case("net", Net(), (r(2, 2, 5, 6),))
    case("strided", Strided(), (r(3, 8), r(1, 3, 4, 4).to(memory_format=torch.channels_last)))
    case("dtypes", Dtypes(), (r(6),))
    case("counter", Counter(), (r(2, 4), torch.tensor([3])))
    case("counter_core", Counter(), (r(2, 4), torch.tensor([3])), core=True)
    case("nested", Nested(), ({"b": r(1), "a": r(2, 3), "sub": collections.OrderedDict(c=(r(3),))}, [r(2, 3), r(2, 3)], 3, None, "b"), {"on": True, "scale": 0.5})
    h, k = Dim("h", min=2, max=16), Dim("k", min=2, max=16)
    case("dynamic", Dynamic(), (r(4, 6), r(6, 6), 5), dynamic={"x": {0: 2 * h}, "y": {0: 2 * k}, "n": Dim.DYNAMIC})
    case("lists", Lists(), (r(4, 6), torch.tensor([0, 5])))
    case("flow", Flow(), (r(3),))
    case("item", Item(), (r(3), torch.tensor(2)))
    case("custom", Custom(), (r(3),))

    a, b = without_paths(export(torch.nn.Linear(2, 3), (r(1, 2),))), without_paths(export(torch.nn.Linear(3, 2), (r(4, 3),)))
    package_pt2(str(OUT / "several.pt2"), exported_programs={"encoder": a, "decoder": b})
    expected["several"] = [facts(a, "encoder"), facts(b, "decoder")]

    # The same program in other wrappings.
    small = case("small", Small(), (r(2, 6),))
    items = entries(OUT / "small.pt2")
    write("small_deflated", items, zipfile.ZIP_DEFLATED)
    write("small_zip64", items, zip64=True)
    expected["small_deflated"] = expected["small_zip64"] = expected["small"]
    # torch 2.8's: pickled state dict and constants below data/. A later pickle protocol, too.
    root = items[0][0].split("/")[0]
    keep = [(n, d) for n, d in items if "/data/weights/" not in n and "/data/constants/" not in n]
    write("small_28", keep + [(root + "/data/weights/model.pt", saved(small.state_dict)), (root + "/data/constants/model.pt", saved(small.constants))])
    write("small_protocol4", keep + [(root + "/data/weights/model.pt", saved(small.state_dict, 4)), (root + "/data/constants/model.pt", saved(small.constants, 5))])
    expected["small_28"] = expected["small_protocol4"] = expected["small"]

    # One weight pickled: a plain parameter is read, a subclass refused.
    def with_pickled(name, fqn, value):
        out = []
        for n, d in items:
            if n.endswith("model_weights_config.json"):
                config = json.loads(d)
                config["config"][fqn].update(use_pickle=True, path_name="weight_pickled")
                d = json.dumps(config).encode()
            out.append((n, d))
        write(name, out + [(root + "/data/weights/weight_pickled", saved(value))])
    with_pickled("small_pickled", "a.bias", torch.nn.Parameter(small.state_dict["a.bias"]))
    expected["small_pickled"] = expected["small"]
    with_pickled("refused_subclass", "a.bias", small.state_dict["a.bias"].detach().as_subclass(Odd))
    # Exported with fake weights: names and sizes, no bytes.
    write("refused_fake", [(n, b"" if n.endswith("/data/weights/weight_1") else d) for n, d in items])

    # Written by torch 2.6 (see README.md): this torch reads them and says what they hold.
    for p in sorted(OUT.glob("torch26_*.pt2")):
        if p.stem != "torch26_cond":  # which torch 2.13 does not load
            expected[p.stem] = [facts(torch.export.load(p), "forward")]

    with open(OUT / "expected.json", "w") as f:
        json.dump({"torch": torch.__version__, "cases": expected}, f, separators=(",", ":"))
    total = sum(p.stat().st_size for p in OUT.iterdir())
    print(len(expected), "cases,", total, "bytes")


if __name__ == "__main__":
    main()
