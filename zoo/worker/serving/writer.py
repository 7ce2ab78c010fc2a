"""A language model that goes on with several texts at once, a token of each in turn."""

import codecs
import copy
import json
import os
import select
import time

import numpy as np

from zoo.models.transformer import decoding
from zoo.worker import weights
from zoo.worker.errors import UserError
from zoo.worker.inference.sampling import sample, step
from zoo.worker.jobs.generate_text import STEP_ARGUMENTS
from zoo.worker.training.setup import build_for_texts


def run(request, events, stop, phases):
    """Write until there is no more to come; a ``batch`` event with the ``slot`` of a text says that it has ended.

    Args:
        request: ``pieces`` holds what each token adds to a text, as bytes written as one character each.
        events: where to report.
        stop: when asked to, no further token is drawn.
        phases: seconds by phase, filled in.
    """
    began = time.monotonic()
    model = build_for_texts(request)
    weights.load(model, request.weights)
    given = {name: value for name, value in request.model.args.items() if name in STEP_ARGUMENTS}
    memory = decoding.CachedDecoder(given, model.get_weights())
    memory.step([2])  # compiles
    phases["build_s"] = time.monotonic() - began
    events.emit("ready")
    pieces = [piece.encode("latin-1") for piece in request.pieces]
    texts, commands = {}, _Commands(stop)
    while not stop.asked and not (commands.ended and not texts):
        for asked in commands.taken(wait=not texts):
            if "close" in asked:
                texts.pop(asked["close"], None)
            else:
                texts[asked["slot"]] = _Text(asked, memory, pieces)
        for slot in list(texts):
            if not _advance(texts[slot], slot, events):
                del texts[slot]
    return {"metrics": {}, "stopped": "interrupted" if stop.asked else None}


def _advance(text, slot, events):
    """Draw one token, or read one of the prompt; say what it adds. False once the text has ended."""
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
    """A text that is being written."""

    def __init__(self, asked, memory, pieces):
        self._memory = copy.copy(memory)
        self._memory.reset()  # a cache of its own; the network is shared
        self._seen, self._settings, self._pieces = list(asked["tokens"]), asked, pieces
        self._prompt = self._seen[-memory.length :]
        self._random = np.random.RandomState(asked["seed"])
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._logits = None
        self.left, self.began = asked["length"], time.monotonic()

    def advance(self):
        """Take one step; return what it adds to the text."""
        if self._prompt:
            self._logits = self._memory.step([self._prompt.pop(0)])[0]
            return ""
        drawing = [self._settings[name] for name in ("temperature", "top_k")]
        token = sample(self._logits, *drawing, self._random, self._settings["top_p"])
        self._seen.append(token)
        self.left -= 1
        if self.left:
            self._logits = step(self._memory, self._seen)
        return self._decoder.decode(self._pieces[token], final=not self.left)


class _Commands:
    """Lines on standard input, taken without waiting while there is something to write."""

    def __init__(self, stop):
        self._rest, self._stop, self.ended = b"", stop, False

    def taken(self, wait):
        """What has come; where ``wait`` is true, after a tenth of a second at most."""
        if self.ended or self._stop.asked or not select.select([0], [], [], 0.1 if wait else 0.0)[0]:
            return []
        more = os.read(0, 65536)
        self.ended = not more
        *lines, self._rest = (self._rest + more).split(b"\n")
        return [json.loads(line.decode("ascii")) for line in lines]
