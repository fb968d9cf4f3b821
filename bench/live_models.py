#!/usr/bin/env python3
"""Exports models of ../../shared/tools/export_models.py with weights under which a comparison means something.

Usage: python bench/live_models.py OUT_DIR [NAME ...]    writes OUT_DIR/NAME_live/{program.pt2,inputs,outputs.safetensors}

As constructed, mobilenet's activations fade to 1e-9 and the vision transformer's head is all zeros, so outputs agree
within 1e-4 whatever a compiler does to the layers. Here batch norms get the statistics of random images, then random
scales and offsets, and all-zero weights get random values: every layer matters to the outputs, which are of order 1.
Set-up: as that script says.
"""
import importlib.util
import pathlib
import sys

import torch

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "shared" / "tools"
NAMES = ["mobilenet_v2", "mobilenet_v3_small", "resnet18", "inception_v3", "vit_b_16"]


def enliven(model, example):
    """Deterministic after torch.manual_seed."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.abs().max() == 0:
                parameter.normal_(0, 0.05)
        norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
        for norm in norms:
            norm.weight.uniform_(0.6, 1.4)
            norm.bias.uniform_(-0.3, 0.3)
            norm.momentum = None  # a plain average over the batches that follow
        model.train()
        for _ in range(2):
            model(*(torch.randn(8, *x.shape[1:]) for x in example))
        model.eval()


def main():
    sys.path.insert(0, str(TOOLS))
    import export_models
    export_models._torchvision()
    for name in sys.argv[2:] or NAMES:
        base = export_models.REGISTRY[name]

        def live():
            model, example = base()
            enliven(model, example)
            return model, example

        export_models.REGISTRY[name + "_live"] = live
        export_models.export(name + "_live", sys.argv[1])


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) > 1 else __doc__)
