"""Read YAML files and check them against a dataclass; all problems are listed at once."""

import dataclasses
import functools
import itertools
import re
import types
import typing
from collections import Counter
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError, bulleted, nearest

MOST_BYTES = 1 << 18
DEEPEST = 100
MOST_VALUES = 10_000
_hints = functools.cache(typing.get_type_hints)
WORDS = {
    str: "text (in quotes)", int: "a whole number", float: "a number", bool: "true or false",
    types.NoneType: "null", list: "a list", dict: "keys and values",
}  # fmt: skip


def read_yaml(path: Path) -> Any:
    """Read a YAML file without constructing Python objects from it."""
    import yaml  # slow to import, and --help does not need it

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = Counter(key.value for key, _ in node.value if isinstance(key.value, str))
            if twice := [key for key, count in keys.items() if count > 1]:
                raise yaml.YAMLError(f"the key {twice[0]} is given twice, line {node.start_mark.line + 1} and later")
            return super().construct_mapping(node, deep)

        def construct_number(self, node: Any) -> int:
            value: int = self.construct_yaml_int(node)
            if re.match(r"[-+]?0[\d_]|.*:", node.value):
                begin = f"line {node.start_mark.line + 1}: YAML reads {node.value} as {value}"
                raise yaml.YAMLError(f"{begin}; write the number that you mean without leading zeros or colons")
            return value

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_number)
    try:
        if path.stat().st_size > MOST_BYTES:
            raise ZooError(f"{path} has more than {MOST_BYTES:,} bytes", "Check the path: settings files are small.")
        text = path.read_text(encoding="utf-8")
        steps = (1 if bracket[0] in "[{" else -1 for bracket in re.finditer(r"[][{}]", text))
        if max(itertools.accumulate(steps), default=0) > DEEPEST:
            raise ZooError(
                f"{path} nests brackets more than {DEEPEST} deep", "Check the path: settings files are flat."
            )
        if "*" in text and _size(yaml.compose(text, Loader=Loader), {}) > MOST_VALUES:
            raise ZooError(f"{path} has more than {MOST_VALUES:,} values", "Remove aliases (*NAME): each is a copy.")
        return yaml.load(text, Loader=Loader)  # noqa: S506  (a safe loader)
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:  # invalid UTF-8 or number
        raise ZooError(f"{path} cannot be read: {error}", "Correct the file, or copy it again.") from error


def _size(part: Any, sizes: dict[int, int]) -> int:
    """Count the values of a YAML node with all aliases expanded; an alias to its own parent counts as one."""
    inner = part if isinstance(part, tuple) else getattr(part, "value", "")
    if id(part) not in sizes:
        sizes[id(part)] = 1
        sizes[id(part)] += 0 if isinstance(inner, str) else sum(_size(each, sizes) for each in inner)
    return sizes[id(part)]


def refuse(what: str, path: Path, problems: list[str]) -> None:
    if problems:
        raise ZooError(f"The {what} {path} is malformed:\n{bulleted(problems)}", "Correct the file.")


def violations(row: Any, kind: type[Any], where: str = "", given: tuple[str, ...] = ()) -> list[str]:
    """List missing keys, unknown keys and wrong types of a mapping, including nested mappings.

    Args:
        kind: the dataclass with the expected fields.
        where: prefix of every key, such as ``"platforms.linux."``.
        given: fields that are not read from the file.
    """
    if not isinstance(row, dict):
        return [f"{where.rstrip('.') or 'the file'}: expected keys and values, got {row!r}"]
    hints = {key: hint for key, hint in _hints(typing.cast("Any", kind)).items() if key not in given}
    parts, missing = dataclasses.fields(kind), dataclasses.MISSING
    needed = [part.name for part in parts if part.default is missing and part.default_factory is missing]
    problems = [f"{where}{key}: missing" for key in needed if key in hints and key not in row]
    for key, value in row.items():
        if key in hints:
            problems += misfits(value, hints[key], f"{where}{key}")
        else:
            problems.append(f"{where}{key}: unknown key{nearest(str(key), list(hints))}")
    return problems


def misfits(value: Any, hint: Any, where: str) -> list[str]:
    """List wrong types of a value and of its parts; ``hint`` is the annotation of a field."""
    options = typing.get_args(hint) if typing.get_origin(hint) in (types.UnionType, typing.Union) else (hint,)
    for option in options:
        if _is(value, option):
            return _inside(value, option, where)
    expected = " or ".join(WORDS.get(typing.get_origin(option) or option, "keys and values") for option in options)
    return [f"{where}: expected {expected}, got {value!r}"]


def _is(value: Any, hint: Any) -> bool:
    if hint is Any or dataclasses.is_dataclass(hint):
        return True  # nested rows are checked key by key
    kind = typing.get_origin(hint) or hint
    return type(value) in ((int, float) if kind is float else (kind,))


def _inside(value: Any, hint: Any, where: str) -> list[str]:
    if dataclasses.is_dataclass(hint):
        return violations(value, typing.cast(type[Any], hint), f"{where}.")
    parts = typing.get_args(hint)
    if isinstance(value, list) and parts:
        return [problem for index, item in enumerate(value) for problem in misfits(item, parts[0], f"{where}.{index}")]
    if isinstance(value, dict) and parts:
        keys = [problem for key in value for problem in misfits(key, parts[0], f"{where}: its key {key!r}")]
        return keys + [problem for key, item in value.items() for problem in misfits(item, parts[1], f"{where}.{key}")]
    return []
