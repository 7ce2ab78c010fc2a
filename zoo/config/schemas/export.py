"""Settings for exporting models to other runtimes."""

from dataclasses import dataclass, field
from typing import ClassVar

from zoo.config import exporters
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.config.schemas.common import CHECKSUM, Output, TestData
from zoo.config.setting import OUTWARD, setting

# By quantization: largest difference of a probability (or of a color as a share of 255), and most changed answers per
# thousand. Eight bits change single uncertain probabilities a lot, so changed answers matter more there.
TOLERANCES = {"none": (1e-4, 1.0), "float16": (0.02, 10.0), "dynamic": (0.5, 20.0), "int8": (0.5, 30.0)}


@dataclass
class ExportOutput(Output):
    folder: str | None = setting(
        None, "new folder for the exported files, also written output=FOLDER; null means export in the run folder",
        literal=True, affects=OUTWARD)  # fmt: skip


@dataclass
class ExportConfig(ClassifierConfig):
    shorthands: ClassVar[dict[str, str]] = CHECKSUM | {"output": "output.folder"}
    listed: ClassVar[tuple[str, ...]] = ("format", "quantize")

    format: list[str] = setting([], "onnx, litert, openvino, savedmodel, coreml; several with commas")
    quantize: list[str] = setting(
        ["none"], "none; float16; dynamic: weights in 8 bits; int8: all in 8 bits, calibrated; several with commas, "
        "each for the formats that support it")  # fmt: skip
    preprocessing: str = setting(
        "outside", "inside: the exported file takes an image of any size, as uint8, and resizes and scales it; "
        "outside: predict.py does", choices=("outside", "inside"))  # fmt: skip
    batch: str = setting(
        "any", "one: the exported file takes one item at a time, as some phones and accelerators need; any: any "
        "number", choices=("any", "one"))  # fmt: skip
    data: TestData = field(default_factory=TestData)
    calibrate: str = setting(
        "train", "calibration data for int8: train (the run's training data) or a folder of images",
        literal=True, needs="quantize=int8")  # fmt: skip
    input: str | None = setting(
        None, "data for checking the export: test (the run's test data), a text, or images; null means test, or "
        "without a run two photos that scikit-learn includes", literal=True)  # fmt: skip
    items: int = setting(1000, "largest number of items to compare", at_least=1, at_most=100_000)
    calibration_items: int = setting(
        200, "largest number of calibration items", at_least=1, at_most=100_000, needs="quantize=int8"
    )
    max_difference: float | None = setting(
        None, "largest allowed difference of a probability, or of a color as a share of 255; null depends on the "
        "quantization", at_least=0, at_most=1)  # fmt: skip
    max_changed: float | None = setting(
        None, "predictions per thousand that may change; null depends on the quantization", at_least=0, at_most=1000
    )
    compare_to: str = setting(
        "auto", "what to compare with: run (the stack that trained the model), rebuilt (the same weights in stack "
        "export), or auto (run if the environment of its stack exists)",
        choices=("auto", "run", "rebuilt"))  # fmt: skip
    output: ExportOutput = field(default_factory=ExportOutput)

    def checks(self) -> list[str | None]:
        missing = f"format is missing: give format={','.join(exporters.formats())}, or some of them"
        fits = exporters.problems("format", self.format, self.quantize, self.preprocessing == "inside")
        return [*super().checks(), *fits, None if self.format else missing]

    @property
    def tolerance(self) -> dict[str, dict[str, float]]:
        """Return the largest ``difference`` and ``changed`` of each quantization."""
        asked = {"difference": self.max_difference, "changed": self.max_changed}
        given = {name: value for name, value in asked.items() if value is not None}
        usual = {name: dict(zip(("difference", "changed"), TOLERANCES[name], strict=True)) for name in self.quantize}
        return {name: row | given for name, row in usual.items()}
