#!/usr/bin/env python3
"""The command line as a user has it: each command, each exit status, what is printed and what is written.
Standard library only; data/ was made by make_data.py.

  tests/cli/test_cli.py EDGEWRIGHT [RUN_PT2]

The last line counts.
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent / "data"
EDGEWRIGHT = os.path.abspath(sys.argv[1])
RUN_PT2 = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 and sys.argv[2] else None
RIGHT, DIFFERS, USAGE, MALFORMED, UNSUPPORTED = 0, 1, 2, 3, 4
SECONDS = 600  # against hangs only


def data(name):
    return str(DATA / name)


def start(command, **options):
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, stdin=options.pop("stdin", subprocess.DEVNULL), **options)
    done.stdout, done.stderr = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    return done


def edgewright(*arguments, status=RIGHT, **options):
    """Runs a command and holds its exit status and its error output to the rules that all commands share."""
    done = start([EDGEWRIGHT, *map(str, arguments)], **options)
    said = f"edgewright {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}"
    assert done.returncode == status, f"status {done.returncode}, not {status}: {said}"
    errors = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    assert len(errors) == (status != RIGHT), f"errors on stderr: {said}"
    assert "\033" not in done.stdout + done.stderr, f"colour without a terminal: {said}"
    done.error = errors[0] if errors else ""
    return done


def expect_in(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"


def json_of(*arguments, status=RIGHT):
    return json.loads(edgewright(*arguments, "--json", status=status).stdout)


def read_safetensors(path):
    """{key: (dtype, shape, bytes)}"""
    content = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    return {k: (v["dtype"], v["shape"], content[8 + length:][slice(*v["data_offsets"])]) for k, v in header.items()}


def write_safetensors(path, tensors):
    header, blobs, at = {}, [], 0
    for key, (dtype, shape, blob) in tensors.items():
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(blob)]}
        blobs.append(blob)
        at += len(blob)
    text = json.dumps(header).encode()
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def floats(blob):
    return struct.unpack(f"<{len(blob) // 4}f", blob)


def expect_close(path, expected):
    ours, theirs = read_safetensors(path), read_safetensors(expected)
    assert ours.keys() == theirs.keys(), (ours.keys(), theirs.keys())
    for key in theirs:
        assert ours[key][:2] == theirs[key][:2], (ours[key], theirs[key])
        for a, b in zip(floats(ours[key][2]), floats(theirs[key][2])):
            assert abs(a - b) <= 1e-5 + 1e-5 * abs(b), f"output {key}: {a} instead of {b}"


def compiled(folder, name="mlp", *options):
    path = os.path.join(folder, name + ".pte")
    edgewright("compile", data(name + ".pt2"), "-o", path, *options)
    return path


def only(folder, *names):
    assert sorted(os.listdir(folder)) == sorted(names), sorted(os.listdir(folder))


# --- compile ---

def compile_says_what_it_did(folder):
    done = edgewright("compile", data("mlp.pt2"), "-o", folder + "/mlp.pte")
    expect_in(done.stdout, "mlp.pte", "delegated to XNNPACK", "stock ExecuTorch runtime loads", "ms")
    only(folder, "mlp.pte")


def compile_reports_as_json(folder):
    report = json_of("compile", data("mlp.pt2"), "-o", folder + "/mlp.pte")
    assert report["file_bytes"] == os.path.getsize(folder + "/mlp.pte")
    assert report["delegates"] >= 1 and report["stages"] and report["needs_own_runtime"] == []
    assert all(n["delegate"] is not None for n in report["nodes"] if n["op"] == "aten.linear"), report["nodes"]


def compile_for_stock_succeeds_where_stock_suffices(folder):
    compiled(folder, "mlp", "--target", "stock")


def compile_is_repeatable(folder):
    first = pathlib.Path(compiled(folder)).read_bytes()
    assert first == pathlib.Path(compiled(folder)).read_bytes()


def compile_replaces_an_older_file(folder):
    pathlib.Path(folder, "mlp.pte").write_text("old")
    assert pathlib.Path(compiled(folder)).read_bytes() != b"old"
    only(folder, "mlp.pte")


def compile_dumps_the_graph_after_each_pass(folder):
    compiled(folder, "mlp", "--dump", folder + "/graphs")
    dumped = sorted(pathlib.Path(folder, "graphs").glob("*.ir"))
    assert len(dumped) >= 2, dumped
    expect_in(dumped[0].read_text(), "graph", "aten.linear")


def an_unsupported_op_is_named_and_leaves_no_file(folder):
    done = edgewright("compile", data("unsupported.pt2"), "-o", folder + "/out.pte", status=UNSUPPORTED)
    expect_in(done.error, "unsupported.pt2", "linalg_svdvals")
    only(folder)


def a_failing_compile_keeps_the_older_file(folder):
    pathlib.Path(folder, "out.pte").write_text("old")
    edgewright("compile", data("unsupported.pt2"), "-o", folder + "/out.pte", status=UNSUPPORTED)
    assert pathlib.Path(folder, "out.pte").read_text() == "old"
    only(folder, "out.pte")


def a_folder_that_is_not_there_cannot_be_written_to(folder):
    expect_in(edgewright("compile", data("mlp.pt2"), "-o", folder + "/none/out.pte", status=USAGE).error, "none/out.pte")
    edgewright("compile", data("mlp.pt2"), "-o", folder, status=USAGE)
    only(folder)


def an_unknown_pass_is_a_usage_error(folder):
    done = edgewright("compile", data("mlp.pt2"), "-o", folder + "/out.pte", "--disable", "no-such-pass", status=USAGE)
    expect_in(done.error, "no-such-pass")
    only(folder)


def passes_can_be_switched_off(folder):
    compiled(folder, "mlp", "--disable", "fold-constants")


def an_unknown_model_is_a_usage_error(folder):
    edgewright("compile", data("mlp.pt2"), "-o", folder + "/out.pte", "--model", "other", status=USAGE)
    only(folder)


# --- run ---

def run_writes_pytorchs_numbers(folder):
    model = compiled(folder)
    edgewright("run", model, "--inputs", data("mlp_in.safetensors"), "-o", folder + "/out.safetensors")
    expect_close(folder + "/out.safetensors", data("mlp_out.safetensors"))


def run_compiles_a_pt2_in_memory(folder):
    edgewright("run", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "-o", folder + "/out.safetensors")
    expect_close(folder + "/out.safetensors", data("mlp_out.safetensors"))
    only(folder, "out.safetensors")


def run_takes_npy_files_in_order(folder):
    edgewright("run", data("mlp.pt2"), "--inputs", data("mlp_in_0.npy"), data("mlp_in_1.npy"), "-o", folder + "/out.safetensors")
    expect_close(folder + "/out.safetensors", data("mlp_out.safetensors"))


def options_may_stand_before_the_model(folder):
    edgewright("run", "--inputs", data("mlp_in.safetensors"), "--expect", data("mlp_out.safetensors"), "--", data("mlp.pt2"))


def run_uses_the_sample_inputs(folder):
    done = edgewright("run", data("mlp.pt2"), "-o", folder + "/out.safetensors")
    expect_in(done.stdout, "f32[2,3]", "f32[2,4]")
    expect_close(folder + "/out.safetensors", data("mlp_out.safetensors"))  # it was exported with these inputs


def run_compares_with_what_is_expected(folder):
    edgewright("run", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", data("mlp_out.safetensors"))
    wrong = read_safetensors(data("mlp_out.safetensors"))
    dtype, shape, blob = wrong["0"]
    wrong["0"] = dtype, shape, struct.pack("<f", 7) + blob[4:]
    write_safetensors(folder + "/wrong.safetensors", wrong)
    done = edgewright("run", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", folder + "/wrong.safetensors", status=DIFFERS)
    expect_in(done.error, "output 0", "[0,0]", "against 7")
    edgewright("run", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", folder + "/wrong.safetensors", "--atol", "100")


def state_shows_over_successive_calls(folder):
    calls = []
    for i in (0, 1):
        calls += ["--inputs", data(f"counter_in_{i}.safetensors"), "--expect", data(f"counter_out_{i}.safetensors"), "-o", f"{folder}/{i}.safetensors"]
    for model in (data("counter.pt2"), compiled(folder, "counter")):
        edgewright("run", model, *calls)
        expect_close(folder + "/1.safetensors", data("counter_out_1.safetensors"))
    edgewright("check", data("counter.pt2"), *[c for i in (0, 1) for c in calls[6 * i:6 * i + 4]])
    edgewright("run", data("counter.pt2"), "--inputs", data("counter_in_1.safetensors"), "--expect", data("counter_out_1.safetensors"), status=DIFFERS)


def fixed_inputs_may_be_left_out_or_given_as_they_are(folder):
    for model in (data("scalars.pt2"), compiled(folder, "scalars")):
        for scalars in ([], ["--input", "1=3", "--input", "2=0.5", "--input", "3=True"]):
            edgewright("run", model, "--inputs", data("scalars_in.safetensors"), "--expect", data("scalars_out.safetensors"), *scalars)
        for wrong in ("1=4", "2=0.25", "3=False", "7=1", "0=1", "=", "1"):
            edgewright("run", model, "--inputs", data("scalars_in.safetensors"), "--input", wrong, status=USAGE)


def outputs_that_are_no_tensors_are_shown(folder):
    outputs = json_of("run", data("scalars.pt2"), "--inputs", data("scalars_in.safetensors"))["calls"][0]["outputs"]
    assert outputs[1] == {"value": 3} and outputs[2] == {"value": None}, outputs
    assert outputs[0]["shape"] == [5] and len(outputs[0]["elements"]) == 5


def dynamic_sizes_run_within_their_range(folder):
    model = compiled(folder, "dynamic")
    for rows in (16, 2, 7):
        for file in (model, data("dynamic.pt2")):
            edgewright("run", file, "--inputs", data(f"dynamic_in_{rows}.safetensors"), "--expect", data(f"dynamic_out_{rows}.safetensors"))
        edgewright("check", data("dynamic.pt2"), "--inputs", data(f"dynamic_in_{rows}.safetensors"), "--expect", data(f"dynamic_out_{rows}.safetensors"))
    for file in (model, data("dynamic.pt2")):
        edgewright("run", file, "--inputs", data("dynamic_in_17.safetensors"), status=USAGE)


def inputs_must_fit_the_program(folder):
    good = read_safetensors(data("mlp_in.safetensors"))
    model = compiled(folder)
    dtype, shape, blob = good["0"]
    cases = {
        "missing": {"0": good["0"]},
        "one too many": {**good, "2": good["0"]},
        "rank": {**good, "0": (dtype, [8], blob)},
        "size": {**good, "0": (dtype, [4, 2], blob)},
        "dtype": {**good, "0": ("I32", shape, blob)},
    }
    for case, tensors in cases.items():
        write_safetensors(folder + "/in.safetensors", tensors)
        for file in (model, data("mlp.pt2")):
            done = edgewright("run", file, "--inputs", folder + "/in.safetensors", "-o", folder + "/out.safetensors", status=USAGE)
            expect_in(done.error, "input")
            assert not os.path.exists(folder + "/out.safetensors"), case
        edgewright("check", data("mlp.pt2"), "--inputs", folder + "/in.safetensors", status=USAGE)
        edgewright("bench", model, "--inputs", folder + "/in.safetensors", status=USAGE)
    write_safetensors(folder + "/in.safetensors", {**good, "x": good["0"]})
    edgewright("run", model, "--inputs", folder + "/in.safetensors", status=MALFORMED)


def a_pte_without_inputs_asks_for_them(folder):
    expect_in(edgewright("run", compiled(folder), status=USAGE).error, "--inputs")


def counts_of_files_must_agree(folder):
    one = ["--inputs", data("mlp_in.safetensors")]
    edgewright("run", data("mlp.pt2"), *one, *one, "-o", folder + "/out.safetensors", status=USAGE)
    edgewright("run", data("mlp.pt2"), *one, "--expect", data("mlp_out.safetensors"), "--expect", data("mlp_out.safetensors"), status=USAGE)
    edgewright("run", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), data("mlp_in.safetensors"), status=USAGE)
    only(folder)


def outputs_need_a_place_and_a_known_kind_of_file(folder):
    one = ["run", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "-o"]
    for place in (folder + "/none/out.safetensors", folder + "/out.bin", folder + "/out.npy", folder):
        edgewright(*one, place, status=USAGE)
    only(folder)
    edgewright("run", data("counter.pt2"), "--inputs", data("counter_in_0.safetensors"), "-o", folder + "/out.npy")
    assert pathlib.Path(folder, "out.npy").read_bytes().startswith(b"\x93NUMPY")


def an_unknown_method_is_a_usage_error(folder):
    for model in (data("mlp.pt2"), compiled(folder)):
        edgewright("run", model, "--method", "backward", "--inputs", data("mlp_in.safetensors"), status=USAGE)
        edgewright("run", model, "--method", "forward", "--inputs", data("mlp_in.safetensors"))


# --- check ---

def check_agrees_with_pytorch(folder):
    report = json_of("check", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", data("mlp_out.safetensors"))
    assert report["agree"] and report["first_difference"] is None and len(report["outputs"]) == 2
    for output in report["outputs"]:
        for pair in ("compiled_interpreter", "compiled_expected", "interpreter_expected"):
            assert output[pair]["agree"] and output[pair]["max_abs"] <= 1e-5, output


def check_prints_every_output(folder):
    done = edgewright("check", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", data("mlp_out.safetensors"))
    expect_in(done.stdout, "output 0", "output 1", "max abs", "max rel", "interpreter", "expected", "agree")


def check_uses_sample_inputs_and_needs_nothing_else(folder):
    for name in ("mlp", "counter", "scalars", "dynamic"):
        edgewright("check", data(name + ".pt2"))


def check_tells_expected_outputs_that_are_wrong(folder):
    wrong = read_safetensors(data("mlp_out.safetensors"))
    wrong["1"] = ("F32", [2, 4], struct.pack("<8f", *[0.0] * 8))
    write_safetensors(folder + "/wrong.safetensors", wrong)
    report = json_of("check", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", folder + "/wrong.safetensors", status=DIFFERS)
    assert not report["agree"] and [o["agree"] for o in report["outputs"]] == [True, False]
    assert report["outputs"][1]["compiled_interpreter"]["agree"]


def shapes_and_dtypes_are_compared(folder):
    good = read_safetensors(data("mlp_out.safetensors"))
    for wrong in ({**good, "1": ("F32", [8], good["1"][2])}, {**good, "1": ("I32", [2, 4], good["1"][2])}, {"0": good["0"]}):
        write_safetensors(folder + "/wrong.safetensors", wrong)
        edgewright("check", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", folder + "/wrong.safetensors", status=DIFFERS)
    write_safetensors(folder + "/wrong.safetensors", {**good, "5": good["0"]})
    edgewright("check", data("mlp.pt2"), "--inputs", data("mlp_in.safetensors"), "--expect", folder + "/wrong.safetensors", status=USAGE)


def check_names_an_unsupported_op(folder):
    expect_in(edgewright("check", data("unsupported.pt2"), status=UNSUPPORTED).error, "linalg_svdvals")


# --- inspect, explain, bench, opt ---

def inspect_tells_what_a_pt2_holds(folder):
    report = json_of("inspect", data("mlp.pt2"))
    assert report["kind"] == "pt2" and report["constants"] == 4 and report["constant_bytes"] == 4 * (32 + 8 + 24 + 3)
    method = report["methods"][0]
    assert method["ops"] == {"aten.linear": 2, "aten.relu": 1, "aten.add.Tensor": 1}, method["ops"]
    assert [i["shape"] for i in method["inputs"]] == [[2, 4], [2, 4]] and len(method["outputs"]) == 2
    expect_in(edgewright("inspect", data("dynamic.pt2")).stdout, "2 to 16", "aten.cat")
    expect_in(edgewright("inspect", data("mlp.pt2"), "--graph").stdout, "return", "aten.linear(")


def inspect_tells_what_a_pte_holds(folder):
    model = compiled(folder)
    report = json_of("inspect", model)
    assert report["kind"] == "pte" and report["file_bytes"] == os.path.getsize(model)
    method = report["methods"][0]
    assert method["name"] == "forward" and method["arena"]
    assert any(d["id"] == "XnnpackBackend" and "FullyConnected" in d["nodes"] for d in method["delegates"]), method["delegates"]
    expect_in(edgewright("inspect", model, "--graph").stdout, "XnnpackBackend", "FullyConnected(")


def explain_lists_every_node_of_the_lowered_graph(folder):
    nodes = json_of("explain", data("mlp.pt2"))["nodes"]
    for node in nodes:
        assert {"name", "op", "delegate", "reason", "hint", "module"} <= node.keys(), node
        assert node["delegate"] is None or isinstance(node["delegate"], int)
        assert (node["delegate"] is None) == bool(node["reason"]), node
    expect_in(edgewright("explain", data("mlp.pt2")).stdout, "delegated to XNNPACK")
    only(folder)


def bench_gives_times(folder):
    for model in (data("mlp.pt2"), compiled(folder)):
        report = json_of("bench", model, "--seconds", "0.05")
        for key in ("median_ms", "min_ms", "p90_ms", "load_ms", "peak_rss_mb"):
            assert report[key] > 0, report
        assert report["min_ms"] <= report["median_ms"] <= report["p90_ms"]
    edgewright("bench", compiled(folder), "--seconds", "0.05", "--inputs", data("mlp_in.safetensors"), "--threads", "2")


GRAPH = "graph forward(%x: f32[2,3]) { %a = aten.relu(%x) : f32[2,3] %b = aten.neg(%x) : f32[2,3] return %a }\n"


def opt_prints_the_graph_after_the_passes(folder):
    pathlib.Path(folder, "g.ir").write_text(GRAPH)
    expect_in(edgewright("opt", folder + "/g.ir").stdout, "aten.relu(%x)", "aten.neg(%x)", "return %a")
    after = edgewright("opt", folder + "/g.ir", "--pass", "dead-code").stdout
    expect_in(after, "aten.relu(%x)")
    assert "aten.neg" not in after, after
    pathlib.Path(folder, "again.ir").write_text(after)
    assert edgewright("opt", folder + "/again.ir").stdout == after
    with open(folder + "/g.ir", "rb") as text:
        assert edgewright("opt", "-", "--pass", "dead-code", stdin=text).stdout == after


def opt_tells_what_is_wrong(folder):
    pathlib.Path(folder, "g.ir").write_text(GRAPH)
    expect_in(edgewright("opt", folder + "/g.ir", "--pass", "no-such-pass", status=USAGE).error, "no-such-pass")
    pathlib.Path(folder, "g.ir").write_text(GRAPH.replace("%x)", "%nothing)"))
    expect_in(edgewright("opt", folder + "/g.ir", status=MALFORMED).error, "g.ir", "nothing")
    edgewright("opt", status=USAGE)
    expect_in(edgewright("opt", "--list").stdout, "dead-code")


# --- usage and broken files ---

def help_teaches(folder):
    top = edgewright("--help").stdout
    expect_in(top, "compile", "run", "check", "inspect", "bench", "opt", "explain", "Examples:", "Exit status:")
    for command in ("compile", "run", "check", "inspect", "bench", "opt", "explain"):
        expect_in(edgewright(command, "--help").stdout, command if command == "opt" else "MODEL" if command != "inspect" else "FILE", "--")


def wrong_usage_has_status_two(folder):
    mlp = data("mlp.pt2")
    for arguments in ([], ["polish"], ["compile"], ["compile", mlp], ["run"], ["run", mlp, "--no-such"], ["run", mlp, "--threads", "-1"],
                      ["run", mlp, "--threads", "many"], ["check", mlp, "--atol", "-1"], ["check", mlp, "--atol", "x"], ["bench", mlp, "--seconds", "-1"],
                      ["compile", mlp, "-o", folder + "/x.pte", "--target", "gpu"], ["compile", mlp, "-o"], ["run", mlp, mlp], ["check", mlp, "--threads", "99999999999999999999"]):
        edgewright(*arguments, status=USAGE)
    only(folder)


def missing_files_have_status_three(folder):
    none = folder + "/none.pt2"
    for arguments in (["compile", none, "-o", folder + "/x.pte"], ["run", none], ["check", none], ["inspect", none], ["bench", none], ["explain", none],
                      ["opt", none, "--pass", "dead-code"], ["run", data("mlp.pt2"), "--inputs", folder + "/none.safetensors"], ["inspect", folder]):
        expect_in(edgewright(*arguments, status=MALFORMED).error, "none" if arguments[-1] != folder else folder)
    only(folder)


def broken_files_have_status_three(folder):
    model = compiled(folder)
    broken = folder + "/broken"
    for source in (data("mlp.pt2"), model):
        content = pathlib.Path(source).read_bytes()
        for cut in (0, 1, 10, len(content) // 3, len(content) // 2, 3 * len(content) // 4):
            pathlib.Path(broken).write_bytes(content[:cut])
            edgewright("inspect", broken, status=MALFORMED)
            edgewright("run", broken, "--inputs", data("mlp_in.safetensors"), status=MALFORMED)
    pathlib.Path(broken).write_bytes(b"GIF89a" + bytes(100))
    for command in (["run"], ["check"], ["inspect"], ["bench"], ["explain"]):
        expect_in(edgewright(*command, broken, status=MALFORMED).error, "broken")
    edgewright("compile", broken, "-o", folder + "/x.pte", status=MALFORMED)
    edgewright("check", model, status=USAGE)
    edgewright("compile", model, "-o", folder + "/x.pte", status=USAGE)
    pathlib.Path(folder, "in.safetensors").write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    edgewright("run", model, "--inputs", folder + "/in.safetensors", status=MALFORMED)
    assert not os.path.exists(folder + "/x.pte")


def hostile_arguments_are_met_calmly(folder):
    long = "x" * 5000
    strange = os.path.join(folder, "a b\n\"c\" é.pt2")
    shutil.copy(data("mlp.pt2"), strange)
    edgewright("inspect", strange)
    edgewright("compile", strange, "-o", strange + ".pte")
    for arguments, status in ((["inspect", long], MALFORMED), (["inspect", "/dev/null"], MALFORMED), (["inspect", ""], MALFORMED),
                              (["run", data("mlp.pt2"), "--input", long + "=" + long], USAGE), (["run", data("mlp.pt2"), "--inputs", ""], USAGE),
                              (["run", data("scalars.pt2"), "--input", "99999999999999999999=1"], USAGE), (["run", data("scalars.pt2"), "--input", "-1=1"], USAGE),
                              (["run", data("mlp.pt2"), "--method", "%s%n"], USAGE), (["compile", data("mlp.pt2"), "-o", folder + "/" + long], USAGE)):
        edgewright(*arguments, status=status)


def errors_are_json_too_where_asked_for(folder):
    report = json_of("check", data("unsupported.pt2"), status=UNSUPPORTED)
    assert report["error"]["status"] == UNSUPPORTED and "linalg_svdvals" in report["error"]["message"]
    assert json_of("inspect", folder + "/none", status=MALFORMED)["error"]["kind"] == "malformed"
    assert json_of("bench", status=USAGE)["error"]["status"] == USAGE


def a_few_lines_of_cpp_run_a_pt2(folder):
    if not RUN_PT2:
        return "run_pt2 was not built"
    done = start([RUN_PT2, data("mlp.pt2")])
    assert done.returncode == 0 and done.stdout.split() == ["f32[2,3]", "f32[2,4]"], done
    assert start([RUN_PT2, data("unsupported.pt2")]).returncode == UNSUPPORTED
    return None


def main():
    cases = [f for f in globals().values()  # a case is a function of nothing but an empty folder
             if getattr(f, "__code__", None) and f.__code__.co_argcount == 1 and f.__code__.co_varnames[0] == "folder" and not f.__code__.co_flags & 4]
    passed, failed, skipped = 0, 0, 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                reason = case(folder)
            except (AssertionError, subprocess.TimeoutExpired, KeyError, ValueError, OSError, TypeError) as e:
                failed += 1
                print(f"FAILED {case.__name__}: {type(e).__name__}: {re.sub(re.escape(folder), 'FOLDER', str(e))}", flush=True)
                continue
            passed, skipped = passed + (not reason), skipped + bool(reason)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
