#!/usr/bin/env python3
"""Writes tests/ops/core_ops.txt: PyTorch's own list of the Core ATen operators (those with the tag `core`). Needs torch.

usage: make_core_ops.py
"""
import pathlib

import torch

names = []
for full in torch._C._dispatch_get_all_op_names():
    if not full.startswith("aten::"):
        continue
    base, _, overload = full.removeprefix("aten::").partition(".")
    try:
        op = getattr(getattr(torch.ops.aten, base), overload or "default")
    except AttributeError:
        continue
    if torch.Tag.core in op.tags:
        names.append("aten." + base + ("." + overload if overload else ""))
pathlib.Path(__file__).with_name("core_ops.txt").write_text(f"# torch {torch.__version__}\n" + "\n".join(sorted(set(names))) + "\n")
