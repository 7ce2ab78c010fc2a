"""Answer requests batch by batch, until the host closes standard input.

Requests and answers are in two files that both sides map, each of a few slots. The host writes a line such as
``{"slot": 0, "count": 3}`` to standard input for every filled slot; the worker answers each with a ``batch`` event. A
language model gets its prompts in the lines themselves and answers with ``text`` events.
"""

import importlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from zoo.worker.errors import UserError
from zoo.worker.input_queue import iter_commands


def run(request, events, stop, phases):
    """Answer until the host closes standard input; a stop finishes the current requests first.

    The request's ``serve`` names the ``kind``, a module of ``zoo.worker.serving``, and its settings. The module has
    ``run``, or ``answerer``, which returns the function that answers a slot.
    """
    began = time.monotonic()
    kind = importlib.import_module("zoo.worker.serving." + request.serve.kind)
    if hasattr(kind, "run"):
        return kind.run(request, events, stop, phases)
    answer = kind.answerer(request)
    phases["build_s"] = time.monotonic() - began
    events.emit("ready")
    at_once = getattr(answer, "at_once", 1)
    count = _in_threads(answer, events, stop, at_once) if at_once > 1 else _one_by_one(answer, events, stop)
    return {"metrics": {"batches": count}, "stopped": "interrupted" if stop.asked else None}


def _one_by_one(answer, events, stop):
    """Answer in the main thread, the only one with TensorFlow 1's graph; return the number of answers."""
    count = 0
    for asked in iter_commands(stop):
        events.emit("batch", slot=asked["slot"], **_answered(answer, asked))
        count += 1
    return count


def _in_threads(answer, events, stop, at_once):
    """Answer several slots at once, so that a device never waits for the next one; return the number of answers."""
    line, failures, count = threading.Lock(), [], 0

    def handle(asked):
        try:
            outcome = _answered(answer, asked)
            with line:
                events.emit("batch", slot=asked["slot"], **outcome)
        except BaseException as error:  # raised again in the main thread, where it ends the worker
            failures.append(error)
            stop.asked = True

    with ThreadPoolExecutor(at_once) as pool:
        for asked in iter_commands(stop):
            pool.submit(handle, asked)
            count += 1
    if failures:
        raise failures[0]
    return count


def _answered(answer, asked):
    """Return the fields of the ``batch`` event: the seconds, or the problem with the request."""
    began = time.monotonic()
    try:
        answer(asked)
    except UserError as error:
        return {"problem": str(error)}
    return {"seconds": time.monotonic() - began}
