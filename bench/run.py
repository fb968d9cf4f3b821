#!/usr/bin/env python3
"""Measures edgewright beside the stock exporter and runtime on whole models, and writes RESULTS.md. Standard library only.

  bench/run.py [NAME ...] --models DIR [--edgewright BINARY] [--stock-python PYTHON] [--stock-run BINARY]
               [--threads 1,2] [--rounds 7] [--window 1.0] [--lower] [--parts compile,run] [--json F] [--write]

DIR/NAME/ holds program.pt2 and inputs.safetensors, as ../shared/tools/export_models.py writes them; NAME/stock.pte is the
stock lowering, made here (once) where it is missing; NAME/stock.json, where it is there, tells what it took. What is measured:
  compile   wall and processor time (median of COMPILES, interleaved with the stock lowering where --lower) and peak memory over
            weights; processor time (of all threads) says more than wall time on a busy machine
  run       ours on our file, ours on the stock file, the stock runtime on the stock file; each round gives each of them one
            window, in turn, so that a drift of the machine hits all alike; ratios are taken round by round
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
COMPILES = 5


def measured(command):
    """Wall seconds, peak resident MB and processor seconds of one process; raises with its message where it fails."""
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            raise RuntimeError(f"{' '.join(command)}: status {process.returncode}: {log.read()[-500:]}")
    return time.monotonic() - start, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def last_json(command):
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return json.loads([line for line in out.splitlines() if line.startswith("{")][-1]) if "\n{" in "\n" + out else json.loads(out)


def weight_mb(pt2):
    """The weights and constants in the archive, each stored once."""
    with zipfile.ZipFile(pt2) as archive:
        return sum(i.file_size for i in archive.infolist() if "/data/weights/" in i.filename or "/data/constants/" in i.filename) / 2**20


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def measure(options, name, scratch):
    folder = options.models / name
    pt2, stock_pte, ours_pte = folder / "program.pt2", folder / "stock.pte", os.path.join(scratch, name + ".pte")
    row = {"model": name, "weights_mb": weight_mb(pt2)}
    lower = lambda out: last_json([options.stock_python, str(HERE / "stock_lower.py"), str(pt2), str(out)])
    compiles, lowered = [], []
    for i in range(COMPILES):
        compiles.append(measured([options.edgewright, "compile", str(pt2), "-o", ours_pte]))
        if options.stock_python and (options.lower and i == 0 or not stock_pte.exists()):
            lowered.append(lower(stock_pte if not stock_pte.exists() else os.path.join(scratch, "again.pte")))
    row["compile_s"] = spread([c[0] for c in compiles])
    row["compile_cpu_s"] = spread([c[2] for c in compiles])
    row["compile_peak_mb"] = max(c[1] for c in compiles)
    row["stock_noted"] = not lowered
    recorded = folder / "stock.json"  # what the lowering took when stock.pte was made
    if not lowered and recorded.exists():
        lowered.append(json.loads(recorded.read_text()))
    if lowered:
        row["stock_lower_s"] = lowered[0]["seconds"]
        row["stock_lower_cpu_s"] = lowered[0].get("cpu_seconds")
        row["stock_lower_peak_mb"] = lowered[0]["peak_rss_mb"]
    inputs = ["--inputs", str(folder / "inputs.safetensors")]
    for threads in options.threads if "run" in options.parts else []:
        window = lambda: ["--threads", str(threads)] + inputs
        runs = {"ours": [options.edgewright, "bench", ours_pte, "--seconds", str(options.window), "--json", *window()]}
        if options.stock_run and stock_pte.exists():
            runs["ours_on_stock_file"] = [options.edgewright, "bench", str(stock_pte), "--seconds", str(options.window), "--json", *window()]
            runs["stock"] = [options.stock_run, str(stock_pte), "--bench", str(options.window), *window()]
        rounds = []
        for _ in range(options.rounds):
            one = {}
            for engine, command in list(runs.items()):
                try:
                    one[engine] = last_json(command)
                except subprocess.CalledProcessError as error:
                    print(f"{name}: {engine} fails: {(error.stderr or '').strip()[-200:]}", file=sys.stderr)
                    del runs[engine]
            rounds.append(one)
        result = {engine: spread([r[engine]["median_ms"] for r in rounds]) for engine in runs}
        for engine in runs:
            result[engine]["load_ms"] = statistics.median(r[engine]["load_ms"] for r in rounds)
            result[engine]["peak_rss_mb"] = max(r[engine]["peak_rss_mb"] for r in rounds)
        for engine in ("ours", "ours_on_stock_file"):
            if engine in runs and "stock" in runs:
                result[engine + "_over_stock"] = spread([r[engine]["median_ms"] / r["stock"]["median_ms"] for r in rounds])
        row[f"run_{threads}"] = result
    return row


def cpu():
    return platform.machine()


def markdown(rows, options):
    of = lambda s, digits=2: f"{s['median']:.{digits}f} ({s['min']:.{digits}f}–{s['max']:.{digits}f})"
    lines = [
        "# Measured", "",
        f"Written by `bench/run.py` on {cpu()}, {os.cpu_count()} cores. Other machines differ in the times; the ratios carry over better.",
        "Medians, with the least and the greatest of the rounds in parentheses.", "",
        "## Compile", "",
        "`edgewright compile` with its default checks, reading and writing (to memory where the system has /dev/shm) included,",
        "beside the stock exporter's lowering alone.",
        "Stock times marked ° were noted when its file was made, on the same machine but not in the same hour.", "",
        "| model | weights MB | compile s | its processor s | stock lowering s | its processor s | times faster | in processor time | peak MB | peak / weights | stock peak MB |",
        "|---|---|---|---|---|---|---|---|---|---|---|"]
    for r in rows:
        stock, ours = r.get("stock_lower_s"), r["compile_s"]["median"]
        cpu_s, stock_cpu = r["compile_cpu_s"]["median"], r.get("stock_lower_cpu_s")
        lines.append(f"| {r['model']} | {r['weights_mb']:.1f} | {of(r['compile_s'], 3)} | {cpu_s:.2f} | {f'{stock:.1f}' if stock else ''}{'°' if stock and r['stock_noted'] else ''} "
                     f"| {f'{stock_cpu:.1f}' if stock_cpu else ''} | {f'{stock / ours:.0f}' if stock else ''} | {f'{stock_cpu / cpu_s:.0f}' if stock_cpu else ''} "
                     f"| {r['compile_peak_mb']:.0f} | {r['compile_peak_mb'] / r['weights_mb']:.2f} | {r.get('stock_lower_peak_mb', '')} |")
    for threads in options.threads if "run" in options.parts else []:
        lines += ["", f"## Run, {threads} thread{'s' if threads > 1 else ''}", "",
                  "| model | ours ms | stock ms | ours / stock | our runtime on the stock file / stock | load ms, ours | load ms, stock | peak MB, ours | peak MB, stock |",
                  "|---|---|---|---|---|---|---|---|---|"]
        for r in rows:
            t = r[f"run_{threads}"]
            cell = lambda key, digits=2: of(t[key], digits) if key in t else ""
            part = lambda engine, key: f"{t[engine][key]:.0f}" if engine in t else ""
            lines.append(f"| {r['model']} | {cell('ours')} | {cell('stock')} | {cell('ours_over_stock', 3)} | {cell('ours_on_stock_file_over_stock', 3)} "
                         f"| {part('ours', 'load_ms')} | {part('stock', 'load_ms')} | {part('ours', 'peak_rss_mb')} | {part('stock', 'peak_rss_mb')} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edgewright", default=os.environ.get("EDGEWRIGHT"), help="the binary (default: $EDGEWRIGHT; `./dev bench` sets it)")
    parser.add_argument("names", nargs="*", help="by default every model of the folder")
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("--stock-python", help="a Python with torch and executorch, for the stock lowering")
    parser.add_argument("--stock-run", default=os.environ.get("EDGEWRIGHT_STOCK_RUN"), help="tests/stock's stock_run (default: $EDGEWRIGHT_STOCK_RUN; `./dev bench` sets it)")
    parser.add_argument("--threads", type=lambda s: [int(n) for n in s.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--window", type=float, default=1.0)
    parser.add_argument("--lower", action="store_true", help="time the stock lowering too (10 s to a minute a model)")
    parser.add_argument("--parts", type=lambda s: s.split(","), default=["compile", "run"], help="compile alone leaves the rest of the page as it is")
    parser.add_argument("--json", help="write the raw figures here")
    parser.add_argument("--write", action="store_true", help=f"write {HERE.name}/RESULTS.md")
    options = parser.parse_args()
    if not options.edgewright:
        parser.error("which edgewright?")
    names = options.names or sorted(p.parent.name for p in options.models.glob("*/program.pt2"))
    rows = []
    memory = "/dev/shm"  # a busy disk would be measured otherwise
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as scratch:
        for name in names:
            try:
                rows.append(measure(options, name, scratch))
            except RuntimeError as error:
                print(f"{name}: {error}", file=sys.stderr)
    text = markdown(rows, options)
    print(text)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")
    if options.write:
        page = HERE / "RESULTS.md"
        if "run" not in options.parts and page.exists():
            head, rest = text.rstrip("\n"), page.read_text()
            text = head + "\n\n" + rest[rest.index("## Run"):] if "## Run" in rest else text
        page.write_text(text)
    return 0 if len(rows) == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
