#!/usr/bin/env python3
"""Does a quantized sentence encoder still rank pairs of sentences as the float model does? Standard library only.

  bench/minilm/similarity.py PROGRAM.pt2 [--edgewright BINARY] [--scheme dynamic-int8 ...]

PROGRAM takes token ids and a mask, i64[2,32] each, and returns two embeddings (../shared/tools/export_models.py writes minilm so).
Each scheme's row: rank correlation (Spearman) of the 50 cosines with those of the float program, and the size of the file over that of
the float file. Status 1 where a correlation is below 0.99 or the dynamic-int8 file is larger than 0.35 of the float one.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LEAST, LARGEST = 0.99, 0.35


def tensors(path):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    kinds = {"I32": "i", "F32": "f"}
    out = {}
    for key, entry in json.loads(content[8:8 + length]).items():
        begin, end = entry["data_offsets"]
        out[key] = struct.unpack(f"<{(end - begin) // 4}{kinds[entry['dtype']]}", content[8 + length + begin:8 + length + end])
    return out


def write_i64(path, rows):
    """rows: two lists, i64[2,32] each, as "0" and "1"."""
    size = 8 * len(rows[0])
    header = json.dumps({str(i): {"dtype": "I64", "shape": [2, len(rows[0]) // 2], "data_offsets": [i * size, (i + 1) * size]} for i in (0, 1)}).encode()
    header += b" " * (-len(header) % 8)
    path.write_bytes(struct.pack("<Q", len(header)) + header + struct.pack(f"<{2 * len(rows[0])}q", *rows[0], *rows[1]))


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def ranks(values):
    """Equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    out, i = [0.0] * len(values), 0
    while i < len(order):
        k = i
        while k + 1 < len(order) and values[order[k + 1]] == values[order[i]]:
            k += 1
        for at in order[i:k + 1]:
            out[at] = (i + k) / 2
        i = k + 1
    return out


def spearman(a, b):
    a, b = ranks(a), ranks(b)
    mean = (len(a) - 1) / 2
    return sum((x - mean) * (y - mean) for x, y in zip(a, b)) / math.sqrt(sum((x - mean) ** 2 for x in a) * sum((y - mean) ** 2 for y in b))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("program", type=pathlib.Path)
    p.add_argument("--edgewright", default=str(HERE.parents[1] / "build" / "edgewright"))
    p.add_argument("--scheme", nargs="+", default=["dynamic-int8"])
    a = p.parse_args()
    pairs = tensors(HERE / "pairs.safetensors")
    count = len(pairs["ids"]) // 64
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for i in range(count):
            write_i64(folder / f"in_{i}.safetensors", [pairs["ids"][64 * i:64 * i + 64], pairs["mask"][64 * i:64 * i + 64]])

        def cosines(*options):
            file = folder / "model.pte"
            subprocess.run([a.edgewright, "compile", a.program, "-o", file, *options], check=True, stdout=subprocess.DEVNULL)
            calls = [part for i in range(count) for part in ("--inputs", folder / f"in_{i}.safetensors")]
            outputs = [part for i in range(count) for part in ("-o", folder / f"out_{i}.safetensors")]
            subprocess.run([a.edgewright, "run", file, *calls, *outputs], check=True, stdout=subprocess.DEVNULL)
            values = []
            for i in range(count):
                both = tensors(folder / f"out_{i}.safetensors")["0"]
                values.append(cosine(both[:len(both) // 2], both[len(both) // 2:]))
            return values, file.stat().st_size

        plain, plain_size = cosines()
        print(f"float: {count} pairs, cosines {min(plain):.3f} to {max(plain):.3f}, {plain_size / 1e6:.1f} MB")
        right = True
        for scheme in a.scheme:
            calibrate = ["--calibrate", *(folder / f"in_{i}.safetensors" for i in range(0, count, 5))] if scheme == "static-int8" else []
            values, size = cosines("--quantize", scheme, *calibrate)
            rho = spearman(plain, values)
            print(f"{scheme}: Spearman {rho:.4f}, largest difference of a cosine {max(abs(x - y) for x, y in zip(plain, values)):.4f}, "
                  f"{size / 1e6:.1f} MB, {size / plain_size:.3f} of the float file")
            right &= rho >= LEAST and (scheme != "dynamic-int8" or size <= LARGEST * plain_size)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
