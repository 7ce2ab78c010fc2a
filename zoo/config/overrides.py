"""Overrides of default settings, ``group=option`` and ``key=value``, each with the layer that set it."""

import functools
import itertools
import math
import numbers
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zoo.config import declared, model_files
from zoo.core import console
from zoo.core.errors import ZooError, bulleted, typed

# Hydra's parser recurses once per bracket.
MAX_BRACKETS = 50
# Keys that are replaced before composition. Their values may be paths.
RESUME, REFERENCE = "resume", "reference"
# The layer of values that the user set; see :attr:`Override.layer`.
USER = "user"
# Words that the command-line parser does not read as text.
NOT_TEXT = ("null", "true", "false", "nan", "inf")
# Keys, with the signs of Hydra.
_KEY = re.compile(r"[+~]{0,2}[A-Za-z_]\w*([.@/:-]\w+)*", re.ASCII)
# Texts that need no quotes.
_BARE = re.compile(r"[A-Za-z][\w./-]*", re.ASCII)


@dataclass(frozen=True)
class Override:
    """One setting.

    Attributes:
        key: group or dotted key.
        value: Python value; for a sweep, the text after the equal sign.
        text: ``KEY=VALUE`` in command-line syntax.
        layer: origin of the value, such as ``user`` or ``recipe``.
        choices: the values of a sweep such as ``seed=1,2,3``, as text; empty for a single value.
    """

    key: str
    value: Any
    text: str
    layer: str = USER
    choices: tuple[str, ...] = ()


# More would take minutes to parse, or to compose.
MOST_WORDS, MOST_RUNS = 1000, 10_000


class Overrides:
    """Immutable settings in order, each with the layer that set it. The last entry of a key wins."""

    def __init__(self, entries: Iterable[Override] = ()) -> None:
        self._entries: dict[str, Override] = {}
        for entry in entries:
            self._entries.pop(entry.key, None)
            self._entries[entry.key] = entry

    @classmethod
    def parse(cls, words: Iterable[str], layer: str = USER, literal: Collection[str] = ()) -> "Overrides":
        """Parse ``group=option`` and ``key.path=value``; ``literal`` adds keys whose values are read as text."""
        words = list(words)
        if len(words) > MOST_WORDS:
            raise ZooError(
                f"The command has {len(words):,} settings, more than {MOST_WORDS:,}",
                "Give a list as one setting: KEY=[A,B].",
            )
        results = [_parse_one(text, layer, literal) for text in words]
        problems = [result for result in results if isinstance(result, str)]
        if problems:
            raise all_at_once(problems)
        entries = [result for result in results if isinstance(result, Override)]
        given = cls(entries)
        for key, count in Counter(entry.key for entry in entries).items():
            if count > 1:
                console.warn(f"{key} is set {count} times; the last value is used: {given.get(key)}")
        return given

    @classmethod
    def of(cls, settings: Mapping[str, Any], layer: str = USER) -> "Overrides":
        """Build overrides from Python values, nested or with dotted keys."""
        values = [(key, _plain(value)) for key, value in leaves(settings) if not isinstance(value, dict)]
        return cls(Override(key, value, override(key, value), layer) for key, value in values)

    def __iter__(self) -> Iterator[Override]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __or__(self, other: "Overrides") -> "Overrides":
        return Overrides([*self, *other])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Overrides) and list(self) == list(other)

    def __repr__(self) -> str:
        return f"Overrides({self.words})"

    @property
    def words(self) -> list[str]:
        return [entry.text for entry in self]

    @property
    def layers(self) -> dict[str, str]:
        return {entry.key: entry.layer for entry in self}

    def get(self, key: str) -> str | None:
        """Return the value of a key as text, or None if it is null or missing."""
        value = self._entries[key].value if key in self._entries else None
        return None if value is None else str(value)

    def is_given(self, key: str) -> bool:
        return key in self._entries

    def given(self, group: str) -> set[str]:
        """Return the names of the keys of a group that are set: ``epochs`` for ``trainer.epochs``."""
        return {key.removeprefix(f"{group}.") for key in self._entries if key.startswith(f"{group}.")}

    def only(self, *keys: str) -> "Overrides":
        return Overrides(entry for entry in self if entry.key in keys)

    def without(self, *keys: str) -> "Overrides":
        return Overrides(entry for entry in self if entry.key not in keys)

    def with_(self, layer: str, settings: Mapping[str, Any]) -> "Overrides":
        """Return these overrides with Python values, nested or with dotted keys, on top as ``layer``."""
        return self | Overrides.of(settings, layer)

    def combinations(self) -> "list[Overrides]":
        """Return every combination of the values of sweeps such as ``seed=1,2,3``; raise ZooError for too many."""
        if (count := math.prod(len(entry.choices) or 1 for entry in self)) > MOST_RUNS:
            raise ZooError(f"This sweep has {count:,} runs, more than {MOST_RUNS:,}", "Give fewer values.")
        each = [
            [one for text in entry.choices for one in Overrides.parse([text], entry.layer)] or [entry] for entry in self
        ]
        return [Overrides(combination) for combination in itertools.product(*each)]


