"""Plots of a run. Only this module draws plots."""

import importlib.util
import io
import os
import threading
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.runs import tables

# Largest number of classes for which the numbers in a confusion matrix are legible.
MOST_NUMBERS = 20
MOST_NAMES = 60
# Two threads that import matplotlib at the same time see partially loaded modules.
_LOADING = threading.Lock()
PANELS = [("loss", "loss (cross-entropy)"), ("accuracy", "accuracy")]
# The second panel of networks for several labels or a number, and the label of its first.
FIGURES = {"val_map": ("map", "mean average precision"), "val_mae": ("mae", "mean absolute error")}


def curves(history: list[dict[str, float]], title: str, path: Path) -> None:
    """Plot training and validation loss and accuracy by epoch, with the kept epoch marked, as PNG."""
    epochs = [int(row["epoch"]) for row in history]
    figure = _figure(10, 4, left=0.11, right=0.985, bottom=0.13, top=0.89, wspace=0.24)
    from matplotlib.ticker import MaxNLocator

    panels, second = figure.subplots(1, 2), [FIGURES[key] for key in FIGURES if key in history[0]]
    shown = [PANELS[0], *(second or PANELS[1:])]
    for axes, (name, label) in zip(panels, shown, strict=True):
        # Training metrics are means over an epoch, so they lag half an epoch behind the validation metrics.
        values = [row.get(name, float("nan")) for row in history]
        if any(value == value for value in values):
            axes.plot(epochs, values, "o-", ms=4, color="tab:blue", label="training (epoch mean)")
        # A language model's accuracy counts tokens.
        judged = next((key for key in (f"val_{name}", f"val_token_{name}") if key in history[0]), None)
        if judged:
            values = [row[judged] for row in history]
            axes.plot(epochs, values, "s-", ms=4, color="tab:orange", label="validation")
            if kept := [row for row in history if row.get("best")]:
                look = {"ms": 12, "mfc": "none", "mec": "tab:green", "mew": 2}
                axes.plot([kept[-1]["epoch"]], [kept[-1][judged]], "o", label="kept", **look)
        axes.set(xlabel="epoch", ylabel=label)
        if name == "loss" and all(row[name] > 0 for row in history):
            axes.set_yscale("log")  # on a linear scale the last epochs lie on the axis
            _plain_numbers(axes)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(alpha=0.3)
        for row in stage_starts(history):
            axes.axvline(row["epoch"] - 0.5, color="grey", ls=":")
            place = (row["epoch"] - 0.5, 1.01)  # above the panel, clear of the legend
            words = {"xycoords": ("data", "axes fraction"), "ha": "center", "color": "grey", "annotation_clip": False}
            axes.annotate(f"stage {row['stage']:.0f}", place, **words)
        if axes.lines:
            axes.legend()
    _save(figure, title, path)


def scatter(true: "NDArray[np.float64]", predicted: "NDArray[np.float64]", name: str, title: str, path: Path) -> None:
    """Plot predicted over true numbers, (n,), with the line where both are equal, as PNG."""
    figure = _figure(6, 6)
    axes = figure.subplots()
    ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    axes.plot(ends, ends, color="grey", lw=1, label="predicted = true")
    axes.plot(true, predicted, "o", ms=4, alpha=0.5, color="tab:blue")
    axes.set(xlabel=f"true {_shown(name)}", ylabel=f"predicted {_shown(name)}")
    axes.grid(alpha=0.3)
    axes.legend()
    _save(figure, _shown(title, 60), path)


def stage_starts(history: list[dict[str, float]]) -> list[dict[str, float]]:
    """Return the first epoch of each stage except the first."""
    return [row for before, row in pairwise(history) if row.get("stage", 1) > before.get("stage", 1)]


