"""Check on any machine whether the locks for macOS and for CUDA on Linux load there, by what their files say.

    python scripts/link_check.py                  check every such lock
    python scripts/link_check.py tf-2.19 torch    check those of these stacks

Each lock is checked on the oldest macOS that its stack promises and on the newest one. Its wheels are downloaded
with their hashes and unpacked in the cache, not installed. Checked are: the architecture of each Mach-O file, the
hashes of its signed pages, its libraries by dyld's rules, every symbol that it binds, and whether the metadata of
all packages fit together. A lock that passes gets a row of evidence, grade "linked", in
`recipes/stacks/NAME/linked.json`, with the hash of the lock; a lock that does not loses its row, and the exit
status is 1.

Of a lock with CUDA are checked: the architecture of each ELF file, its libraries by the rules of Linux's dynamic
linker, the versions of their symbols, and whether each file with CUDA code has some for the GPUs that the stack
promises. Wheels are downloaded, read and deleted one by one.

Every run also checks pairs that are publicly known to fail. If one of them passes, the check is broken: the exit
status is 2, and nothing is written.
"""

import argparse
import datetime
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.linking import dyld, linux, metadata, system, wheels
from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write, file_sha256
from zoo.environments import resolution, stacks

# The newest macOS of which enough symbols are known: wheels that were linked with its SDK show them.
NEWEST = "26.0"
BROKEN, UNSOUND = 1, 2
# The oldest glibc for which uv resolves, unless a stack has another.
GLIBC = "2.28"


@dataclass(frozen=True)
class Excuse:
    """A problem that does no harm, and why."""

    file: str
    text: str
    reason: str


HARMLESS = (
    Excuse("clang/native/libclang.dylib", "library not found: /usr/local/opt/zstd/",
           "TensorFlow asks for the package libclang and loads nothing of it"),
    Excuse("torch/_dl.cpython-310-darwin.so", "built for x86_64",
           "imported only where the module os has no RTLD_GLOBAL"),
    Excuse("backports-strenum", "needs Python",
           "uv, which builds the environments, ignores upper limits; ai-edge-litert works with it on Linux"),
    Excuse("wrapt", "sources in C", "its setup.py leaves out the C module if there is no compiler"),
    Excuse("lib/libcufile_rdma.so", "library not found", "cuFile loads it for storage in a network"),
    Excuse("nvshmem/lib/nvshmem_", "library not found", "NVSHMEM loads the one for the network that it finds"),
    Excuse("torch/lib/libgfortran.so.5", "library not found: libquadmath", "no file of PyTorch needs it"),
    Excuse("lib/libcusparseLt.so", "needs glibc 2.27", "its wheel promises 2.17, but the lock 2.28"),
    Excuse("lib/libcufftw.so", "no code for", "FFTW's names for cuFFT, which computes in libcufft"),
)  # fmt: skip


@dataclass(frozen=True)
class Control:
    """Two packages of which it is publicly known that they do not load together."""

    name: str
    pins: tuple[tuple[str, str], ...]
    python: str = "3.12"
    platform: str = "macos-arm64"


CONTROLS = (
    Control("TensorFlow 2.21.0, tensorflow-metal 1.2.0", (
        ("tensorflow==2.21.0", "56ecd7d47429acbe1df2694d50b75bf9fc3995ac92cb367cd9af6c4780ead712"),
        ("tensorflow-metal==1.2.0", "4bece0ecb154b713b9f5ad4aec676a366d312822161e3cf0e1dea737c64cec04"),
    )),
    Control("TensorFlow 2.18.0, tensorflow-metal 1.1.0", (
        ("tensorflow==2.18.0", "453cb60638a02fd26316fb36c8cbcf1569d33671f17c658ca0cf2b4626f851e7"),
        ("tensorflow-metal==1.1.0", "1c365669fc9d764edcc1773254a477db7096975b1bff58fb37a11d7b8ca4295f"),
    ), python="3.11"),
)  # fmt: skip


@dataclass
class Outcome:
    """What was found of one lock on one version of macOS."""

    name: str
    platform: str
    macos: str
    problems: list[tuple[str, str]]
    excused: list[str]
    packages: int
    files: int
    findings: dyld.Findings
    seconds: float

    def line(self) -> str:
        """Return the outcome as one row of a table."""
        findings = self.findings
        verdict = f"problems: {len(self.problems)}" if self.problems else "loads"
        return (
            f"| {self.name} | {self.platform} | {self.macos} | {self.packages} | {self.files} | {findings.bound:,} | "
            f"{len(findings.system):,} | {len(findings.unknown):,} | {len(self.excused)} | {verdict} |"
        )


HEADING = (
    "| stack | platform | macOS | packages | Mach-O files | bound symbols | symbols of macOS | unknown | excused | "
    "verdict |\n|---|---|---|---|---|---|---|---|---|---|"
)


