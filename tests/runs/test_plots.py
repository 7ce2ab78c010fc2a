"""zoo.runs.plots: what is drawn, whatever the surroundings name as their backend."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import CHECKOUT
from zoo.runs import plots

# As in an environment without Jupyter: neither the module nor its entry point for matplotlib is there.
DRAW = """
import importlib.metadata
import sys
from pathlib import Path
sys.modules["matplotlib_inline"] = None
importlib.metadata.entry_points = lambda **_: []
import numpy as np
from zoo.runs import plots
plots.confusion(np.eye(2, dtype=np.int64), ["cat", "dog"], "a title", Path(sys.argv[1]))
"""


def test_the_backend_of_a_notebook_need_not_be_installed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRAW, str(tmp_path / "confusion.png")], cwd=CHECKOUT, capture_output=True, text=True,
        env=os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "confusion.png").stat().st_size > 1000


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are drawn; none is written."""
    drawn: list[Any] = []
    plain = plots._figure

    def figure(*size: float, **margins: float) -> Any:
        drawn.append(plain(*size, **margins))
        monkeypatch.setattr(drawn[-1], "savefig", lambda path, dpi: path.touch())
        return drawn[-1]

    monkeypatch.setattr(plots, "_figure", figure)
    return drawn


def lines(axes: Any) -> dict[str, list[tuple[float, float]]]:
    """Points by the label of their line."""
    return {str(line.get_label()): list(zip(*map(list, line.get_data()), strict=True)) for line in axes.lines}


def test_the_curves_of_a_training(figures: list[Any], tmp_path: Path) -> None:
    names = ("epoch", "loss", "accuracy", "val_loss", "val_accuracy", "best")
    values = [(1.0, 2.0, 0.5, 3.0, 0.25, 1.0), (2.0, 1.0, 0.75, 4.0, 0.125, 0.0)]
    rows = [dict(zip(names, row, strict=True)) for row in values]
    plots.curves(rows, "a title", tmp_path / "c.png")
    (figure,) = figures
    left, right = figure.axes
    assert figure._suptitle.get_text() == "a title"
    assert lines(left) == {"training (epoch mean)": [(1, 2.0), (2, 1.0)], "validation": [(1, 3.0), (2, 4.0)],
                           "kept": [(1, 3.0)]}  # fmt: skip
    assert lines(right)["kept"] == [(1, 0.25)]
    assert (left.get_yscale(), right.get_yscale()) == ("log", "linear")
    assert (left.get_ylabel(), right.get_ylabel(), left.get_xlabel()) == ("loss (cross-entropy)", "accuracy", "epoch")
    assert left.get_legend() is not None
    assert len(left.texts) == 0


@pytest.mark.parametrize(("key", "label"), [("val_map", "mean average precision"), ("val_mae", "mean absolute error")])
def test_the_second_panel_follows_from_the_target(figures: list[Any], tmp_path: Path, key: str, label: str) -> None:
    rows = [{"epoch": number, "loss": 0.0, "val_loss": 1.0, key: 0.5} for number in (1.0, 2.0)]
    plots.curves(rows, "t", tmp_path / "c.png")
    left, right = figures[0].axes
    assert right.get_ylabel() == label
    assert lines(right) == {"validation": [(1, 0.5), (2, 0.5)]}
    assert left.get_yscale() == "linear"  # a loss of 0 has no logarithm


def test_stages_are_marked_where_they_begin(figures: list[Any], tmp_path: Path) -> None:
    rows = [{"epoch": float(n), "loss": 1.0, "accuracy": 0.5, "stage": 1.0 + (n > 2)} for n in (1, 2, 3)]
    assert [row["epoch"] for row in plots.stage_starts([{"epoch": 0.0}, *rows])] == [3.0]
    plots.curves(rows, "t", tmp_path / "c.png")
    axes = figures[0].axes[0]
    assert [text.get_text() for text in axes.texts] == ["stage 2"]
    assert axes.lines[-1].get_xdata() == [2.5, 2.5]


def test_numbers_are_drawn_over_the_true_ones(figures: list[Any], tmp_path: Path) -> None:
    plots.scatter(np.array([1.0, 3.0]), np.array([0.5, 2.0]), "price in $", "t", tmp_path / "s.png")
    (axes,) = figures[0].axes
    (ends, points) = axes.lines
    assert list(ends.get_xdata()) == list(ends.get_ydata()) == [0.5, 3.0]
    assert (list(points.get_xdata()), list(points.get_ydata())) == ([1.0, 3.0], [0.5, 2.0])
    assert axes.get_xlabel() == r"true price in \$"


