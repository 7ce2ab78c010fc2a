"""Input and output of a certification's steps, and how they call the zoo."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from zoo.certification.results import QUICK, Findings, Place
from zoo.config.overrides import Overrides
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import machine, stacks, store
from zoo.explain import known_issues
from zoo.runs import result
from zoo.runs.result import Run
from zoo.tasks import registry
from zoo.tasks.benchmarks import results


@dataclasses.dataclass(frozen=True)
class Work:
    """The input of a step.

    Attributes:
        place: backend and stack.
        mode: quick or whole.
        samples: folder of the data of :mod:`zoo.certification.samples`.
        mnist: folder of MNIST; None downloads it.
    """

    place: Place
    mode: str
    folder: Path
    samples: Path
    mnist: str | None

    @property
    def quick(self) -> bool:
        return self.mode == QUICK


Do = Callable[[Work], Findings]


def environment_of(work: Work) -> store.Environment:
    return store.ensure(stacks.load(work.place.stack), machine.probe().platform)


def bench(work: Work, *settings: str) -> tuple[Run, list[dict[str, Any]]]:
    """Run a benchmark; return its run and its rows."""
    run = run_of("bench", work, *settings)
    return run, results.read(run.folder)


def run_of(verb: str, work: Work, *settings: str) -> Run:
    """Run a verb with the backend and stack of ``work``; raise KeyboardInterrupt if it was interrupted."""
    words = [*settings, *work.place.words, f"output.root={work.folder}"]
    return finished(registry.dispatch(verb, Overrides.parse(words)))


def finished(run: Run) -> Run:
    """Open a run again from its folder; raise KeyboardInterrupt if it was interrupted."""
    if run.exit == "interrupted":
        raise KeyboardInterrupt
    return result.open_run(run.folder)


def has_operations(place: Place) -> bool:
    return place.framework in paths.worker_modules("devices/kernels")


def explained(error: ZooError, backend: str) -> list[str]:
    """Return the ids of the known issues that explain an error or are named in its text."""
    text = str(error)
    known = [finding.id for finding in known_issues.explain(text, backend) if not finding.harmless]
    named = [issue.id for issue in known_issues.issues() if f"({issue.id})" in text or f"{issue.id}:" in text]
    return list(dict.fromkeys([*named, *known]))
