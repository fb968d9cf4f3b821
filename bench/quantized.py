#!/usr/bin/env python3
"""Quantized models: edgewright's --quantize beside the stock tools' own, in accuracy, size and speed. Standard library only.

  bench/quantized.py NAME:SCHEME ... --models DIR [--peers DIR] [--stock-python PYTHON] [--stock-run BINARY] [--edgewright BINARY]
                     [--threads 1,2] [--rounds 5] [--window 0.5] [--write]

DIR/NAME/ holds program.pt2, inputs.safetensors and outputs.safetensors (PyTorch's, float). The peer is what bench/quantized_peer.py makes
of the same program (with --stock-python; kept in --peers). Columns:
  SQNR        against PyTorch's float outputs: our file in our runtime, the same file in the stock runtime, the peer in the stock runtime
  peer .pt2   the peer's exported program compiled by us: its outputs in our and in the stock runtime against its own in eager mode
  ms          medians over rounds; each round gives each of them one window, in turn
--write puts the tables into RESULTS_QUANTIZED.md beside this script.
"""
import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PEER_SCHEME = {"dynamic-int8-int4g32": "8da4w"}


def floats(path):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    entry = json.loads(content[8:8 + length])["0"]
    begin, end = entry["data_offsets"]
    return struct.unpack(f"<{(end - begin) // 4}f", content[8 + length + begin:8 + length + end]) if entry["dtype"] == "F32" else ()


def sqnr(path, reference):
    if not path.exists():
        return None
    a, b = floats(path), floats(reference)
    if len(a) != len(b) or not b:
        return None
    noise = sum((x - y) ** 2 for x, y in zip(a, b))
    return math.inf if noise == 0 else 10 * math.log10(sum(y * y for y in b) / noise)


def shown(value, digits=1):
    return "-" if value is None else f"{value:.{digits}f}"


class Bench:
    def __init__(self, options, folder):
        self.o, self.folder = options, folder

    def call(self, *command):
        return subprocess.run([str(c) for c in command], capture_output=True, text=True)

    def outputs(self, runner, file, inputs, name):
        out = self.folder / f"{name}.safetensors"
        command = (self.o.edgewright, "run") if runner == "own" else (self.o.stock_run,)
        if not file.exists() or (runner == "stock" and not self.o.stock_run):
            return out
        done = self.call(*command, file, "--inputs", inputs, "-o", out)
        if done.returncode:
            print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            out.unlink(missing_ok=True)
        return out

    def milliseconds(self, runner, file, inputs, threads):
        if not file.exists() or (runner == "stock" and not self.o.stock_run):
            return None
        if runner == "own":
            done = self.call(self.o.edgewright, "bench", file, "--inputs", inputs, "--threads", threads, "--seconds", self.o.window, "--json")
            return json.loads(done.stdout)["median_ms"] if done.returncode == 0 else None
        done = self.call(self.o.stock_run, file, "--inputs", inputs, "--threads", threads, "--bench", self.o.window)
        return json.loads(done.stdout.strip().splitlines()[-1])["median_ms"] if done.returncode == 0 else None

    def model(self, name, scheme):
        home = self.o.models / name
        inputs, expected = home / "inputs.safetensors", home / "outputs.safetensors"
        plain, ours, theirs = (self.folder / f"{name}.{part}.pte" for part in ("float", "ours", "theirs"))
        self.call(self.o.edgewright, "compile", home / "program.pt2", "-o", plain)
        done = self.call(self.o.edgewright, "compile", home / "program.pt2", "-o", ours, "--quantize", scheme, "--calibrate", inputs, "--json")
        if done.returncode:
            print(f"{name} {scheme}: {done.stderr.strip()}", file=sys.stderr)
            return None
        report = json.loads(done.stdout)
        peer = self.o.peers / f"{name}.{scheme}"
        peer_pte, peer_pt2, peer_outputs = (pathlib.Path(str(peer) + end) for end in (".pte", ".pt2", ".outputs.safetensors"))
        if self.o.stock_python and not peer_pte.exists():
            made = self.call(self.o.stock_python, HERE / "quantized_peer.py", home / "program.pt2", inputs, PEER_SCHEME.get(scheme, scheme), peer)
            if made.returncode:
                print(f"{name} {scheme}, peer: {made.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        if peer_pt2.exists():
            self.call(self.o.edgewright, "compile", peer_pt2, "-o", theirs)
        of = lambda runner, file, tag: self.outputs(runner, file, inputs, f"{name}.{tag}")  # noqa: E731
        row = {"model": name, "scheme": scheme, "nodes": f"{report['delegated_nodes']} of {len(report['nodes'])} in {report['delegates']}",
               "mb": [f.stat().st_size / 1e6 if f.exists() else None for f in (plain, ours, peer_pte)],
               "sqnr": [sqnr(of("own", ours, "a"), expected), sqnr(of("stock", ours, "b"), expected), sqnr(of("stock", peer_pte, "c"), expected)],
               "peer": [sqnr(of(r, theirs, "d" + r), peer_outputs) if peer_outputs.exists() else None for r in ("own", "stock")], "ms": {}}
        for threads in self.o.threads:
            kinds = [("own", plain), ("own", ours), ("stock", ours), ("stock", peer_pte)]
            times = [[] for _ in kinds]
            for _ in range(self.o.rounds):
                for at, (runner, file) in zip(times, kinds):
                    at.append(self.milliseconds(runner, file, inputs, threads))
            row["ms"][threads] = [statistics.median(t) if t and None not in t else None for t in times]
        return row


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="+", metavar="NAME:SCHEME")
    p.add_argument("--models", type=pathlib.Path, required=True)
    p.add_argument("--peers", type=pathlib.Path)
    p.add_argument("--stock-python")
    p.add_argument("--stock-run", default=os.environ.get("EDGEWRIGHT_STOCK_RUN"))
    p.add_argument("--edgewright", default=str(HERE.parent / "build" / "edgewright"))
    p.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--window", type=float, default=0.5)
    p.add_argument("--write", action="store_true")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        o.peers = o.peers or pathlib.Path(folder)
        bench = Bench(o, pathlib.Path(folder))
        rows = [row for name in o.names if (row := bench.model(*name.split(":")))]
    lines = ["# Quantized models, measured", "",
             f"Written by `bench/quantized.py` on {platform.machine()} with {os.cpu_count()} cores. The peer is the stock tools' own quantized model.", "",
             "| model | scheme | delegated | MB float | MB ours | MB peer | SQNR ours dB | ours on stock dB | peer dB | peer's .pt2 by us, dB to eager | on stock |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        cells = [r["model"], r["scheme"], r["nodes"], *(shown(v) for v in r["mb"]), *(shown(v) for v in r["sqnr"]), *(shown(v) for v in r["peer"])]
        lines.append("| " + " | ".join(cells) + " |")
    for threads in o.threads if o.rounds else []:
        lines += ["", f"## Run, {threads} thread{'s' if threads > 1 else ''}", "",
                  "| model | scheme | float, ours ms | quantized, ours ms | our file on stock ms | peer on stock ms | ours / peer |", "|---|---|---|---|---|---|---|"]
        for r in rows:
            ms = r["ms"][threads]
            ratio = ms[1] / ms[3] if ms[1] and ms[3] else None
            lines.append("| " + " | ".join([r["model"], r["scheme"], *(shown(v, 2) for v in ms), shown(ratio, 3)]) + " |")
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if o.write:
        (HERE / "RESULTS_QUANTIZED.md").write_text(text)
    return 0 if len(rows) == len(o.names) else 1


if __name__ == "__main__":
    sys.exit(main())
