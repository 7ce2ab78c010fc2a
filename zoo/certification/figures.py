"""What a figure of evidence can be on any machine: one rule for those of steps, records, epochs and rows."""

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

# The fastest device that anybody has makes fewer; a product of matrices that is faster was not computed.
MOST_GFLOP_PER_S = 5e6
FRACTIONS = ("accuracy", "val_accuracy", "test_accuracy", "test_top5_accuracy", "train_accuracy", "token_accuracy")
# What was timed took time; these are ends of names.
TIMED = ("median_ms", "q1_ms", "q3_ms", "median_s", "items_per_s", "gflop_per_s")
# A worker may take less memory than before.
SIGNED = ("grown_bytes",)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether a value of JSON is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def problems(figures: Mapping[str, Any]) -> Iterator[str]:
    """Yield which figures cannot be, one sentence each; what is no figure by its kind and name is passed over."""
    for name, value in figures.items():
        timed = name.endswith(TIMED) and value is not None
        if timed or (isinstance(value, int | float) and not isinstance(value, bool)):
            wrong = _problem(name, value)
            if wrong:
                yield f"{name} is {value!r}, {wrong}"


def _problem(name: str, value: Any) -> str:
    if not is_number(value):
        return "no number"
    if value < 0 and name not in SIGNED:
        return "below zero"
    if value == 0 and name.endswith(TIMED):
        return "but it took time"
    if value > 1 and name in FRACTIONS:
        return "more than all"
    if value > MOST_GFLOP_PER_S and name.endswith("gflop_per_s"):
        return "more than any device has"
    return ""