def examine(lock: Path, stack: stacks.Stack, platform: str, macos: str, cache: Path) -> Outcome:
    """Check one lock on one version of macOS."""
    row = stack.platforms[platform]
    begun = time.monotonic()
    folder, sources = unpacked(lock, stack, platform, macos, cache)
    pins = stacks.pins(lock)
    environment = metadata.markers(platform, stack.python)
    listed = metadata.problems(folder, row.requirements, pins, environment, stack.omit)
    for source in sources:
        if code := metadata.compiled(source):
            listed.append((source.name, f"sources in C, {len(code)} files, and no wheel: {code[0]}"))
    files = wheels.images(folder)
    findings = linked(folder, platform, files, macos)
    problems, excused = sort_out([*listed, *findings.problems])
    return Outcome(
        stack.name, platform, macos, problems, excused, len(pins), len(files), findings, time.monotonic() - begun
    )


def unpacked(
    lock: Path, stack: stacks.Stack, platform: str, macos: str, cache: Path
) -> tuple[Path, list[wheels.Source]]:
    """Unpack the wheels of a lock for one version of macOS; return their folder, and the packages without a wheel."""
    folder = cache / "environments" / f"{stack.name}-{platform}-{macos}"
    variables = {"MACOSX_DEPLOYMENT_TARGET": macos}
    return folder, wheels.unpack(lock, wheels.TRIPLES[platform], stack.python, variables, folder, cache / "sources")


def linked(folder: Path, platform: str, files: wheels.Images, macos: str) -> dyld.Findings:
    """Hold the Mach-O files of a folder against dyld's rules and what is known of a version of macOS."""
    arch = platform.partition("-")[2]
    return dyld.Environment(folder, arch, files, system.read(), system.version(macos)).check()


