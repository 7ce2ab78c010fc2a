"""Answers everything that tests ask of a stack, in one process that imports Keras once; Python 3.6 or newer.

``python -I -B conformance.py request.json``. Each part of the request is answered by the module of its name beside
this file, and leaves its answer in PART.json, or what went wrong in PART.error.
"""

import importlib
import json
import os
import runpy
import sys
import time
import traceback


def start(request):
    """Reach the zoo and choose the device; must be before Keras is imported."""
    runpy.run_path(os.path.join(request["zoo"], "worker", "bootstrap.py"))
    os.environ["ZOO_KERAS"] = request["keras"]
    from zoo.protocol.request import DevicePart

    importlib.import_module("zoo.worker.devices." + request["framework"]).start(DevicePart.of(request["device"]))


def answered(name, request):
    """Answer one part; whatever goes wrong concerns the tests of this part alone."""
    try:
        return "json", json.dumps(importlib.import_module(name).answer(request), default=float)
    except Exception:
        return "error", traceback.format_exc()


def _clear_session():
    """Give up the graph of the part before: each step of TensorFlow 1 takes longer in a larger graph."""
    from zoo.models import compat

    compat.keras.backend.clear_session()


def main(path):
    with open(path) as stream:
        request = json.load(stream)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))  # isolated Python leaves it out
    start(request)
    for name, part in request["parts"].items():
        _clear_session()
        began, used = time.time(), time.process_time()
        kind, text = answered(name, dict(part, device=request["device"], framework=request["framework"]))
        with open(os.path.join(request["out"], name + "." + kind), "w") as stream:
            stream.write(text)
        sys.stderr.write(f"{name}: {time.time() - began:.1f} s, processor {time.process_time() - used:.1f} s\n")


if __name__ == "__main__":
    main(sys.argv[1])
