#!/usr/bin/env python3
"""Holds docs/ops.md to what the program says of its ops, and every Core ATen op (core_ops.txt) to having a definition or a reason here.

usage: test_coverage.py EDGEWRIGHT [--update]
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "ops.md"

# Core ops without a definition: why.
LEFT_OUT = {
    "aten._adaptive_avg_pool2d_backward": "training",
    "aten._native_batch_norm_legit": "training: it writes the running statistics",
    "aten.atan2.out": "a variant that writes to an argument",
    "aten.avg_pool2d_backward": "training",
    "aten.convolution_backward": "training",
    "aten.embedding_dense_backward": "training",
    "aten.max_pool2d_with_indices_backward": "training",
    "aten.native_group_norm_backward": "training",
    "aten.native_layer_norm_backward": "training",
    "aten.randperm": "random numbers of PyTorch's own generator",
    "aten.resize_": "changes the storage behind a tensor",
    "aten.sym_is_contiguous": "asked while exporting",
    "aten._fft_c2r": "complex numbers",
    "aten._fft_r2c": "complex numbers",
}

INTRO = """# Operators

Generated: `tests/ops/test_coverage.py BUILD/edgewright --update`; a test keeps it in step.

Each op has a definition in `src/ops` with its types, its meaning and PyTorch's vectors. In-place variants (`add_`) come with the op they
are made of and are not listed. An op without a kernel or XNNPACK node is decomposed into others; one with neither is evaluated while
compiling, where its operands are constants, or refused by name. "XNNPACK" means that a node of an XNNPACK graph computes it, for the dtypes
and arguments that `edgewright explain` tells. Not listed are `cond`, `while_loop`, `map`, `scan` and `associative_scan`, which become jumps.

"""


def main():
    table = subprocess.run([sys.argv[1], "ops"], capture_output=True, text=True, check=True).stdout
    known = {line.split("|")[1].strip() for line in table.splitlines()[2:]}
    core = [line for line in (HERE / "core_ops.txt").read_text().splitlines() if not line.startswith("#")]
    failed = 0
    for op in core:
        if op not in known and op not in LEFT_OUT:
            print(f"{op} is a Core ATen op without a definition")
            failed += 1
    for op in LEFT_OUT:
        if op in known or op not in core:
            print(f"{op} needs no reason any more")
            failed += 1
    reasons = "".join(f"| {op} | {why} |\n" for op, why in sorted(LEFT_OUT.items()))
    page = INTRO + table + "\n## Core ATen ops left out\n\n| op | why |\n|---|---|\n" + reasons
    if sys.argv[2:] == ["--update"]:
        PAGE.write_text(page)
    elif PAGE.read_text() != page:
        print(f"{PAGE.name} is out of step: run this with --update")
        failed += 1
    print(f"{len(core) - failed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
