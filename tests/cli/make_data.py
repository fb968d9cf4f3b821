#!/usr/bin/env python3
"""Makes data/: small exported programs with inputs and PyTorch's outputs, for test_cli.py. Needs torch, numpy and safetensors.

  tests/cli/make_data.py

Keys of the .safetensors files are leaf numbers in flattened pytree order.
"""
import pathlib
import re

import numpy
import torch
from safetensors.torch import save_file

DATA = pathlib.Path(__file__).resolve().parent / "data"


def leaves(value):
    return torch.utils._pytree.tree_leaves(value, is_leaf=lambda v: v is None)


def write(name, value):
    tensors = {str(i): t.detach().contiguous().clone() for i, t in enumerate(leaves(value)) if isinstance(t, torch.Tensor)}
    save_file(tensors, DATA / f"{name}.safetensors")


def export(name, module, arguments, **options):
    program = torch.export.export(module, arguments, **options)
    for node in program.graph.nodes:  # the source lines stay as provenance, where they lay on this machine does not
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/(?=(torch|cli)/)', 'File "', node.meta["stack_trace"])
    torch.export.save(program, DATA / f"{name}.pt2")


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)

    def forward(self, x, y):
        return self.b(torch.relu(self.a(x))), x + y


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.full((3,), 0.5))

    def forward(self, x):
        self.total.add_(x)
        return self.total * 2


class Scalars(torch.nn.Module):
    def forward(self, x, n: int, scale: float, up: bool, extra=None):
        return {"y": x * scale + n if up else x, "n": n, "none": extra}


class Dynamic(torch.nn.Module):
    def forward(self, x, y):
        return torch.cat([x + y, x * 2], dim=0)


class Unsupported(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.svdvals(torch.relu(x))


def main():
    torch.manual_seed(1)
    DATA.mkdir(exist_ok=True)
    x, y = torch.randn(2, 4), torch.randn(2, 4)
    mlp = Mlp().eval()
    export("mlp", mlp, (x, y))
    write("mlp_in", (x, y))
    write("mlp_out", mlp(x, y))
    numpy.save(DATA / "mlp_in_0.npy", x.numpy())
    numpy.save(DATA / "mlp_in_1.npy", y.numpy())

    steps = [torch.randn(3), torch.randn(3)]
    export("counter", Counter(), (steps[0],))
    counter = Counter()
    for i, step in enumerate(steps):
        write(f"counter_in_{i}", (step,))
        write(f"counter_out_{i}", counter(step))

    arguments = (torch.randn(5), 3, 0.5, True)
    export("scalars", Scalars(), arguments)
    write("scalars_in", arguments)
    write("scalars_out", Scalars()(*arguments))

    batch = torch.export.Dim("batch", min=2, max=16)
    export("dynamic", Dynamic(), (torch.randn(4, 3), torch.randn(4, 3)), dynamic_shapes=({0: batch}, {0: batch}))
    for rows in (2, 7, 16, 17):
        inputs = (torch.randn(rows, 3), torch.randn(rows, 3))
        write(f"dynamic_in_{rows}", inputs)
        if rows <= 16:
            write(f"dynamic_out_{rows}", Dynamic()(*inputs))

    export("unsupported", Unsupported(), (torch.randn(3, 3),))


if __name__ == "__main__":
    main()
