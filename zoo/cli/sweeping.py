"""Run sweeps from the command line, and print their tables."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

from zoo.core import console

if TYPE_CHECKING:
    from zoo.config.overrides import Overrides
    from zoo.runs.result import Run


def is_meant(overrides: "Overrides") -> bool:
    """Return True if a command without -m resumes a sweep, or runs on another machine."""
    from zoo.tasks import sweeps

    return sweeps.named(overrides) is not None or sweeps.is_elsewhere(overrides)


def run(verb: str, overrides: "Overrides", shown: "Callable[[Run], int]", as_json: bool) -> int:
    """Start or resume a sweep, print its table, and return the exit code.

    ``shown`` prints a run that ended in this process. ``as_json`` prints the record of each run instead of the table.
    """
    from zoo.execution.sweeps import table
    from zoo.tasks import registry, sweeps

    folder = sweeps.named(overrides)
    planned = sweeps.reopen(verb, folder, overrides) if folder else sweeps.begin(verb, overrides)
    here: list[str] = []

    def show(result: "Run") -> None:
        here.append(str(result.folder))
        shown(result)

    code = sweeps.execute(planned, functools.partial(registry.dispatch, verb), show)
    sweep = planned.sweep
    if as_json:
        records = [sweep.run_of(element) for element in sweep.elements]
        for record in records:
            if record is not None and record.pop("folder") not in here:
                console.output_json(record)
    else:
        console.table(f"sweep {sweep.folder}", table.HEADINGS, table.rows(sweep))
        means = table.over_seeds(sweep)
        if means:
            console.table("over the seeds", table.MEANS, means)
        console.say(f"To compare: python -m zoo report {sweep.folder}")
    return code
