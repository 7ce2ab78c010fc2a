"""Resolve requirements with uv, as of a date, into the text of a lock with hashes."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from zoo.environments import uv_client
from zoo.environments.stacks import Stack
from zoo.environments.uv_client import CompletedCommand

TRIPLES = {
    "linux-arm64": "aarch64-unknown-linux-gnu", "linux-x86_64": "x86_64-unknown-linux-gnu",
    "macos-arm64": "aarch64-apple-darwin", "macos-x86_64": "x86_64-apple-darwin",
}  # fmt: skip
_COMMON = ("--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links")


def stack_arguments(stack: Stack, platform: str) -> list[str]:
    """Return uv's options for resolving a stack on one of its platforms."""
    place = ["--python-platform", target(stack, platform), "--python-version", stack.python]
    binaries = [] if stack.source_builds else ["--only-binary", ":all:"]
    omitted = [word for name in stack.omit for word in ("--no-emit-package", name)]
    return [*place, *until(stack.exclude_newer), *binaries, *omitted]


def target(stack: Stack, platform: str) -> str:
    """Return uv's name of a platform; without ``minimum_glibc``, uv assumes glibc 2.28."""
    glibc = stack.platforms[platform].minimum_glibc
    arch = TRIPLES[platform].partition("-")[0]
    return f"{arch}-manylinux_{glibc.replace('.', '_')}" if glibc else TRIPLES[platform]


def stack_variables(stack: Stack, platform: str) -> dict[str, str]:
    """Return uv's variables for a stack on one of its platforms: the oldest macOS that the wheels must support."""
    minimum = stack.platforms[platform].minimum_os
    return {"MACOSX_DEPLOYMENT_TARGET": minimum} if minimum else {}


def until(date: str) -> list[str]:
    """Return uv's option for packages up to a date; uv would read a bare date in the local time zone."""
    return ["--exclude-newer", f"{date}T23:59:59Z"]


def resolve(
    requirements: Sequence[str], arguments: Sequence[str], variables: Mapping[str, str],
    constraints: Sequence[str] = (),
) -> tuple[CompletedCommand, str]:  # fmt: skip
    """Return the outcome of ``uv pip compile``, and the text of the lock, empty on failure.

    Args:
        requirements: lines as in ``requirements.txt``; replace ``-`` in ``arguments``.
        variables: for uv, in addition to the user's.
        constraints: versions of packages, which apply if a package is needed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        fresh, wanted, fixed = (Path(scratch, name) for name in ("fresh.lock", "wanted.in", "constraints.txt"))
        wanted.write_text("\n".join(requirements) + "\n", encoding="utf-8")
        fixed.write_text("\n".join(constraints) + "\n", encoding="utf-8")
        given = [str(wanted) if argument == "-" else argument for argument in arguments]
        if constraints:
            given += ["--constraints", str(fixed)]
        command = ["pip", "compile", "-q", "--python", sys.executable, *_COMMON, "-o", str(fresh), *given]
        outcome = uv_client.run(command, extra=variables)
        return outcome, fresh.read_text(encoding="utf-8") if outcome.code == 0 else ""
