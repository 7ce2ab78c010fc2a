"""A language model that continues several texts at once, taking turns token by token."""

import codecs
import copy
import time

import numpy as np

from zoo.worker.errors import UserError
from zoo.worker.inference.decoder import open_decoder
from zoo.worker.inference.sampling import sample, step
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
    pieces = [piece.encode("latin-1") for piece in request.pieces]
    texts, commands = {}, Commands(stop)
    while not stop.asked and not (commands.ended and not texts):
        for asked in commands.taken(wait=not texts):  # without waiting while there is a text to write
            if "close" in asked:
                texts.pop(asked["close"], None)
            else:
                texts[asked["slot"]] = _Text(asked, memory, pieces)
        for slot in list(texts):
            if not _advance(texts[slot], slot, events):
                del texts[slot]
    return {"metrics": {}, "stopped": "interrupted" if stop.asked else None}


def _advance(text, slot, events):
    """Draw one token, or read a part of the prompt, and report its text; return False after the end of the text."""
    try:
        more = text.advance()
    except UserError as error:
        events.emit("batch", slot=slot, problem=str(error))
        return False
    if more:
        events.emit("text", slot=slot, text=more)
    if text.left:
        return True
    events.emit("batch", slot=slot, seconds=time.monotonic() - text.began)
    return False


class _Text:
    def __init__(self, asked, memory, pieces):
        self._memory = copy.copy(memory)
        self._memory.reset()  # its own cache; the network is shared
        self._seen, self._settings, self._pieces = list(asked["tokens"]), asked, pieces
        self._prompt = self._seen[-memory.length :]
        self._random = np.random.RandomState(asked["seed"])
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._logits = None
        self.left, self.began = asked["length"], time.monotonic()

    def advance(self):
        """Take one step and return the added text."""
        if self._prompt:
            self._logits = self._memory.read(self._prompt[:PROMPT_AT_ONCE])
            del self._prompt[:PROMPT_AT_ONCE]
            return ""
        drawing = [self._settings[name] for name in ("temperature", "top_k")]
        token = sample(self._logits, *drawing, self._random, self._settings["top_p"])
        self._seen.append(token)
        self.left -= 1
        if self.left:
            self._logits = step(self._memory, self._seen)
        return self._decoder.decode(self._pieces[token], final=not self.left)
