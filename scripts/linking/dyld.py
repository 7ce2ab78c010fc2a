"""Decide by dyld's rules whether the Mach-O files of an environment load on a version of macOS.

``@loader_path`` is the folder of the image that names a library, ``@rpath`` each search path of the image and of
those that loaded it; a library that was loaded before counts by its install name (Apple's published source of dyld,
``Loader::getLoader`` and ``JustInTimeLoader::matchesPath``). Symbols are looked for in the library that an image
names for them and in those that this one exports again. What is missing weakly does no harm.
"""

import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scripts.linking import macho, system
from scripts.linking.macho import Image, Import, Library

SYSTEM = ("/usr/lib/", "/System/Library/")
# The C API of the interpreter that loads an extension module.
PYTHON = re.compile(r"__?Py[A-Z_]|_PyInit|__Py")


@dataclass
class Findings:
    """What was found in one environment on one version of macOS.

    ``problems`` is empty where all loads. ``unknown`` are symbols of macOS of which nobody here can say whether they
    are there; ``earlier`` the pairs of image and library where the library must have been loaded before.
    """

    problems: list[tuple[str, str]] = field(default_factory=list)
    unknown: set[tuple[str, str]] = field(default_factory=set)
    system: set[tuple[str, str]] = field(default_factory=set)
    flat: set[tuple[str, str]] = field(default_factory=set)
    bound: int = 0
    interpreter: set[str] = field(default_factory=set)
    earlier: set[tuple[str, str]] = field(default_factory=set)