def sort_out(listed: Sequence[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[str]]:
    """Split problems into those that count and the reasons of those that do no harm."""
    problems, excused = [], []
    for name, text in listed:
        reason = next((row.reason for row in HARMLESS if row.file in name and text.startswith(row.text)), None)
        if reason is None:
            problems.append((name, text))
        else:
            excused.append(f"{name}: {text} ({reason})")
    return problems, excused


@dataclass
class LinuxOutcome:
    """What was found of one lock with CUDA."""

    name: str
    platform: str
    problems: list[tuple[str, str]]
    excused: list[str]
    wheels: list[linux.Wheel]
    findings: linux.Findings

    def line(self) -> str:
        """Return the outcome as one row of a table."""
        findings, highest = self.findings, self.findings.highest
        verdict = f"problems: {len(self.problems)}" if self.problems else "loads"
        cells = [
            self.name, self.platform, len(self.wheels), self.files(), findings.needed, findings.system,
            highest.get("GLIBC"), highest.get("GLIBCXX"), len(self.excused), verdict,
        ]  # fmt: skip
        return f"| {' | '.join(map(str, cells))} |"

    def files(self) -> int:
        return sum(len(wheel.files) for wheel in self.wheels)

    def generations(self) -> str:
        """Return for each generation of GPUs in how many files it has code."""
        rows = []
        for name, capability in linux.GENERATIONS.items():
            ways = linux.gpus(self.wheels, capability)
            counts = ", ".join(f"{len(files)} {way or 'none'}" for way, files in ways.items() if files)
            rows.append(f"{name} ({capability / 10}): {counts}")
        return "; ".join(rows)

    def evidence(self, lock: Path, devices: Sequence[str]) -> dict[str, str]:
        """Return the row of evidence."""
        what = (
            f"nothing that its files need is known to be missing: {len(self.wheels)} packages with {self.files()} "
            f"ELF files, {self.findings.needed:,} libraries, glibc {self.findings.highest.get('GLIBC')}; CUDA code: "
            f"{self.generations()}; nothing was run"
        )
        return _evidence(self.name, what, self.excused, lock, devices)


LINUX_HEADING = (
    "| stack | platform | packages with ELF files | ELF files | libraries | of the system | glibc | libstdc++ | "
    "excused | verdict |\n|---|---|---|---|---|---|---|---|---|---|"
)


def examine_linux(lock: Path, stack: stacks.Stack, platform: str, cache: Path) -> LinuxOutcome:
    """Check one lock with CUDA."""
    row = stack.platforms[platform]
    packages = list(linux.wheels(lock, resolution.target(stack, platform), stack.python, cache / "linux"))
    findings = linux.check(packages, platform.partition("-")[2], row.minimum_glibc or GLIBC)
    newest = float(row.maximum_compute or "inf")
    promised = [
        capability
        for capability in linux.GENERATIONS.values()
        if float(row.minimum_compute or 0) <= capability / 10 <= newest
    ]
    without: dict[str, list[str]] = {}
    for capability in promised:
        for file in linux.gpus(packages, capability)[""]:
            without.setdefault(file, []).append(str(capability / 10))
    listed = [(file, f"no code for compute capability {', '.join(texts)}") for file, texts in without.items()]
    problems, excused = sort_out([*findings.problems, *listed])
    return LinuxOutcome(stack.name, platform, problems, excused, packages, findings)


def control(pair: Control, cache: Path) -> list[tuple[str, str]]:
    """Return the problems of a pair that is known to have some."""
    folder = cache / "environments" / pair.name.replace(", ", "-").replace(" ", "-")
    with tempfile.TemporaryDirectory() as scratch:
        lock = Path(scratch, "control.lock")
        lock.write_text("".join(f"{pin} --hash=sha256:{sha256}\n" for pin, sha256 in pair.pins), encoding="utf-8")
        variables = {"MACOSX_DEPLOYMENT_TARGET": NEWEST}
        wheels.unpack(lock, wheels.TRIPLES[pair.platform], pair.python, variables, folder, cache / "sources")
    findings = linked(folder, pair.platform, wheels.images(folder), NEWEST)
    return [each for each in findings.problems if each[0].startswith("tensorflow-plugins/")]


def evidence(outcomes: Sequence[Outcome], lock: Path, row: stacks.Platform) -> dict[str, str]:
    """Return the row of evidence of a lock that passed on each version of macOS."""
    oldest = outcomes[0]
    versions = " and ".join(dict.fromkeys(each.macos for each in outcomes))
    unknown = ", ".join(
        f"{len(each.findings.unknown):,} of {len(each.findings.system):,} on {each.macos}" for each in outcomes
    )
    what = (
        f"nothing that its files need is known to be missing on macOS {versions}: {oldest.packages} packages, "
        f"{oldest.files} Mach-O files, {oldest.findings.bound:,} bound symbols; symbols of macOS of which it is not "
        f"known whether they are there: {unknown}; nothing was run"
    )
    return _evidence(oldest.name, what, oldest.excused, lock, row.devices)


def _evidence(name: str, what: str, excused: Sequence[str], lock: Path, devices: Sequence[str]) -> dict[str, str]:
    if excused:
        what += f"; excused: {'; '.join(excused)}"
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    source = f"python scripts/link_check.py {name}, {date}"
    return {"lock_sha256": file_sha256(lock), "device": ", ".join(devices), "what": what, "source": source}


def enter(stack: stacks.Stack, platform: str, row: dict[str, str] | None) -> None:
    """Write the row of a lock, or remove it."""
    path = stack.folder / stacks.LINKED_FILE
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows.pop(platform, None)
    if row is not None:
        rows[platform] = row
    if rows:
        atomic_write(path, json.dumps(rows, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    else:
        path.unlink(missing_ok=True)


def locks(names: Sequence[str]) -> Iterator[tuple[stacks.Stack, str]]:
    """Yield the locks of some stacks, or of all, that can be checked; those for macOS first."""
    rows = [stacks.load(name) for name in names or stacks.names()]
    yield from ((row, platform) for row in rows for platform in row.platforms if platform in wheels.TRIPLES)
    yield from ((row, platform) for row in rows for platform, place in row.platforms.items() if has_cuda(place))


def has_cuda(platform: stacks.Platform) -> bool:
    return "cuda" in platform.devices


def show(line: str, problems: Sequence[tuple[str, str]]) -> None:
    """Print the row of an outcome with its problems."""
    console.output(line)
    for name, text in problems:
        console.output(f"    {name}: {text}")


def _linux(stack: stacks.Stack, platform: str, lock: Path, cache: Path) -> bool:
    """Check a lock with CUDA, print the outcome and enter its evidence; return whether it passed."""
    outcome = examine_linux(lock, stack, platform, cache)
    show(f"{LINUX_HEADING}\n{outcome.line()}", outcome.problems)
    console.output(f"    {outcome.generations()}")
    row = None if outcome.problems else outcome.evidence(lock, stack.platforms[platform].devices)
    enter(stack, platform, row)
    return not outcome.problems


def main(argv: list[str] | None = None) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="STACK", help="stacks; default: all")
    parser.add_argument("--cache", type=Path, help="folder for unpacked wheels; default: in the cache of zoo")
    options = parser.parse_args(argv)
    begun = time.monotonic()
    try:
        wanted = list(locks(options.names))
        cache = options.cache or paths.cache_dir() / "link_check"
        for pair in CONTROLS if any(platform in wheels.TRIPLES for _, platform in wanted) else ():
            problems = control(pair, cache)
            shown = f"fails, as it must: {': '.join(problems[0])}" if problems else "no problem"
            console.output(f"control: {pair.name}: {shown}")
            if not problems:
                console.fail(f"{pair.name} does not load on any Mac, and was not caught", "Repair this check.")
                return UNSOUND
        console.output(HEADING)
        broken = 0
        for stack, platform in wanted:
            lock = stacks.lock_file(stack, platform)
            if has_cuda(stack.platforms[platform]):
                broken += not _linux(stack, platform, lock, cache)
                continue
            oldest = stack.platforms[platform].minimum_os
            outcomes = [examine(lock, stack, platform, macos, cache) for macos in (oldest, NEWEST) if macos]
            for outcome in outcomes:
                show(f"{outcome.line()} {outcome.seconds:.1f} s", outcome.problems)
            passed = not any(outcome.problems for outcome in outcomes)
            broken += not passed
            enter(stack, platform, evidence(outcomes, lock, stack.platforms[platform]) if passed else None)
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    console.output(f"{broken} locks do not load; {time.monotonic() - begun:.0f} s")
    return BROKEN if broken else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
