"""What a run left behind, opened for whoever asks."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.schemas.common import Output
from zoo.core import csv_files
from zoo.runs import folder as run_folder
from zoo.runs import records, tables


@dataclass
class Run:
    """A run that came to an end, as its folder tells it.

    Attributes:
        folder: the run folder.
        record: the content of ``run.json``.
    """

    folder: Path
    record: dict[str, Any]

    @property
    def exit(self) -> str:
        """``completed``, ``interrupted`` or ``failed``."""
        return str(self.record["exit"])

    @property
    def metrics(self) -> dict[str, Any]:
        """Final figures, such as ``test_accuracy``."""
        found: dict[str, Any] = self.record.get("metrics", {})
        return found

    @property
    def history(self) -> list[dict[str, float]]:
        """One dictionary an epoch."""
        return tables.read_history(self.folder)

    @property
    def curves(self) -> Path | None:
        """The picture of the curves, where the run has one."""
        path = self.folder / "curves.png"
        return path if path.is_file() else None

    @property
    def predictions(self) -> list[dict[str, str]]:
        """Rows of ``predictions.csv``: input, class, probability, and those of each class or the next best."""
        return list(self.each_prediction())

    def each_prediction(self) -> Iterator[dict[str, str]]:
        """The same, one after the other."""
        path = self.folder / "predictions.csv"
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as source:
                yield from csv_files.rows(source)

    def _repr_png_(self) -> bytes | None:
        """Notebooks show the curves."""
        return self.curves.read_bytes() if self.curves else None


def open_run(folder: Path) -> Run:
    """Open a run folder."""
    return Run(folder, records.read(folder))


def named(told: str, root: str | None) -> Run:
    """The run that ``run=`` names.

    Args:
        told: folder of a training run, or ``last``: the newest one.
        root: folder of all run folders; None means where they usually are.

    Raises:
        ZooError: there is none.
    """
    newest = told == "last"
    folder = run_folder.latest(Path(root or Output().root), "train") if newest else Path(told).expanduser().resolve()
    return open_run(folder)
