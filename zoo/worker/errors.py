"""Define the errors whose message is meant for the user; the host knows them by name, see ``zoo.protocol``."""

# How TensorFlow, PyTorch, JAX, PlaidML, MLX and numpy say that there is no more memory.
EXHAUSTED = (
    "out of memory",
    "resource_exhausted",
    "resource exhausted",
    "failed to allocate",
    "allocate memory",
    "bad_alloc",
    "oom when",
    "insufficient memory",
    "maximum allowed buffer size",
    "[metal::malloc] resource limit",
)


class UserError(Exception):
    """The request cannot be done; the message says what is wrong and what was received."""


class ProbeError(UserError):
    """The device computes wrong numbers."""


class OutOfMemoryError(Exception):
    """There is no more memory, or the run may not take more; the host can try again with smaller batches."""


def describe(error):
    """Name the type of an error and what it says, in 300 characters at most."""
    return ("%s: %s" % (type(error).__name__, error))[:300]


def raise_if_out_of_memory(error, settings):
    """Raise one kind of error for what every framework says in a way of its own.

    Raises:
        OutOfMemoryError: the error is that memory ran out.
    """
    lines = [type(error).__name__] + [line.strip() for line in str(error).split("\n") if line.strip()]
    matching = [line for line in lines if any(phrase in line.lower() for phrase in EXHAUSTED)]
    if isinstance(error, MemoryError) or matching:
        line, size = (matching or lines[::-1])[0][:300], settings.batch_size
        raise OutOfMemoryError("no memory left with trainer.batch_size=%s: %s" % (size, line)) from error
