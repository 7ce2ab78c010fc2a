"""Declare settings: the default, meaning, range and effect of each field of a schema."""

import copy
import dataclasses
import enum
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from zoo.core.errors import nearest, typed

_KEY = "setting"


class Affects(enum.Enum):
    """What a change of a setting affects.

    Attributes:
        NUMBERS: the computed result. A run cannot be resumed with a change, and the recipe's promise does not apply.
        CHANCE: the random numbers. A run cannot be resumed with a change, but the recipe's promise applies.
        SPEED: how fast, where or how closely monitored the same result is computed.
        PLACE: locations on this machine. Left out of evidence.
        OUTWARD: programs, addresses and files outside of the run folder. Never accepted from records and evidence.
    """

    NUMBERS = enum.auto()
    CHANCE = enum.auto()
    SPEED = enum.auto()
    PLACE = enum.auto()
    OUTWARD = enum.auto()


NUMBERS, CHANCE, SPEED, PLACE, OUTWARD = Affects


@dataclass(frozen=True)
class Setting:
    """The declaration of a field.

    Attributes:
        default: default value; a schema may override it for nested settings.
        meaning: a phrase for ``help``; empty if users cannot set it.
        at_least, at_most: range of a number, or of each number in a list.
        or_zero: whether 0 is valid outside of the range.
        choices: valid words (of each entry of a list), or a function that returns them.
        filled: whether a list needs at least one entry.
        adjustable: whether a resumed run can change it permanently.
        literal: whether the command line takes the value without quotes: a path, free text, or words with commas.
        placeholder: replacement for the value in published evidence.
        names_stack: whether it names a stack, or needs a stack with a certain capability.
        needs: the setting without which it has no effect: ``KEY``, which must be set; ``KEY=A|B``; or ``KEY!=A``;
            several are joined by `` and ``. Keys that a schema lacks are ignored.
        divides: the argument of the model that it must divide.
        otherwise: a sentence for values that are not valid, with ``{}`` for the value.
    """

    default: Any
    meaning: str = ""
    at_least: float | None = None
    at_most: float | None = None
    or_zero: bool = False
    choices: Iterable[str] | Callable[[], Iterable[str]] = ()
    filled: bool = False
    affects: Affects = NUMBERS
    adjustable: bool = False
    literal: bool = False
    placeholder: str = ""
    names_stack: bool = False
    needs: str = ""
    divides: str = ""
    otherwise: str = ""

    @property
    def valid(self) -> list[str]:
        return list(self.choices() if callable(self.choices) else self.choices)

    @property
    def is_resumable(self) -> bool:
        return self.adjustable or self.affects not in (NUMBERS, CHANCE)

    def problems(self, key: str, value: Any) -> list[str]:
        if value is None:
            return []
        if self.filled and not value:
            return [f"{key} needs at least one value"]
        values = value if isinstance(value, list | tuple) else [value]
        return [problem for each in values if (problem := self._problem(key, each))]

    def _problem(self, key: str, value: Any) -> str | None:
        if self.choices:
            problem = one_of(key.removesuffix(".name"), value, self.valid)  # users set data.name with data=
            return problem and problem + self.otherwise.format(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or self.at_least is None or self.at_most is None or (self.or_zero and value == 0):
            return None
        if self.at_least <= value <= self.at_most:
            return None
        return f"{key} must be {self.range()}, got {value!r}"

    def range(self) -> str:
        """Return the range of a number in words, such as ``from 0 to 1``, or an empty string without one."""
        if self.at_least is None or self.at_most is None:
            return ""
        return f"{'0 or ' if self.or_zero else ''}from {_number(self.at_least)} to {_number(self.at_most)}"


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


UNDECLARED = Setting(None)


def setting(default: Any, meaning: str = "", **declared: Any) -> Any:
    """Declare a schema field; ``declared`` are further attributes of :class:`Setting`."""
    return _field(Setting(default, meaning, **declared))


def like(schema: type[Any], name: str, **changes: Any) -> Any:
    """Declare a setting that differs from another schema's only in ``changes``, such as its default."""
    (part,) = (part for part in dataclasses.fields(schema) if part.name == name)
    return _field(dataclasses.replace(declared(part), **changes))


def _field(declaration: Setting) -> Any:
    metadata = {_KEY: declaration}
    if isinstance(declaration.default, list | dict):
        return dataclasses.field(default_factory=lambda: copy.copy(declaration.default), metadata=metadata)
    return dataclasses.field(default=declaration.default, metadata=metadata)


def declared(part: "dataclasses.Field[Any]") -> Setting:
    result: Setting = part.metadata.get(_KEY) or UNDECLARED
    return result


def walk(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any, Setting]]:
    """Yield dotted key, value and declaration of all nested settings."""
    for part in dataclasses.fields(settings):
        value, key = getattr(settings, part.name), f"{prefix}{part.name}"
        if dataclasses.is_dataclass(value):
            yield from walk(value, f"{key}.")
        else:
            yield key, value, declared(part)


