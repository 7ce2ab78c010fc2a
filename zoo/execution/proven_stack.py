"""A stack for user code: built, with a proven device and the environment variables for a process."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement

from zoo.core import console, paths
from zoo.core.errors import ZooError
from zoo.core.files import write_json
from zoo.environments import machine, selection, store, surroundings, variables
from zoo.environments.selection import Selection
from zoo.environments.store import Environment
from zoo.execution import diagnosis, event_display, probe_cache, worker_process
from zoo.execution.probe_cache import Probed
from zoo.protocol.request import PROBE, DevicePart, Request
from zoo.protocol.variables import KERAS


@dataclass(frozen=True)
class ProvenStack:
    """A stack that is ready to use.

    Attributes:
        choice: backend and stack.
        device: the variables that select the device.
        label: the stack's name, with added packages.
    """

    choice: Selection
    environment: Environment
    device: dict[str, str]
    label: str

    def variables(self) -> tuple[dict[str, str], list[str]]:
        """Return the variables for a user's process in this stack, and the names of dropped variables of the user."""
        folder, stack = self.environment.python.parent, self.choice.stack
        path = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        place = {"PATH": path, "VIRTUAL_ENV": str(self.environment.folder)}
        return variables.for_script(place | self.own_variables() | {KERAS: stack.keras})

    def own_variables(self) -> dict[str, str]:
        """Return the variables that select this stack in a process, without the user's."""
        stack = self.choice.stack
        fixed = {"PYTHONNOUSERSITE": "1", "PYTHONPATH": str(models_path()), KERAS: stack.keras}
        return {**stack.env, **self.choice.env, **self.device, **fixed}


def prepare(backend: str | None, stack: str | None, added: Sequence[Requirement], probes: bool = True) -> ProvenStack:
    """Select a stack, build its environment if missing, and prove its device.

    Args:
        backend: name; None or ``auto`` means the best for this machine.
        stack: name; None means the backend's best.
        added: packages in addition to the stack's.
        probes: whether to compare small operations with NumPy.
    """
    here = machine.probe()
    choice = selection.select(backend, here, stack)
    environment = store.ensure(choice.stack, here.platform, added=added)
    label = environment.folder.name.rpartition("-")[0]
    device = choice.device()
    probed = probe_cache.known(environment, here, device) if probes else None
    if probed is None:
        probed = _probe(choice, environment, device, probes)
        probe_cache.keep(environment, here, device, probed)
    else:
        console.say(f"Stack {label} on backend {choice.backend.name}, probed here on {probed.date}")
    return ProvenStack(choice, environment, probed.variables, label)


def _probe(choice: Selection, environment: Environment, device: DevicePart, probes: bool) -> Probed:
    """Prove the device and compare operations in a worker; its folder is kept on failure."""
    request = Request(verb=PROBE, stack=choice.stack.requested, device=device, probes=probes)
    folder = Path(tempfile.mkdtemp(prefix="zoo-probe-"))
    write_json(folder / "request.json", request.to_json())
    worker_variables = store.child_environment(choice.stack, choice.env)
    with event_display.following(f"Starting {choice.stack.name}", ()) as show, store.in_use(environment):
        outcome = worker_process.run(environment.python, worker_variables, folder / "request.json", show)
    if outcome.interrupted:
        raise KeyboardInterrupt
    if not outcome.done or not outcome.start:
        raise diagnosis.failure(outcome, folder, choice.backend.name)
    shutil.rmtree(folder, ignore_errors=True)
    return Probed.of(outcome.start)


def models_path() -> Path:
    """Return a folder that contains only this package, so that any stack can import ``zoo.models``."""
    key = hashlib.sha256(str(paths.PACKAGE).encode()).hexdigest()[:10]
    folder = paths.cache_dir() / "import" / key
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            (folder / paths.PACKAGE.name).symlink_to(paths.PACKAGE)
    except OSError as error:
        raise ZooError(f"Cannot write to {folder}: {error}", "Set ZOO_CACHE to another folder.") from error
    return folder


def unusual_keras_settings() -> dict[str, object]:
    """Return the non-default settings of the user's ``keras.json``, except the backend."""
    usual = {name: value for name, value in surroundings.KERAS_DEFAULTS.items() if name != "backend"}
    home = Path(os.environ.get("KERAS_HOME") or Path.home() / ".keras")
    try:
        content = json.loads((home / "keras.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: content[name] for name, value in usual.items() if content.get(name, value) != value}
