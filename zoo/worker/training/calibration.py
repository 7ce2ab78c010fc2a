"""Time a few steps at several batch sizes and precisions, each taken as in the actual training run."""

import gc
import os
import threading
import time

import numpy as np

from zoo.models import compat
from zoo.worker import precision
from zoo.worker.errors import OutOfMemoryError, describe

# The first step of a point compiles. Timing ends after LEAST steps and ENOUGH_S, or after three times ENOUGH_S.
UNTIMED, LEAST, ENOUGH_S = 1, 3, 0.5
# No step begins after this share of the time. When the time is over, the process ends, even while it compiles. The
# results so far count, so a point is tried if at least half of the time of the previous point is left.
SHARE = 0.95


class EnoughStepsError(Exception):
    """Ends training after its steps were timed."""


class StepTimer:
    """Receives the events of training, and ends it after enough steps or when ``is_over`` returns True."""

    def __init__(self, is_over):
        self._is_over, self._last, self._steps, self.rates, self._seconds = is_over, None, 0, [], 0.0

    def emit(self, _event, **_fields):
        """Ignore all events except steps."""

    def step(self, step, items, **_fields):
        now, self._steps = time.monotonic(), self._steps + 1
        if self._steps > UNTIMED and step > 1:  # the first step of an epoch includes an evaluation
            seconds = now - self._last[1]
            self.rates.append((items - self._last[0]) / seconds)
            self._seconds += seconds
        self._last = items, now
        wanted = ENOUGH_S if len(self.rates) >= LEAST else 3 * ENOUGH_S
        if self._is_over() or self._seconds >= wanted:
            raise EnoughStepsError


class Calibration:
    """Times the points of a request and reports each before and after; the arguments are those of :func:`run`.

    Attributes:
        guard: timer that ends the process when the time of the request is over.
    """

    def __init__(self, job, request, events, stop):
        self._job, self._request, self._events, self._stop = job, request, events, stop
        self._until, self._cost, self._rates = None, 0.0, {}
        self.guard = threading.Timer(request.calibration.seconds, os._exit, (0,))
        self.guard.daemon = True

    def search(self):
        """Find the fastest precision at the configured batch size, then a faster size, larger or else smaller."""
        asked = self._request.calibration
        sizes, usual = sorted(asked.batch_sizes), asked.batch_sizes[0]
        gains = precision.lower(self._request.device.device_kind)  # an emulated precision would take all the time
        for name in asked.precisions:
            if gains or name == asked.precisions[0] or not name.startswith("mixed"):
                self._rate(usual, name)
        if not self._rates:
            return
        (_, fastest), first = max(self._rates.items(), key=lambda item: item[1])
        place = sizes.index(usual)
        for others in (sizes[place + 1 :], sizes[:place][::-1]):
            best = first
            for size in others:
                rate = self._rate(size, fastest)
                if rate <= best:
                    break
                best = rate
            if best > first:
                return

    def _is_over(self):
        """Return whether time is up; it starts after the first step, which any training run compiles."""
        if self._until is None:
            self._until = time.monotonic() + SHARE * self._request.calibration.seconds
            self.guard.start()
        return time.monotonic() >= self._until

    def _rate(self, size, name):
        """Return the items per second with a batch size and a precision's name, or 0 if they cannot be timed."""
        began, point = time.monotonic(), (size, name)
        too_late = self._until is not None and began + self._cost / 2 > self._until
        if point in self._rates or self._stop.asked or too_late:
            return self._rates.get(point, 0.0)
        self._events.emit("point", batch_size=size, precision=name)
        train = self._request.train.replace(batch_size=size, precision=name)
        timer, problem = StepTimer(self._is_over), None
        try:
            self._job.run(self._request.replace(train=train), timer, self._stop, {})
        except EnoughStepsError:
            problem = None if timer.rates else "no time left"
        except (OutOfMemoryError, MemoryError):
            problem = "out of memory"
        except Exception as error:
            if not self._rates:  # the training would fail in the same way
                raise
            problem = describe(error)
        rate = 0.0 if problem or not timer.rates else float(np.median(timer.rates))
        compat.keras.backend.clear_session()
        gc.collect()
        self._cost = time.monotonic() - began
        self._rates[size, train.precision] = rate  # the job replaces "auto" with the precision that it uses
        self._events.emit(
            "point", batch_size=size, precision=train.precision, seconds=self._cost, problem=problem,
            items_per_s=rate or None,
        )  # fmt: skip
        return rate


def run(job, request, events, stop):
    """Time the points of ``request.calibration`` with the module of its job; return the fields of ``done``."""
    calibration = Calibration(job, request, events, stop)
    try:
        calibration.search()
    finally:
        calibration.guard.cancel()
    return {"metrics": {}}
