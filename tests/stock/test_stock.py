#!/usr/bin/env python3
"""Compiles small committed programs and runs the files in our runtime and in the stock ExecuTorch runtime: outputs must be PyTorch's.

usage: test_stock.py EDGEWRIGHT [STOCK_RUN]     (STOCK_RUN: what tests/stock builds; without it, or $EDGEWRIGHT_STOCK_RUN, our runtime alone)
"""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cases():
    digits = ROOT / "examples" / "digits"
    yield "digits", digits / "digits.pt2", [digits / "heldout_inputs.safetensors"], [digits / "pytorch_outputs.safetensors"]
    for program in sorted((ROOT / "tests" / "stock" / "programs").glob("*/program.pt2")):
        d = program.parent
        yield d.name, program, sorted(d.glob("inputs*.safetensors")), sorted(d.glob("outputs*.safetensors"))  # successive calls


def main():
    edgewright = sys.argv[1]
    stock = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("EDGEWRIGHT_STOCK_RUN", "")
    has_stock = bool(stock) and os.access(stock, os.X_OK)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, program, inputs, expected in cases():
            pte = pathlib.Path(scratch) / "model.pte"
            atol = program.parent / "atol.txt"  # quantized ones: steps
            expected = [x for f in expected for x in ("--expect", f)] + (["--atol", atol.read_text().strip()] if atol.exists() else [])
            commands = [[edgewright, "compile", program, "-o", pte, "--target", "stock"],
                        [stock, pte] + [x for f in inputs for x in ("--inputs", f)] + expected,
                        [edgewright, "run", pte] + [x for f in inputs for x in ("--inputs", f)] + expected]
            if not has_stock:
                del commands[1]
                skipped += 1
            for command in commands:
                r = subprocess.run([str(c) for c in command], capture_output=True, text=True)
                if r.returncode:
                    print(f"{name}: {' '.join(str(c) for c in command[:2])} ended with {r.returncode}: {(r.stdout + r.stderr)[-500:]}")
                    failed += 1
                    break
            else:
                passed += 1
    if skipped:
        print(f"the stock runtime (the executorch wheel) is not here: {skipped} runs in it were skipped")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
