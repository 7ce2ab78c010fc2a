"""A language model that continues several texts at once, taking turns token by token."""

import time
import types

from zoo.worker.errors import UserError
from zoo.worker.inference.decoder import open_decoder
from zoo.worker.inference.sampling import Continuation
from zoo.worker.input_queue import Commands
from zoo.worker.phases import timed

# Tokens of a long prompt that are read before the other texts continue.
PROMPT_AT_ONCE = 64


def run(request, events, stop, phases):
    """Write until the host closes standard input; a ``batch`` event with the ``slot`` of a text reports its end.

    The request's ``pieces`` has the text of each token. After a stop no token is drawn.
    """
    with timed(phases, "build_s"):
        memory = open_decoder(request)
        memory.read([2])  # compiles
    events.emit("ready")
    texts, commands = {}, Commands(stop)
    while not stop.asked and not (commands.ended and not texts):
        for asked in commands.taken(wait=not texts):  # without waiting while there is a text to write
            if "close" in asked:
                texts.pop(asked["close"], None)
            else:
                text = Continuation(types.SimpleNamespace(**asked), memory, request.pieces)
                texts[asked["slot"]] = text, time.monotonic()
        for slot, (text, began) in list(texts.items()):
            if not _advance(text, began, slot, events):
                del texts[slot]
    return {"metrics": {}, "stopped": "interrupted" if stop.asked else None}


def _advance(text, began, slot, events):
    """Draw one token, or read a part of the prompt, and report its text; return False after the end of the text."""
    try:
        if text.prompt:
            text.read(PROMPT_AT_ONCE)
            return True
        more = text.draw()
    except UserError as error:
        events.emit("batch", slot=slot, problem=str(error))
        return False
    if more:
        events.emit("text", slot=slot, text=more)
    if text.left:
        return True
    events.emit("batch", slot=slot, seconds=time.monotonic() - began)
    return False
