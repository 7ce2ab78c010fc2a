"""Summarize runs in a table, and write pages about runs."""

import dataclasses
import math
from pathlib import Path

from zoo.config.schemas.common import Output
from zoo.core import console, files
from zoo.core.errors import ZooError, require_known
from zoo.core.paths import user_path
from zoo.execution.sweeps import record as sweep_record
from zoo.reports import page as report_page
from zoo.reports import search, units
from zoo.reports.sections.provenance import device_name
from zoo.runs import folder as run_folder
from zoo.runs.result import HEADLINES
from zoo.runs.untrusted import read_record

PAGE = "report.html"


@dataclasses.dataclass(frozen=True)
class RunSummary:
    """A row of the table; unknown values are empty or None. The ``exit`` of a damaged folder is ``damaged``."""

    run: str
    started: str
    verb: str = ""
    model: str = ""
    backend: str = ""
    stack: str = ""
    device: str = ""
    data: str = ""
    exit: str = ""
    metric: str = ""
    value: float | None = None
    seconds: float | None = None
    peak_memory_bytes: float | None = None


KEYS = [part.name for part in dataclasses.fields(RunSummary)]


def write(runs: list[str], root: str | None, output: str | None) -> Path:
    """Write the page about one or several runs atomically; replace an existing file only if it is a report.

    Args:
        runs: folders, names of folders under the root, or ``last``, optionally after ``run=``; empty means ``last``.
        output: None means ``report.html`` in the folder of the run, or in the root for several runs.
    """
    base = root_folder(root)
    names = [name.removeprefix("run=") for name in runs or ["last"]]
    named = [_newest(base) if name == "last" else run_folder.find(name, base) for name in names]
    folders = [run for folder in named for run in _runs_of(folder)]
    path = user_path(output) if output else (named[0] if len(named) == 1 else base) / PAGE
    files.check_writable(path, "Choose a writable place: --output FILE")
    page = search.page(named[0]) if len(named) == 1 and search.is_search(named[0]) else report_page.page(folders)
    path = path.absolute()
    with files.storage_errors("read", path):
        foreign = path.exists() and not _is_own(path)
    if foreign:
        raise ZooError(f"{path} exists and is not a zoo report", "Choose another file: --output FILE")
    files.atomic_write(path, page, "Choose a writable place: --output FILE")
    return path


def _runs_of(folder: Path) -> list[Path]:
    if not sweep_record.is_sweep(folder):
        return [folder]
    sweep = sweep_record.load(folder)
    runs = [Path(run["folder"]) for run in map(sweep.run_of, sweep.elements) if run]
    if not runs:
        raise ZooError(f"The sweep {folder} has no run yet", f"python -m zoo {sweep.verb} resume={folder}")
    return runs


def root_folder(root: str | None) -> Path:
    return run_folder.refuse_file(user_path(root or Output().root))


def _newest(root: Path) -> Path:
    """Return the newest run with results (print it if newer runs have none), or the newest run without."""
    newest = None
    for folder in run_folder.newest_first(run_folder.run_folders(root)):
        row = _summary(folder, folder.name)
        if row.metric or row.exit in ("completed", "running"):
            if newest:
                console.say(f"Report of {folder.name}: newer runs have no results")
            return folder.resolve()
        newest = newest or (folder.resolve() if row.started else None)
    if newest:
        return newest
    raise ZooError(f"There is no run under {root.absolute()}", "Give the folder of a run, or --root FOLDER.")


def _is_own(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as source:
        return f'name="generator" content="{report_page.GENERATOR}"' in source.read(4096)


def summaries(root: Path, folders: list[Path]) -> list[RunSummary]:
    return [_summary(folder, folder.relative_to(root).as_posix()) for folder in folders]


def _summary(folder: Path, name: str) -> RunSummary:
    try:
        record = read_record(folder)
    except ZooError:  # a damaged folder must not hide other runs; its own report shows the error
        return RunSummary(name, "", exit="damaged")
    metric = next((name for name in HEADLINES if record.number("metrics", name) is not None), "")
    return RunSummary(
        name, record.text("started"), record.text("verb"), record.text("model"), record.text("backend"),
        record.text("stack", "name"), device_name(record), record.text("data", "name"), record.text("exit"), metric,
        record.number("metrics", metric) if metric else None, record.number("seconds"),
        record.number("peak_memory_bytes"),
    )  # fmt: skip


def ordered(rows: list[RunSummary], key: str, backwards: bool) -> list[RunSummary]:
    """Sort rows by a key; rows without a value come last in both directions."""
    require_known("key to sort by", [key], KEYS)
    known = [row for row in rows if getattr(row, key) not in (None, "")]
    rest = [row for row in rows if getattr(row, key) in (None, "")]
    return [*sorted(known, key=lambda row: getattr(row, key), reverse=backwards), *rest]


HEADINGS = ["run", "started", "model", "backend", "stack", "data", "exit", "result", "seconds", "memory"]


def cells(row: RunSummary) -> list[str]:
    result = f"{row.metric} {units.short(row.value)}" if row.metric else ""
    spent = "" if row.seconds is None else f"{math.ceil(row.seconds * 10) / 10:g}"
    shown = [row.run, row.started[:16].replace("T", " "), row.model or row.verb, row.backend, row.stack, row.data,
             row.exit, result, spent, units.size(row.peak_memory_bytes)]  # fmt: skip
    return [cell[:120] for cell in shown]
