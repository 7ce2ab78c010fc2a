"""Rebuild or check the lock files.

python scripts/lock.py                      rebuild the locks of every stack
python scripts/lock.py tf-2.21 tf-1.8       rebuild those of these stacks
python scripts/lock.py host                 rebuild requirements.lock, this checkout's own environment, and
                                            requirements-dev.lock, the same with the tools of the tests
python scripts/lock.py --check              resolve again, print differences, exit 1 if a lock does not hold
python scripts/lock.py --nightly            lock one stack for each framework of Keras 3 with Keras's newest nightly
                                            build, to see what its next release breaks; `pytest --nightly` tests them,
                                            and `git checkout recipes/stacks` puts the locks back

Each lock is resolved as of a date (end of that day, UTC), so that it is the same on any later day. A mirror that
lists a release later than it was published makes a difference, which is printed; the lock holds as long as its own
versions are there and answer the requirements.
"""

import argparse
import dataclasses
import datetime
import difflib
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.maintenance import bundled_files
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import resolution, stacks, uv_client

HOST = "host"
HOST_LOCK, DEV_LOCK = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
# The last releases with wheels for the oldest Intel Macs, macOS 10.13 and 10.15.
INTEL_LIMITS = {"scipy": "1.16", "httptools": "0.9", "scikit-learn": "1.8", "pyzmq": "27"}
HOST_CONSTRAINTS = tuple(
    f"{name}{sign}{version} ; {marker}"
    for sign, marker in (
        ("<", "sys_platform == 'darwin' and platform_machine == 'x86_64'"),
        (">=", "sys_platform != 'darwin' or platform_machine != 'x86_64'"),
    )
    for name, version in INTEL_LIMITS.items()
)
HOST_PYTHON = "3.11"
# One stack for each framework of Keras 3, and what its backend needs next to Keras from 3.16 on.
NIGHTLY: dict[str, list[str]] = {
    "torch": [],
    "jax": [],
    "tf-2.21": [],
    "openvino": ["keras-openvino"],
    "mlx": [],
}


@dataclass(frozen=True)
class Job:
    """One lock: its path, its first comment, and the arguments of uv."""

    lock: Path
    heading: str
    arguments: list[str]
    requirements: list[str]
    extra: dict[str, str]
    constraints: tuple[str, ...] = ()


def stack_job(stack: stacks.Stack, platform: str) -> Job:
    """Return how to resolve the lock of a stack on one of its platforms."""
    heading = (
        f"# {stack.name} for {platform}, Python {stack.python}, as of {stack.exclude_newer}.\n"
        f"# Rebuild: python scripts/lock.py {stack.name} --platform {platform}\n"
    )
    arguments = ["-", *resolution.stack_arguments(stack, platform)]
    extra = resolution.stack_variables(stack, platform)
    return Job(stack.folder / f"{platform}.lock", heading, arguments, stack.platforms[platform].requirements, extra)


def nightly(stack: stacks.Stack) -> stacks.Stack:
    """Return a stack with the newest nightly build of Keras; its other requirements stay."""

    def moved(row: stacks.Platform) -> stacks.Platform:
        kept = [text for text in row.requirements if not re.match(r"keras(-nightly)?==", text)]
        return dataclasses.replace(row, requirements=[*kept, *NIGHTLY[stack.name], "keras-nightly"])

    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    rows = {name: moved(row) for name, row in stack.platforms.items()}
    # The package keras, which others ask for, has the same modules as keras-nightly.
    return dataclasses.replace(stack, platforms=rows, exclude_newer=today, omit=sorted({*stack.omit, "keras"}))


def host_jobs(date: str | None) -> Iterator[Job]:
    """Yield how to resolve this checkout's own two locks; by default as of the date they already have."""
    if date and not re.fullmatch(r"\d{4}-\d\d-\d\d", date):
        raise ZooError(f"--date must be like 2026-01-31, received {date!r}")
    date = date or host_date()
    heading = (
        f"# This checkout's own environment{{}}, Python {HOST_PYTHON} and newer, as of {date}.\n"
        "# Rebuild: python scripts/lock.py host (--date moves the date)\n"
    )
    project = str(ROOT / "pyproject.toml")
    options = ["--universal", "--python-version", HOST_PYTHON, *resolution.until(date)]
    plain = [project, "--group", f"{project}:build", *options]
    yield Job(HOST_LOCK, heading.format(""), plain, [], {}, HOST_CONSTRAINTS)
    # Resolved when the first is written: both have the same versions.
    same = (*HOST_CONSTRAINTS, *pinned(HOST_LOCK))
    tools = heading.format(" with the tools of the tests")
    yield Job(DEV_LOCK, tools, [project, "--group", f"{project}:dev", *options], [], {}, same)


