#!/usr/bin/env python3
"""What the stock tools make of a float program: quantized with PT2E's XNNPACKQuantizer or torchao, exported, and lowered.

  PYTHON_WITH_EXECUTORCH bench/quantized_peer.py PROGRAM.pt2 INPUTS.safetensors SCHEME OUT

SCHEME: static-int8 or dynamic-int8 (PT2E, weights per channel), or 8da4w (torchao, groups of 32, for the zoo's llama_cache, which is
built anew from examples/zoo because torchao wants modules; PROGRAM is only looked at for its inputs). Writes OUT.pt2 (quantized, as
exported), OUT.pte (lowered for XNNPACK) and OUT.outputs.safetensors (what the quantized program gives in eager mode).
"""
import logging
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parents[1]


def inputs_of(path):
    tensors = load_file(path)
    return tuple(tensors[str(i)] for i in range(len(tensors)))


def by_pt2e(program, inputs, is_dynamic):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic))
    prepared = prepare_pt2e(torch.export.load(program).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def by_torchao():
    sys.path.insert(0, str(ROOT / "examples" / "zoo"))
    import export_zoo
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, quantize_
    from torchao.quantization.granularity import PerGroup

    torch.manual_seed(0)
    model, *_ = export_zoo.llama_cache()
    quantize_(model.eval(), Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)))
    return model


def main(program, inputs, scheme, out):
    inputs = inputs_of(inputs)
    with torch.no_grad():
        model = by_torchao() if scheme == "8da4w" else by_pt2e(program, inputs, scheme == "dynamic-int8")
        exported = torch.export.export(model, inputs)
        torch.export.save(exported, out + ".pt2")
        expected = exported.module()(*inputs)
        expected = [expected] if isinstance(expected, torch.Tensor) else list(expected)
        save_file({str(i): t.contiguous() for i, t in enumerate(expected)}, out + ".outputs.safetensors")
        exported = torch.export.load(out + ".pt2")
        lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    pathlib.Path(out + ".pte").write_bytes(lowered.buffer)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 5 else __doc__)
