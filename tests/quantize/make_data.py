#!/usr/bin/env python3
"""Makes data/ for the tests of quantizing: what PyTorch's observers choose for weights and activations, and small float programs.

  python3 tests/quantize/make_data.py

Needs torch and scikit-learn; the versions that made the files stand in data/versions.json.
"""
import json
import pathlib
import struct
import sys

import numpy
import sklearn
import sklearn.datasets
import sklearn.model_selection
import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
from torch.ao.quantization.observer import MinMaxObserver, PerChannelMinMaxObserver

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE / "data"
CODES = {torch.float32: "F32", torch.int64: "I64", torch.int8: "I8"}


def save(path, tensors):
    header, blobs, at = {}, [], 0
    for key, tensor in tensors.items():
        blob = tensor.contiguous().numpy().tobytes()
        header[key] = {"dtype": CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def weights():
    """name.w, name.axis -> name.q, name.scales: PyTorch's per-channel observer and quantize_per_channel."""
    out = {}
    torch.manual_seed(0)
    tiny = torch.randn(3, 8) * 1e-9
    zeros = torch.randn(4, 3, 3, 3)
    zeros[1] = 0
    wide = torch.randn(2, 5) * 1e30
    cases = {"linear": (torch.randn(7, 33), 0), "conv": (torch.randn(5, 3, 3, 3), 0), "transposed": (torch.randn(4, 6, 2, 2), 1),
             "zeros": (zeros, 0), "tiny": (tiny, 0), "wide": (wide, 0), "one": (torch.full((1, 1), -0.3), 0),
             "ties": ((torch.arange(-127, 128).float() / 2).reshape(1, -1), 0)}
    for name, (w, axis) in cases.items():
        seen = PerChannelMinMaxObserver(ch_axis=axis, dtype=torch.int8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127)
        seen(w)
        scales, zeros_ = seen.calculate_qparams()
        q = torch.ops.quantized_decomposed.quantize_per_channel(w, scales, zeros_, axis, -127, 127, torch.int8)
        out |= {f"{name}.w": w, f"{name}.axis": torch.tensor([axis]), f"{name}.q": q, f"{name}.scales": scales.float()}
    return out


def ranges():
    """ranges: [n, 2] smallest and largest value; scales, zeros: what PyTorch's observer makes of them."""
    rows = [(-1, 1), (0, 6), (0, 0), (-3, -1), (2, 5), (-1e-9, 1e-9), (-0.1, 25.5), (-128, 127), (-2e38, 2e38), (0, 1e-40), (-7.5, 0.01)]
    scales, zeros = [], []
    for low, high in rows:
        seen = MinMaxObserver(dtype=torch.int8, qscheme=torch.per_tensor_affine, quant_min=-128, quant_max=127)
        seen(torch.tensor([low, high], dtype=torch.float32))
        scale, zero = seen.calculate_qparams()
        scales.append(float(scale))
        zeros.append(int(zero))
    return {"ranges": torch.tensor(rows, dtype=torch.float32), "scales": torch.tensor(scales), "zeros": torch.tensor(zeros)}


def calibration():
    """360 of the digits that the demo's network was trained on, as train.py splits them."""
    digits = sklearn.datasets.load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    train, _ = sklearn.model_selection.train_test_split(range(len(digits.target)), test_size=360, stratify=torch.tensor(digits.target), random_state=0)
    return {"0": images[train[:360]]}


class Mixed(torch.nn.Module):
    """A table, a convolution with norm and clamp, a residual sum, linears: with and without a bias, with a row of zeros."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(12, 64)
        self.conv = torch.nn.Conv1d(5, 5, 3, padding=1)
        self.wide = torch.nn.Linear(64, 96)
        self.back = torch.nn.Linear(96, 64, bias=False)
        self.odd = torch.nn.Linear(64, 7)
        with torch.no_grad():
            self.odd.weight[2] = 0

    def forward(self, tokens, scale):
        x = self.table(tokens) * scale
        x = torch.relu(self.conv(x)) + x
        return self.odd(x + self.back(torch.relu(self.wide(x))))


class Quantized(torch.nn.Module):
    def forward(self, x):
        q = torch.ops.quantized_decomposed.quantize_per_tensor(x, 0.1, 0, -128, 127, torch.int8)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(q, 0.1, 0, -128, 127, torch.int8)


def without_traces(program):
    for node in program.graph.nodes:
        node.meta.pop("stack_trace", None)
    return program


def main():
    DATA.mkdir(exist_ok=True)
    save(DATA / "observers.safetensors", weights() | ranges())
    save(DATA / "digits_calibration.safetensors", calibration())
    torch.manual_seed(1)
    model = Mixed().eval()
    args = (torch.tensor([[3, 1, 4, 1, 5]]), torch.tensor([1.5]))
    with torch.no_grad():
        program = torch.export.export(model, args)
        expected = model(*args)
    torch.export.save(without_traces(program), DATA / "mixed.pt2")
    torch.export.save(without_traces(torch.export.export(Quantized(), (torch.ones(3),))), DATA / "quantized.pt2")
    save(DATA / "mixed_in.safetensors", {"0": args[0], "1": args[1]})
    save(DATA / "mixed_nan.safetensors", {"0": args[0], "1": torch.tensor([float("nan")])})
    save(DATA / "mixed_zero.safetensors", {"0": args[0], "1": torch.tensor([0.0])})
    save(DATA / "mixed_short.safetensors", {"0": args[0][:, :3].contiguous(), "1": args[1]})
    save(DATA / "mixed_out.safetensors", {"0": expected})
    (DATA / "versions.json").write_text(json.dumps({"torch": torch.__version__, "numpy": numpy.__version__, "sklearn": sklearn.__version__,
                                                    "python": sys.version.split()[0]}) + "\n")


if __name__ == "__main__":
    main()
