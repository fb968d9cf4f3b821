"""Writes schemas.txt: for each kernel of src/runtime/kernels, the operator whose vectors (tests/ops/vectors) it must reproduce
and its arguments with their defaults, as torch declares them. Needs torch; the test that reads the file does not."""

import pathlib
import re

import executorch.exir.passes._quant_patterns_and_replacements  # noqa: F401 - registers quantized_decomposed.embedding_*
import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401 - registers quantized_decomposed
import torchao.quantization.quant_primitives  # noqa: F401 - registers torchao

here = pathlib.Path(__file__).parent


PLACEMENT = {"dtype", "layout", "device", "pin_memory", "memory_format"}


def text(value):
    if isinstance(value, str):
        return '"' + value + '"'
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(text(v) for v in value) + "]"
    return str(value)


def overloads(name):
    packet = getattr(torch.ops.aten, name, None)
    return [] if packet is None else [getattr(packet, o)._schema for o in packet.overloads()]


# The functional overload that a kernel's overload stands for.
FUNCTIONAL = {"out": "default", "Tensor_out": "tensor", "dtype_out": "dtype"}


def quantized(space, kernel):
    """The line for a kernel of quantized_decomposed or torchao, which have no out variants of their own in torch."""
    name, _, overload = kernel.partition(".")
    packet = getattr(getattr(torch.ops, space), name, None)
    functional = FUNCTIONAL[overload]
    if packet is None or functional not in packet.overloads():
        print("torch has no", kernel)
        return None
    schema = getattr(packet, functional)._schema
    args = [a.name + ("=" + text(a.default_value) if a.has_default_value() else "") for a in schema.arguments]
    op = f"{space}.{name}" + ("" if functional == "default" else "." + functional)
    return " ".join([f"{space}::{kernel}", op, *args, "->", *["out"] * len(schema.returns)])


def inputs(schema):
    return [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]


def main():
    lines = []
    for path in sorted((here / "../../src/runtime/kernels").glob("*.cc")):
        for space, kernel in re.findall(r'\{"(quantized_decomposed|torchao)::([^"]+)", ', path.read_text()):
            line = quantized(space, kernel)
            if line:
                lines.append(line)
        for kernel in re.findall(r'\{"aten::([^"]+)", ', path.read_text()):
            name, _, overload = kernel.partition(".")
            if name.endswith("_") or name.startswith("sym_") or name == "_local_scalar_dense":
                continue  # in place, or about numbers: tests of their own
            out = next((s for s in overloads(name) if s.overload_name == overload), None)
            if out is None:
                print("torch has no", kernel)
                continue
            want = inputs(out)
            for base in dict.fromkeys([name, name.removesuffix("_copy"), name.removeprefix("_")]):
                for s in overloads(base):
                    if any(a.is_out for a in s.arguments):
                        continue
                    have = inputs(s)
                    # The functional form may also say where and how the result is made.
                    if all(a in have for a in want) and {n for n, _ in have if (n, dict(have)[n]) not in want} <= PLACEMENT:
                        args = [a.name + ("=" + text(a.default_value) if a.has_default_value() else "") for a in out.arguments if not a.is_out]
                        outs = ["out" if "[]" not in str(a.type) and "List" not in str(a.type) else "list" for a in out.arguments if a.is_out]
                        lines.append(" ".join([f"aten::{kernel}", f"aten.{base}" + (f".{s.overload_name}" if s.overload_name else ""), *args, "->", *outs]))
    (here / "schemas.txt").write_text("\n".join(sorted(set(lines))) + "\n")


main()
