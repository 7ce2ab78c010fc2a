"""Settings for exporting models to other runtimes."""

from dataclasses import dataclass, field
from typing import ClassVar

from zoo.config import exporters, ranges
from zoo.config.ranges import RESIZES, one_of, within, within_or_null
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.config.schemas.common import CHECKSUM, Output, TestData, literal

# By quantization: most difference of a probability, or of a color as a share of 255, and most changed answers in a
# thousand. Eight bits move single probabilities far where the network is in doubt: changed answers tell more there.
TOLERANCES = {"none": (1e-4, 1.0), "float16": (0.02, 10.0), "dynamic": (0.5, 20.0), "int8": (0.5, 30.0)}


@dataclass
class ExportOutput(Output):
    """Where the run folder and what is exported go.

    Attributes:
        folder: new folder for what is exported, also written output=FOLDER; null means export in the run folder.
    """

    folder: str | None = literal()


@dataclass
class ExportConfig(ClassifierConfig):
    """Settings of ``export``.

    Attributes:
        format: onnx, litert, openvino, savedmodel, coreml; several with commas.
        quantize: none, float16, dynamic (weights in 8 bits) or int8 (all in 8 bits, calibrated).
        calibrate: what int8 is calibrated on: train, items that the run was trained with; or a folder of images.
        input: what the export is compared on: test, the run's; a text or images; null means test, or without a run
            two photos that come with scikit-learn.
        items: items to compare on at most.
        calibration_items: items to calibrate on at most.
        max_difference: most difference of a probability, or of a color as a share of 255; null: by the quantization.
        max_changed: most answers in a thousand that may change; null means by the quantization.
        compare_to: run, the stack that trained it; rebuilt, the same weights in stack export; auto: the run's where
            its environment is here.
        stack: the stack that converts; there is one, export.
    """

    shorthands: ClassVar[dict[str, str]] = CHECKSUM | {"output": "output.folder"}
    listed: ClassVar[tuple[str, ...]] = ("format",)

    format: list[str] = field(default_factory=list)
    quantize: str = "none"
    data: TestData = field(default_factory=TestData)
    calibrate: str = literal("train")
    input: str | None = literal()
    items: int = 1000
    calibration_items: int = 200
    max_difference: float | None = None
    max_changed: float | None = None
    compare_to: str = "auto"
    output: ExportOutput = field(default_factory=ExportOutput)

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        return ranges.problems(
            [
                *exporters.problems("format", self.format, self.quantize),
                None
                if self.format
                else f"format is missing: give format={','.join(exporters.formats())}, or some of them",
                within("items", self.items, 1, 100_000),
                within("calibration_items", self.calibration_items, 1, 100_000),
                within_or_null("max_difference", self.max_difference, 0.0, 1.0),
                within_or_null("max_changed", self.max_changed, 0.0, 1000.0),
                one_of("resize", self.resize, RESIZES),
                one_of("compare_to", self.compare_to, ("auto", "run", "rebuilt")),
                *self.data.checks(),
                ranges.checksum(self.weights_checksum, self.weights),
                self._classifier_check(),
                *ranges.model_problems(self.model),
            ]
        )

    @property
    def tolerance(self) -> dict[str, float]:
        """Return what is tolerated: ``difference`` and ``changed``."""
        difference, changed = TOLERANCES[self.quantize]
        given = {"difference": self.max_difference, "changed": self.max_changed}
        usual = {"difference": difference, "changed": changed}
        return usual | {name: value for name, value in given.items() if value is not None}
