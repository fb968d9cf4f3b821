#!/usr/bin/env python3
"""One other engine on one model, for bench/stock_files.py. Runs in a Python with torch, onnxruntime, onnx, onnxscript and openvino.

  peer.py convert MODEL.pt2 DIR                                   writes DIR/model.onnx and DIR/model.xml
  peer.py run ort|ov FILE --inputs F.safetensors --threads N --seconds S
                                                                  prints one line of JSON: median_ms, min_ms, load_ms, peak_rss_mb
"""
import argparse
import contextlib
import io
import json
import logging
import os
import resource
import statistics
import sys
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


def convert(options):
    import openvino
    import torch
    program = torch.export.load(options.model)
    with contextlib.redirect_stdout(io.StringIO()):
        torch.onnx.export(program, (), os.path.join(options.dir, "model.onnx"), dynamo=True, external_data=True, verbose=False)
    openvino.save_model(openvino.convert_model(program), os.path.join(options.dir, "model.xml"), compress_to_fp16=False)


def ort(options, inputs):
    import onnxruntime
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.log_severity_level = 3
    session = onnxruntime.InferenceSession(options.file, settings, providers=["CPUExecutionProvider"])
    feed = {i.name: x for i, x in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feed)


def ov(options, inputs):
    import openvino
    model = openvino.compile_model(options.file, "CPU", {"INFERENCE_NUM_THREADS": options.threads, "INFERENCE_PRECISION_HINT": "f32", "NUM_STREAMS": 1})
    request = model.create_infer_request()
    return lambda: request.infer(inputs, share_inputs=True)


def run(options):
    from safetensors.numpy import load_file
    tensors = load_file(options.inputs)
    inputs = [tensors[k] for k in sorted(tensors, key=int)]
    start = time.perf_counter()
    call = {"ort": ort, "ov": ov}[options.engine](options, inputs)
    load = time.perf_counter() - start
    warm = time.perf_counter() + options.seconds / 10
    call()
    while time.perf_counter() < warm:
        call()
    times, end = [], time.perf_counter() + options.seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    print(json.dumps({"median_ms": statistics.median(times) * 1e3, "min_ms": min(times) * 1e3, "load_ms": load * 1e3,
                      "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("convert")
    one.add_argument("model")
    one.add_argument("dir")
    one.set_defaults(call=convert)
    one = commands.add_parser("run")
    one.add_argument("engine", choices=["ort", "ov"])
    one.add_argument("file")
    one.add_argument("--inputs", required=True)
    one.add_argument("--threads", type=int, default=1)
    one.add_argument("--seconds", type=float, default=1.0)
    one.set_defaults(call=run)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    sys.exit(main())
