"""Read key, default and description of settings from the docstrings of their schemas."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any


def documented(schema: type[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield key, default and description of every documented setting of a schema."""
    yield from _documented(schema())


def _documented(settings: Any) -> Iterator[tuple[str, str, str]]:
    for part in dataclasses.fields(settings):
        value = getattr(settings, part.name)
        if dataclasses.is_dataclass(value):
            yield from ((f"{part.name}.{key}", default, text) for key, default, text in _documented(value))
        elif text := _description(type(settings), part.name):
            yield part.name, _default(value), text


def _description(schema: type[Any], name: str) -> str:
    """The words of an attribute, in the docstring of the class or of the next of its bases that has them."""
    docstrings = (kind.__dict__.get("__doc__") or "" for kind in schema.__mro__)
    matches = (re.search(rf"^ +{name}: ((?:.|\n {{9,}})*)", text, re.MULTILINE) for text in docstrings)
    return next((" ".join(match[1].split()) for match in matches if match), "")


def _default(value: Any) -> str:
    if value is None:
        return "null"
    return "" if isinstance(value, list | dict) else str(value).lower()
