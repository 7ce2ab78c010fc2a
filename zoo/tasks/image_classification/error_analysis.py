"""The errors of an image classifier: tables, and its worst mistakes as images."""

from collections.abc import Callable, Sequence
from pathlib import Path

from zoo.core.arrays import Arrays, Bytes, np
from zoo.data.images import cache
from zoo.data.training_set import TrainingSet
from zoo.runs.records import Json
from zoo.tasks import error_analysis, target_analysis
from zoo.tasks.error_analysis import Items
from zoo.tasks.image_classification import contact_sheet

# Returns the thumbnail of an image by its index, uint8 (height, width[, 3]); None if it cannot be read.
Thumb = Callable[[int], "Bytes | None"]


def keep(folder: Path, material: TrainingSet, title: str) -> Json | None:
    """Keep the errors that the worker wrote to the run folder; return None if nothing was evaluated."""
    judged = error_analysis.read(folder)
    if judged is None:
        return None
    part, predictions = judged
    rows, stored = material.splits[part], material.files["x_test" if part == "test" else "x_train"]

    def names(part: str, numbers: Sequence[int]) -> list[str]:
        chosen = (int(rows[number]) for number in numbers)
        return [material.names[row] if material.names else f"{part}[{row}]" for row in chosen]

    def thumb(item: int) -> "Bytes":
        return np.squeeze(cache.rows(stored, rows[[item]]))

    items = Items(material.class_names, names, known=material.known)
    if material.targets is None:
        return keep_classes(folder, items, title, part, predictions, thumb)
    errors = target_analysis.of_worker(material.targets, material.splits["train"], predictions)
    return keep_targets(folder, errors, items, title, part, thumb)


def keep_classes(folder: Path, items: Items, title: str, part: str, predictions: "Arrays", thumb: Thumb) -> Json:
    """Call :func:`zoo.tasks.error_analysis.keep`, and write ``mistakes.png``."""
    analysis = error_analysis.keep(folder, items, title, part, predictions)
    names, worst = items.class_names, error_analysis.mistakes(predictions).tolist()

    def lines(item: int) -> list[tuple[str, float | None]]:
        true, best = predictions["label"][item], predictions["best"][item, 0]
        return [
            (f"true {names[true]}", float(predictions["true"][item])),
            (f"predicted {names[best]}", float(predictions["probability"][item, 0])),
        ]

    _draw(folder, f"{title}: worst of {len(worst):,} mistakes", items, part, worst, lines, thumb)
    return analysis


def keep_targets(
    folder: Path, judged: target_analysis.Judged, items: Items, title: str, part: str, thumb: Thumb
) -> Json:
    """Call :func:`zoo.tasks.target_analysis.keep`, and write ``mistakes.png``."""
    analysis = target_analysis.keep(folder, judged, title, part, items.names)

    def lines(item: int) -> list[tuple[str, float | None]]:
        true, predicted = (said or "(no label)" for said in judged.said(item))
        return [(f"true {true}", None), (f"predicted {predicted}", None)]

    _draw(folder, f"{title}: largest errors", items, part, judged.worst().tolist(), lines, thumb)
    return analysis


def _draw(
    folder: Path, title: str, items: Items, part: str, worst: list[int],
    lines: Callable[[int], list[tuple[str, float | None]]], thumb: Thumb,
) -> None:  # fmt: skip
    """Draw the worst items, if any can be read, with the ``lines`` of each."""
    shown = worst[: contact_sheet.PER_PAGE]
    entries = [
        contact_sheet.Entry(image, name, lines(item))
        for item, name in zip(shown, items.names(part, shown), strict=True)
        if (image := thumb(item)) is not None
    ]
    if entries:
        contact_sheet.draw(entries, title, folder / "mistakes.png")
