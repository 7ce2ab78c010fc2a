"""Bounds of figures: a loss stays below what is promised, an accuracy above."""

from typing import Any

DIRECTIONS = ("at_least", "at_most")


def of(name: str, value: float) -> dict[str, float]:
    """The bound of a figure: a loss or a perplexity stays below it, any other figure above."""
    return {"at_most" if name.endswith(("loss", "perplexity")) else "at_least": value}


def is_met(row: dict[str, float], value: float) -> bool:
    """True where a figure keeps its bound."""
    return value <= row["at_most"] if "at_most" in row else value >= row["at_least"]


def words(row: dict[str, Any]) -> str:
    """A bound in words: ``at most 1.88``."""
    return f"at most {row['at_most']:g}" if "at_most" in row else f"at least {row['at_least']:g}"
