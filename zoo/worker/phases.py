"""Time the phases of a job."""

import contextlib
import time


@contextlib.contextmanager
def timed(phases, name):
    """Add the seconds of the block to an entry of a dictionary, such as the phases of a job or a row of results."""
    began = time.monotonic()
    yield
    phases[name] = phases.get(name, 0.0) + time.monotonic() - began
