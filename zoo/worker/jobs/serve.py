"""Stay and answer requests batch by batch, until the host ends its writing.

What is asked and what is answered lies in two files that both sides map, each of a few slots. The host writes a
line such as ``{"slot": 0, "count": 3}`` to standard input for every slot that it has filled; the worker answers each
with a ``batch`` event. A language model gets its prompts in the lines themselves and answers with ``text`` events.
"""

import time

from zoo.worker.errors import UserError
from zoo.worker.input_queue import answer_commands
from zoo.worker.serving import classifiers, restyling, writing

KINDS = {
    "pictures": classifiers.pictures,
    "texts": classifiers.texts,
    "restyle": restyling.restyler,
}


def run(request, events, stop, phases):
    """Answer until there is no more to come.

    Args:
        request: its ``serve`` part names the ``kind`` and what that needs; see the modules of ``zoo.worker.serving``.
        events: where to report.
        stop: when asked to, what is in hand is the last.
        phases: seconds by phase, filled in.

    Raises:
        UserError: the weights do not fit, or this stack cannot compute in the precision asked for.
    """
    settings, began = request["serve"], time.monotonic()
    if settings["kind"] == "writer":
        return writing.run(request, events, stop, phases)
    answer = KINDS[settings["kind"]](request)
    phases["build_s"] = time.monotonic() - began
    events.emit("ready")

    def tell(asked, told):
        events.emit("batch", slot=asked["slot"], **told)

    count = answer_commands(stop, lambda asked: _answered(answer, asked), tell, getattr(answer, "at_once", 1))
    return {"metrics": {"batches": count}, "stopped": "interrupted" if stop.asked else None}


def _answered(answer, asked):
    """What the ``batch`` event tells: the seconds it took, or the problem with what was asked."""
    began = time.monotonic()
    try:
        answer(asked)
    except UserError as error:
        return {"problem": str(error)}
    return {"seconds": time.monotonic() - began}
