"""The settings of all schemas by key, and properties derived from their declarations."""

import functools
import importlib
import pkgutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

from zoo.config import schemas, setting
from zoo.config.setting import OUTWARD, PLACE, Setting

if TYPE_CHECKING:
    from zoo.config.schemas.common import Settings


@functools.cache
def _all() -> "list[type[Settings]]":
    from zoo.config.schemas.common import Settings

    for module in pkgutil.iter_modules(schemas.__path__, f"{schemas.__name__}."):
        importlib.import_module(module.name)
    return list(_subclasses(Settings))


def shorthands() -> "Iterator[tuple[str, str]]":
    for schema in _all():
        yield from schema.shorthands.items()


@functools.cache
def everywhere() -> dict[str, list[Setting]]:
    """Return the declarations of every dotted key, one per schema that has it."""
    result: dict[str, list[Setting]] = {}
    each: list[type] = list(_all())
    for schema in each:
        for key, declaration in setting.by_key(schema).items():
            result.setdefault(key, []).append(declaration)
    return result


def _subclasses(schema: "type[Settings]") -> "Iterator[type[Settings]]":
    for child in schema.__subclasses__():
        yield child
        yield from _subclasses(child)


@functools.cache
def keys_with(attribute: str) -> list[str]:
    """Return the sorted keys for which ``literal``, ``adjustable`` or ``names_stack`` of :class:`Setting` is True."""
    return sorted(key for key, rows in everywhere().items() if any(getattr(row, attribute) for row in rows))


@functools.cache
def word_keys() -> frozenset[str]:
    """Return the literal keys whose values are lists: comma-separated words, which may contain equal signs."""
    literal = ((key, everywhere()[key]) for key in keys_with("literal"))
    return frozenset(key for key, rows in literal if any(isinstance(row.default, list) for row in rows))


def is_outward(key: str) -> bool:
    """Return True if a setting executes a program, contacts an address or writes outside of the run folder."""
    return any(row.affects is OUTWARD for row in everywhere().get(key, []))


def is_private(key: str) -> bool:
    """Return True if a setting describes this machine and must not appear in evidence."""
    return any(row.affects in (PLACE, OUTWARD) for row in everywhere().get(key, []))


def public(text: str) -> str | None:
    """Return an override for evidence. A private value is replaced by its placeholder; without one, return None."""
    key = text.partition("=")[0]
    if not is_private(key):
        return text
    placeholder = next((row.placeholder for row in everywhere()[key] if row.placeholder), "")
    return f"{key}={placeholder}" if placeholder else None
