#!/usr/bin/env python3
"""Runs the corpora (../shared/corpus) through edgewright and holds the outcome to expected.tsv. Standard library only.

  tests/corpora/run.py [BUILD/edgewright] [--only PATTERN]... [--forms aten,core,stock_file] [--jobs N] [--update] [--list]

Forms of a case:
  aten, core      `edgewright check` of program.pt2 and program_core.pt2 against PyTorch's outputs
  stock_file      `edgewright run` of stock.pte, the stock exporter's file, against PyTorch's outputs
  stock_runtime   `edgewright compile` of program.pt2, then the file in the stock runtime (needs --stock-run; not by default)
  stock_both      stock.pte in the stock runtime: what a perfect score would be (needs --stock-run; not by default)

expected.tsv lists what does not pass yet: case, form, exit status, reason. A case that is not listed must pass, a listed
one may pass (it is then named, so that somebody takes it off) or must end as listed. The last line counts: what is right,
what got worse, what is listed. Exit status: 0 as expected; 1 something got worse; 2 usage; 77 the corpora are not there.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
EXPECTED = HERE / "expected.tsv"
FORMS = ["aten", "core", "stock_file", "stock_runtime", "stock_both"]
FILES = {"aten": "program.pt2", "core": "program_core.pt2", "stock_file": "stock.pte", "stock_runtime": "program.pt2", "stock_both": "stock.pte"}
MEANING = {0: "right", 1: "differs", 2: "usage", 3: "malformed", 4: "unsupported", 5: "own fault"}
TIMEOUT_SECONDS = 120

Outcome = collections.namedtuple("Outcome", "case form status reason seconds")


def calls_of(case, meta):
    """One argument list per process: successive sets share one, others get one each."""
    scalars = [arg for key, value in meta["other_inputs"].items() if value is not None
               for arg in ("--input", f"{key}={json.dumps(value) if isinstance(value, bool) else value}")]
    tolerance = ["--atol", repr(meta["atol"]), "--rtol", repr(meta["rtol"])]
    files = [["--inputs", str(case / one["inputs"]), "--expect", str(case / one["outputs"])] for one in meta["sets"]]
    groups = [sum(files, [])] if meta["successive"] else files
    return [group + scalars + tolerance for group in groups]


def reason_of(text, case):
    """The line that says why: the first that names an error, else the last one; without this machine's paths."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() if line.strip()]
    line = next((line for line in lines if re.search(r"\berror\b|unsupported|out of tolerance", line)), lines[-1] if lines else "")
    line = re.sub(r"\S*/(program_core\.pt2|program\.pt2|stock\.pte|ours\.pte)", r"\1", line.replace(str(case) + "/", ""))
    line = re.sub(r" \[[^\[\]]*, .*$", "", line)  # the model's own source line
    return line.replace("\t", " ")[:300]


