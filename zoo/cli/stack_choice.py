"""Options that `run` and `kernel install` share: the stack, and packages added to it."""

from typing import TYPE_CHECKING

from zoo.core.errors import ZooError, require_known

if TYPE_CHECKING:
    from packaging.requirements import Requirement

    from zoo.execution.proven_stack import ProvenStack

SETTINGS = ("backend", "stack", "backend.probes")


def setting(word: str) -> tuple[str, str]:
    """Split a word such as ``stack=torch`` into key and value."""
    key, _, value = word.partition("=")
    require_known("setting here", [key], SETTINGS)
    if key == "backend.probes" and value not in ("true", "false"):
        raise ZooError(f"backend.probes is true or false, received {value!r}", "Leave it out to compare.")
    return key, value


def requested(packages: list[str], files: list[str]) -> "list[Requirement]":
    from zoo.core.paths import user_path
    from zoo.environments import requirements

    named = [requirements.parse(text, "--with") for text in packages]
    return named + [row for file in files for row in requirements.read_file(user_path(file))]


def prepare(settings: dict[str, str], added: "list[Requirement]") -> "ProvenStack":
    from zoo.execution import proven_stack

    get = settings.get
    return proven_stack.prepare(get("backend"), get("stack"), added, get("backend.probes", "true") == "true")