def _plain(value: Any) -> Any:
    """Convert a Python value to a setting: paths become text, and NumPy numbers become Python numbers."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    return str(value)


def _parse_one(text: str, layer: str, literal: Collection[str]) -> Override | str:
    from hydra.errors import HydraException

    key, equals, value = text.partition("=")
    if equals and not key.strip():
        return f"{text[:200]!r} has no name before the =; write KEY=VALUE"
    if equals and key in declared.word_keys():
        inside = value.strip().removeprefix("[").removesuffix("]")
        words = [word.strip().strip("'\"") for word in inside.split(",") if word.strip()]
        return Override(key, words, text, layer)
    if equals and (key in literal or key in path_keys() or _is_model_file(key, value)):
        return Override(key, _path(value), text, layer)
    if sum(map(text.count, "[{(")) > MAX_BRACKETS:
        return f"the value of {key[:200]!r} has more than {MAX_BRACKETS} brackets"
    try:
        parsed = _parser().parse_override(text)
        key = parsed.get_key_element()
        if parsed.is_sweep_override():
            values = itertools.islice(parsed.sweep_string_iterator(), MOST_RUNS + 1)
            swept = tuple(f"{key}={each}" for each in values)
            if len(swept) > MOST_RUNS:
                return f"the sweep of {key} has more than {MOST_RUNS:,} values: {value[:60]}"
            if not swept:
                return f"the sweep of {key} has no values: {value[:60]}; write a range such as range(1,5)"
            return Override(key, value, text, layer, swept)
        return Override(key, parsed.value(), text, layer)
    except ValueError:  # a number with thousands of digits
        return f"cannot read {text[:200]!r}: a number with {len(value):,} digits is too long"
    except HydraException:
        hint = "write KEY=VALUE"
        if equals and not _KEY.fullmatch(key):
            hint = f"{key[:60]!a} is not the name of a setting"
        elif call := re.fullmatch(r"(interval|glob)\(.*\)", value.strip()):
            hint = f"{call[1]}() is not supported; list the values, or search with python -m zoo tune"
        elif value.startswith("="):
            hint = f"write one equal sign: {key}={value.lstrip('=')[:60]}"
        elif odd := re.search(r"[^\S \t\n]", value):
            hint = f"replace the character U+{ord(odd[0]):04X}, which looks like a space, with a space"
        elif re.search(r"^,|,\s*(,|$)", value):
            hint = "an entry next to a comma is empty"
        elif not value.isascii() and re.fullmatch(r"[\d.+-]+", value):
            digits = re.sub(r"\d", lambda digit: str(int(digit[0])), value[:60])
            hint = f"{value[:60]!r} is not a number with the digits 0 to 9; write {key}={digits}"
        elif equals:
            quoted = value[:60].replace('"', '\\"')
            hint = f"close its brackets and quotes; a text with special characters needs quotes: {key}='\"{quoted}\"'"
        return f"cannot read {text[:200]!r}: {hint}"


def _path(value: str) -> str | None:
    """Return a path without quotes, or None for ``null``."""
    inside = value[1:-1] if re.fullmatch(r"'.*'|\".*\"", value) else value
    return None if inside == "null" else inside


def _is_model_file(key: str, value: str) -> bool:
    """Return True if the value is the path of one model file; several paths, separated by commas, are a sweep."""
    if key != "model" or not (model_files.is_named(value) or model_files.is_saved(value)):
        return False
    return "," not in value or os.path.exists(os.path.expanduser(value))


@functools.cache
def _parser() -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


def all_at_once(problems: list[str]) -> ZooError:
    if len(problems) == 1:
        return ZooError(problems[0], "`python -m zoo help` lists groups and keys; --cfg job shows all settings")
    return ZooError(
        f"{len(problems)} settings are wrong:\n{bulleted(problems)}", "`python -m zoo help` lists groups and keys"
    )


def override(key: str, value: Any) -> str:
    """Return ``KEY=VALUE`` in command-line syntax, with quotes if the parser would split the text."""
    if isinstance(value, list) and key in declared.word_keys():
        return f"{key}=[{','.join(value)}]"
    return f"{key}={value if isinstance(value, str) and key in path_keys() else _text(value)}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    if not isinstance(value, str):
        return typed(value)
    if _BARE.fullmatch(value) and value.lower() not in NOT_TEXT:
        return value
    # Only backslashes before a quote must be doubled.
    return "'" + re.sub(r"(\\+)$", r"\1\1", re.sub(r"(\\*)'", r"\1\1\'", value)) + "'"


def leaves(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted key and value of nested settings; an empty dictionary is a value."""
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@functools.cache
def path_keys() -> frozenset[str]:
    """Return the keys, including their short forms, whose values are paths or free text in any schema."""
    keys = {RESUME, REFERENCE, *declared.keys_with("literal")}
    return frozenset(keys | {short for short, full in declared.shorthands() if full in keys})
