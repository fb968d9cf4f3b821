#!/usr/bin/env python3
"""Compiles the programs of each folder of tests/stock/methods into one file and runs its methods in turn on one state; outputs must be
PyTorch's. Checks that weights and buffers stand in the file once.

usage: test_methods.py EDGEWRIGHT [STOCK_RUN]     (with STOCK_RUN or $EDGEWRIGHT_STOCK_RUN in the stock runtime, too)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent / "methods"


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True)


def main():
    edgewright = sys.argv[1]
    stock = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("EDGEWRIGHT_STOCK_RUN", "")
    has_stock = bool(stock) and os.access(stock, os.X_OK)
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as scratch:
        for d in sorted(ROOT.iterdir()):
            pte = pathlib.Path(scratch) / "all.pte"
            programs = sorted(d.glob("*.pt2"))
            calls = sorted(d.glob("*_in.safetensors"))
            named = [x for p in programs for x in ("--method", f"{p.stem}={p}")]
            report = run(edgewright, "compile", *named, "-o", pte, "--target", "stock", "--json")
            single = [json.loads(run(edgewright, "compile", p, "-o", pathlib.Path(scratch) / "one.pte", "--json").stdout) for p in programs]
            arguments = [x for c in calls for x in ("--method", c.name.split("_")[1], "--inputs", c, "--expect", str(c).replace("_in.", "_out."))]
            ran = run(edgewright, "run", pte, *arguments)
            problem = report.stderr or ran.stderr
            if has_stock:
                in_stock = run(stock, pte, *arguments)
                problem = problem or (in_stock.stdout[-500:] + in_stock.stderr if in_stock.returncode else "")
            else:
                skipped += 1
            if not problem and json.loads(report.stdout)["weight_bytes"] >= sum(s["weight_bytes"] for s in single):
                problem = "equal weights are not shared"
            swapped = run(edgewright, "run", pte, "--method", "nowhere", "--method", programs[0].stem, "--inputs", calls[0], "--inputs", calls[0])
            if not problem and swapped.returncode != 2:
                problem = f"a method that is not there: status {swapped.returncode}"
            if problem:
                print(f"{d.name}: {problem}")
                failed += 1
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
