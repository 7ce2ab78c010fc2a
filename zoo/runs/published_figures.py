"""Read ``recipes/reported.yaml``: figures that others published about other networks than those of the recipes."""

import dataclasses
from typing import Any

from zoo.core import paths
from zoo.core import schema as checks
from zoo.core.errors import ZooError
from zoo.runs import evidence

REPORTED = "reported.yaml"


@dataclasses.dataclass
class Figure:
    """A row of ``recipes/reported.yaml``: a published figure of other work than the recipes.

    Attributes:
        about: the models whose own figures it may stand beside; or the benchmarks that need no model, such as
            ``matmul``.
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
    """Read published figures about other networks than those of the recipes: ``recipes/reported.yaml``."""
    path = paths.RECIPES / REPORTED
    if not path.is_file():
        return []
    content = checks.read_yaml(path)
    figures = content.get("figures") if isinstance(content, dict) else None
    if not isinstance(figures, list):
        raise ZooError(f"{path} must hold a list called figures", "Correct the file.")
    evidence.refuse_wrong_rows(path, figures, _figure_problems)
    return figures


def about(name: str) -> list[evidence.Row]:
    """Return the published figures about a model or a benchmark; raise as :func:`read`."""
    return [row for row in read() if name in row.get("about", [])]


def _figure_problems(row: Any) -> list[str]:
    violations = checks.violations(row, Figure)
    if not violations and row["figure"] is None and not row.get("note"):
        violations.append("a row without a figure needs a note that says what was reported")
    if not violations and row["figure"] is not None and not row["unit"]:
        violations.append("a figure needs a unit")
    return violations
