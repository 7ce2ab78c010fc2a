"""Name the format of a file that a command cannot use, and what to do with it: the rows of ``formats.yaml``."""

import dataclasses
import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zoo.core import schema

# Number of leading bytes that identify every format.
HEAD_BYTES = 512


@dataclasses.dataclass(frozen=True, eq=False)
class Format:
    """A format; ``remedies`` of its ``group`` are for ``images``, ``texts``, ``models``; ``head``: first bytes."""

    about: str
    group: str
    remedies: Mapping[str, str]
    name: "re.Pattern[str] | None"
    head: "re.Pattern[bytes] | None"


@functools.cache
def content() -> Any:
    return schema.read_yaml(Path(__file__).with_suffix(".yaml"))


def models() -> Any:
    """Return the description ``about`` and the remedy ``do`` of each kind of model file, by key."""
    return content()["models"]


@functools.cache
def rows() -> tuple[Format, ...]:
    """Return all formats, the most specific first."""
    return tuple(
        Format(
            row["about"],
            row["do"],
            content()["groups"][row["do"]],
            re.compile(row["name"]) if "name" in row else None,
            re.compile(row["head"].encode("latin-1"), re.DOTALL) if "head" in row else None,
        )
        for row in content()["formats"]
    )


def find(name: str = "", head: bytes = b"", use: str = "") -> Format | None:
    """Return the first format that matches a name or first bytes and, if ``use`` is given, has a remedy for it."""
    for row in rows():
        fits = (name and row.name and row.name.search(name.lower())) or (head and row.head and row.head.match(head))
        if fits and (not use or use in row.remedies):
            return row
    return None