def pinned(lock: Path) -> list[str]:
    """Return the versions of a lock with their markers, as constraints."""
    text = lock.read_text(encoding="utf-8") if lock.exists() else ""
    return re.findall(r"^[\w.-]+==.*(?= \\$)", text, re.MULTILINE)


def host_date() -> str:
    """Return the date in requirements.lock, or yesterday's if it has none: today is not over yet."""
    match = re.search(r"as of (\d{4}-\d\d-\d\d)", HOST_LOCK.read_text(encoding="utf-8")) if HOST_LOCK.exists() else None
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    return match[1] if match else yesterday.date().isoformat()


def resolve(job: Job, constraints: Sequence[str] = ()) -> str:
    """Resolve a lock and return its text.

    Args:
        job: the lock.
        constraints: versions that packages have if they are needed.
    """
    limits = [*job.constraints, *constraints]
    outcome, text = resolution.resolve(job.requirements, job.arguments, job.extra, limits)
    if outcome.code != 0:
        why, remedy = uv_client.reason(outcome)
        raise ZooError(f"{job.lock.relative_to(ROOT)} cannot be resolved: {why}.\n{outcome.tail()}", remedy)
    return job.heading + text


def drift(job: Job) -> tuple[list[str], bool]:
    """Compare the lock on disk with a new one.

    Returns:
        The lines in which they differ, and whether the lock on disk holds none the less: with its versions, the
        requirements are resolved to the same text, hashes included.
    """
    old = job.lock.read_text(encoding="utf-8") if job.lock.exists() else ""
    new = resolve(job)
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "on disk", "resolved again", lineterm="", n=0)
    differences = [line for line in lines if not line.startswith("@@")]
    if not differences:
        return [], True
    try:
        return differences, resolve(job, pinned(job.lock)) == old
    except ZooError:  # A version of the lock was withdrawn, or is not what the requirements ask for.
        return differences, False


def rebuild(job: Job) -> None:
    """Resolve a lock and replace its file in one step."""
    text = resolve(job)
    fresh = job.lock.with_name(f".{job.lock.name}.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(job.lock)


def jobs(names: list[str], platform: str | None, date: str | None, by_night: bool = False) -> Iterator[Job]:
    """Yield the locks with these names, or all locks if none is named; ``by_night`` as :func:`nightly` has them."""
    if by_night and (others := sorted(set(names) - set(NIGHTLY))):
        raise ZooError(f"Stack {others[0]} has no nightly Keras", f"These have: {', '.join(NIGHTLY)}")
    for name in names or (list(NIGHTLY) if by_night else [*stacks.names(), *([] if platform else [HOST])]):
        if name == HOST:
            yield from host_jobs(date)
            continue
        stack = bundled_files.checked(stacks.load(name))
        stack = nightly(stack) if by_night else stack
        if platform and platform not in stack.platforms:
            if names:
                raise ZooError(f"Stack {name} has no platform {platform!r}", f"It has: {', '.join(stack.platforms)}")
            continue
        yield from (stack_job(stack, each) for each in stack.platforms if platform in (None, each))


def check(job: Job) -> bool:
    """Print the differences of a lock and return whether it holds."""
    lines, holds = drift(job)
    status = "holds, though the index lists other releases of its time now" if holds else "DRIFTED"
    print(f"{status if lines else 'as resolved'}: {job.lock.relative_to(ROOT)}", *lines, sep="\n", flush=True)
    return holds


def main(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="stacks, or host; default: all")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a lock does not hold")
    parser.add_argument("--nightly", action="store_true", help="lock with the newest nightly build of Keras")
    parser.add_argument("--platform", choices=sorted(resolution.TRIPLES), help="only the locks for this platform")
    parser.add_argument("--date", help="as-of date for the host's locks, YYYY-MM-DD")
    options = parser.parse_args(argv)
    try:
        wanted = jobs(options.names, options.platform, options.date, options.nightly)
        if options.check:
            return int(sum(not check(job) for job in wanted) > 0)
        for job in wanted:
            rebuild(job)
            print(f"wrote {job.lock.relative_to(ROOT)}", flush=True)
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