def execute(command):
    """(status, output); a signal is status 128 + its number, a timeout 124."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_SECONDS, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        return 124, f"no end after {TIMEOUT_SECONDS} s"
    if done.returncode < 0:
        return 128 - done.returncode, f"killed by {signal.Signals(-done.returncode).name}"
    return done.returncode, done.stderr + done.stdout


def run_form(options, name, case, form):
    start = time.monotonic()
    file, meta = str(case / FILES[form]), json.loads((case / "meta.json").read_text())
    status, text = 0, ""
    with tempfile.TemporaryDirectory() as scratch:
        if form in ("aten", "core"):
            command = [options.edgewright, "check", file]
        elif form == "stock_file":
            command = [options.edgewright, "run", file]
        elif form == "stock_both":
            command = [options.stock_run, file]
        else:
            ours = os.path.join(scratch, "ours.pte")
            status, text = execute([options.edgewright, "compile", file, "-o", ours, "--target", "stock"])
            command = [options.stock_run, ours]
        for arguments in calls_of(case, meta) if status == 0 else []:
            status, text = execute(command + arguments)
            if status:
                break
    return Outcome(name, form, status, reason_of(text, case) if status else "", time.monotonic() - start)


def read_expected():
    rows = {}
    if EXPECTED.exists():
        for line in EXPECTED.read_text().splitlines()[1:]:
            case, form, status, reason = line.split("\t")
            rows[case, form] = int(status), reason
    return rows


def write_expected(rows):
    lines = ["case\tform\tstatus\treason"] + [f"{c}\t{f}\t{s}\t{r}" for (c, f), (s, r) in sorted(rows.items())]
    EXPECTED.write_text("\n".join(lines) + "\n")


def print_table(outcomes, forms):
    suites = collections.defaultdict(collections.Counter)
    for o in outcomes:
        parts = o.case.split("/")
        suites["/".join(parts[:2]) if parts[0] in ("ops", "formats") else parts[0]][o.form, o.status] += 1
    statuses = sorted({o.status for o in outcomes})
    label = lambda s: MEANING.get(s, "timeout" if s == 124 else f"signal {s - 128}" if s > 128 else f"status {s}")
    width = max(map(len, suites), default=5) + 2
    print(f"{'suite':{width}}{'form':15}" + "".join(f"{label(s):>12}" for s in statuses) + f"{'of':>8}")
    total = collections.Counter()
    for suite, counts in sorted(suites.items()):
        for form in forms:
            row = [counts[form, s] for s in statuses]
            if sum(row):
                print(f"{suite:{width}}{form:15}" + "".join(f"{n or '':>12}" for n in row) + f"{sum(row):>8}")
                total.update({s: n for s, n in zip(statuses, row)})
    print(f"{'all':{width}}{'':15}" + "".join(f"{total[s]:>12}" for s in statuses) + f"{sum(total.values()):>8}")


def print_reasons(outcomes):
    """What the failures have in common: operator names kept, other particulars dropped."""
    kinds = collections.Counter()
    for o in outcomes:
        if o.status:
            ops = re.findall(r"\b(?:aten|quantized_decomposed|torchao|higher_order|dim_order_ops|executorch_prim)[.:]+[\w.]+", o.reason)
            kinds[o.status, ops[0] if ops else re.sub(r"'[^']*'|\"[^\"]*\"|%\w+|\d+", "_", o.reason)[:110]] += 1
    for (status, kind), count in kinds.most_common(40):
        print(f"{count:6}  {MEANING.get(status, status)}: {kind}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("edgewright", nargs="?", default=os.environ.get("EDGEWRIGHT"), help="the binary (default: $EDGEWRIGHT)")
    parser.add_argument("--corpus", type=pathlib.Path, default=HERE.parents[1].parent / "shared" / "corpus")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="cases whose name matches, as a glob or as a part of the name")
    parser.add_argument("--forms", default="aten,core,stock_file")
    parser.add_argument("--stock-run", metavar="BINARY", default=os.environ.get("EDGEWRIGHT_STOCK_RUN"), help="tests/stock's stock_run (default: $EDGEWRIGHT_STOCK_RUN)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--update", action="store_true", help="rewrite expected.tsv for what was run")
    parser.add_argument("--list", action="store_true", help="print every case that does not pass")
    parser.add_argument("--reasons", action="store_true", help="print the failures' reasons with counts")
    options = parser.parse_args()
    if not options.edgewright:
        parser.error("which edgewright?")
    forms = options.forms.split(",")
    if unknown := [f for f in forms if f not in FORMS]:
        parser.error(f"unknown form {unknown[0]}")
    if any(f.startswith("stock_r") or f == "stock_both" for f in forms) and not options.stock_run:
        parser.error("these forms need --stock-run")
    if not options.corpus.is_dir():
        print(f"there is no {os.path.relpath(options.corpus)}")
        return 77

    jobs = []
    for meta in sorted(options.corpus.rglob("meta.json")):
        name = meta.parent.relative_to(options.corpus).as_posix()
        if options.only and not any(p in name or fnmatch.fnmatch(name, p) for p in options.only):
            continue
        jobs += [(name, meta.parent, form) for form in forms if (meta.parent / FILES[form]).exists()]

    start, outcomes = time.monotonic(), []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda job: run_form(options, *job), jobs):
            outcomes.append(outcome)
            if sys.stderr.isatty() and len(outcomes) % 20 == 0:
                print(f"\r{len(outcomes)}/{len(jobs)}", end="\r", file=sys.stderr)

    expected = read_expected()
    worse, better = [], []
    for o in outcomes:
        was, _ = expected.get((o.case, o.form), (0, ""))
        if o.status and o.status != was:
            worse.append((o, was))
        elif not o.status and was:
            better.append(o)
    if options.list:
        for o in outcomes:
            if o.status:
                print(f"{o.case}\t{o.form}\t{o.status}\t{o.reason}")
    if options.reasons:
        print_reasons(outcomes)
    print_table(outcomes, forms)
    if options.update:
        for o in outcomes:
            expected.pop((o.case, o.form), None)
            if o.status:
                expected[o.case, o.form] = o.status, o.reason
        write_expected(expected)
        print(f"{EXPECTED.name} now lists {len(expected)}")
        return 0
    for o in better[:20]:
        print(f"now passes, take it off expected.tsv: {o.case} {o.form}")
    if len(better) > 20:
        print(f"... and {len(better) - 20} more now pass")
    for o, was in worse:
        print(f"worse: {o.case} {o.form}: status {o.status}, expected {was}: {o.reason}")
    right = sum(o.status == 0 for o in outcomes)
    print(f"in {time.monotonic() - start:.0f} s; skipped are those that expected.tsv lists with their reasons")
    print(f"{right} passed, {len(worse)} failed, {len(outcomes) - right - len(worse)} skipped")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
