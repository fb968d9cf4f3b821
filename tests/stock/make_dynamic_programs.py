#!/usr/bin/env python3
"""Makes those of tests/stock/programs whose sizes change from call to call, and those that keep state. Needs torch and safetensors.

usage: make_dynamic_programs.py [NAME]...    (all, or those named)
"""
import torch

from maker import make

nn, F, Dim = torch.nn, torch.nn.functional, torch.export.Dim


class Images(nn.Module):
    """Convolutions, pools, a residual and a mean over images of any size."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.Conv2d(8, 5, 1)
        self.n, self.l = nn.BatchNorm2d(8), nn.Linear(5, 4)

    def forward(self, x):
        y = self.n(self.a(x)).relu()
        y = self.c(y + F.hardswish(self.b(y)))
        return F.max_pool2d(y, 3, 2, 1), self.l(y.mean((2, 3))), F.avg_pool2d(y, 2), F.pad(y, (1, 2, 0, 1)), y.mean((2, 3), keepdim=True)


class Block(nn.Module):
    """A transformer block over a sequence of any length."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(16, 16) for _ in range(4))
        self.n, self.m, self.f = nn.LayerNorm(16), nn.LayerNorm(16), nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, x):
        y = self.n(x)
        q, k, v = (f(y).view(1, -1, 4, 4).transpose(1, 2) for f in (self.q, self.k, self.v))
        w = torch.softmax(q @ k.transpose(2, 3) / 2, -1)
        x = x + self.o((w @ v).transpose(1, 2).reshape(1, -1, 16))
        return x + self.f(self.m(x))


class Rows(nn.Module):
    """Two sizes at once; joins, slices, sums, several numbers of rows in one product."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(6, 4)

    def forward(self, x, y):
        z = torch.cat([x, y], 1)
        return self.l(z), z[:, :, 1:4] * 2, x[:, 0], (x.flatten(0, 1) + 1).sum(-1), torch.cat([x, x], 0).sigmoid(), z.transpose(0, 1).exp()


class Sequence(nn.Module):
    """Convolutions over one dim, a pool, a softmax over the dim that changes."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv1d(4, 6, 3, padding=1), nn.ConvTranspose1d(6, 3, 2, 2)

    def forward(self, x):
        y = self.a(x)
        return self.b(F.elu(y)), F.avg_pool1d(y, 2), y.softmax(1), y.softmax(2)


class Cache(nn.Module):
    """A decoder's cache: rows written at a position, attention over all of it; a counter with an initial value."""

    def __init__(self):
        super().__init__()
        self.register_buffer("k", torch.zeros(1, 8, 4)), self.register_buffer("v", torch.randn(1, 8, 4))
        self.register_buffer("steps", torch.tensor(5))
        self.q = nn.Linear(4, 4)

    def forward(self, x, at):
        self.k[:, at] = x
        self.v.index_copy_(1, at, x * 2)
        self.steps += 1
        y = torch.softmax(self.q(x) @ self.k.transpose(1, 2), -1) @ self.v
        return y, self.steps + 0


class Writes(nn.Module):
    """Buffers written by slice, as a whole and in place; an input that the caller sees changed."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.arange(6.0)), self.register_buffer("b", torch.ones(2, 3))

    def forward(self, x):
        self.a[2:5] = x[0]
        self.b.copy_(self.b.flip(1) * 2 + x)
        self.a.mul_(0.5)
        x.add_(1)
        return self.a + 0, self.b.sum(), x * 2


torch.manual_seed(0)
images = Images()
images.n.running_mean.normal_(), images.n.running_var.uniform_(0.5, 2)
shots = [(torch.randn(n, 3, h, w),) for n, h, w in ((2, 16, 12), (1, 9, 21), (3, 24, 24), (2, 8, 8), (2, 16, 12))]
make("images", images.eval(), *shots[0], dynamic=({0: Dim("n", min=1, max=3), 2: Dim("h", min=8, max=24), 3: Dim("w", min=8, max=24)},), more=shots[1:])
lengths = lambda *ns: [(torch.randn(1, n, 16),) for n in ns]
make("block", Block(), *lengths(5)[0], dynamic=({1: Dim("t", min=2, max=12)},), more=lengths(12, 2, 7, 5))
make("block_core", Block(), *lengths(5)[0], dynamic=({1: Dim("t", min=2, max=12)},), more=lengths(12, 2, 7, 5), core=True)
n, t = Dim("n", min=2, max=4), Dim("t", min=2, max=9)
pairs = [(torch.randn(a, b, 6), torch.randn(a, b, 6)) for a, b in ((3, 4), (4, 9), (2, 2), (4, 3), (3, 4))]
make("rows", Rows(), *pairs[0], dynamic=({0: n, 1: t}, {0: n, 1: t}), more=pairs[1:])
waves = [(torch.randn(1, 4, n),) for n in (6, 20, 4, 11, 6)]
make("sequence", Sequence(), *waves[0], dynamic=({2: Dim("n", min=4, max=20)},), more=waves[1:])
steps = [(torch.randn(1, 1, 4), torch.tensor([i])) for i in (0, 1, 7, 3, 3)]
make("cache", Cache(), *steps[0], more=steps[1:])
make("writes", Writes(), torch.randn(2, 3), more=[(torch.randn(2, 3),), (torch.randn(2, 3),)])


class Decoder(nn.Module):
    """One layer with a cache; `step` writes from position 0 a whole prompt or one row, `peek` reads the cache alone."""

    def __init__(self):
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 8, 4)), self.register_buffer("count", torch.tensor([2]))
        self.q, self.kv = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, at):
        self.keys.index_copy_(1, at, self.kv(x))
        self.count += x.shape[1]
        return torch.softmax(self.q(x) @ self.keys.transpose(1, 2), -1) @ self.keys, self.count + 0


class Peek(nn.Module):
    def __init__(self, decoder):
        super().__init__()
        self.register_buffer("keys", decoder.keys), self.register_buffer("count", decoder.count)

    def forward(self, x):
        return self.keys * x, self.count * 2


def make_methods(folder, methods, calls):
    """NAME.pt2 for each of `methods` (module, inputs), and the inputs and eager outputs of `calls` (name, inputs), in order on one state."""
    import copy
    import sys

    from maker import OUT, flat
    from safetensors.torch import save_file

    if sys.argv[1:] and folder not in sys.argv[1:]:
        return
    d = OUT.with_name("methods") / folder
    d.mkdir(parents=True, exist_ok=True)
    for name, (module, inputs) in methods.items():
        program = torch.export.export(copy.deepcopy(module).eval(), inputs, strict=False)
        for node in program.graph.nodes:
            node.meta.pop("stack_trace", None)
        torch.export.save(program, d / f"{name}.pt2")
    for i, (name, inputs) in enumerate(calls):
        with torch.no_grad():
            outputs = methods[name][0](*inputs)
        save_file(flat(inputs), d / f"{i}_{name}_in.safetensors")
        save_file(flat(outputs), d / f"{i}_{name}_out.safetensors")


decoder = Decoder().eval()
prompt, row, two = (torch.randn(1, 5, 4), torch.arange(5)), lambda i: (torch.randn(1, 1, 4), torch.tensor([i])), (torch.tensor(2.0),)
make_methods("decoder", {"prefill": (decoder, prompt), "decode": (decoder, row(5)), "peek": (Peek(decoder), two)},
             [("peek", two), ("prefill", prompt), ("peek", two), ("decode", row(5)), ("decode", row(6)), ("peek", two), ("prefill", prompt)])
