#!/usr/bin/env python3
"""Our file beside the stock exporter's on the same unchanged stock runtime, ours on our own runtime, and other engines; writes
STOCK_FILES.md. Standard library only.

  bench/stock_files.py [NAME ...] --models DIR [--edgewright BINARY] [--stock-run BINARY] [--stock-python PYTHON]
                       [--peer-python PYTHON] [--threads 1,2] [--rounds 5] [--window 1.0] [--json F] [--write]

DIR/NAME/ as for bench/run.py (stock.pte is made where it is missing, with --stock-python). --peer-python: a Python with torch,
onnxruntime, onnx, onnxscript and openvino (see bench/peer.py); without it those columns stay empty. Each round gives every engine
one window, in turn, so that a drift of the machine hits all alike; ratios are taken round by round.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from run import HERE, last_json, spread

ENGINES = ["stock", "ours_on_stock", "ours", "ort", "ov"]


def delegates(edgewright, pte):
    """(delegates, calls outside of them) of the first method."""
    info = json.loads(subprocess.run([edgewright, "inspect", str(pte), "--json"], check=True, capture_output=True, text=True).stdout)
    method = info["methods"][0]
    return len(method["delegates"]), sum(n for op, n in method["ops"].items() if not op.startswith("delegate "))


def commands_of(options, name, scratch, ours_pte):
    folder = options.models / name
    inputs = ["--inputs", str(folder / "inputs.safetensors")]
    window = str(options.window)
    engines = {
        "stock": lambda n: [options.stock_run, str(folder / "stock.pte"), "--bench", window, "--threads", n, *inputs],
        "ours_on_stock": lambda n: [options.stock_run, ours_pte, "--bench", window, "--threads", n, *inputs],
        "ours": lambda n: [options.edgewright, "bench", ours_pte, "--seconds", window, "--json", "--threads", n, *inputs],
    }
    if options.peer_python:
        peer = [options.peer_python, str(HERE / "peer.py")]
        done = subprocess.run([*peer, "convert", str(folder / "program.pt2"), scratch], capture_output=True, text=True)
        if done.returncode:
            print(f"{name}: conversion for the peers fails: {done.stderr.strip()[-300:]}", file=sys.stderr)
        for engine, file in (("ort", "model.onnx"), ("ov", "model.xml")):
            path = os.path.join(scratch, file)
            if os.path.exists(path):
                engines[engine] = lambda n, e=engine, p=path: [*peer, "run", e, p, "--seconds", window, "--threads", n, *inputs]
    return engines


def measure(options, name):
    folder = options.models / name
    if not (folder / "stock.pte").exists():
        if not options.stock_python:
            raise RuntimeError("there is no stock.pte, and no --stock-python to make it")
        print(f"{name}: the stock lowering", file=sys.stderr)
        told = last_json([options.stock_python, str(HERE / "stock_lower.py"), str(folder / "program.pt2"), str(folder / "stock.pte")])
        (folder / "stock.json").write_text(json.dumps(told) + "\n")
    with tempfile.TemporaryDirectory() as scratch:
        ours_pte = os.path.join(scratch, "ours.pte")
        subprocess.run([options.edgewright, "compile", str(folder / "program.pt2"), "-o", ours_pte], check=True, capture_output=True)
        engines = commands_of(options, name, scratch, ours_pte)
        row = {"model": name, "delegates": {"stock": delegates(options.edgewright, folder / "stock.pte"), "ours": delegates(options.edgewright, ours_pte)}}
        for threads in options.threads:
            rounds = []
            for _ in range(options.rounds):
                one = {}
                for engine, command in list(engines.items()):
                    try:
                        one[engine] = last_json(command(str(threads)))["median_ms"]
                    except subprocess.CalledProcessError as error:
                        print(f"{name}: {engine} fails: {(error.stderr or '').strip()[-200:]}", file=sys.stderr)
                        del engines[engine]
                rounds.append(one)
            told = {engine: spread([r[engine] for r in rounds]) for engine in engines}
            for a, b in (("ours_on_stock", "stock"), ("ours", "stock"), ("ours", "ort"), ("ours", "ov")):
                if a in engines and b in engines:
                    told[f"{a}/{b}"] = spread([r[a] / r[b] for r in rounds])
            row[f"run_{threads}"] = told
            print(f"{name}, {threads} threads: " + ", ".join(f"{k} {v['median']:.3f}" for k, v in told.items()), file=sys.stderr)
    return row


def markdown(rows, options):
    of = lambda s, digits: f"{s['median']:.{digits}f} ({s['min']:.{digits}f}–{s['max']:.{digits}f})"
    lines = ["# Our files on the stock runtime", "",
             "Written by `bench/stock_files.py`; `bench/stock_files.py --help` says how to rerun it. Medians in milliseconds, with the least and the",
             "greatest of the rounds in parentheses. Ratios are taken round by round. `calls`: instructions outside of delegates."]
    for threads in options.threads:
        lines += ["", f"## {threads} thread{'s' if threads > 1 else ''}", "",
                  "| model | stock file: delegates + calls | our file | stock file, stock runtime | our file, stock runtime | our file, our runtime | ONNX Runtime | OpenVINO "
                  "| **our file / stock file, stock runtime** | ours / stock, each at home | ours / ONNX Runtime | ours / OpenVINO |",
                  "|" + "---|" * 12]
        for r in rows:
            t = r[f"run_{threads}"]
            cell = lambda key, digits=2: of(t[key], digits) if key in t else ""
            kept = lambda who: " + ".join(str(n) for n in r["delegates"][who] if n is not None)
            lines.append(f"| {r['model']} | {kept('stock')} | {kept('ours')} | " + " | ".join(cell(e) for e in ENGINES) + " | "
                         + " | ".join(cell(k, 3) for k in ("ours_on_stock/stock", "ours/stock", "ours/ort", "ours/ov")) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="by default every model of the folder")
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--edgewright", default=os.environ.get("EDGEWRIGHT", str(HERE.parent / "build" / "edgewright")))
    parser.add_argument("--stock-run", default=os.environ.get("EDGEWRIGHT_STOCK_RUN", str(HERE.parent / ".deps" / "stock-build" / "stock_run")))
    parser.add_argument("--stock-python")
    parser.add_argument("--peer-python")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=1.0)
    parser.add_argument("--json", help="write the raw figures here")
    parser.add_argument("--write", action="store_true", help="write bench/STOCK_FILES.md")
    options = parser.parse_args()
    names = options.names or sorted(p.parent.name for p in options.models.glob("*/program.pt2"))
    rows = []
    for name in names:
        try:
            rows.append(measure(options, name))
        except (RuntimeError, subprocess.CalledProcessError) as error:
            print(f"{name}: {error} {getattr(error, 'stderr', '') or ''}", file=sys.stderr)
    text = markdown(rows, options)
    print(text)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    if options.write:
        (HERE / "STOCK_FILES.md").write_text(text)
    return 0 if len(rows) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
