"""Bounds of metrics: a loss must stay below its bound, an accuracy above."""

from typing import Any

from zoo.config.overrides import leaves

DIRECTIONS = ("at_least", "at_most")
# Keys of a promise that are not metrics: the data's checksum, and settings that differ from the recipe's.
_CONDITIONS = ("sha256", "settings")


def metrics(promise: dict[str, Any] | None) -> dict[str, float]:
    """Return the bounds of a promise, by metric."""
    return {name: value for name, value in (promise or {}).items() if name not in _CONDITIONS}


def settings(promise: dict[str, Any] | None) -> dict[str, Any]:
    """Return the settings that a promise is for, besides those of the recipe, by dotted key."""
    return dict(leaves((promise or {}).get("settings", {})))


def of(name: str, value: float) -> dict[str, float]:
    """Return the bound for a metric: an upper bound for losses and perplexities, a lower bound for any other."""
    return {"at_most" if name.endswith(("loss", "perplexity")) else "at_least": value}


def is_met(row: dict[str, float], value: float) -> bool:
    return value <= row["at_most"] if "at_most" in row else value >= row["at_least"]


def words(row: dict[str, Any]) -> str:
    return f"at most {row['at_most']:g}" if "at_most" in row else f"at least {row['at_least']:g}"
