"""The errors of an image classifier: figures, tables, and its worst mistakes as images."""

from array import array
from collections.abc import Callable, Sequence
from pathlib import Path

from zoo.core.arrays import Arrays, Bytes, NDArray, np
from zoo.core.files import write_json
from zoo.data.images import cache
from zoo.data.training_set import TrainingSet
from zoo.protocol import targets
from zoo.runs.records import Json
from zoo.tasks import error_analysis, target_analysis
from zoo.tasks.error_analysis import Items
from zoo.tasks.image_classification import contact_sheet

FIGURES = "evaluation.json"
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


class Errors:
    """Collects predicted labels or numbers, and what is true."""

    def __init__(self, judge: "Callable[[NDArray[np.float64], NDArray[np.float64]], target_analysis.Judged]") -> None:
        self.names: list[str] = []
        self._judge = judge
        self._rows: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []

    def take(self, name: str, truth: "Sequence[float]", outputs: "NDArray[np.float32]") -> None:
        """Record the outputs for an image, and what is true."""
        self.names.append(name)
        self._rows.append((outputs.astype(np.float64), np.array(truth, np.float64)))

    def judged(self) -> target_analysis.Judged:
        predicted, truth = (np.stack(rows) for rows in zip(*self._rows, strict=True))
        return self._judge(predicted, truth)

    def metrics(self) -> Json:
        return self.judged().metrics("test_")

    def keep(self, folder: Path, title: str, what: Json, thumb: Thumb) -> Json:
        """As :meth:`Judging.keep`."""
        judged = self.judged()
        items = Items(judged.names, lambda _, numbers: [self.names[each] for each in numbers])
        analysis = keep_targets(folder, judged, items, title, "test", thumb)
        write_json(folder / FIGURES, what | judged.metrics("test_") | analysis)
        return analysis


class Judging:
    """Stores name, label and most likely classes of each image, in about 60 bytes plus the name."""

    def __init__(self, classes: list[str]) -> None:
        self.names: list[str] = []
        self._classes = classes
        # As in training: top-k accuracy over all classes would always be 1.
        self._count = max(1, min(targets.BEST, len(classes) - 1))
        self._labels, self._best = array("i"), array("i")
        self._shares, self._true = array("f"), array("f")

    def take(self, name: str, label: int, probabilities: "NDArray[np.float32]") -> None:
        best = np.argsort(-probabilities, kind="stable")[: self._count]
        self.names.append(name)
        self._labels.append(label)
        self._best.extend(best.tolist())
        self._shares.extend(probabilities[best].tolist())
        self._true.append(float(probabilities[label]))

    def judged(self) -> "Arrays":
        """Return arrays as :func:`zoo.tasks.error_analysis.read` does."""
        return {
            "label": np.array(self._labels, np.int64),
            "best": np.array(self._best, np.int64).reshape(-1, self._count),
            "probability": np.array(self._shares, np.float32).reshape(-1, self._count),
            "true": np.array(self._true, np.float32),
        }

    def metrics(self) -> Json:
        return targets.of_likeliest(self.judged(), "test_")

    def keep(self, folder: Path, title: str, what: Json, thumb: Thumb) -> Json:
        """Write metrics, tables and images for the classes that occur; return the metrics for ``run.json``.

        ``what`` describes the data in ``evaluation.json``; ``thumb`` returns the thumbnail of an image.
        """
        judged = self.judged()
        shown = np.union1d(judged["label"], judged["best"][:, 0])
        names = self._names(shown.tolist())
        part = judged | {
            "label": np.searchsorted(shown, judged["label"]),
            "best": np.searchsorted(shown, judged["best"][:, :1]),
        }
        items = Items(names, lambda _, numbers: [self.names[each] for each in numbers])
        analysis = keep_classes(folder, items, title, "test", part, thumb)
        rows = error_analysis.class_figures(part, names)
        write_json(folder / FIGURES, what | self.metrics() | error_analysis.macro(rows) | {"classes": rows})
        return analysis

    def _names(self, numbers: list[int]) -> list[str]:
        names = [self._classes[number] for number in numbers]
        twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
        pairs = zip(names, numbers, strict=True)
        return [f"{name} ({number})" if name in twice else name for name, number in pairs]
