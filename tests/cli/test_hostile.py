#!/usr/bin/env python3
"""Damaged and lying files against the real program: it ends by itself, within memory of a few times the file, and says what is wrong.

    test_hostile.py EDGEWRIGHT [--in DIR] [--one FILE] [--keep DIR]

Takes the committed .pt2, .pte and .safetensors files (or the .pt2 and .pte below DIR) and a graph, and makes of each, with fixed seeds:
cut files, flipped bits (as the file lies there, and below right checksums), zips whose sizes, offsets and counts lie, JSON whose values
are of another kind, out of range or nested without end, tensors whose extents lie, flatbuffers whose words are extremes.
Every outcome is held to: no signal, never status 5, at most STILL_SECONDS (against hangs only), peak memory at most a few times the
file above what the program takes for a tiny one. What is malformed for certain must end with status 3; a flip may also leave a right
file (0), one that asks for other inputs (2) or other ops (4), or a whole one with other numbers (1).

Within the process the parsers have such tests of their own (tests/read/test_hostile.cc, tests/format, tests/runtime): far more
variants, but without the stages behind them. Standard library only. --keep leaves files that failed.
"""
import argparse
import concurrent.futures
import hashlib
import io
import json
import os
import pathlib
import random
import resource
import shutil
import struct
import sys
import tempfile
import warnings
import zipfile

warnings.filterwarnings("ignore", message="Duplicate name")  # we make them

ROOT = pathlib.Path(__file__).resolve().parents[2]
STILL_SECONDS = 300
MALFORMED = {3}
ANY = {0, 1, 2, 3, 4}
KIB = 1024


class Runner:
    def __init__(self, program, folder, keep):
        self.program, self.folder, self.keep = os.path.abspath(program), folder, keep
        self.sanitized = b"__asan_init" in pathlib.Path(program).read_bytes()
        self.env = dict(os.environ)
        if self.sanitized:
            # A limit on the address space and ASan's shadow exclude each other.
            own = "allocator_may_return_null=1:hard_rss_limit_mb=3000:quarantine_size_mb=16:detect_leaks=0"
            self.env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":" + own
        self.base = 0
        self.count, self.failures, self.peak = 0, [], 0

    def execute(self, arguments):
        """(status or None where it hangs, -signal, peak bytes, output)"""
        with tempfile.TemporaryFile(dir=self.folder) as said:
            pid = os.fork()
            if pid == 0:
                try:
                    os.dup2(said.fileno(), 1)
                    os.dup2(said.fileno(), 2)
                    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                    if not self.sanitized: resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
                    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                    import signal
                    signal.alarm(STILL_SECONDS)  # survives the exec
                    os.execve(self.program, [self.program, *arguments], self.env)
                finally:
                    os._exit(127)
            _, status, usage = os.wait4(pid, 0)
            said.seek(0)
            text = said.read(20000).decode(errors="replace")
        return os.waitstatus_to_exitcode(status), usage.ru_maxrss * KIB, text

    def hold(self, name, arguments, content, allowed, inflated=0):
        """One run. `inflated`: bytes that the file's own compressed entries and programs may rightly grow to."""
        status, peak, text = self.execute(arguments)
        self.count += 1
        limit = self.base + 8 * (len(content) + inflated) + (160 if self.sanitized else 48) * (1 << 20)
        self.peak = max(self.peak, peak - self.base)
        wrong = []
        if status not in allowed:
            wrong.append("hangs" if status == -14 else f"dies of signal {-status}" if status < 0 else f"status {status}, not {sorted(allowed)}")
        if peak > limit: wrong.append(f"takes {peak >> 20} MiB, more than {limit >> 20}")
        if "Sanitizer" in text or "runtime error:" in text: wrong.append("a sanitizer speaks")
        if wrong: self.failures.append((name, " and ".join(wrong), " ".join(arguments), text[-1500:], content))


# --- zip ---

def entries(content):
    with zipfile.ZipFile(io.BytesIO(content)) as z: return [(i.filename, z.read(i)) for i in z.infolist()]


def archive(items, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as z:
        for name, data in items: z.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, method)
    return out.getvalue()


def directory(content):
    """(offset of the end record, offset of the central directory, [offsets of its records])"""
    end = content.rfind(b"PK\5\6")
    count, _, at = struct.unpack("<HII", content[end + 10:end + 20])
    start, records = at, []
    for _ in range(count):
        records.append(at)
        n, extra, comment = struct.unpack("<HHH", content[at + 28:at + 34])
        at += 46 + n + extra + comment
    return end, start, records


def put(content, at, form, value):
    b = bytearray(content)
    struct.pack_into(form, b, at, value)
    return bytes(b)