def _plain_numbers(axes: Any) -> None:
    """Label a logarithmic axis with plain numbers such as ``0.5``, also between powers of ten if there are few."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    low, high = axes.get_ylim()
    if high < 1000 * low:
        steps, parts = MaxNLocator(6, steps=[1, 2, 5, 10]), LogLocator(subs=(1, 2, 5))
        axes.yaxis.set_major_locator(steps if high < 8 * low else parts)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def confusion(matrix: "NDArray[np.int64]", names: list[str], title: str, path: Path) -> None:
    """Draw a confusion matrix, (n, n) counts of class (row) and prediction (column), colored by share, as PNG."""
    count = len(names)
    edge = min(max(4.0, 0.55 * count + 2), 14.0)
    short = all(len(name) <= 3 for name in names)
    margins = {"left": 0.09, "right": 0.99, "bottom": 0.1, "top": 0.93} if short and count <= MOST_NUMBERS else {}
    figure = _figure(edge + 1, edge, **margins)
    axes = figure.subplots()
    share = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    drawn = axes.imshow(share, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(drawn, ax=axes, label="share of the true class", shrink=0.8)
    axes.set(xlabel="predicted class", ylabel="true class")
    if count <= MOST_NAMES:
        size = 9 if count <= MOST_NUMBERS else 6
        axes.set_xticks(range(count), [_shown(name) for name in names], rotation=90, fontsize=size)
        axes.set_yticks(range(count), [_shown(name) for name in names], fontsize=size)
    if count <= MOST_NUMBERS:
        for row, column in zip(*np.nonzero(matrix), strict=True):
            colour = "white" if share[row, column] > 0.5 else "black"
            axes.text(column, row, f"{matrix[row, column]}", ha="center", va="center", color=colour, fontsize=8)
    _save(figure, _shown(title, 200), path)


def losses(history: Path, title: str, path: Path) -> None:
    """Plot the losses of style transfer by step, with a line at each change of the image size, as PNG.

    ``history`` is ``losses.csv`` with the columns step, height, width, loss, style, content and roughness.
    """
    rows = tables.read_history(history.parent, history.name)
    steps = [row["step"] for row in rows]
    figure = _figure(8, 4)
    axes = figure.subplots()
    for name in ("loss", "style", "content", "roughness"):
        axes.plot(steps, [row[name] or float("nan") for row in rows], label=name, lw=2 if name == "loss" else 1)
    for before, after in pairwise(rows):
        if before["width"] != after["width"]:
            axes.axvline(after["step"], color="grey", ls=":")
            place = {"xycoords": ("data", "axes fraction"), "va": "top"}
            axes.annotate(f" {after['width']:.0f} px wide", (after["step"], 0.97), **place)
    axes.set(xlabel="step", ylabel="loss, weighted", yscale="log", title=title)
    _plain_numbers(axes)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def trials(
    points: list[tuple[int, float | None, str]], shares: dict[str, float], title: str, path: Path, maximize: bool
) -> None:
    """Plot a search: result of every trial, the best so far, and the importance of each setting, as PNG.

    Args:
        points: number, result and state of each trial; trials without a result are marks at the lower edge.
        shares: importance by setting; if empty, its panel is omitted.
        maximize: whether results are values of a metric, and the largest is the best; seconds if not.
    """
    figure = _figure(11 if shares else 7, 4)
    panels = figure.subplots(1, 2 if shares else 1, squeeze=False, width_ratios=[3, 2] if shares else None)[0]
    reached = [(number, result) for number, result, _ in points if result is not None]
    axes = panels[0]
    if reached:
        axes.plot(*zip(*reached, strict=True), "o", ms=5, color="tab:blue", label="complete")
        best_of = max if maximize else min
        best = [(number, best_of(other for at, other in reached if at <= number)) for number, _ in sorted(reached)]
        axes.step(*zip(*best, strict=True), where="post", color="tab:orange", label="best so far")
    edge = axes.get_ylim()[0] if reached else 0.0
    marks = {"pruned": ("|", "ended early"), "failed": ("x", "failed"), "running": ("1", "running")}
    for state, (marker, meaning) in marks.items():
        numbers = [number for number, _, each in points if each == state]
        if numbers:
            axes.plot(numbers, [edge] * len(numbers), marker, ms=9, color="grey", clip_on=False, label=meaning)
    axes.set(xlabel="trial", ylabel="best metric in time" if maximize else "seconds to the target")
    axes.grid(alpha=0.3)
    if points:
        axes.legend()
    if shares:
        names = sorted(shares, key=lambda name: shares[name])
        panels[1].barh([_shown(name) for name in names], [shares[name] for name in names], color="tab:blue")
        panels[1].set(xlabel="importance after epoch 2 (fANOVA)")
    _save(figure, _shown(title, 100), path)


def _save(figure: Any, title: str, path: Path) -> None:
    """Write a figure; characters of its texts that are missing from the font are drawn as boxes."""
    figure.suptitle(title)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        figure.savefig(path, dpi=120)


def _shown(text: str, most: int = 24) -> str:
    """Return text for matplotlib: truncated, and with ``$``, which starts a formula, escaped."""
    whole = console.escape_controls(text.encode("utf-8", "replace").decode("utf-8"), keep="").replace("$", r"\$")
    return whole if len(whole) <= most else whole[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _figure(width: float, height: float, **margins: float) -> Any:
    """Return an empty figure of a size in inches, without a window system and without pyplot, which loads slowly.

    ``margins`` are shares of the figure; without them, matplotlib draws twice to determine them.
    """
    # A notebook names its own backend, which may not be installed here. Figures are only saved, so any will do.
    shown = os.environ.get("MPLBACKEND", "").partition("module://")[2].partition(".")[0]
    if shown and importlib.util.find_spec(shown) is None:
        del os.environ["MPLBACKEND"]
    with _LOADING:
        from matplotlib.backends import backend_agg  # noqa: F401  (loaded when a figure is saved)
        from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout=None if margins else "constrained")
    if margins:
        figure.subplots_adjust(**margins)
    return figure


def make_ready() -> None:
    """Load matplotlib and its fonts in a thread, so that later plots do not wait for it.

    Not a daemon thread: Python aborts if it unloads modules while such a thread is in their C++ code.
    """

    def draw() -> None:
        figure = _figure(1, 1)
        figure.subplots().set(yscale="log", xlabel="epoch")
        figure.savefig(io.BytesIO())

    threading.Thread(target=draw).start()
