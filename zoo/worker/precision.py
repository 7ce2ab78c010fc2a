"""Select the precision of networks if the user set ``auto``."""

import os

from zoo.models import compat
from zoo.worker import devices


def settle(wanted):
    """Resolve ``auto`` to ``bfloat16`` if it is known to be faster, else to ``float32``.

    It is faster with PyTorch on CPUs that multiply bfloat16 matrices in hardware. Other CPUs convert to float32.
    """
    if wanted != "auto":
        return wanted
    is_on_cpu = os.environ.get("KERAS_TORCH_DEVICE", "cpu") == "cpu"
    return "bfloat16" if _gains("style") and is_on_cpu and _multiplies("amx_bf16") else "float32"


def policy(wanted, device_kind, network=""):
    """Return Keras's name of a classifier's training precision; ``auto`` is ``mixed_bfloat16`` if it is faster.

    It is faster with TensorFlow 2.21 (not for MobileNet) and PyTorch 2.13 on CPUs with bfloat16 instructions.

    Args:
        wanted: ``auto`` or a policy of Keras.
        device_kind: ``cpu`` or ``gpu``.

    Raises:
        ValueError: float64 is requested on a GPU.
    """
    if wanted == "float64" and device_kind != "cpu":
        raise ValueError("float64 is only for comparisons on CPUs: choose backend=cpu")
    if wanted != "auto":
        return wanted
    name = network.lower()
    of_texts = {"transformer/lm": "language models", "transformer/classifier": "text classifiers"}
    what = "mobilenets" if "mobilenet" in name else of_texts.get(name, "classifiers")
    gains = compat.MAJOR >= 3 and _gains(what) and device_kind == "cpu"
    return "mixed_bfloat16" if gains and _multiplies("amx_bf16", "avx512_bf16") else "float32"


def lower(device_kind):
    """Return a precision below float32 that may be faster on a ``cpu`` or ``gpu``, or None.

    On a CPU it is bfloat16 if the CPU multiplies such matrices in hardware, on a GPU float16.
    :mod:`zoo.worker.inference.lower_precision` measures whether it is faster.
    """
    if compat.MAJOR < 3:
        return None
    if device_kind != "cpu":
        return "float16"
    return "bfloat16" if _multiplies("amx_bf16", "avx512_bf16") else None


def _gains(what):
    return what in devices.capabilities()["bfloat16_gains"]


def _multiplies(*instructions):
    """Return whether the CPU has one of these instructions; False on systems other than Linux."""
    try:
        with open("/proc/cpuinfo") as listing:
            has = set(listing.read(100000).split())
    except OSError:
        return False
    return not has.isdisjoint(instructions)
