"""What a trained classifier takes for what: confusion matrix and worst mistakes, as tables and as pictures."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.core import csv_files
from zoo.data.images import cache
from zoo.data.training_set import TrainingSet
from zoo.runs import plots
from zoo.runs.records import Json
from zoo.tasks.image_classification import contact_sheet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Judged = dict[str, NDArray[Any]]

PARTS = ("test", "validation")
LISTED = 1000


def keep(folder: Path, material: TrainingSet, title: str) -> Json | None:
    """Write ``confusion.csv`` and ``.png``, ``mistakes.csv`` and ``.png`` into a run folder.

    Args:
        folder: with the worker's ``judged_test.npz`` or ``judged_validation.npz``.
        material: that was trained on.
        title: of the pictures.

    Returns:
        For ``run.json``: the part that was judged, its items, mistakes and accuracy by class; None where nothing
        was.
    """
    import numpy as np

    part = next((name for name in PARTS if (folder / f"judged_{name}.npz").is_file()), None)
    if part is None:
        return None
    with np.load(folder / f"judged_{part}.npz", allow_pickle=False) as stored:
        predictions = {name: stored[name] for name in stored.files}
    names = material.class_names
    matrix = np.zeros((len(names), len(names)), np.int64)
    np.add.at(matrix, (predictions["label"], predictions["best"][:, 0]), 1)
    _write_matrix(folder / "confusion.csv", names, matrix)
    plots.confusion(matrix, names, f"{title}, {part} part", folder / "confusion.png")
    worst = _mistakes(predictions)
    _write_mistakes(folder / "mistakes.csv", material, part, predictions, worst[:LISTED])
    if len(worst):
        _show(
            folder / "mistakes.png",
            f"{title}: worst of {len(worst):,} mistakes",
            material,
            part,
            predictions,
            worst[: contact_sheet.per_page()],
        )
    counts = matrix.sum(axis=1)
    return {
        "part": part,
        "items": len(predictions["label"]),
        "mistakes": len(worst),
        "accuracy_by_class": {
            name: float(matrix[row, row] / counts[row]) for row, name in enumerate(names) if counts[row]
        },
    }


def _mistakes(predictions: "Judged") -> "NDArray[np.int64]":
    """Which items were taken for something else, the surest mistakes first."""
    import numpy as np

    wrong = np.flatnonzero(predictions["best"][:, 0] != predictions["label"])
    return wrong[np.argsort(predictions["true"][wrong] - predictions["probability"][wrong, 0], kind="stable")]


def _write_matrix(path: Path, names: list[str], matrix: "NDArray[np.int64]") -> None:
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        writer = csv_files.Writer(out)
        writer.writerow(["is \\ taken for", *names])
        writer.writerows([name, *row] for name, row in zip(names, matrix.tolist(), strict=True))


def _name(material: TrainingSet, part: str, item: int) -> str:
    row = int(material.splits[part][item])
    return material.names[row] if material.names else f"{part}[{row}]"


def _write_mistakes(
    path: Path, material: TrainingSet, part: str, predictions: "Judged", worst: "NDArray[np.int64]"
) -> None:
    names = material.class_names
    with path.open("w", newline="", encoding="utf-8", errors="surrogateescape") as out:
        writer = csv_files.Writer(out)
        writer.writerow(["input", "is", "taken for", "probability", "probability of what it is"])
        for item in worst:
            taken, sure = names[predictions["best"][item, 0]], predictions["probability"][item, 0]
            row = (_name(material, part, item), names[predictions["label"][item]], taken)
            writer.writerow([*row, f"{sure:.4f}", f"{predictions['true'][item]:.4f}"])


def _show(
    path: Path, title: str, material: TrainingSet, part: str, predictions: "Judged", shown: "NDArray[np.int64]"
) -> None:
    names = material.class_names
    stored = material.files["x_test" if part == "test" else "x_train"]
    pictures = cache.rows(stored, material.splits[part][shown])
    entries = [
        contact_sheet.Entry(picture.squeeze(), _name(material, part, item), [
            (f"is {names[predictions['label'][item]]}", float(predictions["true"][item])),
            (f"taken for {names[predictions['best'][item, 0]]}", float(predictions["probability"][item, 0])),
        ])
        for picture, item in zip(pictures, shown, strict=True)
    ]  # fmt: skip
    contact_sheet.draw(entries, title, path)
