"""The table of machines on which the zoo was certified: ``recipes/machines.json``."""

import dataclasses
import json
from pathlib import Path
from typing import Any

from zoo.core import paths, schema
from zoo.core.errors import ZooError, bulleted
from zoo.core.files import write_json

FILE = "machines.json"


@dataclasses.dataclass(frozen=True)
class CertifiedMachine:
    """A backend of a machine that was certified.

    Attributes:
        hardware: chip and GPU, as the archive is named.
        machine: in one line.
        platform: such as ``macos-arm64``.
        backend: name; so is ``stack``.
        device: common name of the device that computed; empty where none was proven.
        device_kind: cpu or gpu.
        grade: measured, or stand-in where the stack stands in for a GPU build.
        mode: quick or whole.
        date: UTC day on which it ended.
        commit: of the zoo.
        passed: number of steps; so are ``failed``, ``skipped`` and ``not_run``.
        failures: steps that failed, with the known issues that explain them.
        figures: a few numbers by name.
        archive_sha256: of the archive that it comes from.
    """

    hardware: str
    machine: str
    platform: str
    backend: str
    stack: str
    device: str
    device_kind: str
    grade: str
    mode: str
    date: str
    commit: str
    passed: int
    failed: int
    skipped: int
    not_run: int
    failures: list[str]
    figures: dict[str, float]
    archive_sha256: str

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Return what identifies a row: a newer one of the same takes its place."""
        return self.hardware, self.platform, self.backend, self.stack

    @property
    def steps(self) -> str:
        """Return how many steps ended how, in words."""
        ended = {"passed": self.passed, "failed": self.failed, "skipped": self.skipped, "not run": self.not_run}
        return ", ".join(f"{count} {name}" for name, count in ended.items() if count or name == "passed")


def file() -> Path:
    """Return the file of the table; it need not exist."""
    return paths.RECIPES / FILE


def read() -> list[CertifiedMachine]:
    """Read the table; nothing where nobody has certified a machine."""
    path = file()
    if not path.is_file():
        return []
    try:
        rows: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ZooError(f"{path} cannot be read: {error}", "Restore the file, or remove it.") from error
    if not isinstance(rows, list):
        raise ZooError(f"{path} must hold a list", "Restore the file, or remove it.")
    wrong = [
        text for number, row in enumerate(rows, 1) for text in schema.violations(row, CertifiedMachine, f"{number}.")
    ]
    if wrong:
        raise ZooError(f"{path} is malformed:\n{bulleted(wrong)}", "Correct the file.")
    return [CertifiedMachine(**row) for row in rows]


def add(rows: list[CertifiedMachine]) -> None:
    """Write rows into the table, in place of older ones of the same machines."""
    keys = {row.key for row in rows}
    whole = sorted([*(row for row in read() if row.key not in keys), *rows], key=lambda row: row.key)
    write_json(file(), [dataclasses.asdict(row) for row in whole])


def table_rows(rows: list[CertifiedMachine]) -> list[list[str]]:
    """Return cells for :data:`COLUMNS`."""
    return [
        [row.machine, f"{row.backend}, {row.stack}", f"{row.device} ({row.device_kind.upper()})", row.grade,
         f"{row.steps} ({row.mode})"
         + (f"; failed: {', '.join(row.failures)}" if row.failures else ""), row.date]
        for row in rows
    ]  # fmt: skip


COLUMNS = ["machine", "backend, stack", "device", "grade", "steps", "date"]
