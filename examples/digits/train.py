#!/usr/bin/env python3
"""Trains the demo network on scikit-learn's handwritten digits and writes the files that stand beside this script.

Only needed to make them anew: `pip install torch numpy scikit-learn && python train.py`. Takes well under a minute on a CPU.

  digits.pt2                  the exported program: f32[360,1,8,8] -> f32[360,10] logits, in evaluation mode
  heldout_inputs.safetensors  "0": f32[360,1,8,8], the images that training never saw, scaled to 0..1
  heldout_labels.safetensors  "0": i64[360], the digits they show
  pytorch_outputs.safetensors "0": f32[360,10], what PyTorch computes for them
  digits.json                 the versions that made these files, and PyTorch's accuracy
"""
import json
import pathlib
import re
import struct

import sklearn
import sklearn.datasets
import sklearn.model_selection
import torch
from torch import nn

HERE = pathlib.Path(__file__).parent
HELD_OUT = 360
EPOCHS = 30
CODES = {torch.float32: "F32", torch.int64: "I64"}


def save_safetensors(path, tensors):
    """The format: u64 header length, JSON header padded to 8 bytes, then the tensors' bytes."""
    header, blobs, at = {}, [], 0
    for key, tensor in tensors.items():
        blob = tensor.contiguous().numpy().tobytes()
        header[key] = {"dtype": CODES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


class Digits(nn.Module):
    """Three convolutions with batch norm, two max pools, one linear layer; 26,000 weights."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2))
        self.classify = nn.Linear(64 * 2 * 2, 10)

    def forward(self, images):
        return self.classify(torch.flatten(self.features(images), 1))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = sklearn.datasets.load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target, dtype=torch.int64)
    train, heldout = (torch.tensor(part) for part in sklearn.model_selection.train_test_split(
        range(len(labels)), test_size=HELD_OUT, stratify=labels, random_state=0))

    model = Digits()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for batch in train[torch.randperm(len(train))].split(64):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[batch]), labels[batch]).backward()
            optimizer.step()
        schedule.step()

    model.eval()
    with torch.no_grad():
        logits = model(images[heldout])
        program = torch.export.export(model, (images[heldout],))
    right = int((logits.argmax(1) == labels[heldout]).sum())
    for node in program.graph.nodes:  # the source lines stay as provenance, where they lay on this machine does not
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/(?=(torch|digits)/)', 'File "', node.meta["stack_trace"])
    torch.export.save(program, HERE / "digits.pt2")
    save_safetensors(HERE / "heldout_inputs.safetensors", {"0": images[heldout]})
    save_safetensors(HERE / "heldout_labels.safetensors", {"0": labels[heldout]})
    save_safetensors(HERE / "pytorch_outputs.safetensors", {"0": logits})
    made_by = {"torch": torch.__version__, "scikit-learn": sklearn.__version__, "right": right, "of": HELD_OUT}
    (HERE / "digits.json").write_text(json.dumps(made_by) + "\n")
    print(f"{right} of {HELD_OUT} held-out digits right")


if __name__ == "__main__":
    main()