def problems(settings: Any, prefix: str = "") -> list[str]:
    """Return everything out of range or incompatible in nested settings, one sentence each.

    A nested schema may have a method ``checks`` for conditions on several settings; it returns problems, and None for
    each condition that is met.
    """
    result = []
    for part in dataclasses.fields(settings):
        value, key = getattr(settings, part.name), f"{prefix}{part.name}"
        if dataclasses.is_dataclass(value):
            result += problems(value, f"{key}.")
        else:
            result += declared(part).problems(key, value)
    return result + [problem for problem in getattr(settings, "checks", list)() if problem]


@functools.cache
def by_key(schema: type) -> dict[str, Setting]:
    return {key: declaration for key, _, declaration in walk(schema())}


def of(schema: type, key: str) -> Setting:
    """Return the declaration of a key, or of the table that contains it, such as a model's arguments."""
    known = by_key(schema)
    while key not in known and "." in key:
        key = key.rpartition(".")[0]
    return known.get(key, UNDECLARED)


def needless(settings: Any, given: Iterable[str], defaults: bool = False) -> dict[str, str]:
    """Return the ``given`` dotted keys that have no effect with the remaining values, each with an explanation.

    Empty values, zeros and False are ignored, and so are default values unless ``defaults`` is True.
    """
    values = {key: value for key, value, _ in walk(settings)}
    usual = {key: value for key, value, _ in walk(type(settings)())}
    result: dict[str, str] = {}
    for key in (key for key in given if values.get(key)):
        if values[key] == usual[key] and not defaults:
            continue
        for condition in filter(None, of(type(settings), key).needs.split(" and ")):
            name, words = re.split("!?=", condition)[0], condition.partition("=")[2]
            if name in values and not _is_met(values[name], condition):
                shown = name.removesuffix(".name")
                more = "" if "!=" in condition else f", or set {shown}{'=' * bool(words)}{words.replace('|', ' or ')}"
                value = values[name]
                plain = ",".join(map(str, value)) if isinstance(value, list) else value
                now = plain if plain and isinstance(plain, str) else typed(value)
                result.setdefault(key, f"{key} has no effect with {shown}={now}: remove it{more}")
    return result


def _is_met(value: Any, condition: str) -> bool:
    _, is_compared, words = condition.partition("=")
    if not is_compared:
        return value not in (None, 0, False, "", "none") and value != []
    texts = {"null" if each is None else str(each) for each in (value if isinstance(value, list) else [value])}
    return bool(texts & set(words.split("|"))) != ("!=" in condition)


def one_of(key: str, value: str, valid: Iterable[str]) -> str | None:
    valid = list(valid)
    if value in valid:
        return None
    return f"{key} must be one of {', '.join(valid)}, got {typed(value)}{nearest(str(value), valid)}"
