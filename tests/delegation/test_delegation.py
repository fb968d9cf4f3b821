#!/usr/bin/env python3
"""The linear family: right numbers, and every product inside the delegate, as exported and decomposed, also with constants folded
before anything else. Standard library only; programs/ was made by make_programs.py, and ../shared/corpus/linear is run too where it
is there.

  tests/delegation/test_delegation.py EDGEWRIGHT

The last line counts. Exit status: 0 all right; 1 something is not.
"""
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = HERE.parents[1].parent / "shared" / "corpus" / "linear"
EDGEWRIGHT = sys.argv[1]
ORDERS = [[], ["--first", "fold-constants"]]
CONNECTED, PRODUCTS = "xnn.fully_connected", ("aten.mm", "aten.bmm", "xnn.batch_matmul")
WHOLE = ("aten.linear", "aten.addmm", "aten.baddbmm", "aten.matmul", "aten.einsum")  # no form of XNNPACK's
SECONDS = 120  # against hangs only


def run(*arguments):
    return subprocess.run([EDGEWRIGHT, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)


def faults_of(program, inputs, outputs, tolerance, demands, order):
    """What is wrong with it, in words."""
    checked = run("check", program, "--inputs", inputs, "--expect", outputs, *tolerance, *order)
    if checked.returncode:
        return [f"status {checked.returncode}: {checked.stderr.strip()[-300:]}"]
    explained = run("explain", program, "--json", *order)
    if explained.returncode:
        return [f"explain: status {explained.returncode}"]
    told = json.loads(explained.stdout)
    wrong = [f"{n['node']}: a rewrite failed its check: {n['reason']}" for n in told["refused"] if n["fault"]]
    nodes = told["nodes"]
    for n in nodes:
        if n["dtype"] == "f32" and n["op"] in (CONNECTED, *PRODUCTS, *WHOLE) and n["delegate"] is None:
            wrong.append(f"{n['op']} stays outside: {n['reason']}")
    counts = {"fc": sum(n["op"] == CONNECTED for n in nodes), "matmul": sum(n["op"] in PRODUCTS and n["dtype"] == "f32" for n in nodes),
              "outside": sum(n["delegate"] is None for n in nodes)}
    wrong += [f"{what}: {counts[what]}, not {number}" for what, number in demands.items() if counts[what] != number]
    return wrong


def cases():
    """(name, program, inputs, outputs, tolerance, demands)"""
    for name, told in json.loads((HERE / "programs" / "cases.json").read_text())["cases"].items():
        demands = {k: told[k] for k in ("fc", "matmul", "outside")}
        for form in ("", "_core"):
            at = HERE / "programs"
            if form:
                demands = demands | told["core"]
            yield name + form, at / f"{name}{form}.pt2", at / f"{name}_in.safetensors", at / f"{name}_out.safetensors", [], demands
    demands = json.loads((HERE / "corpus.json").read_text())
    for case in sorted(CORPUS.iterdir()) if CORPUS.is_dir() else []:
        meta = json.loads((case / "meta.json").read_text())
        tolerance = ["--atol", meta["atol"], "--rtol", meta["rtol"]]
        for form in ("program.pt2", "program_core.pt2"):
            yield f"linear/{case.name}/{form}", case / form, case / meta["sets"][0]["inputs"], case / meta["sets"][0]["outputs"], tolerance, demands[case.name]


def main():
    passed = failed = 0
    for name, program, inputs, outputs, tolerance, demands in cases():
        for order in ORDERS:
            wrong = faults_of(program, inputs, outputs, tolerance, demands, order)
            passed, failed = passed + (not wrong), failed + bool(wrong)
            for line in wrong:
                print(f"{name} {' '.join(order)}: {line}")
    print(f"{passed} passed, {failed} failed{'' if CORPUS.is_dir() else '; the shared corpus is not there'}")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
