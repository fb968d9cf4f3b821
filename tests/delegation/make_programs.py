#!/usr/bin/env python3
"""Makes programs/: the linear family as torch.export.save writes it, as exported and decomposed (_core), with inputs and PyTorch's
outputs, for test_delegation.py. Needs torch and safetensors.

  tests/delegation/make_programs.py

Keys of the .safetensors files are leaf numbers in flattened pytree order. What a program is for stands beside it; `fc`, `matmul` and
`outside` are what test_delegation.py demands of its lowered graph (fully-connected nodes, batch matmuls, nodes outside the delegate).
"""
import inspect
import io
import json
import pathlib
import re
import zipfile

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).resolve().parent / "programs"
CASES = []


def case(inputs, fc=0, matmul=0, outside=0, core=None, **parameters):
    """A program f(p, *inputs), `p` its parameters: shapes, or tensors as they are. Inputs alike. `core`: where the decomposed form
    has other demands."""
    def add(f):
        CASES.append((f.__name__, f, inputs, parameters, {"what": inspect.getdoc(f) or "", "fc": fc, "matmul": matmul, "outside": outside, "core": core or {}}))
        return f
    return add


@case([(3, 4)], fc=1, w=(4, 4))
def folded_mm_square(p, x):
    return x @ p.w


@case([(3, 4)], fc=1, w=(4, 5))
def folded_mm(p, x):
    return x @ p.w


@case([(3, 4)], fc=1, w=(4, 4), b=(4,))
def folded_addmm_square(p, x):
    return torch.addmm(p.b, x, p.w)


@case([(3, 4)], fc=1, w=(4, 5), b=(5,))
def folded_addmm(p, x):
    return torch.addmm(p.b, x, p.w)


@case([(3, 4)], fc=1, w=(4, 4), b=(4,))
def linear_square(p, x):
    return F.linear(x, p.w, p.b)


@case([(3, 4), (4, 4)], matmul=1)
def transpose_upstream_of_an_addition(p, x, a):
    """A transpose upstream of the weight is not the weight's own."""
    return F.linear(x, (a.t() + 1).t())


@case([(3, 4)], fc=1, a=(4, 4))
def transpose_upstream_in_a_parameter(p, x):
    return F.linear(x, (p.a.t() + 1).t())


@case([(3, 4), (4, 4)], matmul=1)
def transpose_upstream_of_the_mm(p, x, a):
    return x @ (a.t() * 2)


@case([(3, 4), (2, 4), (3, 4)], matmul=1)
def weight_is_a_cat(p, x, a, b):
    return F.linear(x, torch.cat([a, b]))


@case([(3, 4)], fc=1, a=(2, 4), b=(3, 4), c=(5,))
def weight_is_a_cat_of_parameters(p, x):
    return F.linear(x, torch.cat([p.a, p.b]), p.c)


@case([(3, 4), (5, 4), (5,)], matmul=1)
def weight_and_bias_are_inputs(p, x, w, b):
    return F.linear(x, w, b)


@case([(3, 4)], fc=1, q=torch.arange(-10, 10, dtype=torch.int8).reshape(5, 4), scale=(5, 1))
def weight_is_dequantized(p, x):
    return F.linear(x, p.q.to(torch.float32) * p.scale)


@case([(3, 4)], fc=1, w=(9, 6))
def weight_is_a_slice(p, x):
    return F.linear(x, p.w[2:7, 1:5])


@case([(3, 4)], fc=1, w=(6, 9))
def folded_weight_is_a_slice_of_a_transpose(p, x):
    return x @ p.w.t()[2:6, 1:6]


@case([(3, 4)], fc=1, w=(1, 4))
def weight_is_an_expand(p, x):
    return F.linear(x, p.w.expand(5, 4))


@case([(3, 4)], fc=2, w=(4, 4), v=(4, 4))
def one_folded_and_one_not(p, x):
    return F.linear(x, p.v) + x @ p.w


@case([(3, 4)], fc=2, w=(4, 4))
def the_same_constant_both_ways(p, x):
    return F.linear(x, p.w) - x @ p.w


@case([(2, 4, 3)], fc=1, w=(5, 4))
def noncontiguous_input(p, x):
    """It arrives decomposed as bmm with view(expand(permute(w)))."""
    return F.linear(x.transpose(1, 2), p.w)


@case([(2, 4, 3)], fc=1, w=(5, 4), b=(5,))
def noncontiguous_input_with_bias(p, x):
    """And the bias as an add behind a view."""
    return F.linear(x.transpose(1, 2), p.w, p.b)


