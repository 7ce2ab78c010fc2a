"""Check the wheels of a lock for Linux by the rules of its dynamic linker, and read for which GPUs they have code.

Wheels with CUDA take gigabytes, so each is downloaded, checked against the hash of the lock, read and deleted. What
was read is kept.
"""

import dataclasses
import json
import posixpath
import re
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scripts.linking import elf
from scripts.linking.wheels import locked_packages
from zoo.core import download
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write
from zoo.environments.platforms import version_numbers

# Of the GNU C library, GCC and zlib: manylinux (PEP 600) lets wheels use them.
SYSTEM = frozenset({
    "ld-linux-x86-64.so.2", "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libutil.so.1",
    "libresolv.so.2", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1",
})  # fmt: skip
# Of NVIDIA's driver.
DRIVER = frozenset({"libcuda.so.1", "libnvidia-ml.so.1"})
GENERATIONS = {
    "Pascal": 60, "Volta": 70, "Turing": 75, "Ampere": 80, "Ada": 89, "Hopper": 90, "Blackwell (B200)": 100,
    "Blackwell (RTX 50)": 120,
}  # fmt: skip
# Old names of tags, PEP 600.
OLD_TAGS = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}


@dataclass(frozen=True)
class Wheel:
    """One wheel of a lock with its ELF files, by their places in site-packages."""

    name: str
    tag: str
    files: dict[str, elf.Image]


@dataclass
class Findings:
    """What was found of all wheels together.

    Attributes:
        problems: (file, text).
        needed: number of libraries that files name.
        system: number of those of the system or of the driver.
        by_name: libraries that no search path leads to; a file in the wheels has the name.
        highest: prefix of a version, such as ``"GLIBC"`` -> the highest that a file needs.
    """

    problems: list[tuple[str, str]] = field(default_factory=list)
    needed: int = 0
    system: int = 0
    by_name: set[str] = field(default_factory=set)
    highest: dict[str, str] = field(default_factory=dict)


def wheels(lock: Path, triple: str, python: str, cache: Path) -> Iterator[Wheel]:
    """Yield the wheels of a lock that have ELF files.

    Args:
        lock: requirements with hashes.
        triple: uv's name of the platform.
        python: such as ``"3.12"``.
        cache: where results are kept.
    """
    place = ["--python-platform", triple, "--python-version", python]
    known = lock.read_text(encoding="utf-8")
    for row in locked_packages(lock, place, cache / "pylock.linux.toml"):
        for each in row.get("wheels", [])[:1]:
            url, sha256 = each["url"], each["hashes"]["sha256"]
            if sha256 not in known:
                raise ZooError(f"The wheel of {row['name']} is not one of the lock: sha256 {sha256}", "")
            if files := _files(url, sha256, each.get("size"), cache):
                yield Wheel(row["name"], url.rpartition("/")[2].rpartition("-")[2], files)


def _files(url: str, sha256: str, size: int | None, cache: Path) -> dict[str, elf.Image]:
    kept = cache / f"{sha256}.json"
    if not kept.is_file():
        wheel = download.fetch(f"{sha256}.whl", [url], sha256, cache, size)
        try:
            read = {name: dataclasses.asdict(image) for name, image in contents(wheel).items()}
        finally:
            wheel.unlink()
        atomic_write(kept, json.dumps(read))
    return {name: elf.Image(**row) for name, row in json.loads(kept.read_text(encoding="utf-8")).items()}


