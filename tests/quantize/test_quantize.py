#!/usr/bin/env python3
"""Quantizing from the command line: every scheme on a small net and on the demo's network, what is said about it, and what is refused.
Standard library only; data/ was made by make_data.py.

  tests/quantize/test_quantize.py EDGEWRIGHT

The last line counts.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = HERE.parents[1] / "examples" / "digits"
EDGEWRIGHT = sys.argv[1]
SCHEMES = ("dynamic-int8", "dynamic-int8-int4g32", "static-int8", "weight-int8")


def data(name):
    return str(HERE / "data" / name)


def edgewright(*arguments, status=0):
    done = subprocess.run([EDGEWRIGHT, *map(str, arguments)], capture_output=True, text=True, timeout=600, stdin=subprocess.DEVNULL)
    assert done.returncode == status, f"status {done.returncode}, not {status}: {arguments}\n{done.stdout}{done.stderr}"
    return done


def floats(path, key="0"):
    content = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    entry = json.loads(content[8:8 + length])[key]
    begin, end = entry["data_offsets"]
    kind = {"F32": "f", "I64": "q"}[entry["dtype"]]
    return struct.unpack(f"<{(end - begin) // struct.calcsize(kind)}{kind}", content[8 + length + begin:8 + length + end])


def sqnr(values, reference):
    noise = sum((a - b) ** 2 for a, b in zip(values, reference, strict=True))
    return math.inf if noise == 0 else 10 * math.log10(sum(b * b for b in reference) / noise)


def compiled(scheme, scratch, *more, model=None, calibrate=None):
    out = scratch / f"{scheme}.pte"
    report = json.loads(edgewright("compile", model or data("mixed.pt2"), "-o", out, "--quantize", scheme,
                                   "--calibrate", calibrate or data("mixed_in.safetensors"), *more, "--json").stdout)
    assert report["faults"] == 0
    return out, report["quantized"][0]


def layers(report):
    return {layer["op"] + "/" + layer["module"]: layer for layer in report["layers"]}


def ran(path, inputs, scratch):
    edgewright("run", path, "--inputs", inputs, "-o", scratch / "out.safetensors")
    return floats(scratch / "out.safetensors")


def test_each_scheme_runs_and_its_error_is_what_the_report_says(scratch):
    expected = floats(data("mixed_out.safetensors"))
    for scheme in SCHEMES:
        out, report = compiled(scheme, scratch)
        measured = sqnr(ran(out, data("mixed_in.safetensors"), scratch), expected)
        said = report["outputs"][0]["sqnr_db"]
        # XNNPACK may round a step the other way.
        assert measured > (15 if "int4" in scheme else 25), (scheme, measured)
        assert abs(measured - said) < 6, (scheme, measured, said)
        assert report["weight_bytes_after"] < 0.4 * report["weight_bytes_before"], (scheme, report)
        assert all(layer["quantized"] for layer in report["layers"] if layer["op"] != "aten.add.Tensor"), (scheme, report["layers"])


def test_four_bits_are_half_of_eight(scratch):
    eight, four = (layers(compiled(s, scratch)[1])["aten.linear/wide"] for s in ("dynamic-int8", "dynamic-int8-int4g32"))
    assert eight["weight_bytes_after"] == 96 * 64 + 96 * 4
    assert four["weight_bytes_after"] == 96 * 64 // 2 + 96 * 2 * 4
    assert "i4" in four["form"] and "i4" not in eight["form"]


def test_kept_layers_stay_float(scratch):
    _, report = compiled("dynamic-int8", scratch, "--keep", "wide", "--keep", "tab*")
    kept = {name for name, layer in layers(report).items() if not layer["quantized"]}
    assert kept == {"aten.linear/wide", "aten.embedding/table"}, kept
    for name in kept:
        assert layers(report)[name]["weight_bytes_after"] == layers(report)[name]["weight_bytes_before"]
        assert "--keep" in layers(report)[name]["kept"]


def test_a_bound_on_the_ratio_keeps_the_layers_that_miss_it(scratch):
    _, free = compiled("dynamic-int8", scratch)
    worst = min(free["layers"], key=lambda layer: layer["sqnr_db"])
    _, bound = compiled("dynamic-int8", scratch, "--min-sqnr", worst["sqnr_db"] + 0.01)
    kept = [layer["node"] for layer in bound["layers"] if not layer["quantized"]]
    assert kept == [worst["node"]], (kept, worst)
    _, none = compiled("static-int8", scratch, "--min-sqnr", 1000)
    assert not any(layer["quantized"] for layer in none["layers"]), none
    assert none["outputs"][0]["max_abs"] < 1e-5


def test_digits_lose_at_most_half_a_point(scratch):
    labels = floats(DIGITS / "heldout_labels.safetensors")

    def right(path):
        logits = floats(path)
        rows = (logits[i:i + 10] for i in range(0, len(logits), 10))
        return sum(max(range(10), key=row.__getitem__) == label for row, label in zip(rows, labels, strict=True))

    plain = right(DIGITS / "pytorch_outputs.safetensors")
    for scheme in SCHEMES:
        out, _ = compiled(scheme, scratch, model=DIGITS / "digits.pt2", calibrate=data("digits_calibration.safetensors"))
        edgewright("run", out, "--inputs", DIGITS / "heldout_inputs.safetensors", "-o", scratch / "digits.safetensors")
        assert right(scratch / "digits.safetensors") >= plain - 0.005 * len(labels), scheme


def test_the_static_digits_are_one_delegate_on_the_integers(scratch):
    report = json.loads(edgewright("compile", DIGITS / "digits.pt2", "-o", scratch / "d.pte", "--quantize", "static-int8", "--calibrate",
                                   data("digits_calibration.safetensors"), "--target", "stock", "--json").stdout)
    assert report["delegates"] == 1 and report["delegated_nodes"] == len(report["nodes"])
    assert sum(node["op"].startswith("xnn.q_") for node in report["nodes"]) >= 4, [node["op"] for node in report["nodes"]]


def test_constant_activations_have_a_scale(scratch):
    out, report = compiled("static-int8", scratch, calibrate=data("mixed_zero.safetensors"))
    assert all(math.isfinite(v) for v in ran(out, data("mixed_zero.safetensors"), scratch))


def test_calibration_that_is_no_number_is_refused_by_node(scratch):
    done = edgewright("compile", data("mixed.pt2"), "-o", scratch / "x.pte", "--quantize", "static-int8", "--calibrate",
                      data("mixed_in.safetensors"), data("mixed_nan.safetensors"), status=2)
    assert "mul" in done.stderr and "nan" in done.stderr.lower(), done.stderr
    assert not (scratch / "x.pte").exists()


def test_wrong_usage_is_status_2(scratch):
    base = ("compile", data("mixed.pt2"), "-o", scratch / "x.pte")
    for more, said in (
        (("--quantize", "int3"), "int3"),
        (("--quantize", "static-int8"), "--calibrate"),
        (("--keep", "wide"), "--quantize"),
        (("--min-sqnr", "10"), "--quantize"),
        (("--calibrate", data("mixed_in.safetensors")), "--quantize"),
        (("--quantize", "dynamic-int8", "--keep", "nowhere"), "nowhere"),
        (("--quantize", "dynamic-int8", "--calibrate", data("mixed_short.safetensors")), "mixed_short"),
        (("--quantize", "static-int8", "--calibrate", data("digits_calibration.safetensors")), "digits_calibration"),
    ):
        done = edgewright(*base, *more, status=2)
        assert said in done.stderr, (more, done.stderr)
    edgewright("compile", data("mixed.pt2"), "-o", scratch / "m.pte")
    edgewright("run", scratch / "m.pte", "--inputs", data("mixed_in.safetensors"), "--quantize", "dynamic-int8", status=2)


def test_run_check_bench_and_explain_take_the_same_options(scratch):
    edgewright("run", data("mixed.pt2"), "--inputs", data("mixed_in.safetensors"), "--quantize", "weight-int8", "-o", scratch / "r.safetensors")
    assert 25 < sqnr(floats(scratch / "r.safetensors"), floats(data("mixed_out.safetensors"))) < 100
    assert json.loads(edgewright("explain", data("mixed.pt2"), "--quantize", "dynamic-int8", "--json").stdout)["quantized"]
    edgewright("bench", data("mixed.pt2"), "--quantize", "dynamic-int8", "--seconds", 0)
    # The compiled program against the quantized one, not the float one: a step apart at most.
    report = json.loads(edgewright("check", data("mixed.pt2"), "--inputs", data("mixed_in.safetensors"), "--quantize", "weight-int8", "--json").stdout)
    assert report["agree"] and report["quantized"]


def test_what_is_quantized_already_is_refused(scratch):
    done = edgewright("compile", data("quantized.pt2"), "-o", scratch / "x.pte", "--quantize", "dynamic-int8", status=4)
    assert "already" in done.stderr, done.stderr


def main():
    passed = failed = 0
    for name, test in sorted(globals().items()):
        if not name.startswith("test_"):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            try:
                test(pathlib.Path(scratch))
                passed += 1
            except Exception as e:  # noqa: BLE001
                failed += 1
                print(f"FAILED {name}: {type(e).__name__} {e}")
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
