"""Read the packages that a script needs: from the command line, from files and from its inline metadata (PEP 723)."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet

from zoo.core.errors import ZooError

# From PEP 723.
_BLOCK = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
MOST_FILES, MOST_BYTES = 100, 10_000_000
REMEDY = 'Name packages of the index, such as pandas, pandas==2.3.3 or "pandas>=2,<3".'


@dataclass(frozen=True)
class Metadata:
    """A script's metadata: the packages it needs, and the Pythons it runs on."""

    requirements: list[Requirement] = field(default_factory=list)
    python: SpecifierSet = field(default_factory=SpecifierSet)


def parse(text: str, place: str, shown: str = "") -> Requirement:
    """Parse a requirement such as ``pandas>=2``; errors name its origin ``place``, and ``shown`` or its text."""
    shown = shown or repr(text)
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ZooError(f"{place}: {shown} is not the name of a package", REMEDY) from error
    if requirement.url:
        raise ZooError(f"{place}: {shown} is an address; only packages of the index are added to a stack", REMEDY)
    return requirement


def read_file(path: Path) -> list[Requirement]:
    """Read a ``requirements.txt``: a package per line, comments, and ``-r`` with another file.

    Errors show line numbers but not lines, because a file can include any other file.
    """
    return list(_of_file(path.resolve(), (), set()))


def _of_file(path: Path, above: tuple[Path, ...], read: set[Path]) -> Iterator[Requirement]:
    if path in above:
        raise ZooError(f"{path} includes itself", "Remove one of the lines that begin with -r.")
    if len(read) >= MOST_FILES:
        raise ZooError(f"{above[0]} includes more than {MOST_FILES} files", "Remove lines that begin with -r.")
    read.add(path)
    for number, line in enumerate(_text(path).replace("\\\n", " ").splitlines(), 1):
        text = re.sub(r"(^|\s)#.*", "", line).strip()
        other = re.match(r"(?:-r|--requirement)[ =]*(.+)", text)
        if other:
            included = (path.parent / other[1]).resolve()
            yield from _of_file(included, (*above, path), read) if included not in read - {path, *above} else ()
        elif text:
            yield parse(text, f"{path}, line {number}", shown="this line")


def _text(path: Path) -> str:
    try:
        if path.exists() and not path.is_file():
            raise OSError("it is not a file")
        if path.stat().st_size > MOST_BYTES:
            raise OSError(f"it has more than {MOST_BYTES:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        remedy = "Name a file of requirements, or a script in UTF-8."
        raise ZooError(f"Cannot read {path}: {error}", remedy) from error


def read_script(path: Path) -> Metadata:
    """Read the inline metadata of a script; binary files have none."""
    text = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    blocks = [match for match in _BLOCK.finditer(text) if match["type"] == "script"]
    if len(blocks) > 1:
        raise ZooError(f"{path} has {len(blocks)} blocks of inline metadata", "Keep only one `# /// script`.")
    if not blocks:
        return Metadata()
    lines = blocks[0]["content"].splitlines(keepends=True)
    content = "".join(line.removeprefix("#").removeprefix(" ") for line in lines)
    remedy = "https://packaging.python.org/en/latest/specifications/inline-script-metadata/ describes it."
    try:
        table: dict[str, Any] = tomllib.loads(content)
        python = SpecifierSet(table.get("requires-python", ""))
        named = table.get("dependencies", [])
    except (tomllib.TOMLDecodeError, InvalidSpecifier, AttributeError, TypeError) as error:
        raise ZooError(f"The inline metadata of {path} cannot be read: {error}", remedy) from error
    if not isinstance(named, list) or not all(isinstance(text, str) for text in named):
        raise ZooError(f"The inline metadata of {path}: dependencies is not a list of strings: {named!r}", remedy)
    return Metadata([parse(text, f"{path}, dependencies") for text in named], python)