def contents(wheel: Path) -> dict[str, elf.Image]:
    """Read the ELF files of a wheel, unpacked one at a time."""
    images = {}
    with zipfile.ZipFile(wheel) as packed, tempfile.TemporaryDirectory(dir=wheel.parent) as scratch:
        for row in packed.infolist():
            with packed.open(row) as stream:
                if stream.read(4) != elf.MAGIC:
                    continue
            file = Path(packed.extract(row, scratch))
            images[re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", row.filename)] = elf.read(file)
            file.unlink()
    return images


def check(packages: list[Wheel], arch: str, glibc: str) -> Findings:
    """Hold all ELF files against the rules of the dynamic linker.

    Args:
        packages: all wheels of one environment.
        arch: ``"x86_64"`` or ``"arm64"``.
        glibc: the oldest that is promised.
    """
    findings = Findings()
    files = {name: image for wheel in packages for name, image in wheel.files.items()}
    names: dict[str, list[str]] = {}
    for name, image in files.items():
        names.setdefault(image.soname or posixpath.basename(name), []).append(name)
    for wheel in packages:
        promised = min(filter(None, [tag_glibc(wheel.tag), glibc]), key=version_numbers)
        for name, image in wheel.files.items():
            if image.arch == "cuda":
                continue
            if image.arch != arch:
                findings.problems.append((name, f"built for {image.arch}"))
                continue
            _libraries(findings, name, image, files, names)
            _versions(findings, name, image, promised)
    return findings


def _libraries(
    findings: Findings, name: str, image: elf.Image, files: Mapping[str, elf.Image], names: Mapping[str, list[str]]
) -> None:
    for library in image.needed:
        findings.needed += 1
        if library in SYSTEM or library in DRIVER:
            findings.system += 1
            continue
        places = [posixpath.normpath(posixpath.join(origin_of(each, name), library)) for each in image.search]
        place = next((each for each in places if each in files), None)
        if place is None:
            place = next(iter(names.get(library, ())), None)
            if place is None:
                findings.problems.append((name, f"library not found: {library}"))
                continue
            findings.by_name.add(library)
        defined = files[place].defined
        lacking = [each for each in image.versions.get(library, ()) if defined and each not in defined]
        findings.problems += [(name, f"{place} has no symbols of version {each}") for each in lacking]


def origin_of(search: str, name: str) -> str:
    """Return the folder in site-packages that an entry of a search path means for a file."""
    return search.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", posixpath.dirname(name) or ".")


def _versions(findings: Findings, name: str, image: elf.Image, promised: str) -> None:
    highest: dict[str, str] = {}
    for library, versions in image.versions.items():
        for text in versions if library in SYSTEM else ():
            prefix, _, number = text.partition("_")
            if re.fullmatch(r"[\d.]+", number):
                highest[prefix] = max(highest.get(prefix, "0"), number, key=version_numbers)
    for prefix, number in highest.items():
        findings.highest[prefix] = max(findings.highest.get(prefix, "0"), number, key=version_numbers)
    if version_numbers(highest.get("GLIBC", "0")) > version_numbers(promised):
        findings.problems.append((name, f"needs glibc {highest['GLIBC']}, promised is {promised}"))


def tag_glibc(tag: str) -> str:
    """Return the oldest glibc of a wheel's platform tag, or an empty text."""
    versions = [f"{major}.{minor}" for major, minor in re.findall(r"manylinux_(\d+)_(\d+)_", tag)]
    versions += [number for name, number in OLD_TAGS.items() if name in tag]
    return min(versions, key=version_numbers, default="")


def code(image: elf.Image, capability: int) -> str:
    """Return how a file has code for a GPU: "own", "PTX" that its driver compiles, or an empty text.

    Code for one GPU runs on those of the same generation that are not older, PTX on all that are not older.
    """
    if any(each // 10 == capability // 10 and each <= capability for each in image.cubins):
        return "own"
    return "PTX" if any(each <= capability for each in image.ptx) else ""


def gpus(packages: list[Wheel], capability: int) -> dict[str, list[str]]:
    """Return "own", "PTX" and "" -> the files with CUDA code that have some for a GPU in this way."""
    ways: dict[str, list[str]] = {"own": [], "PTX": [], "": []}
    for wheel in packages:
        for name, image in wheel.files.items():
            if image.cubins or image.ptx:
                ways[code(image, capability)].append(name)
    return ways
