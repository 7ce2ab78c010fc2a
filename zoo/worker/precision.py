"""Choose the precision that networks compute in where the user leaves it open."""

import os

from zoo.models import compat
from zoo.worker import devices


def settle(wanted):
    """Turn ``auto`` into ``bfloat16`` where it is known to gain, else ``float32``.

    It gains with PyTorch on processors that multiply matrices of bfloat16 in hardware: a step of VGG19 took a fifth
    of the time with AMX. On others it is computed in float32 with conversions around it.
    """
    if wanted != "auto":
        return wanted
    return "bfloat16" if _gains("style") and _on_processor() and _multiplies("amx_bf16") else "float32"


def policy(wanted, device_kind, network=""):
    """What Keras calls the precision to train a classifier in; ``auto`` is ``mixed_bfloat16`` where that gains.

    It gains with TensorFlow 2.21 and PyTorch 2.13 on processors that multiply matrices of bfloat16 in hardware: a
    step of the MNIST network took half the time with AMX, and three quarters with AVX-512. With PyTorch and AVX-512
    one of MobileNet took three fifths, one of the language model four fifths, one of the classifier of texts three
    quarters; with TensorFlow MobileNet took no less, and texts were not tried.
    On others it is computed in float32 with conversions around it.

    Args:
        wanted: ``auto`` or a policy of Keras.
        device_kind: ``cpu`` or ``gpu``.
        network: name of the model.

    Raises:
        ValueError: the device cannot be relied on to have it.
    """
    if wanted == "float64" and device_kind != "cpu":
        raise ValueError("float64 is for comparisons on processors: choose backend=cpu")
    if wanted != "auto":
        return wanted
    name = network.lower()
    of_texts = {"transformer/lm": "language models", "transformer/classifier": "text classifiers"}
    what = "mobilenets" if "mobilenet" in name else of_texts.get(name, "classifiers")
    gains = compat.MAJOR >= 3 and _gains(what) and device_kind == "cpu"
    return "mixed_bfloat16" if gains and _multiplies("amx_bf16", "avx512_bf16") else "float32"


def lower(device_kind):
    """Name a precision below float32 that may answer sooner on this device; None where none is known to.

    On a processor it is bfloat16 where matrices of that are multiplied in hardware, on a GPU float16. Whether
    it does gain, :mod:`zoo.worker.inference.lower_precision` finds out.

    Args:
        device_kind: ``cpu`` or ``gpu``.
    """
    if compat.MAJOR < 3:
        return None
    if device_kind != "cpu":
        return "float16"
    return "bfloat16" if _multiplies("amx_bf16", "avx512_bf16") else None


def _gains(what):
    return what in devices.capabilities()["bfloat16_gains"]


def _on_processor():
    return os.environ.get("KERAS_TORCH_DEVICE", "cpu") == "cpu"


def _multiplies(*instructions):
    """Whether the processor has one of these; Linux lists what it can, elsewhere float32 is right everywhere."""
    try:
        with open("/proc/cpuinfo") as listing:
            has = set(listing.read(100000).split())
    except OSError:
        return False
    return not has.isdisjoint(instructions)
