"""Write predictions for images as they arrive: tables, a list of skipped files, contact sheets."""

import json
from pathlib import Path
from typing import Self

from zoo.core import console, csv_files
from zoo.core.arrays import NDArray, np
from zoo.data import npy_images
from zoo.runs import tables
from zoo.tasks.image_classification import contact_sheet
from zoo.tasks.image_classification.photo_stream import Picture, Skipped

BEST = 5
# Number of skipped files on the screen and in run.json; skipped.csv has all of them.
SHOWN_SKIPPED = 10
KEPT_SKIPPED = 1000


class TableWriter:
    """Writes one row for each image into a table of the run folder, and skipped files into ``skipped.csv``."""

    thumbs = 0  # number of images that fit on the contact sheets

    def __init__(self, folder: Path, name: str, columns: list[str]) -> None:
        self._folder = folder
        self.skipped: list[tuple[str, str]] = []
        self.skipped_count = self.written = 0
        self._out = (folder / name).open("w", newline="", encoding="utf-8", errors="backslashreplace")
        self._rows = csv_files.Writer(self._out)
        self._rows.writerow(columns)

    def skip(self, left_out: Skipped) -> None:
        new = not self.skipped_count
        with (self._folder / "skipped.csv").open("a", newline="", encoding="utf-8") as out:
            rows = csv_files.Writer(out)
            rows.writerows([["input", "reason"]] * new + [left_out])
        self.skipped_count += 1
        if self.skipped_count <= KEPT_SKIPPED:
            self.skipped.append(left_out)
        if self.skipped_count <= SHOWN_SKIPPED:
            console.warn("Skipped {}: {}".format(*left_out))
        elif self.skipped_count == SHOWN_SKIPPED + 1:
            console.warn("More files are skipped; skipped.csv lists all of them")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._out.close()

    def write(self, row: list[object]) -> None:
        self._rows.writerow(row)
        self.written += 1


class FeatureNames(TableWriter):
    """Writes a row for each image: its row number in ``features.npy``, starting at 0, and its name."""

    ARRAY, TABLE = "features.npy", "features.csv"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, self.TABLE, ["row", "input"])

    def take(self, picture: Picture, _: "NDArray[np.float32]") -> None:
        self.add(picture.name)

    def add(self, name: str) -> None:
        self.write([self.written, name])


class NumberWriter(TableWriter):
    """Writes the numbers that a network predicts, with these names, into ``predictions.csv``."""

    def __init__(self, folder: Path, names: list[str]) -> None:
        super().__init__(folder, "predictions.csv", ["input", *names])

    def take(self, picture: Picture, numbers: "NDArray[np.float32]") -> None:
        self.write([picture.name, *(f"{number:.9g}" for number in numbers.tolist())])


class PredictionWriter(TableWriter):
    """Writes ``predictions.csv``, ``predictions.json``, ``skipped.csv`` and the sheets of a run folder.

    Args:
        title: printed above each contact sheet.
        pages: largest number of contact sheets.
        whole: also write ``probabilities.npy``, (n, classes) float32.
        best: number of classes in each row, the most likely first; None means five.
        thresholds: of labels; a row then has the labels of the image and the probability of every label.
    """

    def __init__(
        self, folder: Path, classes: list[str], title: str, pages: int, whole: bool, best: int | None = None,
        thresholds: list[float] | None = None,
    ) -> None:  # fmt: skip
        self._best, self._thresholds = min(best or BEST, len(classes)), thresholds
        more = [word for rank in range(2, self._best + 1) for word in (f"class_{rank}", f"probability_{rank}")]
        columns = ["class", "probability", *more]
        if thresholds is not None:
            columns = ["labels", *(f"p_{name}" for name in classes)]
        super().__init__(folder, "predictions.csv", ["input", *columns])
        self._classes, self._title = classes, title
        self._entries: list[contact_sheet.Entry] = []
        self._page = 0
        self.thumbs = pages * contact_sheet.PER_PAGE
        self._json = (folder / "predictions.json").open("w", encoding="utf-8", errors="backslashreplace")
        self._json.write("[")
        self._whole = (folder / "probabilities.npy").open("wb") if whole else None
        self._write_header()

    def __exit__(self, *_: object) -> None:
        """Complete all files, even after an error."""
        self._json.write("\n]\n")
        self._json.close()
        super().__exit__()
        self._draw()
        if self._whole:
            self._whole.seek(0)
            self._write_header()
            self._whole.close()

    def take(self, picture: Picture, probabilities: "NDArray[np.float32]") -> None:
        best = np.argsort(-probabilities, kind="stable")[: self._best]
        top = [(self._classes[index], float(probabilities[index])) for index in best]
        shares = zip(best, top, strict=True)
        rows = [{"class": int(index), "name": name, "probability": share} for index, (name, share) in shares]
        entry: dict[str, object] = {"input": picture.name, "top": rows}
        cells = [word for name, share in top for word in (name, f"{share:.7g}")]
        if self._thresholds is not None:
            given = tables.labels_over(self._classes, probabilities, self._thresholds)
            entry["labels"] = given
            cells = [tables.AND.join(given), *(f"{share:.7g}" for share in probabilities.tolist())]
        self._json.write(("," if self.written else "") + "\n" + json.dumps(entry, ensure_ascii=False))
        self.write([picture.name, *cells])
        if self._whole:
            self._whole.write(np.asarray(probabilities, "<f4").tobytes())
        if picture.thumb is not None:
            self._entries.append(contact_sheet.Entry(picture.thumb, picture.name, top))
            if len(self._entries) == contact_sheet.PER_PAGE:
                self._draw()

    def _draw(self) -> None:
        if self._entries:
            self._page += 1
            path = self._folder / f"contact_sheet_{self._page:02}.png"
            page = f", page {self._page}" if self._page > 1 else ""
            contact_sheet.draw(self._entries, self._title + page, path)
            self._entries = []

    def _write_header(self) -> None:
        if self._whole:
            npy_images.write_header(self._whole, "<f4", (self.written, len(self._classes)))
