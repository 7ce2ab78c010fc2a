"""Add to scripts/linking/macos.txt when the symbols of macOS that our wheels need were seen.

    python scripts/maintenance/macos_facts.py FOLDER [--wheels FOLDER ...] [--stubs VERSION=PATH ...]

FOLDER holds unpacked environments, as `scripts/link_check.py` leaves them in its cache, and any other unpacked
wheels for macOS. Their binaries say which symbols are needed. Two sources say where those were:

- text stubs (``.tbd``) of a macOS SDK, a file or a folder of them; Apple's, so they are read and not kept. On a Mac,
  ``xcrun --show-sdk-path`` prints the folder of one SDK.
- the binaries themselves: a linker binds a symbol to a library only if the SDK's list of that library has it, so a
  binary that was linked with the SDK of macOS 12.3 shows that what it binds was there.

Known facts stay; new ones are added.
"""

import argparse
import functools
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import yaml

from scripts.linking import dyld, macho, system, wheels
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write

HEAD = """\
# When symbols of macOS were seen, as far as the locks need them. scripts/maintenance/macos_facts.py made these facts
# from the names in text stubs of Apple's SDKs, which are not part of this project, and from the versions of the SDKs
# with which published wheels were linked. scripts/linking/system.py explains the form.
"""
FOUNDATION = "/System/Library/Frameworks/Foundation.framework/Versions/C/Foundation"
NETWORK = "/System/Library/Frameworks/Network.framework/Versions/A/Network"
GRAPH = "/System/Library/Frameworks/MetalPerformanceShadersGraph.framework/Versions/A/MetalPerformanceShadersGraph"
# Facts with a source of their own: the stubs of libsystem_pthread in the SDKs of macOS 10.13 and 10.14; and the
# bindings of .NET for macOS, made from Apple's headers, according to which the class is there from macOS 12.1 on.
SEEN = (
    ("x86_64", "/usr/lib/libSystem.B.dylib", "____chkstk_darwin", (10, 14)),
    ("x86_64", GRAPH, "_OBJC_CLASS_$_MPSGraphRandomOpDescriptor", (12, 1)),
    ("arm64", GRAPH, "_OBJC_CLASS_$_MPSGraphRandomOpDescriptor", (12, 1)),
)
LACKING = (
    ("x86_64", "/usr/lib/libSystem.B.dylib", "____chkstk_darwin", (10, 13)),
    ("x86_64", GRAPH, "_OBJC_CLASS_$_MPSGraphRandomOpDescriptor", (12, 0)),
    ("arm64", GRAPH, "_OBJC_CLASS_$_MPSGraphRandomOpDescriptor", (12, 0)),
)
# Their names stand for later versions (10.16 for 11.0), or for previews of an SDK.
RENAMED: dict[system.Version, system.Version] = {(10, 16): (11, 0)}
PREVIEWS = range(16, 26)
Exports = dict[str, set[str]]
# Per library: what it exports, and the libraries whose symbols it exports, too.
Stubs = dict[str, tuple[set[str], set[str]]]


class _Loader(yaml.CSafeLoader):
    """Reads YAML with the tags that stubs have."""


_Loader.add_multi_constructor("!", lambda loader, suffix, node: loader.construct_mapping(node, deep=True))


def stubs(path: Path, arch: str) -> Stubs:
    """Return what the stubs of a file or folder export on an architecture."""
    whole: Stubs = {}
    files = [file for file in sorted(path.rglob("*.tbd")) if file.is_file()] if path.is_dir() else [path]
    for file in files:
        for document in _documents(file):
            _add(whole, document, {f"{arch}-macos", *({"arm64e-macos"} if arch == "arm64" else ())})
    for name in whole:
        # The frameworks in an umbrella are exported by it. Some collections of stubs do not say so.
        for folder, umbrella in re.findall(r"(?=(/.*/(\w+)\.framework/Versions/\w+)/Frameworks/)", name):
            if f"{folder}/{umbrella}" in whole:
                whole[f"{folder}/{umbrella}"][1].add(name)
    return whole


@functools.cache
def _documents(file: Path) -> list[dict[str, Any]]:
    text = file.read_text(encoding="utf-8")
    if text.startswith("{"):
        whole = json.loads(text)
        raise ZooError(f"{file} has version {whole.get('tapi_tbd_version')} of the form", "Use a stub in YAML.")
    documents = list(yaml.load_all(text.replace("\t", " "), Loader=_Loader))
    if any(document.get("tbd-version") != 4 for document in documents):
        raise ZooError(f"{file} is a stub of an old form", "Use the SDK of macOS 10.15 or newer.")
    return documents


def _add(whole: Stubs, document: dict[str, Any], targets: set[str]) -> None:
    if not targets & set(document["targets"]):
        return
    name = document["install-name"]
    symbols, again = whole.setdefault(name, (set(), set()))
    for section in [*document.get("exports", ()), *document.get("reexports", ())]:
        if targets & set(section["targets"]):
            symbols.update(_names(section))
    for row in document.get("reexported-libraries", ()):
        if targets & set(row["targets"]):
            again.update(row["libraries"])


def _names(section: dict[str, Any]) -> Iterator[str]:
    for key in ("symbols", "weak-symbols", "thread-local-symbols"):
        yield from map(str, section.get(key, ()))
    for key, prefixes in (
        ("objc-classes", ("_OBJC_CLASS_$_", "_OBJC_METACLASS_$_")),
        ("objc-eh-types", ("_OBJC_EHTYPE_$_",)),
        ("objc-ivars", ("_OBJC_IVAR_$_",)),
    ):
        for name in section.get(key, ()):
            yield from (f"{prefix}{name}" for prefix in prefixes)


