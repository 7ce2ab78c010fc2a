"""Kinds of fields that schemas declare."""

from dataclasses import field
from typing import Any


def literal(default: Any = None) -> Any:
    """Declare text that the command line takes literally, without quotes: a path or a prompt."""
    return field(default=default, metadata={"literal": True})
