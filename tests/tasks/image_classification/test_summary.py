"""What is said of predictions for photos."""

from pathlib import Path

import pytest

from zoo.runs.result import Run
from zoo.tasks.image_classification import summary


@pytest.mark.parametrize(("compared", "changed", "share", "decided", "precision", "said"), [
    (640, 1, 0.5, True, "bfloat16",
     "precision=auto: bfloat16; bfloat16 changed the class of 1 of the first 640 images, in 0.50 of the time"),
    (64, 3, 0.5, True, "float32",
     "precision=auto: float32 kept (bfloat16 tried); bfloat16 changed the class of 3 of the first 64 images, in 0.50"
     " of the time"),
    (1, 0, 1.5, False, "float32",
     "precision=auto: float32 kept: too few images to decide on bfloat16; bfloat16 changed the class of 0"
     " of the first 1 image, in 1.50 of the time"),
    (0, 0, None, False, "float32", "precision=auto: no image was predicted in both float32 and bfloat16"),
])  # fmt: skip
def test_what_precision_auto_chose_is_said_with_its_reason(
    tmp_path: Path, compared: int, changed: int, share: float | None, decided: bool, precision: str, said: str
) -> None:
    metrics = {
        "precision": precision, "precision_tried": "bfloat16", "precision_compared": compared,
        "precision_changed": changed, "precision_time": share, "precision_decided": decided,
    }  # fmt: skip
    record = {
        "exit": "completed", "model": "mobilenet", "backend": "openvino",
        "stack": {"name": "openvino"}, "device": {"name": "CPU"},
        "data": {"items": compared, "skipped_items": 0}, "metrics": metrics,
    }  # fmt: skip
    assert said in summary.lines(Run(tmp_path, record))
