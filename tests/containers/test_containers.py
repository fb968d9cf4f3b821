#!/usr/bin/env python3
"""Runs the program on what other torch versions wrote (data/<version>/, made by make_data.py) and on the same files in other wrappings.

    test_containers.py EDGEWRIGHT [DATA]

Each file is inspected, checked against PyTorch's outputs with the inputs beside it and with its own sample inputs, and run. Standard
library only.
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
results = {"passed": 0, "failed": 0}


def edgewright(*args):
    done = subprocess.run([sys.argv[1], *map(str, args)], capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def expect(name, status, said, wanted=0):
    if status == wanted:
        results["passed"] += 1
    else:
        results["failed"] += 1
        print(f"{name}: status {status}, expected {wanted}\n{said[-2000:]}")


def header(path):
    data = path.read_bytes()
    return json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])


def rewrap(source, target, method, zip64=False):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            with new.open(info, "w", force_zip64=zip64) as f: f.write(old.read(name))


def try_one(name, program, case, scratch):
    inputs, outputs = case.with_suffix(".in.safetensors"), case.with_suffix(".out.safetensors")
    expect(f"{name}: inspect", *edgewright("inspect", program))
    expect(f"{name}: check", *edgewright("check", program, "--inputs", inputs, "--expect", outputs))
    expect(f"{name}: check with the samples inside", *edgewright("check", program, "--expect", outputs))
    ours = scratch / "ours.safetensors"
    status, said = edgewright("run", program, "--inputs", inputs, "-o", ours)
    expect(f"{name}: run", status, said)
    if status == 0:
        got, wanted = ({k: (v["dtype"], v["shape"]) for k, v in header(p).items() if k != "__metadata__"} for p in (ours, outputs))
        expect(f"{name}: outputs of run", 0 if got == wanted else 1, f"{got}\n{wanted}")


def main():
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else HERE / "data"
    cases = sorted(data.glob("*/*.pt2"))
    assert cases, f"nothing in {data}"
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        for case in cases:
            name = f"{case.parent.name}/{case.stem}"
            try_one(name, case, case, scratch)
            for how, method, zip64 in (("deflated", zipfile.ZIP_DEFLATED, False), ("zip64", zipfile.ZIP_STORED, True)):
                rewrap(case, scratch / "again.pt2", method, zip64)
                try_one(f"{name} {how}", scratch / "again.pt2", case, scratch)
    print(f"{results['passed']} passed, {results['failed']} failed, 0 skipped")
    return 1 if results["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
