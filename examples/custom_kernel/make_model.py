#!/usr/bin/env python3
"""Exports a model that uses an operator of its own, mylib::soft_shift; writes model.pt2, inputs.safetensors and outputs.safetensors here."""
import pathlib

import torch
from safetensors.torch import save_file


@torch.library.custom_op("mylib::soft_shift", mutates_args=())
def soft_shift(x: torch.Tensor, by: torch.Tensor, scale: float, steps: int) -> torch.Tensor:
    return x * torch.tanh((x + by) * scale) + steps


@soft_shift.register_fake
def _(x, by, scale, steps):
    return torch.empty_like(x)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(4, 6), torch.nn.Linear(6, 2)
        self.by = torch.nn.Parameter(torch.randn(6))

    def forward(self, x):
        return self.b(torch.ops.mylib.soft_shift(self.a(x), self.by, 0.5, 2))


torch.manual_seed(0)
here, model, x = pathlib.Path(__file__).parent, Model().eval(), torch.randn(3, 4)
program = torch.export.export(model, (x,))
for node in program.graph.nodes:
    node.meta.pop("stack_trace", None)
torch.export.save(program, here / "model.pt2")
save_file({"0": x}, here / "inputs.safetensors")
save_file({"0": model(x).detach()}, here / "outputs.safetensors")
(here / "torch.txt").write_text(torch.__version__ + "\n")
