#!/usr/bin/env python3
"""Holds edgewright to PyTorch's outputs on what export_zoo.py wrote (or any folder of that layout). Standard library only.

usage: run_zoo.py DIR [NAME ...] [--edgewright BINARY] [--stock-run BINARY] [--markdown F]

For each network: `edgewright check` at 1e-4, what was delegated, and the same file in the stock runtime where there is one.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = ["--atol", "1e-4", "--rtol", "1e-4"]


def run(command):
    start = time.monotonic()
    r = subprocess.run(command, capture_output=True, text=True)
    return r.returncode, r.stdout, r.stderr, time.monotonic() - start


def files(folder):
    names = [("inputs", "outputs")] + [(f"inputs_{i}", f"outputs_{i}") for i in range(1, 100)]
    out = []
    for a, b in names:
        if not (folder / f"{a}.safetensors").exists():
            break
        out += ["--inputs", str(folder / f"{a}.safetensors"), "--expect", str(folder / f"{b}.safetensors")]
    return out


def measure(options, folder, scratch):
    program, pte = str(folder / "program.pt2"), os.path.join(scratch, "model.pte")
    row = {"name": folder.name}
    status, out, err, row["seconds"] = run([options.edgewright, "check", program, *files(folder), *TOLERANCE, "--json"])
    row["check"] = status
    if status in (0, 1):
        worst = [o for o in json.loads(out)["outputs"].values()] if isinstance(json.loads(out)["outputs"], dict) else json.loads(out)["outputs"]
        row["error"] = max((o["compiled_expected"]["max_abs"] or 0 for o in worst if o.get("compiled_expected")), default=None)
    else:
        row["why"] = err.strip().splitlines()[-1][-300:] if err.strip() else ""
    status, out, err, row["compile"] = run([options.edgewright, "compile", program, "-o", pte])
    if status == 0:
        nodes = json.loads(run([options.edgewright, "explain", program, "--json"])[1])["nodes"]
        row["nodes"], row["delegated"] = len(nodes), sum(n["delegate"] is not None for n in nodes)
        row["delegates"] = len({n["delegate"] for n in nodes} - {None})
        outside = {}
        for n in nodes:
            if n["delegate"] is None:
                outside[n["op"]] = outside.get(n["op"], 0) + 1
        row["outside"] = ", ".join(f"{c} x {op}" if c > 1 else op for op, c in sorted(outside.items(), key=lambda i: -i[1]))
        if options.stock_run:
            status, out, err, _ = run([options.stock_run, pte, *files(folder), *TOLERANCE])
            row["stock"] = status
            if status:
                row["stock_why"] = "; ".join(l for l in err.splitlines() if l.startswith(("E ", "stock_run")))[-300:] + out[-200:]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--edgewright", default=os.environ.get("EDGEWRIGHT", str(ROOT / "build" / "edgewright")))
    parser.add_argument("--stock-run", default=os.environ.get("EDGEWRIGHT_STOCK_RUN"))
    parser.add_argument("--markdown", help="write a table here")
    options = parser.parse_args()
    names = options.names or sorted(p.parent.name for p in options.dir.glob("*/program.pt2"))
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            rows.append(row := measure(options, options.dir / name, scratch))
            print(f"{name:24} check {row['check']} error {row.get('error', '')!s:.8} compile {row['compile']:.2f} s delegates {row.get('delegates', '')} "
                  f"({row.get('delegated', '')} of {row.get('nodes', '')} nodes) stock {row.get('stock', '')} {row.get('why', '')}{row.get('stock_why', '')} | {row.get('outside', '')}", flush=True)
    right = sum(r["check"] == 0 and r.get("stock", 0) == 0 for r in rows)
    print(f"{right} passed, {len(rows) - right} failed, 0 skipped")
    if options.markdown:
        lines = ["| network | agrees with PyTorch (1e-4) | greatest error | in the stock runtime | delegates | nodes inside | outside |", "|" + "---|" * 7]
        word = {0: "yes", 1: "**no**", 4: "unsupported", "": ""}
        for r in rows:
            lines.append(f"| {r['name']} | {word.get(r['check'], r['check'])} | {r['error']:.1e} | {word.get(r.get('stock', ''), 'refused')} | {r.get('delegates', '')} | {r.get('delegated', '')} of {r.get('nodes', '')} | {r.get('outside', '')} |"
                         if r.get("error") is not None else f"| {r['name']} | {word.get(r['check'], r['check'])} | | | | | {r.get('why', '')} |")
        pathlib.Path(options.markdown).write_text("\n".join(lines) + "\n")
    return 0 if right == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
