"""Define the errors whose messages are meant for the user; the host recognizes their names (``zoo.protocol``)."""

# Messages of TensorFlow, PyTorch, JAX, PlaidML, MLX and NumPy when memory runs out.
EXHAUSTED = (
    "out of memory", "resource_exhausted", "resource exhausted", "failed to allocate", "allocate memory",
    "bad_alloc", "oom when", "insufficient memory", "maximum allowed buffer size",
    "[metal::malloc] resource limit",
)  # fmt: skip


class UserError(Exception):
    """The request is impossible; the message says what is wrong and what was received.

    It is the worker's counterpart of ``ZooError``, and is not listed under ``Raises:`` in docstrings.
    """


class ProbeError(UserError):
    """The device computes wrong numbers."""


class OutOfMemoryError(Exception):
    """Memory ran out, or the run reached its limit; the host can try again with smaller batches."""


def describe(error):
    """Return the type and the message of an error, in at most 300 characters."""
    return ("%s: %s" % (type(error).__name__, error))[:300]


def raise_if_out_of_memory(error, settings):
    lines = [type(error).__name__] + [line.strip() for line in str(error).split("\n") if line.strip()]
    matching = [line for line in lines if any(phrase in line.lower() for phrase in EXHAUSTED)]
    if isinstance(error, MemoryError) or matching:
        line, size = (matching or lines[::-1])[0][:300], settings.batch_size
        raise OutOfMemoryError("out of memory with trainer.batch_size=%s: %s" % (size, line)) from error