@case([(2, 4, 3)], fc=1, w=(4, 4), b=(4,))
def noncontiguous_input_square_with_bias(p, x):
    return F.linear(x.transpose(1, 2), p.w, p.b)


@case([(1, 4, 3)], fc=1, w=(5, 4), b=(5,))
def noncontiguous_input_batch_of_one(p, x):
    return F.linear(x.transpose(1, 2), p.w, p.b)


@case([(2, 4, 3)], fc=1, w=(4, 5))
def noncontiguous_input_folded(p, x):
    return x.transpose(1, 2) @ p.w


@case([(2, 4, 3)], fc=1, w=(4, 4), b=(4,))
def noncontiguous_input_folded_with_bias(p, x):
    return p.b + x.transpose(1, 2) @ p.w


@case([(2, 3, 4)], fc=1, w=(5, 4), b=(1, 1, 5))
def batched_weight_by_unsqueeze_and_expand(p, x):
    return torch.bmm(x, p.w.t().unsqueeze(0).expand(2, 4, 5)) + p.b


@case([(2, 3, 4)], fc=1, w=(5, 4), b=(5,))
def batched_weight_by_clone_and_reshape(p, x):
    return p.b + torch.bmm(x, p.w.t().expand(2, 4, 5).clone().reshape(2, 4, 5))


@case([(2, 3, 4)], fc=1, w=(4, 5), b=(1, 5))
def batched_weight_repeated(p, x):
    return torch.bmm(x, p.w.repeat(2, 1, 1)) + p.b


@case([(2, 3, 4)], matmul=1, w=(2, 5, 4))
def batched_weights_that_differ(p, x):
    return torch.bmm(x, p.w.transpose(1, 2))


@case([(2, 3, 4), (2, 5, 4), (2, 1, 5)], matmul=1)
def baddbmm(p, x, y, b):
    return torch.baddbmm(b, x, y.transpose(1, 2), beta=0.5, alpha=2)


@case([(3, 4)], fc=1, w=(4, 4))
def transposed_weight_is_an_output_too(p, x):
    t = p.w.t()
    return x @ t, t


@case([(3, 4)], fc=1, w=(4, 4))
def transposed_weight_has_two_users(p, x):
    t = p.w.t()
    return x @ t, t.contiguous() + 1


@case([(3, 4)], fc=1, w=(5, 4), b=(5,))
def addmm_alpha_and_beta(p, x):
    return torch.addmm(p.b, x, p.w.t(), beta=0.5, alpha=2)


@case([(3, 4)], fc=1, w=(4, 5), b=(5,))
def folded_addmm_alpha_and_beta(p, x):
    return torch.addmm(p.b, x, p.w, beta=-1.5, alpha=3)


@case([(3, 4)], fc=1, w=(4, 5), b=torch.full((5,), float("nan")))
def addmm_beta_of_zero(p, x):
    """beta = 0: the bias is not read."""
    return torch.addmm(p.b, x, p.w, beta=0)


@case([(3, 4)], fc=1, w=(3, 4), b=(3, 1))
def addmm_column_bias(p, x):
    """Square, so that the bias would fit columns too."""
    return torch.addmm(p.b, x, p.w.t())


@case([(3, 4)], fc=1, w=(5, 4), b=(3, 5))
def addmm_matrix_bias(p, x):
    return torch.addmm(p.b, x, p.w.t())


@case([(3, 4)], fc=1, w=(5, 4), b=(1,))
def addmm_one_bias_for_all(p, x):
    return torch.addmm(p.b, x, p.w.t(), alpha=0.5)


@case([(3, 4)], fc=1, w=(5, 4), b=())
def addmm_bias_without_dims(p, x):
    return torch.addmm(p.b, x, p.w.t())


@case([torch.arange(12).reshape(3, 4)], outside=3, w=torch.arange(20).reshape(4, 5), b=torch.arange(5))
def integer_addmm(p, x):
    return torch.addmm(p.b, x, p.w, beta=2, alpha=3)


@case([(3, 1)], fc=1, w=(1, 1), b=(1,))
def one_by_one(p, x):
    return F.linear(x, p.w, p.b)


@case([(3, 4)], fc=1, w=(1, 4))
def weight_of_one_row(p, x):
    return x @ p.w.view(4, 1)


@case([(3, 1)], fc=1, w=(5, 1))
def weight_of_one_column(p, x):
    return x @ p.w.view(1, 5)


