"""Writes one program of tests/stock/programs: the export, inputs and PyTorch's eager outputs of each call. Needs torch and safetensors."""
import copy
import pathlib
import sys
import warnings

import torch
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
OUT = pathlib.Path(__file__).with_name("programs")


def flat(v):
    return {str(i): t.detach().contiguous().clone() for i, t in enumerate(torch.utils._pytree.tree_flatten(v)[0])}


def make(name, module, *inputs, dynamic=None, exact=False, more=(), core=False):
    """`exact`: PyTorch's outputs in double precision, rounded once, where its own single ones are no better than what is to be tested.
    `more`: inputs of further calls on the one loaded program. `core`: the decomposed form."""
    if sys.argv[1:] and name not in sys.argv[1:]:
        return
    module.eval()
    with torch.no_grad():
        program = torch.export.export(module, inputs, dynamic_shapes=dynamic, strict=False)
        if core:
            program = program.run_decompositions()
        eager = copy.deepcopy(module)  # the program shares the module's buffers
    for part in program.graph_module.modules():  # no path of a machine in a committed file, branches and bodies included
        for node in part.graph.nodes if isinstance(part, torch.fx.GraphModule) else ():
            node.meta.pop("stack_trace", None)
    d = OUT / name
    d.mkdir(parents=True, exist_ok=True)
    torch.export.save(program, d / "program.pt2")
    for i, call in enumerate([inputs, *more]):
        with torch.no_grad():
            outputs = eager(*copy.deepcopy(call))
            if exact:
                outputs = tuple(y.float() for y in copy.deepcopy(eager).double()(*(x.double() for x in call)))
        save_file(flat(call), d / f"inputs{f'_{i}' if i else ''}.safetensors")
        save_file(flat(outputs), d / f"outputs{f'_{i}' if i else ''}.safetensors")
