"""Write the names of images to ``features.csv``, in the order of the rows of ``features.npy``."""

from pathlib import Path

from zoo.core.arrays import NDArray, np
from zoo.protocol.request import FeaturesPart
from zoo.runs.result import Run
from zoo.tasks import summaries
from zoo.tasks.image_classification.photo_stream import Picture
from zoo.tasks.image_classification.prediction_writer import TableWriter

FILE, NAMES = "features.npy", "features.csv"


def part(folder: Path, layer: str | None) -> FeaturesPart:
    return FeaturesPart(layer=layer, path=str(folder / FILE))


class FeatureNames(TableWriter):
    """Writes a row for each image: its row number in ``features.npy``, starting at 0, and its name."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, NAMES, ["row", "input"])

    def take(self, picture: Picture, _: "NDArray[np.float32]") -> None:
        self.add(picture.name)

    def add(self, name: str) -> None:
        self.write([self.written, name])


def lines(run: Run) -> list[str]:
    record, about, items = run.record, run.record["features"], run.record["data"]["items"]
    shape = " x ".join(f"{size:,}" for size in about["shape"])
    summary = ["Interrupted; the features so far are kept."] if run.exit == "interrupted" else []
    summary.append(f"{FILE}: {items:,} rows of {shape} float32, the output of layer {about['layer']}; names: {NAMES}")
    if record["data"].get("skipped_items"):
        summary.append(f"Skipped, with reasons in skipped.csv: {record['data']['skipped_items']:,}")
    speed = run.metrics.get("end_to_end_items_per_s") or run.metrics.get("items_per_s", 0)
    return [*summary, f"{summaries.where(record)}: {speed:,.0f} images/s"]
