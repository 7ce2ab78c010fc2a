"""The errors of a trained image classifier: tables, and its worst mistakes as images."""

from pathlib import Path

from zoo.core.arrays import Arrays, Bytes, NDArray, np
from zoo.data.images import cache
from zoo.data.training_set import TrainingSet
from zoo.runs.records import Json
from zoo.tasks import error_analysis, target_analysis
from zoo.tasks.image_classification import contact_sheet


def keep(folder: Path, material: TrainingSet, title: str) -> Json | None:
    """Call :func:`zoo.tasks.error_analysis.keep` and write ``mistakes.png``; return None if nothing was evaluated."""
    judged = error_analysis.read(folder)
    if judged is None:
        return None
    if material.targets:
        return _of_targets(folder, material, title, *judged)
    items = error_analysis.Items(
        material.class_names,
        lambda part, numbers: [_name(material, part, each) for each in numbers],
        known=material.known,
    )
    analysis = error_analysis.keep(folder, items, title, *judged)
    if analysis["mistakes"]:
        worst = error_analysis.mistakes(judged[1])[: contact_sheet.per_page()]
        words = f"{title}: worst of {analysis['mistakes']:,} mistakes"
        _show(folder / "mistakes.png", words, material, *judged, worst)
    return analysis


def _of_targets(folder: Path, material: TrainingSet, title: str, part: str, predictions: "Arrays") -> Json:
    """Keep the errors of predicted labels or numbers, and draw the worst."""
    known = material.targets
    assert known is not None  # noqa: S101  (only called with targets)
    mean = float(known.values[material.splits["train"]].mean())
    found = target_analysis.of_worker(known.kind, known.names, mean, predictions)
    analysis = target_analysis.keep(
        folder, found, title, part, lambda items: [_name(material, part, item) for item in items]
    )
    worst = found.worst()[: contact_sheet.per_page()]
    if len(worst):
        stored = material.files["x_test" if part == "test" else "x_train"]
        pictures = cache.rows(stored, material.splits[part][worst])
        pairs = zip(pictures, worst.tolist(), strict=True)
        entries = [
            sheet_entry(found, picture.squeeze(), _name(material, part, item), item) for picture, item in pairs
        ]
        contact_sheet.draw(entries, f"{title}: largest errors", folder / "mistakes.png")
    return analysis


def sheet_entry(judged: target_analysis.Judged, picture: "Bytes", name: str, item: int) -> contact_sheet.Entry:
    """Return an image with what is true and predicted, for a contact sheet."""
    true, predicted = judged.said(item)
    lines = [(f"true {true or '(no label)'}", None), (f"predicted {predicted or '(no label)'}", None)]
    return contact_sheet.Entry(picture, name, lines)


def _name(material: TrainingSet, part: str, item: int) -> str:
    row = int(material.splits[part][item])
    return material.names[row] if material.names else f"{part}[{row}]"


def _show(
    path: Path, title: str, material: TrainingSet, part: str, predictions: "Arrays", shown: "NDArray[np.int64]"
) -> None:
    names = material.class_names
    stored = material.files["x_test" if part == "test" else "x_train"]
    pictures = cache.rows(stored, material.splits[part][shown])
    entries = [
        contact_sheet.Entry(picture.squeeze(), _name(material, part, item), [
            (f"true {names[predictions['label'][item]]}", float(predictions["true"][item])),
            (f"predicted {names[predictions['best'][item, 0]]}", float(predictions["probability"][item, 0])),
        ])
        for picture, item in zip(pictures, shown, strict=True)
    ]  # fmt: skip
    contact_sheet.draw(entries, title, path)
