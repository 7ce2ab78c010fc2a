"""Time the transformer's encoder: the zoo's, and PyTorch's own module for comparison.

All cases alternate, repeat after repeat, so that a temporary slowdown of the machine affects all of them. The fastest
product of two square matrices is timed in the same rounds, in the same precision.
"""

import importlib
import os
import time

import numpy as np

from zoo.worker import devices
from zoo.worker.benchmarks import forward_pass
from zoo.worker.benchmarks.results import save_rows
from zoo.worker.errors import UserError, describe
from zoo.worker.phases import timed

PEAK_SIZE = 2048
SEED = 1
# PyTorch's module as timed in a blog post: zeros, dropout active, gradients recorded, no waiting for the device.
PUBLISHED = "as published"
# Modes that compile before the first pass.
COMPILED = ("compiled", "xla")


def run(request, events, stop, phases):
    """Write ``rows.json``: one row per case, with the seconds of every repeat; a failed case is a row too."""
    settings, framework = request.bench, request.device.framework
    with timed(phases, "compile_s"):
        prepared = [_prepared(case, request) for case in cases(settings, framework)]
    with timed(phases, "run_s"):
        for repeat in range(settings.repeats):
            events.step(step=repeat, steps=settings.repeats)
            for row, call in prepared:
                if call is not None and not stop.asked:
                    _time(row, call, settings.passes, waits=row["mode"] != PUBLISHED)
    return {"metrics": save_rows(request, [row for row, _ in prepared], events)}


def cases(settings, framework):
    can, rows = devices.capabilities(framework), []
    modes = [mode for mode in can["modes"] if settings.compiled or mode not in COMPILED or len(can["modes"]) == 1]
    for precision in settings.precisions:
        for implementation in settings.implementations:
            if implementation != "zoo" and implementation not in can["encoders"]:
                continue
            if implementation == "torch" and precision == "float32" and settings.as_published:
                rows.append(_case("torch", "eager", PUBLISHED, precision))
            rows += [_case(implementation, way, mode, precision) for mode in settings.modes for way in modes]
        rows.append(_case("matrix product", "", "", precision))
    return rows


def _case(implementation, way, mode, precision):
    return {"implementation": implementation, "way": way, "mode": mode, "precision": precision}


def flops(model, length, batch):
    """Return the multiplications and additions of one pass: the products of attention and feed-forward."""
    width = model["d_model"]
    weights = 4 * width * width + 2 * width * model["d_ff"]
    return 2 * batch * length * model["layers"] * (weights + 2 * length * width)


def _prepared(case, request):
    """Return a case's row, and the function that runs one pass; for a failed case, the error is in the row."""
    settings, model = request.bench, request.model.args
    row = dict(case, taken_s=[], first_s=None, error=None)
    began = time.perf_counter()
    try:
        if case["implementation"] == "matrix product":
            row["flops"], once = 2 * PEAK_SIZE**3, _product(case["precision"], request.device.framework)
        else:
            row["flops"] = flops(model, settings.length, settings.batch)
            make = _of_torch if case["implementation"] == "torch" else _of_zoo
            once = make(case, settings, model)
        forward_pass.wait(once())
        row["first_s"] = time.perf_counter() - began
        forward_pass.wait(once())
    except Exception as error:  # reported in the row of the case; the rest continue
        row["error"] = describe(error)
        return row, None
    return row, once


def _time(row, once, count, waits):
    began = time.perf_counter()
    try:
        for _ in range(count):
            output = once()
            if waits:
                forward_pass.wait(output)
    except Exception as error:
        row["error"] = describe(error)
        return
    row["taken_s"].append(time.perf_counter() - began)


def _vectors(settings, model):
    shape = (settings.batch, settings.length, model["d_model"])
    return np.random.RandomState(SEED).standard_normal(shape).astype(np.float32)


def _of_zoo(case, settings, model):
    from zoo.models import compat, transformer
    from zoo.worker import weights

    # Frameworks with `compute_in` are independent of Keras's policy, which Keras 2 does not have.
    by_policy = compat.MAJOR >= 3 and not hasattr(devices.load(compat.backend_name()), "compute_in")
    with compat.dtype_policy(case["precision"] if by_policy else "float32"):
        encoder = transformer.build(compat, length=settings.length, **model)
        weights.initialise(encoder, SEED)
    x = _vectors(settings, model)
    return forward_pass.of_keras(encoder, x, case["mode"] == "training", case["way"], case["precision"])


def _of_torch(case, settings, model):
    import torch

    if model["causal"] or model["final_norm"]:
        raise UserError("PyTorch's module can only be timed without a mask and without a final normalization")
    layer = torch.nn.TransformerEncoderLayer(
        model["d_model"], model["heads"], model["d_ff"], model["dropout"], model["activation"],
        norm_first=model["norm_first"], batch_first=case["mode"] != PUBLISHED,
    )  # fmt: skip
    device, kind = os.environ.get("KERAS_TORCH_DEVICE", "cpu"), getattr(torch, case["precision"])
    module = torch.nn.TransformerEncoder(layer, model["layers"], enable_nested_tensor=False).to(device, kind)
    if case["mode"] == PUBLISHED:
        return lambda: module(torch.zeros(settings.length, model["d_model"]).to(device))
    x = torch.from_numpy(_vectors(settings, model)).to(device, kind)
    training = case["mode"] == "training"
    return forward_pass.of_torch(module.train(training), x, training, case["way"])


def _product(precision, framework):
    x = np.random.RandomState(SEED).standard_normal((PEAK_SIZE, PEAK_SIZE)).astype(np.float32)
    try:
        kernels = importlib.import_module("zoo.worker.devices.kernels." + framework)
    except ImportError:
        kernels = None
    if not hasattr(kernels, "product"):
        raise UserError("single matrix products are not timed on this framework")
    return kernels.product(x, precision)
