"""Read ``recipes/reported.yaml``: published results of networks that differ from those of the recipes."""

import dataclasses
from typing import Any

from zoo.core import paths, schema
from zoo.core.errors import ZooError
from zoo.runs import evidence

REPORTED = "reported.yaml"


@dataclasses.dataclass
class Figure:
    """A row of ``recipes/reported.yaml``.

    Attributes:
        about: comparable models, or benchmarks without a model, such as ``matmul``.
    """

    what: str
    machine: str
    platform: str | None
    stack: str
    figure: float | None
    unit: str | None
    date: str
    source: str
    note: str = ""
    about: list[str] = dataclasses.field(default_factory=list)


def read() -> list[evidence.Row]:
    path = paths.RECIPES / REPORTED
    if not path.is_file():
        return []
    content = schema.read_yaml(path)
    figures = content.get("figures") if isinstance(content, dict) else None
    if not isinstance(figures, list):
        raise ZooError(f"{path} must contain a list called figures", "Correct the file.")
    evidence.refuse_wrong_rows(path, figures, _figure_problems)
    return figures


def about(name: str) -> list[evidence.Row]:
    return [row for row in read() if name in row.get("about", [])]


def _figure_problems(row: Any) -> list[str]:
    violations = schema.violations(row, Figure)
    if not violations and row["figure"] is None and not row.get("note"):
        violations.append("a row without a figure needs a note that says what was reported")
    if not violations and row["figure"] is not None and not row["unit"]:
        violations.append("a figure needs a unit")
    return violations
