"""Lock the packages that a script needs in addition to a stack's own, whose versions are kept."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from zoo.core import console, paths
from zoo.core.errors import UnreachableIndexError, ZooError
from zoo.core.files import atomic_write, file_sha256
from zoo.environments import resolution, stacks, uv_client
from zoo.environments.stacks import Stack
from zoo.environments.uv_client import CompletedCommand

# Packages with the same modules, which overwrite each other in one environment.
TWINS = ("tensorflow", "tensorflow-cpu", "tensorflow-macos", "tensorflow-intel")


def beyond(stack: Stack, platform: str, wanted: Sequence[Requirement]) -> list[Requirement]:
    pins = _pins(stacks.lock_file(stack, platform)) if wanted else {}
    python = {"python_version": stack.python, "python_full_version": f"{stack.python}.0"}
    meant = [requirement for requirement in wanted if not requirement.marker or requirement.marker.evaluate(python)]
    versions = [(requirement, pins.get(canonicalize_name(requirement.name))) for requirement in meant]
    for requirement, version in versions:
        if version and not requirement.specifier.contains(version, prereleases=True):
            raise _changes(stack, [f"{requirement.name} {version} of the stack against {requirement}"])
    return [requirement for requirement, version in versions if not version or requirement.extras]


def label(stack: Stack, added: Sequence[Requirement]) -> str:
    """Return the name of a stack with added packages, such as ``tf-2.21+pandas``."""
    names = sorted({canonicalize_name(requirement.name) for requirement in added})
    return "+".join([stack.name, *names])[:60]


def locked(stack: Stack, platform: str, added: Sequence[Requirement]) -> Path:
    """Return the lock of a stack with added packages; if it is missing, resolve it as of the stack's date."""
    own = stacks.lock_file(stack, platform)
    pins = _pins(own)
    wanted = sorted({str(requirement) for requirement in added})
    key = hashlib.sha256(json.dumps([file_sha256(own), wanted, platform]).encode()).hexdigest()[:10]
    path = paths.cache_dir() / "locks" / f"{label(stack, added)}-{key}.lock"
    if not path.is_file():
        console.say(f"Resolving {', '.join(wanted)} together with {stack.name}, as of {stack.exclude_newer}")
        text = own.read_text(encoding="utf-8") + _new_entries(_resolve(stack, platform, wanted, pins), pins)
        atomic_write(path, text, parents=True)
    return path


def _pins(lock: Path) -> dict[str, str]:
    pins = stacks.pins(lock)
    version = next((pins[name] for name in TWINS if name in pins), None)
    return pins | dict.fromkeys(TWINS, version) if version else pins


def _resolve(stack: Stack, platform: str, wanted: list[str], pins: dict[str, str]) -> str:
    arguments = ["-", *resolution.stack_arguments(stack, platform)]
    variables = resolution.stack_variables(stack, platform)
    fixed = [f"{name}=={version}" for name, version in pins.items()]
    outcome, text = resolution.resolve(wanted, arguments, variables, fixed)
    if uv_client.missing_cpu_build(outcome):
        outcome, text = resolution.resolve(wanted, [*arguments, "--torch-backend", "cpu"], variables, fixed)
    if outcome.code != 0:
        raise _refusal(stack, wanted, pins, outcome)
    return text


def _new_entries(lock: str, pins: dict[str, str]) -> str:
    entries = re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE)
    names = [canonicalize_name(re.split(r"[=\[ ;]", entry, maxsplit=1)[0]) for entry in entries]
    return "".join(entry for name, entry in zip(names, entries, strict=True) if name and name not in pins)


def _refusal(stack: Stack, wanted: list[str], pins: dict[str, str], outcome: CompletedCommand) -> ZooError:
    words = f"Output of the installer:\n{outcome.tail()}"
    if uv_client.is_unreachable(outcome):
        why, remedy = uv_client.reason(outcome)
        return UnreachableIndexError(f"{', '.join(wanted)} cannot be resolved: {why}.\n{words}", remedy)
    pairs = list(dict.fromkeys(_pairs(" ".join(outcome.words), pins)))
    if pairs:
        return _changes(stack, pairs, f"\n{words}")
    date = f"published as wheels by {stack.exclude_newer}, the date of the stack"
    return ZooError(
        f"{', '.join(wanted)} cannot be added to stack {stack.name}: no versions fit that were {date}.\n{words}",
        "Request other versions, or choose a newer stack: `python -m zoo list stacks`.",
    )


def _pairs(words: str, pins: dict[str, str]) -> Iterator[str]:
    for who, what in re.findall(r"(\S+) depends? on ([\w.\[\]-]+(?:[<>=!~][^\s,]*(?:, ?[<>=!~][^\s,]+)*)?)", words):
        try:
            needed = Requirement(what)
        except InvalidRequirement:
            continue
        version = pins.get(canonicalize_name(needed.name))
        if version and not needed.specifier.contains(version, prereleases=True):
            yield f"{needed.name} {version} of the stack against {needed} of {who}"


def _changes(stack: Stack, pairs: list[str], words: str = "") -> ZooError:
    return ZooError(
        f"This would change stack {stack.name}, whose versions are tested together: {'; '.join(pairs)}{words}",
        "Request a version that fits, or choose another stack: `python -m zoo list stacks`.",
    )
