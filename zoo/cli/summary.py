"""Summarize a finished run for standard output, as its task declares."""

from zoo.config.tasks import Table
from zoo.runs.result import Run
from zoo.tasks import registry, summaries


def lines(run: Run) -> list[str]:
    summary = registry.command_of_run(run).summary or summaries.recorded
    return [*summary(run), f"Run folder: {run.folder}"]


def tables(run: Run) -> list[Table]:
    declared = registry.command_of_run(run).tables
    return declared(run) if declared else []