def lying_zips(content, r):
    end, start, records = directory(content)
    record = r.choice([at for at in records if content[at + 46:at + 46 + 200].split(b"PK")[0].find(b"model") >= 0] or records)
    local = struct.unpack("<I", content[record + 42:record + 46])[0]
    for what, at, form in (("compressed size", record + 20, "<I"), ("size", record + 24, "<I"), ("offset", record + 42, "<I"),
                           ("name length", record + 28, "<H"), ("extra length", record + 30, "<H"), ("local name length", local + 26, "<H"),
                           ("local extra length", local + 28, "<H"), ("count", end + 10, "<H"), ("directory size", end + 12, "<I"),
                           ("directory offset", end + 16, "<I")):
        old = struct.unpack_from(form, content, at)[0]
        top = (1 << 8 * struct.calcsize(form)) - 1
        value = r.choice([v for v in (top, top - 1, top >> 1, old + 1, len(content)) if v != old and v <= top])
        # A wrong directory size alone, or lengths of what nobody needs to trust, can be survived; all ones at the end say that the zip64
        # record holds.
        survives = what in ("directory size", "local extra length", "extra length") or at > end and value == top
        yield f"lying {what} {value}", put(content, at, form, value), ANY if survives else MALFORMED
    yield "a method that nobody knows", put(content, record + 10, "<H", 99), {3, 4}
    yield "an entry twice", archive(entries(content) + entries(content)[-1:]), ANY
    bomb = [(n, b"[" * (1 << 20) if n.endswith(".json") and "onfig" not in n and "format" not in n else d) for n, d in entries(content)]
    yield "a JSON of brackets, compressed", archive(bomb, zipfile.ZIP_DEFLATED), MALFORMED


# --- JSON inside ---

OTHERS = (None, True, -1, 0, 1 << 40, 1 << 62, -(1 << 63), 1 << 70, 1e308, "", "x" * 3000, [], {}, [[]] * 50, {"as_int": 1 << 62}, {"as_none": []},
          {"as_tensor": {"name": "x"}})


