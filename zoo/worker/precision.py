"""Choose the precision that networks compute in where the user leaves it open."""

import os

from zoo.models import compat
from zoo.worker import devices


def settle(wanted):
    """Turn ``auto`` into ``bfloat16`` where it is known to gain, else ``float32``.

    It gains with PyTorch on processors that multiply matrices of bfloat16 in hardware (AMX): a step of VGG19 took a
    fifth of the time. On others it is computed in float32 with conversions around it.
    """
    if wanted != "auto":
        return wanted
    return "bfloat16" if _gains("style") and _on_processor() and _has_amx() else "float32"


def policy(wanted, promise):
    """What Keras calls the precision to train a classifier in; ``auto`` is ``mixed_bfloat16`` where that gains.

    It gains with TensorFlow 2.21 and PyTorch 2.13 on processors that multiply matrices of bfloat16 in hardware (AMX):
    a step of the MNIST network took half the time. On others it is computed in float32 with conversions around it.

    Args:
        wanted: ``auto`` or a policy of Keras.
        promise: the kind of device that was promised, such as ``cpu``.

    Raises:
        ValueError: the device cannot be relied on to have it.
    """
    if wanted == "float64" and promise != "cpu":
        raise ValueError("float64 is for comparisons on processors: choose backend=cpu")
    if wanted != "auto":
        return wanted
    gains = compat.MAJOR >= 3 and _gains("classifiers") and promise == "cpu"
    return "mixed_bfloat16" if gains and _has_amx() else "float32"


def lower(promise):
    """Name a precision below float32 that may answer sooner on this device; None where none is known to.

    On a processor it is bfloat16 where matrices of that are multiplied in hardware (AMX), on a GPU float16. Whether
    it does gain, :mod:`zoo.worker.inference.lower_precision` finds out.

    Args:
        promise: the kind of device that was promised, such as ``cpu``.
    """
    if compat.MAJOR < 3:
        return None
    if promise != "cpu":
        return "float16"
    return "bfloat16" if _has_amx() else None


def _gains(what):
    return what in devices.capabilities()["bfloat16_gains"]


def _on_processor():
    return os.environ.get("KERAS_TORCH_DEVICE", "cpu") == "cpu"


def _has_amx():
    """Linux lists what the processor can; elsewhere nothing is known, and float32 is right everywhere."""
    try:
        with open("/proc/cpuinfo") as listing:
            return "amx_bf16" in listing.read(100000)
    except OSError:
        return False
