"""Pictures of a run. The one module that plots."""

from pathlib import Path

PANELS = (("loss", "loss", "loss (cross-entropy)"), ("accuracy", "accuracy", "accuracy"))


def curves(history: list[dict[str, float]], title: str, path: Path) -> None:
    """Plot loss and accuracy by epoch, training and validation, the kept epoch marked, as PNG.

    Args:
        history: one dictionary an epoch, as ``records.read_history`` returns it.
        title: printed above the panels.
        path: the PNG to write.
    """
    import matplotlib as mpl

    mpl.use("agg")  # no window system is needed or wanted
    from matplotlib import pyplot
    from matplotlib.ticker import MaxNLocator

    epochs = [int(row["epoch"]) for row in history]
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axes, (_, name, label) in zip(panels, PANELS, strict=True):
        # The training figures of an epoch are means over it, so they lag half an epoch behind the validation's.
        axes.plot(
            epochs,
            [row[name] for row in history],
            "o-",
            ms=4,
            color="tab:blue",
            label="training (epoch mean)",
        )
        if f"val_{name}" in history[0]:
            values = [row[f"val_{name}"] for row in history]
            axes.plot(epochs, values, "s-", ms=4, color="tab:orange", label="validation")
            _mark_best(axes, history, f"val_{name}")
        axes.set(xlabel="epoch", ylabel=label)
        if name == "loss" and all(row[name] > 0 for row in history):
            axes.set_yscale("log")  # the last epochs would lie on the axis otherwise
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.grid(alpha=0.3)
        axes.legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _mark_best(axes: "object", history: list[dict[str, float]], name: str) -> None:
    kept = [row for row in history if row.get("best")]
    if kept:
        last = kept[-1]
        axes.plot(  # type: ignore[attr-defined]
            [last["epoch"]], [last[name]], "o", ms=12, mfc="none", mec="tab:green", mew=2, label="kept"
        )