@pytest.mark.parametrize(("count", "names", "numbers"), [(3, 3, 5), (20, 20, 5), (21, 21, 0), (60, 60, 0), (61, 0, 0)])
def test_a_confusion_matrix_has_names_and_numbers_where_they_are_legible(
    figures: list[Any], tmp_path: Path, count: int, names: int, numbers: int
) -> None:
    matrix = np.zeros((count, count), np.int64)
    matrix[0, :3], matrix[1, 1], matrix[2, 0] = (3, 1, 4), 2, 1
    labels = [f"class {number}" for number in range(count)]
    plots.confusion(matrix, labels, "t", tmp_path / "c.png")
    axes = figures[0].axes[0]
    shown = [label.get_text() for label in axes.get_xticklabels()]
    assert (shown == labels) is bool(names)
    texts = {text.get_position(): (text.get_text(), text.get_color()) for text in axes.texts}
    assert len(texts) == numbers
    if numbers:
        assert texts[1, 1] == ("2", "white")
        assert texts[2, 0] == ("4", "black")  # exactly half of its row
        assert texts[0, 2] == ("1", "white")
    assert axes.images[0].get_array()[0, 2] == 0.5
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted class", "true class")


def test_trials_of_a_search(figures: list[Any], tmp_path: Path) -> None:
    points = [(0, 3.0, "complete"), (1, None, "pruned"), (2, 5.0, "complete"), (3, 2.0, "complete"),
              (4, None, "failed"), (5, None, "running")]  # fmt: skip
    plots.trials(points, {}, "t", tmp_path / "a.png", maximize=False)
    plots.trials(points, {"b": 0.75, "a": 0.25}, "t", tmp_path / "b.png", maximize=True)
    (axes,) = figures[0].axes
    assert lines(axes)["complete"] == [(0, 3.0), (2, 5.0), (3, 2.0)]
    assert lines(axes)["best so far"] == [(0, 3.0), (2, 3.0), (3, 2.0)]
    assert {name: rows[0][0] for name, rows in lines(axes).items() if name not in ("complete", "best so far")} == {
        "ended early": 1,
        "failed": 4,
        "running": 5,
    }
    assert axes.get_ylabel() == "seconds to the target"
    left, right = figures[1].axes
    assert lines(left)["best so far"] == [(0, 3.0), (2, 5.0), (3, 5.0)]
    assert left.get_ylabel() == "best metric in time"
    assert [bar.get_width() for bar in right.patches] == [0.25, 0.75]
    assert [label.get_text() for label in right.get_yticklabels()] == ["a", "b"]
    plots.trials([], {}, "t", tmp_path / "c.png", maximize=False)
    assert figures[2].axes[0].lines[:] == []


def test_long_names_are_cut() -> None:
    assert plots._shown("x" * 24) == "x" * 24
    assert plots._shown("x" * 25) == "x" * 23 + "\N{HORIZONTAL ELLIPSIS}"


def test_losses_of_a_style_are_drawn_by_step_and_marked_where_the_size_changes(
    figures: list[Any], tmp_path: Path
) -> None:
    rows = ["step,height,width,loss,style,content,roughness", "1,64,64,4,2,1,1", "2,64,64,3,2,0,1",
            "3,128,128,2,1,0.5,0.5"]  # fmt: skip
    (tmp_path / "losses.csv").write_text("\n".join(rows) + "\n")
    plots.losses(tmp_path / "losses.csv", "a title", tmp_path / "l.png")
    (axes,) = figures[0].axes
    width, height = figures[0].get_size_inches()
    assert width > height
    assert lines(axes)["loss"] == [(1, 4.0), (2, 3.0), (3, 2.0)]
    assert np.isnan(axes.lines[2].get_ydata()[1])  # zero has no logarithm
    assert [line.get_label() for line in axes.lines[:4]] == ["loss", "style", "content", "roughness"]
    assert axes.lines[0].get_linewidth() > axes.lines[1].get_linewidth()
    assert list(axes.lines[4].get_xdata()) == [3.0, 3.0]
    assert [text.get_text() for text in axes.texts] == [" 128 px wide"]
    assert (axes.get_title(), axes.get_yscale()) == ("a title", "log")


def test_figures_have_the_shape_of_what_they_show(figures: list[Any], tmp_path: Path) -> None:
    plots.curves([{"epoch": 1.0, "loss": 1.0, "accuracy": 0.5}], "t", tmp_path / "c.png")
    plots.scatter(np.array([1.0, 2.0]), np.array([1.0, 2.0]), "x", "t", tmp_path / "s.png")
    for count in (2, 10, 100):
        plots.confusion(np.eye(count, dtype=np.int64), [str(n) for n in range(count)], "t", tmp_path / "m.png")
    sizes = [tuple(figure.get_size_inches()) for figure in figures]
    assert sizes[0][0] > 2 * sizes[0][1]
    assert sizes[1][0] == sizes[1][1]
    assert sizes[2] == (5.0, 4.0)
    assert sizes[2] < sizes[3] < sizes[4] == (15.0, 14.0)
