"""Parse overrides as the command line has them: ``group=option`` and ``key=value``."""

import functools
import importlib
import itertools
import pkgutil
import re
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from zoo.config import model_files, schemas
from zoo.config.schemas.common import Settings
from zoo.core.errors import ZooError, bulleted

# Hydra's parser recurses once for each.
MAX_BRACKETS = 50
# Keys that are no setting: they are replaced before settings are composed.
RESUME = "resume"
# Keys whose values are words with commas between.
WORDS = ("launcher.hosts", "launcher.options")


@dataclass(frozen=True)
class LiteralOverride:
    """What Hydra's parser does not see, with the methods of its overrides."""

    key: str
    text: str

    def get_key_element(self) -> str:
        """Return the key."""
        return self.key

    def is_sweep_override(self) -> bool:
        """Return False: it is one value."""
        return False


@dataclass(frozen=True)
class PathOverride(LiteralOverride):
    """A path, taken literally: its name may hold blanks, commas, brackets and equal signs."""

    def value(self) -> str | None:
        """Return the path without quotes, None for ``null`` and for nothing."""
        inside = self.text[1:-1] if re.fullmatch(r"'.*'|\".*\"", self.text) else self.text
        return None if inside in ("", "null") else inside


@dataclass(frozen=True)
class WordsOverride(LiteralOverride):
    """Words with commas between, with or without brackets; they may hold equal signs and are no sweep."""

    def value(self) -> list[str]:
        """Return the words without quotes."""
        inside = self.text.strip().removeprefix("[").removesuffix("]")
        return [word.strip().strip("'\"") for word in inside.split(",") if word.strip()]


def parse(overrides: list[str]) -> list[Any]:
    """Parse overrides."""
    results = [_parse_one(text) for text in overrides]
    problems = [result for result in results if isinstance(result, str)]
    if problems:
        raise all_at_once(problems)
    return results


def _parse_one(text: str) -> Any:
    """Return the parsed override, or what is wrong with it as text."""
    from hydra.errors import HydraException

    key, equals, value = text.partition("=")
    if equals and (key in path_keys() or _is_model_file(key, value)):
        return PathOverride(key, value)
    if equals and key in WORDS:
        return WordsOverride(key, value)
    if sum(map(text.count, "[{(")) > MAX_BRACKETS:
        return f"{key[:200]!r} is given a value of more than {MAX_BRACKETS} brackets"
    try:
        return _parser().parse_override(text)
    except (HydraException, ValueError) as error:  # the latter of numbers with thousands of digits
        hint = str(error).splitlines()[0] if equals else "write KEY=VALUE"
        return f"cannot read {text[:200]!r}: {hint}"


def _is_model_file(key: str, value: str) -> bool:
    """Return whether the value is the path of one model file; several, with commas, are a sweep."""
    return key == "model" and (model_files.is_named(value) or model_files.is_saved(value)) and "," not in value


@functools.cache
def _parser() -> Any:
    from hydra.core.override_parser.overrides_parser import OverridesParser

    return OverridesParser.create()


def all_at_once(problems: list[str]) -> ZooError:
    """Return one error for all problems."""
    if len(problems) == 1:
        return ZooError(problems[0], "`python -m zoo help` lists groups and keys; --cfg job shows what is composed")
    return ZooError(
        f"{len(problems)} settings are wrong:\n{bulleted(problems)}", "`python -m zoo help` lists groups and keys"
    )


def expand_sweep(overrides: list[str]) -> list[list[str]]:
    """Return every combination of overrides such as ``seed=1,2,3`` or ``trainer.epochs=range(1,4)``."""
    choices = []
    for text, parsed in zip(overrides, parse(overrides), strict=True):
        values = parsed.sweep_string_iterator() if parsed.is_sweep_override() else None
        choices.append([f"{parsed.get_key_element()}={value}" for value in values] if values else [text])
    return [list(combination) for combination in itertools.product(*choices)]


def value_of(group: str, overrides: list[str]) -> str | None:
    """Return the last value that the overrides give a group or key, or None."""
    matching = [text for text in overrides if text.partition("=")[0] == group]
    if not matching:
        return None
    value = parse(matching[-1:])[0].value()
    return None if value is None else str(value)


def override(key: str, value: Any) -> str:
    """Return ``KEY=VALUE`` as the command line has it.

    Text that its parser would split is quoted, a path is taken as it is.
    """
    if value is None or isinstance(value, bool):
        return f"{key}={'null' if value is None else str(value).lower()}"
    text = str(value)
    plain = not isinstance(value, str) or key in path_keys() or text.replace("-", "").replace(".", "").isalnum()
    return f"{key}={text}" if plain else f"{key}='" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def leaves(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted key, as an override has it, and the value of every one of nested settings."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@functools.cache
def path_keys() -> frozenset[str]:
    """Return the keys of all schemas whose values are paths or free text, see :func:`common.text_field`."""
    for module in pkgutil.iter_modules(schemas.__path__, f"{schemas.__name__}."):
        importlib.import_module(module.name)
    return frozenset([RESUME, *(key for schema in _subclasses(Settings) for key in _literal_keys(schema))])


def _subclasses(schema: type[Any]) -> Iterator[type[Any]]:
    for child in schema.__subclasses__():
        yield child
        yield from _subclasses(child)


def _literal_keys(schema: type[Any], prefix: str = "") -> Iterator[str]:
    hints = typing.get_type_hints(schema)
    for part in fields(schema):
        if is_dataclass(hints[part.name]):
            yield from _literal_keys(hints[part.name], f"{prefix}{part.name}.")
        elif part.metadata.get("literal"):
            yield prefix + part.name
