"""Stay and answer requests batch by batch, until the host ends its writing.

What is asked and what is answered lies in two files that both sides map, each of a few slots. The host writes a
line such as ``{"slot": 0, "count": 3}`` to standard input for every slot that it has filled; the worker answers each
with a ``batch`` event. A language model gets its prompts in the lines themselves and answers with ``text`` events.
"""

import importlib
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from zoo.worker.errors import UserError
from zoo.worker.input_queue import iter_commands


def run(request, events, stop, phases):
    """Answer until there is no more to come.

    Args:
        request: its ``serve`` part names the ``kind``, a module of ``zoo.worker.serving``, and what that needs. The
            module has ``run``, or else ``answerer``, which returns what answers a slot.
        events: where to report.
        stop: when asked to, what is in hand is the last.
        phases: seconds by phase, filled in.

    Raises:
        UserError: the weights do not fit, or this stack cannot compute in the precision asked for.
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
    """Answer in the main thread, the only one in which TensorFlow 1 finds its graph; return how many."""
    count = 0
    for asked in iter_commands(stop):
        events.emit("batch", slot=asked["slot"], **_answered(answer, asked))
        count += 1
    return count


def _in_threads(answer, events, stop, at_once):
    """Answer several slots at once, so that a device has the next before it has done the last; return how many."""
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
    """What the ``batch`` event tells: the seconds it took, or the problem with what was asked."""
    began = time.monotonic()
    try:
        answer(asked)
    except UserError as error:
        return {"problem": str(error)}
    return {"seconds": time.monotonic() - began}
