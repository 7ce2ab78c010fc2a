"""Open a finished run: record, metrics, history and predictions."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.config.schemas.common import Output
from zoo.core import csv_files
from zoo.runs import folder as run_folder
from zoo.runs import records, tables
from zoo.runs.records import Json

# The main metric of a run is the first that it has; metrics of the training data are last.
HEADLINES = (
    "test_accuracy", "test_map", "test_mae", "val_accuracy", "val_map", "val_mae", "test_loss", "val_loss",
    "accuracy", "loss", "items_per_s",
)  # fmt: skip
# Columns of predictions.csv that contain numbers.
_PROBABILITY = re.compile(r"(probability|number)(_\d+)?$|p_")


@dataclass
class Run:
    """An ended run, as stored in its folder; ``record`` is the content of ``run.json``."""

    folder: Path
    record: Json

    @property
    def exit(self) -> str:
        """Return ``completed``, ``interrupted`` or ``failed``."""
        return str(self.record["exit"])

    @property
    def metrics(self) -> Json:
        """Return final metrics, such as ``test_accuracy``."""
        metrics: Json = self.record.get("metrics", {})
        return metrics

    @property
    def history(self) -> list[dict[str, float]]:
        """Return one dictionary per epoch."""
        return tables.read_history(self.folder)

    @property
    def curves(self) -> Path | None:
        path = self.folder / "curves.png"
        return path if path.is_file() else None

    @property
    def predictions(self) -> list[dict[str, Any]]:
        """Return the rows of ``predictions.csv``; probabilities are numbers, all other values are text."""
        return list(self.each_prediction())

    def each_prediction(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of :attr:`predictions` one by one."""
        path = self.folder / "predictions.csv"
        if path.is_file():
            with path.open(newline="", encoding="utf-8") as source:
                for row in csv_files.rows(source):
                    yield row | {name: _number(cell) for name, cell in row.items() if _PROBABILITY.match(str(name))}

    def _repr_html_(self) -> str:
        import base64
        import html

        title = f"{self.record.get('model') or self.record.get('verb')} on {self.record.get('backend')}: {self.exit}"
        rows = [*((name, f"{value:.6g}") for name, value in self.metrics.items() if isinstance(value, float)),
                ("folder", str(self.folder))]  # fmt: skip
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in rows)
        drawn = base64.b64encode(self.curves.read_bytes()).decode() if self.curves else ""
        image = f'<br><img alt="curves" src="data:image/png;base64,{drawn}">' if drawn else ""
        return f"<b>{html.escape(title)}</b><table>{cells}</table>{image}"


def _number(cell: Any) -> Any:
    try:
        return float(cell)
    except (TypeError, ValueError):  # a file that was edited
        return cell


def open_run(folder: Path) -> Run:
    return Run(folder, records.read(folder))


def named(name: str, root: str | None) -> Run:
    """Open the run in ``run=``: a folder, or ``last``, the newest run under ``root`` (None: the default)."""
    place = Path(root or Output().root)
    return open_run(run_folder.latest(place, "train") if name == "last" else run_folder.find(name, place))
