"""How much memory this process takes, and how frameworks say that there is no more."""

import sys

EXHAUSTED = (
    "out of memory",
    "resource_exhausted",
    "resource exhausted",
    "failed to allocate",
    "allocate memory",
    "bad_alloc",
    "oom when",
)


class OutOfMemoryError(Exception):
    """There is no more memory, or the run may not take more; the host can try again with smaller batches."""


def peak_bytes():
    """Largest resident size so far, in bytes, or None where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def judge(error, settings):
    """Say plainly what TensorFlow, PyTorch, JAX, PlaidML and numpy each say in a way of their own.

    Raises:
        OutOfMemoryError: the error is that memory ran out.
    """
    lines = [type(error).__name__] + [line.strip() for line in str(error).split("\n") if line.strip()]
    telling = [line for line in lines if any(phrase in line.lower() for phrase in EXHAUSTED)]
    if isinstance(error, MemoryError) or telling:
        told, size = (telling or lines[::-1])[0][:300], settings.get("batch_size")
        raise OutOfMemoryError("no memory left with trainer.batch_size=%s: %s" % (size, told)) from error
