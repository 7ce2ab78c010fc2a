"""Check that the metadata of unpacked wheels fit together, and whether sources need a compiler."""

import importlib.metadata
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from scripts.linking.wheels import Source

# What a compiler makes modules of.
COMPILED = (".c", ".cc", ".cpp", ".cxx", ".pyx", ".pyf", ".f", ".f90", ".rs", ".m", ".mm")


def markers(platform: str, python: str) -> dict[str, str]:
    """Return the environment of markers for CPython on a platform such as ``"macos-arm64"``."""
    system, _, machine = platform.partition("-")
    names = {"macos": ("darwin", "Darwin"), "linux": ("linux", "Linux")}[system]
    if system == "linux" and machine == "arm64":
        machine = "aarch64"
    return {
        "implementation_name": "cpython", "implementation_version": f"{python}.9", "os_name": "posix",
        "platform_machine": machine, "platform_python_implementation": "CPython", "platform_release": "",
        "platform_system": names[1], "platform_version": "", "python_full_version": f"{python}.9",
        "python_version": python, "sys_platform": names[0],
    }  # fmt: skip


def problems(
    folder: Path,
    requirements: Sequence[str],
    pins: Mapping[str, str],
    environment: Mapping[str, str],
    omitted: Sequence[str] = (),
) -> list[tuple[str, str]]:
    """Return what does not fit together, as pairs of package and text.

    Args:
        folder: unpacked wheels.
        requirements: what was asked for.
        pins: versions of the whole lock, by normal name.
        environment: as :func:`markers` returns it.
        omitted: packages that stay out on purpose.
    """
    there = {canonicalize_name(each.name): each for each in importlib.metadata.distributions(path=[str(folder)])}
    listed: list[tuple[str, str]] = []
    for name, distribution in sorted(there.items()):
        if distribution.version != pins.get(name):
            listed.append((name, f"version {distribution.version}, the lock has {pins.get(name)}"))
        python = distribution.metadata["Requires-Python"]
        if python and not SpecifierSet(python).contains(environment["python_full_version"]):
            listed.append((name, f"needs Python {python}"))
    waiting = [("the stack", Requirement(text)) for text in requirements]
    seen: set[tuple[str, str]] = set()
    while waiting:
        origin, wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if name in omitted:
            continue
        if name not in pins:
            listed.append((origin, f"needs {wanted}, which is not in the lock"))
        elif not wanted.specifier.contains(pins[name], prereleases=True):
            listed.append((origin, f"needs {wanted}, the lock has {pins[name]}"))
        for extra in {"", *wanted.extras}:
            if name in there and (name, extra) not in seen:
                seen.add((name, extra))
                waiting += [(name, each) for each in _requirements(there[name], {**environment, "extra": extra})]
    return sorted(set(listed))


def _requirements(
    distribution: importlib.metadata.Distribution, environment: Mapping[str, str]
) -> Iterator[Requirement]:
    for text in distribution.requires or ():
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate(dict(environment)):
            yield requirement


def compiled(source: Source) -> list[str]:
    """Return the files of an archive of sources that need a compiler; tests are left out."""
    if zipfile.is_zipfile(source.file):
        with zipfile.ZipFile(source.file) as whole:
            names = whole.namelist()
    else:
        with tarfile.open(source.file) as packed:
            names = packed.getnames()
    return [name for name in names if name.endswith(COMPILED) and not {"test", "tests", "doc"} & set(name.split("/"))]