def places(value, path=()):
    """Every (container, key) below."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for k, v in items:
        yield value, k
        yield from places(v, (*path, k))


def model_entry(items):
    return next(n for n, d in items if n.endswith("/models/model.json") or n.endswith("serialized_exported_program.json") or "/models/" in n and n.endswith(".json"))


def lying_json(content, r, count):
    items = entries(content)
    model = model_entry(items)
    text = dict(items)[model]

    def again(edit, name=model):
        document = json.loads(dict(items)[name])
        edit(document)
        return archive([(n, json.dumps(document).encode() if n == name else d) for n, d in items])

    def graph(d): return d["graph_module"]["graph"]
    def first_tensor(d):  # of those that somebody reads
        read = [o["as_tensor"]["name"] for o in graph(d)["outputs"] if "as_tensor" in o]
        return graph(d)["tensor_values"][read[0]] if read else next(iter(graph(d)["tensor_values"].values()))
    def nest(depth):
        return archive([(n, b'{"a":' * depth + b"1" + b"}" * depth if n == model else d) for n, d in items])

    certain = [
        ("nodes are an object", lambda d: graph(d).update(nodes={})), ("no graph", lambda d: d["graph_module"].pop("graph")),
        ("the version is text", lambda d: d.update(schema_version="8")), ("inputs are a number", lambda d: graph(d).update(inputs=7)),
        ("a target is a number", lambda d: graph(d)["nodes"][0].update(target=3)), ("a node is text", lambda d: graph(d)["nodes"].append("add")),
        ("no specs", lambda d: d["graph_module"]["signature"].update(input_specs=[])),
        ("a rank of ten million", lambda d: first_tensor(d).update(sizes=[{"as_int": 1}] * 100000)),
        ("a negative size", lambda d: first_tensor(d).update(sizes=[{"as_int": -1}])),
        ("a size beyond all memory", lambda d: first_tensor(d).update(sizes=[{"as_int": 1 << 62}, {"as_int": 1 << 62}])),
        ("a dtype of 1000", lambda d: first_tensor(d).update(dtype=1000)),
        ("ranges the wrong way round", lambda d: d.update(range_constraints={"s0": {"min_val": 9, "max_val": 2}})),
        ("an expression nested without end", lambda d: d.update(range_constraints={"(" * 100000: {"min_val": 1, "max_val": 2}})),
    ]
    if not json.loads(text)["graph_module"]["graph"]["nodes"]: certain = [c for c in certain if not c[0].startswith("a target")]
    for what, edit in certain: yield what, again(edit), MALFORMED
    yield "nested 100000 deep", nest(100000), MALFORMED
    yield "JSON cut short", archive([(n, d[:len(d) // 2] if n == model else d) for n, d in items]), MALFORMED
    for k in range(count):
        def edit(d):
            container, key = r.choice(list(places(d["graph_module"])))
            container[key] = r.choice(OTHERS)
        yield f"JSON value {k}", again(edit), ANY
    config = next((n for n, _ in items if n.endswith("weights_config.json")), None)
    if config and any(not v.get("use_pickle") for v in json.loads(dict(items)[config])["config"].values()):
        def meta(d): return r.choice([v for v in d["config"].values() if not v.get("use_pickle")])["tensor_meta"]  # a pickle tells its own
        for what, edit in (("a weight beyond its storage", lambda d: meta(d).update(sizes=[{"as_int": 1 << 50}], strides=[{"as_int": 1}])),
                           ("a weight of endless extent", lambda d: meta(d).update(sizes=[{"as_int": 1 << 40}], strides=[{"as_int": 0}])),
                           ("an offset beyond", lambda d: meta(d).update(storage_offset={"as_int": 1 << 60})),
                           ("a negative stride", lambda d: meta(d).update(sizes=[{"as_int": 2}], strides=[{"as_int": -1}])),
                           ("a path out of the archive", lambda d: [v.update(path_name="../../etc/passwd") for v in d["config"].values()])):
            yield what, again(edit, config), MALFORMED
        for k in range(max(1, count // 4)):
            def edit(d):
                container, key = r.choice(list(places(d["config"])))
                container[key] = r.choice(OTHERS)
            yield f"weights value {k}", again(edit, config), ANY


# --- any bytes ---

def flipped(content, r, times):
    b = bytearray(content)
    for _ in range(times): b[r.randrange(len(b))] ^= 1 << r.randrange(8)
    return bytes(b)


def flipped_below_checksums(content, r):
    items = [list(i) for i in entries(content)]
    item = r.choice([i for i in items if i[1]])
    item[1] = flipped(item[1], r, r.randrange(1, 4))
    return archive(items)


def cuts(content, r, count):
    for n in sorted({0, 1, 3, len(content) // 2, len(content) - 1, len(content) - 4, *(r.randrange(len(content)) for _ in range(count))}):
        yield f"cut at {n}", content[:n], MALFORMED if content[n:].strip() else ANY


def lying_words(content, r, count):
    """Words of a flatbuffer program, most of them in its tables: extremes, neighbours, small numbers."""
    program = min(struct.unpack_from("<Q", content, 16)[0] if content[8:12] == b"eh00" else len(content), len(content)) & ~3
    for k in range(count):
        b = bytearray(content)
        for _ in range(r.randrange(1, 3)):
            at = r.randrange(0, max(program // 4, 1)) * 4
            old = struct.unpack_from("<I", b, at)[0]
            struct.pack_into("<I", b, at, r.choice([0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x10000, (old + 4) & 0xFFFFFFFF, (old - 4) & 0xFFFFFFFF, (old * 2) & 0xFFFFFFFF]))
        yield f"words {k}", bytes(b), ANY
    if content[8:12] == b"eh00":
        for what, at in (("program size", 16), ("segment base", 24)):
            for value in (1 << 63, (1 << 64) - 1, len(content) + 1):
                yield f"lying {what} {value}", put(content, at, "<Q", value), MALFORMED
    yield "another identifier", put(content, 4, "<I", 0), MALFORMED
    yield "a root beyond the end", put(content, 0, "<I", len(content) * 2 & 0xFFFFFFFF | 0x40000000), MALFORMED


# --- what is tried on each kind ---

def some(made, r, keep):
    """That part of the variants: those that stand first are no more likely than the last."""
    return [v for v in made if r.random() < keep]


def variants(path, content, full):
    r = random.Random(hashlib.sha256(path.name.encode() + path.parent.name.encode()).digest())
    flips, keep = (12, 1) if full else (2, 0.3)
    yield from cuts(content, r, 6 if full else 0)
    if path.suffix == ".pt2":
        for k in range(flips): yield f"flip {k}", flipped(content, r, r.randrange(1, 4)), ANY
        for k in range(flips): yield f"flip {k} below the checksum", flipped_below_checksums(content, r), ANY
        yield from some(lying_zips(content, r), r, keep)
        yield from some(lying_json(content, r, 24 if full else 12), r, keep)
    elif path.suffix == ".pte":
        for k in range(flips): yield f"flip {k}", flipped(content, r, r.randrange(1, 4)), ANY
        yield from some(lying_words(content, r, 30 if full else 20), r, keep)
    elif path.suffix == ".safetensors":
        for value in (1 << 60, (1 << 64) - 1, len(content), 0): yield f"lying header size {value}", put(content, 0, "<Q", value), MALFORMED
        for k in range(4 * flips): yield f"flip {k}", flipped(content, r, r.randrange(1, 4)), ANY
    else:
        for k in range(2 * flips): yield f"flip {k}", flipped(content, r, r.randrange(1, 4)), ANY
        yield "brackets", b"graph (%x: f32[2]) { %y = aten.relu(" + b"[" * 200000, MALFORMED
        yield "a dim nested without end", b"graph (%x: f32[" + b"(" * 200000 + b"]) { return %x }", MALFORMED


def commands(path, file, number, scratch):
    if path.suffix in (".pt2", ".pte"):
        inputs = path.with_suffix(".in.safetensors")
        yield ["run", file, *(["--inputs", str(inputs)] if inputs.exists() else []), "-o", os.path.join(scratch, "out.safetensors")]
        if number % 3 == 0: yield ["inspect", file]
    elif path.suffix == ".safetensors":
        yield ["run", str(ROOT / "tests/cli/data/mlp.pt2"), "--inputs", file]
    else:
        yield ["opt", file, "--pass", "decompose", "fold-constants"]


# One of each container and of each way of keeping weights, the largest graph, the largest .pte: tried with everything.
FULL = {"small.pt2", "small_28.pt2", "torch26_nested.pt2", "counter_core.pt2", "test_fp32_conv2d.pte", "mlp_in.safetensors"}


def files_of(folder):
    patterns = ("tests/read/vectors/*.pt2", "tests/cli/data/*.pt2", "tests/containers/data/*/*.pt2", "examples/digits/*.pt2", "tests/runtime/data/*.pte",
                "tests/cli/data/mlp_in.safetensors")
    found = [p for pattern in patterns for p in sorted(ROOT.glob(pattern))]
    if folder: found = [p for p in sorted(folder.rglob("*")) if p.suffix in (".pt2", ".pte") and p.stat().st_size < 1 << 20]
    return [(p, p.name in FULL) for p in found]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--in", dest="folder", type=pathlib.Path)
    parser.add_argument("--one", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edgewright-hostile-") as folder:
        runner = Runner(args.program, folder, args.keep)
        tiny = ROOT / "tests/cli/data/mlp.pt2"
        status, runner.base, text = runner.execute(["run", str(tiny)])
        assert status == 0, text
        graph = pathlib.Path(folder) / "graph.ir"
        graph.write_text("graph (%x: f32[s0,3]) where s0 in [2, 8] {\n  const %c: f32[3] = [1, 2, 3]\n  %y = aten.add.Tensor(%x, %c)\n"
                         "  %z = aten.gelu(%y)\n  return %z\n}\n")
        status, _, text = runner.execute(["opt", str(graph), "--pass", "decompose", "fold-constants"])
        assert status == 0, text
        todo = [(args.one, True)] if args.one else files_of(args.folder) + [(graph, True)]

        def one(number, path, full):
            content = path.read_bytes()
            inflated = 0
            if path.suffix == ".pt2":
                inflated = sum(len(d) for _, d in entries(content))
            # What is refused as it stands may be refused for that reason first.
            is_refused = path.suffix == ".pt2" and runner.execute(["run", str(path)])[0] == 4
            for k, (what, bad, allowed) in enumerate(variants(path, content, full)):
                if is_refused: allowed = allowed | {4}
                if bad == content or runner.sanitized and not args.one and k % 3: continue  # a third of them: it takes ten times as long
                file = os.path.join(folder, f"{number}-{k}{path.suffix}")
                pathlib.Path(file).write_bytes(bad)
                grown = (1 << 20) if "compressed" in what else 0
                scratch = os.path.join(folder, str(number))
                os.makedirs(scratch, exist_ok=True)
                for command in commands(path, file, k, scratch):
                    runner.hold(f"{path.name}: {what}: {command[0]}", command, bad, allowed, inflated + grown)
                os.unlink(file)

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for f in [pool.submit(one, n, p, full) for n, (p, full) in enumerate(todo)]: f.result()
    for name, wrong, command, text, content in runner.failures:
        print(f"FAILED {name}: {wrong}\n    edgewright {command}\n    " + "\n    ".join(text.strip().splitlines()[-12:]))
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            suffix = pathlib.Path(command.split()[1]).suffix
            (args.keep / ("".join(c if c.isalnum() else "_" for c in name) + suffix)).write_bytes(content)
    print(f"{len(todo)} files; peak memory above a tiny program's: {runner.peak >> 20} MiB")
    print(f"{runner.count - len(runner.failures)} passed, {len(runner.failures)} failed, 0 skipped")
    return 1 if runner.failures or not runner.count else 0


if __name__ == "__main__":
    sys.exit(main())
