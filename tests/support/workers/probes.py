"""Runs the worker's probes; runs inside a stack, Python 3.6 or newer."""

import importlib


def answer(request):
    """One row a probe."""
    from zoo.worker.probes import run

    device = importlib.import_module("zoo.worker.devices." + request["framework"])
    from zoo.protocol.request import DevicePart, Request, StackPart

    stack = StackPart(framework=request["framework"], keras="keras")
    asked = Request(verb="probe", stack=stack, probes=True, device=DevicePart.of(request["device"]))
    return run.run(asked, device.place, device.proof(asked.device).device_kind)
