"""Write events for the host: one JSON object per line, from the closed list in ``zoo.protocol``."""

import json
import math
import os
import sys
import time

from zoo.protocol.events import EVENTS

STEP_INTERVAL_S = 0.2


def take_stdout():
    """Keep standard output for events; send everything that frameworks print, also from C, to standard error."""
    sys.stdout.flush()
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return kept


class Emitter:
    """Writes events to a stream; if the host has ended, BrokenPipeError ends the worker.

    ``errors_only`` is set in all processes of a training run except the first, which reports progress.
    """

    def __init__(self, stream, errors_only=False):
        self._stream, self._errors_only = stream, errors_only
        self._last_step = -STEP_INTERVAL_S

    def emit(self, event, **fields):
        """Write one event now; an event or a field outside the protocol raises KeyError or TypeError."""
        record = EVENTS[event](t=time.time(), **fields).to_json()
        if self._errors_only and event != "error":
            return
        self._stream.write(json.dumps(_plain(record), sort_keys=True) + "\n")
        self._stream.flush()

    def step(self, **fields):
        """Write a ``step`` event, at most five per second, which is enough for the screen."""
        now = time.monotonic()  # the system clock may be set back by hours
        if now - self._last_step >= STEP_INTERVAL_S:
            self._last_step = now
            self.emit("step", **fields)


def _plain(value):
    """Return a JSON value: NumPy scalars unpacked, NaN and infinity as null."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
