#!/usr/bin/env python3
"""Random programs held to PyTorch itself: what the interpreter and the compiler share, only PyTorch can find wrong.

    tests/random/torch_programs.py FUZZ_GRAPHS EDGEWRIGHT [--count N] [--seed S] [--seconds T] [--export] [--keep DIR]

fuzz_graphs makes the programs and writes what our interpreter gives, with how far apart right results may be. Each is run
op by op in PyTorch. With --export it is also made a module, exported, and `edgewright check` holds the program, in aten and in
core form, to PyTorch's outputs. Programs that PyTorch refuses are counted, with the op. Needs torch and safetensors.
"""
import argparse
import collections
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import torch
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(missing)
    sys.exit(77)

warnings.filterwarnings("ignore")
DTYPES = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
          "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool}
TOKEN = re.compile(r"\s+|#[^\n]*|(%[\w.]+|\"[^\"]*\"|-?\d[\w.+-]*|[A-Za-z_][\w.]*|->|<-|-?inf|-?nan|.)")


class Refused(Exception):
    """PyTorch has no such program."""


class Text:
    """Reads the text form of a graph."""

    def __init__(self, text):
        self.tokens = [t for t in TOKEN.findall(text) if t]
        self.at = 0

    def peek(self):
        return self.tokens[self.at]

    def next(self, expected=None):
        token = self.tokens[self.at]
        if expected is not None and token != expected:
            raise ValueError(f"{token} where {expected} is wanted")
        self.at += 1
        return token

    def accept(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def type(self):
        dtype = self.next()
        sizes = []
        self.next("[")
        while not self.accept("]"):
            sizes.append(int(self.next()))
            self.accept(",")
        return DTYPES[dtype], sizes

    def value(self):
        token = self.next()
        if token == "[":
            items = []
            while not self.accept("]"):
                items.append(self.value())
                self.accept(",")
            return items
        if token == "-":
            return -self.value()
        if token[0] == "%":
            return Name(token[1:])
        if token[0] == '"':
            return token[1:-1]
        if token in ("None", "True", "False"):
            return {"None": None, "True": True, "False": False}[token]
        if token in DTYPES:
            return DTYPES[token]
        if re.fullmatch(r"-?\d+", token) and token != "-0":  # which is a float's
            return int(token)
        return float(token)


class Name(str):
    pass


def numbers(text, dtype, sizes):
    """A constant: nested lists, or a lone number for a tensor without dims."""
    return torch.tensor(text.value(), dtype=torch.float64 if dtype.is_floating_point else torch.int64).reshape(sizes).to(dtype)


class Program(torch.nn.Module):
    """A graph, run op by op."""

    def __init__(self, source):
        super().__init__()
        t = Text(source)
        self.inputs, self.nodes, self.types = [], [], {}
        t.next("graph")
        if t.peek() != "(":
            t.next()
        t.next("(")
        while not t.accept(")"):
            name = t.next()[1:]
            t.next(":")
            self.types[name] = t.type()
            self.inputs.append(name)
            t.accept(",")
        t.next("{")
        while not t.accept("return"):
            if t.peek() in ("const", "state"):
                kind = t.next()
                name = t.next()[1:]
                t.next(":")
                dtype, sizes = t.type()
                t.next("=")
                self.register_buffer(name.replace(".", "_dot_"), numbers(t, dtype, sizes))
                continue
            results = [t.next()[1:]]
            while t.accept(","):
                results.append(t.next()[1:])
            t.next("=")
            op = t.next()
            positional, keywords = [], {}
            t.next("(")
            while not t.accept(")"):
                if re.fullmatch(r"[A-Za-z_]\w*", t.peek()) and t.tokens[t.at + 1] == "=":
                    keyword = t.next()
                    t.next("=")
                    keywords[keyword] = t.value()
                else:
                    positional.append(t.value())
                t.accept(",")
            if t.accept(":"):
                for _ in results:
                    t.type()
                    t.accept(",")
            self.nodes.append((op, resolve(op), positional, keywords, results))
        self.returned = []
        while not t.accept("}"):
            self.returned.append(t.value())
            t.accept(",")

    def forward(self, *inputs):
        values = dict(zip(self.inputs, inputs))
        for name, buffer in self.named_buffers():
            values[name.replace("_dot_", ".")] = buffer

        def of(x):
            if isinstance(x, Name):
                return values[x]
            if isinstance(x, list):
                return [of(y) for y in x]
            return x

        for op, call, positional, keywords, results in self.nodes:
            r = call(*[of(x) for x in positional], **{k: of(v) for k, v in keywords.items()})
            r = list(r) if isinstance(r, (list, tuple)) else [r]
            if len(r) < len(results):
                raise Refused(f"{op} gives {len(r)} results")
            values.update(zip(results, r))
        return tuple(of(x) for x in self.returned)


def resolve(op):
    parts = op.split(".")
    packet = getattr(torch.ops.aten, parts[1], None)
    if packet is None:
        raise Refused(f"{op} is unknown")
    overload = getattr(packet, parts[2] if len(parts) > 2 else "default", None)
    if overload is None:
        raise Refused(f"{op} is unknown")
    # Keyword-only parameters stand by name in the text, and trailing ones may: as PyTorch wants them.
    return overload


def difference(got, expected, slack):
    """What differs, or None. `slack` is by element; infinite means anything goes."""
    if got.dtype != expected.dtype or list(got.shape) != list(expected.shape):
        return f"PyTorch gives {got.dtype}{list(got.shape)}, the interpreter {expected.dtype}{list(expected.shape)}"
    a, b = got.detach().reshape(-1).to(torch.float64), expected.reshape(-1).to(torch.float64)
    if not got.dtype.is_floating_point:
        a, b = got.reshape(-1).to(torch.int64), expected.reshape(-1).to(torch.int64)
    for i in range(a.numel()):
        x, y, s = a[i].item(), b[i].item(), slack[i].item()
        if math.isinf(s) or x == y or (x != x and y != y):
            continue
        if got.dtype.is_floating_point and math.isfinite(x) and math.isfinite(y) and abs(x - y) <= 4 * s:
            continue
        return f"element {i}: PyTorch gives {x}, the interpreter {y}, {4 * s:.3g} is allowed"
    return None


def refusal(error):
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return re.sub(r"[\d\[\]., -]+", " ", line)[:90]


class Tally(collections.Counter):
    pass


def check_exported(options, program, inputs, expected, stem, folder, tally):
    """The exported program, in both forms, through `edgewright check`; what is wrong, or None."""
    try:
        exported = torch.export.export(program, tuple(inputs), strict=False)
        forms = {"aten": exported, "core": exported.run_decompositions()}
    except Exception as error:  # torch.export's own failures are of every kind
        tally["not exported: " + refusal(error)] += 1
        return None
    for form, ep in forms.items():
        path = folder / f"{stem}_{form}.pt2"
        torch.export.save(ep, path)
        save_file({str(i): x.contiguous() for i, x in enumerate(inputs)}, folder / f"{stem}.inputs.safetensors")
        kept = {str(i): x.detach().contiguous().clone() for i, x in enumerate(expected) if isinstance(x, torch.Tensor)}
        save_file(kept, folder / f"{stem}.outputs.safetensors")
        command = [options.edgewright, "check", str(path), "--expect", str(folder / f"{stem}.outputs.safetensors")]
        if inputs:
            command += ["--inputs", str(folder / f"{stem}.inputs.safetensors")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        tally[f"{form} form: status {done.returncode}"] += 1
        if done.returncode not in (0, 4):
            return f"{form} form: {done.stderr.strip()}\n  {' '.join(command)}"
        if done.returncode == 4:
            tally["refused: " + re.sub(r"\S*\.pt2: |\w+: (?=nothing)|\d+", "", done.stderr.strip())[:110]] += 1
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fuzz_graphs")
    parser.add_argument("edgewright")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0, help="go on with further seeds so long")
    parser.add_argument("--export", action="store_true", help="also exported, through edgewright check")
    parser.add_argument("--only", help="ops to make programs of, separated by commas")
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--keep", type=pathlib.Path, help="where failing programs stay")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}")
    tally, failures, start = Tally(), [], time.monotonic()
    seed = options.seed
    while True:
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            subprocess.run([options.fuzz_graphs, "--emit", scratch, "--seed", str(seed), "--count", str(options.count), "--nodes", str(options.nodes)]
                           + (["--only", options.only] if options.only else []), check=True, stdout=subprocess.DEVNULL)
            for path in sorted(folder.glob("*.ir"), key=lambda p: int(p.stem)):
                tally["programs"] += 1
                text = path.read_text()
                inputs_by_number = load_file(folder / f"{path.stem}.in.safetensors")
                inputs = [inputs_by_number[str(i)] for i in range(len(inputs_by_number))]
                ours, slack = (load_file(folder / f"{path.stem}.{what}.safetensors") for what in ("out", "slack"))
                op = "?"
                try:
                    program = Program(text)
                    with torch.no_grad():
                        results = program(*[x.clone() for x in inputs])
                except Exception as error:  # PyTorch's checks raise every kind
                    tally["PyTorch refuses: " + refusal(error)] += 1
                    tally["refused by PyTorch"] += 1
                    continue
                wrong = None
                for i, r in enumerate(results):
                    if str(i) in ours and isinstance(r, torch.Tensor):
                        wrong = wrong or difference(r, ours[str(i)], slack[str(i)])
                if wrong:
                    wrong = "interpreter: " + wrong
                elif options.export:
                    wrong = check_exported(options, Program(text), inputs, results, path.stem, folder, tally)
                if not wrong:
                    tally["right"] += 1
                    continue
                failures.append(path.stem)
                print(f"--- seed {path.stem}: {wrong}\n{text}", flush=True)
                if options.keep:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    for part in folder.glob(f"{path.stem}[._]*"):
                        (options.keep / part.name).write_bytes(part.read_bytes())
        seed += options.count
        if time.monotonic() - start >= options.seconds:
            break
    for what, n in tally.most_common():
        print(f"{n:7} {what}")
    print(f"{tally['right']} passed, {len(failures)} failed, {tally['refused by PyTorch']} skipped")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
