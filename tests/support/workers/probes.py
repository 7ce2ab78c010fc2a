"""Runs the worker's probes; runs inside a stack, Python 3.6 or newer."""

import importlib


def answer(request):
    """One row a probe."""
    from zoo.worker.probes import run

    device = importlib.import_module("zoo.worker.devices." + request["framework"])
    asked = {"verb": "probe", "probes": True, "device": request["device"]}
    return run.run(asked, device.place, device.proof(request["device"])["kind"])
