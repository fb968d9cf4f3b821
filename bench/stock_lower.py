#!/usr/bin/env python3
"""The stock exporter's lowering of MODEL.pt2 for XNNPACK, timed: the peer of `edgewright compile`.

Usage: PYTHON_WITH_EXECUTORCH bench/stock_lower.py MODEL.pt2 OUT.pte    prints one line of JSON:
seconds (loading and importing not counted), peak_rss_mb, bytes, delegates, arena_bytes, left_outside {operator: calls}
"""
import collections
import json
import logging
import pathlib
import resource
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower


def main(model, out):
    program = torch.export.load(model)
    start = time.monotonic()
    with torch.no_grad():
        lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch()
        data = lowered.buffer
    seconds = time.monotonic() - start
    pathlib.Path(out).write_bytes(data)
    plan = lowered.executorch_program.execution_plan[0]
    outside = collections.Counter()
    for chain in plan.chains:
        for instruction in chain.instructions:
            call = instruction.instr_args
            if type(call).__name__ == "KernelCall":
                outside[f"{plan.operators[call.op_index].name}.{plan.operators[call.op_index].overload}"] += 1
    print(json.dumps({
        "seconds": round(seconds, 3), "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "bytes": len(data), "delegates": len(plan.delegates), "arena_bytes": sum(plan.non_const_buffer_sizes),
        "left_outside": dict(outside)}))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 3 else __doc__)