@case([(2, 3, 4, 5)], fc=1, w=(5, 6), b=(6,))
def matmul_of_four_dims(p, x):
    return torch.matmul(x, p.w) + p.b


@case([(4,)], fc=1, w=(5, 4), b=(5,))
def linear_of_a_vector(p, x):
    return F.linear(x, p.w, p.b)


@case([(4, 3)], matmul=1, w=(5, 4))
def weight_on_the_left(p, x):
    return p.w @ x


@case([(2, 4, 3)], matmul=1, core={"fc": 1, "matmul": 0}, w=(5, 4))
def weight_on_the_left_of_a_batch(p, x):
    """PyTorch decomposes it into a product of the transposes."""
    return p.w @ x


@case([(2, 3, 4)], fc=2, w=(5, 4), v=(4, 5))
def einsum_both_ways(p, x):
    return torch.einsum("bik,nk->bin", x, p.w) + torch.einsum("bik,kn->bin", x, p.v)


@case([(2, 3, 4), (2, 5, 4)], matmul=1)
def einsum_batched(p, x, y):
    return torch.einsum("bik,bjk->bij", x, y)


@case([(3, 4)], fc=1, w=(5, 4, 1, 1))
def weight_of_a_convolution(p, x):
    return F.linear(x, p.w.squeeze(-1).squeeze(-1))


@case([(3, 4)], fc=2, w=(4, 5))
def tied_autoencoder(p, x):
    return torch.relu(x @ p.w) @ p.w.t()


@case([(3, 4)], fc=1, w=(5, 4), b=(5,))
def relu_goes_inside(p, x):
    return torch.relu(F.linear(x, p.w, p.b))


@case([(6, 4)], fc=1, w=(5, 4), b=(5,))
def bias_behind_views_and_a_permute(p, x):
    return (x @ p.w.t()).view(2, 3, 5).transpose(0, 1) + p.b


@case([(4, 4)], fc=1, w=(4, 4), b=(4,))
def bias_on_the_transposed_product(p, x):
    """After the transpose it is one number per row of the product: it must not go inside."""
    return (x @ p.w.t()).t() + p.b


@case([(3, 4)], fc=1, w=(5, 4), b=(5,))
def product_without_bias_is_used_too(p, x):
    y = F.linear(x, p.w)
    return y + p.b, y * 2


@case([(3, 4)], fc=1, w=(5, 4), b=(5,))
def bias_subtracted(p, x):
    return F.linear(x, p.w) - p.b


def parameter(v):
    return torch.randn(v) if isinstance(v, tuple) else v


class Program(torch.nn.Module):
    def __init__(self, f, parameters):
        super().__init__()
        self.f = f
        for name, value in parameters.items():
            v = parameter(value)
            if v.is_floating_point():
                setattr(self, name, torch.nn.Parameter(v))
            else:
                self.register_buffer(name, v)

    def forward(self, *inputs):
        return self.f(self, *inputs)


def save(program, path):
    for node in program.graph.nodes:  # no lines of this script: what a program is stands in cases.json
        node.meta.pop("stack_trace", None)
    stored = io.BytesIO()
    torch.export.save(program, stored)
    with zipfile.ZipFile(stored) as original, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as small:
        for entry in original.infolist():
            content = original.read(entry)
            assert not re.search(rb"/(home|work|root|tmp)/", content), entry.filename
            small.writestr(zipfile.ZipInfo(entry.filename), content, zipfile.ZIP_DEFLATED, 9)


def leaves(value, path):
    flat = torch.utils._pytree.tree_leaves(value)
    save_file({str(i): t.detach().contiguous().clone() for i, t in enumerate(flat)}, path)


def main():
    HERE.mkdir(exist_ok=True)
    told = {}
    for name, f, inputs, parameters, demands in CASES:
        torch.manual_seed(len(told))
        module, values = Program(f, parameters).eval(), tuple(parameter(v) for v in inputs)
        leaves(values, HERE / f"{name}_in.safetensors")
        leaves(module(*values), HERE / f"{name}_out.safetensors")
        program = torch.export.export(module, values)
        save(program, HERE / f"{name}.pt2")
        save(program.run_decompositions(), HERE / f"{name}_core.pt2")
        told[name] = demands
    (HERE / "cases.json").write_text(json.dumps({"torch": torch.__version__.split("+")[0], "cases": told}, indent=1) + "\n")


if __name__ == "__main__":
    main()
