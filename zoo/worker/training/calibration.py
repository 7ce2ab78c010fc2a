"""Time a few steps at several batch sizes and precisions, each taken as the training itself would take it."""

import gc
import os
import threading
import time

import numpy as np

from zoo.models import compat
from zoo.worker.errors import OutOfMemoryError, describe

# The first steps of a point compile. Then so many seconds, and as many steps as are needed for a median, are enough.
UNTIMED, LEAST, ENOUGH_S = 2, 3, 0.5
# No step begins after this share of the time; at its end the process ends, whatever it is compiling.
SHARE = 0.8


class EnoughStepsError(Exception):
    """A point was timed."""


class StepTimer:
    """Takes the place of the events of a training, which it ends after enough steps.

    Args:
        until: time after which no step begins.
    """

    def __init__(self, until):
        self._until, self._last, self._steps, self.rates = until, None, 0, []

    def emit(self, _event, **_fields):
        """Take an event; only steps count."""

    def step(self, step, items, **_fields):
        """Note the items a second of a step.

        Raises:
            EnoughStepsError: no more steps are needed.
        """
        now, self._steps = time.monotonic(), self._steps + 1
        if self._steps > UNTIMED and step > 1:  # before the first step of an epoch the last one was evaluated
            self.rates.append(((items - self._last[0]) / (now - self._last[1]), now - self._last[1]))
        self._last = items, now
        enough = len(self.rates) >= LEAST and sum(seconds for _, seconds in self.rates) >= ENOUGH_S
        if enough or now >= self._until:
            raise EnoughStepsError


class Calibration:
    """Times points and reports each, before and after.

    Args:
        job: module of the training.
        request: its request, with the part ``calibration``.
        events: where to report.
        stop: when asked to, no other point is tried.
    """

    def __init__(self, job, request, events, stop):
        self._job, self._request, self._events, self._stop = job, request, events, stop
        self._until = time.monotonic() + SHARE * request.calibration.seconds
        self._cost, self._rates = 0.0, {}

    def search(self):
        """Find the fastest precision at the usual batch size, then the fastest size upwards or else downwards."""
        asked = self._request.calibration
        sizes, usual = sorted(asked.batch_sizes), asked.batch_sizes[0]
        for precision in asked.precisions:
            self._rate(usual, precision)
        if not self._rates:
            return
        best = max(self._rates, key=self._rates.get)[1]
        place, first = sizes.index(usual), self._rates[usual, best]
        for others in (sizes[place + 1 :], sizes[:place][::-1]):
            rate = first
            for size in others:
                before, rate = rate, self._rate(size, best)
                if rate <= before:
                    break
            if max(self._rates.values()) > first:
                return

    def _rate(self, size, precision):
        """Items a second at a point; 0 where it cannot be timed."""
        began = time.monotonic()
        if self._stop.asked or began + self._cost > self._until or (size, precision) in self._rates:
            return self._rates.get((size, precision), 0.0)
        self._events.emit("point", batch_size=size, precision=precision)
        train = self._request.train.replace(batch_size=size, precision=precision)
        timer, problem = StepTimer(self._until), None
        try:
            self._job.run(self._request.replace(train=train), timer, self._stop, {})
        except EnoughStepsError:
            pass
        except Exception as error:  # whatever it is, this point cannot be trained
            problem = "out of memory" if isinstance(error, (OutOfMemoryError, MemoryError)) else describe(error)
        rate = float(np.median([rate for rate, _ in timer.rates])) if timer.rates and not problem else None
        compat.keras.backend.clear_session()
        gc.collect()
        self._cost = time.monotonic() - began
        # The job has put what it computed in into the place of "auto".
        point = {"batch_size": size, "precision": train.precision, "seconds": self._cost}
        self._events.emit("point", items_per_s=rate, problem=problem or (None if rate else "no time left"), **point)
        self._rates[size, train.precision] = rate or 0.0
        return rate or 0.0


def run(job, request, events, stop):
    """Time the points of a request; return the fields of the ``done`` event."""
    guard = threading.Timer(request.calibration.seconds, os._exit, (0,))
    guard.daemon = True
    guard.start()
    Calibration(job, request, events, stop).search()
    guard.cancel()
    return {"metrics": {}}