def exported(whole: Stubs, library: str, again: dict[str, set[str]]) -> tuple[set[str], bool]:
    """Return what a library exports, of others too, and whether the stubs of all of these are there."""
    symbols: set[str] = set()
    waiting, seen = [library], {library}
    while waiting:
        current = waiting.pop()
        symbols |= whole[current][0] if current in whole else set()
        fresh = again.get(current, set()) - seen
        seen |= fresh
        waiting += fresh
    return symbols, seen <= whole.keys()


def _is_stripped(whole: Stubs) -> bool:
    """Whether stubs of frameworks do not say which libraries they export again: then their lists may be short."""
    return FOUNDATION not in whole or any(not whole[name][1] for name in (FOUNDATION, NETWORK) if name in whole)


class Needs:
    """What binaries need of macOS, by architecture and library, and with which SDK each was linked."""

    def __init__(self) -> None:
        self.named: dict[tuple[str, str], dict[str, set[system.Version]]] = defaultdict(dict)
        self.flat: dict[tuple[str, str], set[str]] = defaultdict(set)

    def read(self, folder: Path, needed: bool = True) -> None:
        """Take in the binaries of one folder; ``needed`` is false where what they need does not matter."""
        files = wheels.images(folder)
        for arch in ("arm64", "x86_64"):
            environment = dyld.Environment(folder, arch, files, {}, (99, 0))
            environment.check()
            for library, symbol in environment.findings.system if needed else ():
                self.named[arch, library].setdefault(symbol, set())
            for library, symbol in environment.findings.flat if needed else ():
                self.flat[arch, library].add(symbol)
            for path, image in environment.images.items():
                sdk = RENAMED.get(image.sdk, image.sdk)
                if sdk and sdk >= image.minimum and sdk[0] not in PREVIEWS:
                    self._witness(environment, path, image, sdk)

    def _witness(self, environment: dyld.Environment, path: str, image: macho.Image, sdk: system.Version) -> None:
        for wanted in image.imports:
            if wanted.ordinal > 0 and not wanted.weak:
                target = environment.targets[path, image.libraries[wanted.ordinal - 1].name]
                if target and target not in environment.images:
                    known = self.named.get((environment.arch, target), {})
                    for symbol in (wanted.symbol, system.LIBRARY):
                        if symbol in known:
                            known[symbol].add(sdk)


def facts(needs: Needs, sources: Iterable[tuple[system.Version, Path]], known: system.Facts) -> None:
    """Add what binaries and stubs show to the known facts."""
    for key, symbols in needs.named.items():
        entry = known.setdefault(key, system.LibraryFacts())
        for symbol, versions in symbols.items():
            for version in versions:
                entry.add(symbol, version)
    for arch, library, symbol, version in SEEN:
        if symbol in needs.named[arch, library]:
            known[arch, library].add(symbol, version)
    for arch, library, symbol, version in LACKING:
        if symbol in needs.named[arch, library]:
            known[arch, library].lacking.setdefault(version, set()).add(symbol)
    for arch in ("arm64", "x86_64"):
        read = [(version, stubs(path, arch)) for version, path in sources]
        # Some collections of stubs leave out which libraries export others again; another one has it.
        again: dict[str, set[str]] = defaultdict(set)
        for _, whole in read:
            for library, (_, others) in whole.items():
                again[library] |= others
        sure = {library for _, whole in read for library in whole if not _is_stripped(whole)}
        for version, whole in read:
            _compare(needs, known, arch, version, whole, again, sure)


def _compare(
    needs: Needs,
    known: system.Facts,
    arch: str,
    version: system.Version,
    whole: Stubs,
    again: dict[str, set[str]],
    sure: set[str],
) -> None:
    stripped = _is_stripped(whole)
    own = {library: others or again[library] & whole.keys() for library, (_, others) in whole.items()}
    for library in {name for each, name in (*needs.named, *needs.flat) if each == arch} & whole.keys():
        symbols, complete = exported(whole, library, own)
        entry = known.setdefault((arch, library), system.LibraryFacts())
        if complete and (library in sure or not stripped or not library.startswith("/System/")):
            entry.looked_at.add(version)
        entry.add(system.LIBRARY, version)
        wanted = needs.named[arch, library].keys() | needs.flat[arch, library]
        for symbol in wanted & symbols:
            entry.add(symbol, version)


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="unpacked environments, one folder each")
    parser.add_argument("--wheels", nargs="*", default=[], type=Path, help="folders of other unpacked wheels, which "
                        "only show what was there when they were linked")  # fmt: skip
    parser.add_argument("--stubs", nargs="*", default=[], metavar="VERSION=PATH", help="text stubs of SDKs")
    options = parser.parse_args(argv)
    try:
        sources = [(system.version(word.partition("=")[0]), Path(word.partition("=")[2])) for word in options.stubs]
        needs = Needs()
        for folder in [path for path in sorted(options.folder.iterdir()) if path.is_dir()]:
            needs.read(folder)
        for folder in [path for whole in options.wheels for path in sorted(whole.iterdir()) if path.is_dir()]:
            needs.read(folder, needed=False)
        known = system.read() if system.FACTS.exists() else {}
        facts(needs, sources, known)
        atomic_write(system.FACTS, HEAD + "\n".join(system.lines(known)) + "\n")
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    console.say(f"Wrote {system.FACTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
