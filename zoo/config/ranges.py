"""What values settings may have: checks of single values, and the choices that several schemas share."""

import re
from collections.abc import Iterable
from typing import Any

from zoo.core.errors import nearest

OPTIMIZERS = ("adam", "momentum", "rmsprop", "sgd")
SCHEDULES = ("constant", "cosine", "one_cycle")
TRAINING_PRECISIONS = ("auto", "float32", "float64", "mixed_bfloat16", "mixed_float16")
PRECISIONS = ("float32", "bfloat16", "float16")
ANSWER_PRECISIONS = ("auto", *PRECISIONS)
FEATURE_NETWORKS = ("auto", "vgg19", "vgg16", "squeezenet", "random")
FEATURE_PRECISIONS = ("auto", "float32", "bfloat16")
RESIZES = ("stretch", "crop", "nearest")
MODES = ("inference", "training")
LARGEST_SEED = 2**31 - 1

# Builders take keywords of these names; the same name has the same range in every model.
_MODEL_RANGES: dict[str, tuple[float, float]] = {
    "dropout": (0.0, 0.99),
    "l2": (0.0, 1.0),
    "units": (1, 65_536),
    "alpha": (0.05, 4.0),
    "depth_multiplier": (1, 8),
    "bn_momentum": (0.0, 0.9999),
    "input_size": (32, 1024),
    "pair_buckets": (0, 1 << 20),
}


def within(key: str, value: float, low: float, high: float) -> str | None:
    """Return what is wrong with a number, or None."""
    if low <= value <= high:
        return None
    return f"{key} must be from {low:g} to {high:g}, got {value!r}"


def within_or_null(key: str, value: float | None, low: float, high: float) -> str | None:
    """Return what is wrong with a number that may be left out, or None."""
    return None if value is None else within(key, value, low, high)


def one_of(key: str, value: str, valid: Iterable[str]) -> str | None:
    """Return what is wrong with a word, or None."""
    valid = list(valid)
    if value in valid:
        return None
    return f"{key} must be one of {', '.join(valid)}, got {value!r}{nearest(value, valid)}"


def seed(value: int) -> str | None:
    """Return what is wrong with a random seed, or None."""
    return within("seed", value, 0, LARGEST_SEED)


def checksum(value: str | None, weights: str) -> str | None:
    """Return what is wrong with the checksum that weights must have, or None."""
    if value is None:
        return None
    if not re.fullmatch(r"[0-9a-f]{64}", value):
        return f"weights_checksum must be a sha256, 64 hexadecimal digits in small letters, got {value!r}"
    named = weights not in ("none", "zoo") and not weights.startswith("zoo/")
    return None if named else f"weights_checksum has no use with weights={weights}"


def model_problems(model: dict[str, Any]) -> list[str | None]:
    """Return what is wrong with the arguments of a builder, None for each that is right.

    A builder in a file of the user's own may mean something else by the same name.
    """
    if "file" in model:
        return []
    return [_model_argument(key, value) for key, value in model.items()]


def _model_argument(key: str, value: Any) -> str | None:
    if key not in _MODEL_RANGES or isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return within(f"model.{key}", value, *_MODEL_RANGES[key])


def problems(checks: Iterable[str | None]) -> list[str]:
    """Return the sentences among the results of checks."""
    return [check for check in checks if check]