class Environment:
    """All images of a folder for one architecture, as a process on one version of macOS could load them."""

    def __init__(
        self,
        folder: Path,
        arch: str,
        files: Mapping[Path, Mapping[str, Image] | str],
        facts: system.Facts,
        version: system.Version,
    ) -> None:
        self.folder, self.arch, self.facts, self.version = folder, arch, facts, version
        self.files = files
        self.images = {
            str(path): slices[arch] for path, slices in files.items() if not isinstance(slices, str) and arch in slices
        }
        self.named: dict[str, str] = {}
        for path, image in self.images.items():
            if image.install_name:
                self.named.setdefault(image.install_name, path)
        self.findings = Findings()
        self.loaders: dict[str, set[str]] = {path: set() for path in self.images}
        self.targets: dict[tuple[str, str], str | None] = {}

    def check(self) -> Findings:
        """Look at every file."""
        self._resolve()
        for path, slices in sorted(self.files.items()):
            name = self._short(str(path))
            if isinstance(slices, str):
                self._problem(name, f"malformed: {slices}")
                continue
            if self.arch not in slices:
                self._problem(name, f"built for {', '.join(sorted(slices)) or 'no 64-bit processor'}")
                continue
            image = slices[self.arch]
            if image.signature and (image.signature != "missing" or self.arch == "arm64"):
                self._problem(name, f"code signature: {image.signature}")
            for library in image.libraries:
                self._library(str(path), library)
            for wanted in image.imports:
                self._symbol(str(path), image, wanted)
        self.findings.problems.sort()
        return self.findings

    def _problem(self, name: str, text: str) -> None:
        self.findings.problems.append((name, text))

    def _short(self, path: str) -> str:
        return os.path.relpath(path, self.folder)

    def _resolve(self) -> None:
        """Find the file of every library that an image names; search paths of loaders become known on the way."""
        waiting = deque(self.images)
        while waiting:
            path = waiting.popleft()
            for library in self.images[path].libraries:
                target = self._find(path, library.name)
                self.targets[path, library.name] = target
                if target in self.images and not self.loaders[path] | {path} <= self.loaders[target]:
                    self.loaders[target] |= self.loaders[path] | {path}
                    waiting.append(target)

    def _find(self, path: str, name: str) -> str | None:
        """Return the path of a library: of an image, or of macOS; None where there is none."""
        for candidate in self._candidates(path, name):
            if candidate in self.images or candidate.startswith(SYSTEM):
                return candidate
        return self.named.get(name)

    def _candidates(self, path: str, name: str) -> Iterator[str]:
        if name.startswith("@loader_path/"):
            yield os.path.normpath(os.path.join(os.path.dirname(path), name.removeprefix("@loader_path/")))
        elif name.startswith("@executable_path/"):
            for loader in (path, *self.loaders[path]):
                if self.images[loader].kind == "executable":
                    yield os.path.normpath(
                        os.path.join(os.path.dirname(loader), name.removeprefix("@executable_path/"))
                    )
        elif name.startswith("@rpath/"):
            for loader in (path, *sorted(self.loaders[path])):
                for search in self.images[loader].rpaths:
                    yield from self._candidates(loader, f"{search.rstrip('/')}/{name.removeprefix('@rpath/')}")
        elif name.startswith("/"):
            yield name

    def _library(self, path: str, library: Library) -> None:
        target, name = self.targets[path, library.name], self._short(path)
        if library.kind == macho.WEAK:
            return
        if target is None:
            self._problem(name, f"library not found: {library.name}")
        elif target in self.images:
            if target not in self._candidates(path, library.name):
                self.findings.earlier.add((name, library.name))
        else:
            self.findings.system.add((target, system.LIBRARY))
            state = self._state(target, system.LIBRARY)
            if state == system.ABSENT:
                self._problem(name, f"library not in macOS {system.text(self.version)}: {target}")
            elif state == system.UNKNOWN:
                self.findings.unknown.add((target, system.LIBRARY))

    def _state(self, library: str, symbol: str) -> str:
        known = self.facts.get((self.arch, library))
        return known.state(symbol, self.version) if known else system.UNKNOWN

    def _symbol(self, path: str, image: Image, wanted: Import) -> None:
        self.findings.bound += 1
        name = self._short(path)
        if wanted.ordinal > len(image.libraries):
            self._problem(name, f"{wanted.symbol} names library {wanted.ordinal} of {len(image.libraries)}")
        elif wanted.ordinal > 0:
            library = image.libraries[wanted.ordinal - 1]
            target = self.targets[path, library.name]
            if target is None:  # A problem of the library, unless that is weak.
                return
            self._named(name, wanted, target)
        elif wanted.ordinal == macho.SELF:
            if not image.export(wanted.symbol):
                self._missing(name, wanted, "itself")
        else:
            self._anywhere(path, wanted)

    def _named(self, name: str, wanted: Import, target: str) -> None:
        """Look for a symbol in the library that is named for it."""
        if target in self.images:
            if not self._exports(target, wanted.symbol, frozenset()):
                self._missing(name, wanted, self._short(target))
            return
        if wanted.weak:
            return
        self.findings.system.add((target, wanted.symbol))
        state = self._state(target, wanted.symbol)
        if state == system.ABSENT:
            self._missing(name, wanted, f"{target} of macOS {system.text(self.version)}")
        elif state == system.UNKNOWN:
            self.findings.unknown.add((target, wanted.symbol))

    def _missing(self, name: str, wanted: Import, place: str) -> None:
        if not wanted.weak:
            self._problem(name, f"symbol not found: {wanted.symbol} in {place}")

    def _exports(self, path: str, symbol: str, seen: frozenset[str]) -> bool:
        """Whether an image exports a symbol, by itself or from libraries that it exports again."""
        image = self.images[path]
        export = image.export(symbol)
        if export and export.ordinal is None:
            return True
        if export and 0 < (export.ordinal or 0) <= len(image.libraries):
            target = self.targets[path, image.libraries[(export.ordinal or 0) - 1].name]
            return target is not None and self._holds(target, export.symbol or symbol, seen | {path})
        again = [self.targets[path, each.name] for each in image.libraries if each.kind == macho.REEXPORT]
        return any(target and self._holds(target, symbol, seen | {path}) for target in again)

    def _holds(self, target: str, symbol: str, seen: frozenset[str]) -> bool:
        if target in seen:
            return False
        if target in self.images:
            return self._exports(target, symbol, seen)
        return self._state(target, symbol) == system.PRESENT

    def _anywhere(self, path: str, wanted: Import) -> None:
        """Look for a symbol that names no library: in the interpreter, the image, what it loads, and all others."""
        if PYTHON.match(wanted.symbol):
            self.findings.interpreter.add(wanted.symbol)
            return
        closure = self._closure(path)
        ours = [each for each in closure if each in self.images]
        if any(self._exports(each, wanted.symbol, frozenset()) for each in ours) or wanted.weak:
            return
        outside = [each for each in closure if each not in self.images]
        self.findings.flat |= {(each, wanted.symbol) for each in outside}
        states = {self._state(each, wanted.symbol): each for each in outside}
        others = [each for each in self.images if self._exports(each, wanted.symbol, frozenset())]
        if system.PRESENT in states:
            self.findings.system.add((states[system.PRESENT], wanted.symbol))
        elif others:
            self.findings.earlier.add((self._short(path), wanted.symbol))
        elif system.UNKNOWN in states:
            self.findings.unknown.add(("any library", wanted.symbol))
        else:
            self._missing(self._short(path), wanted, "any library that is loaded")

    def _closure(self, path: str) -> list[str]:
        """Return an image and everything that it loads, nearest first."""
        seen, waiting = {path: None}, deque([path])
        while waiting:
            current = waiting.popleft()
            for library in self.images[current].libraries if current in self.images else ():
                target = self.targets[current, library.name]
                if target and target not in seen:
                    seen[target] = None
                    waiting.append(target)
        return list(seen)
