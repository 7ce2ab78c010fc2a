"""A linear probe: python peer_probe.py FOLDER MODEL.onnx

Features are the means of the last maps of MobileNet, by OpenVINO at 224 pixels, of each training image and its mirror
image. A logistic regression learns from them. FOLDER contains ``train``, ``val`` and ``test``, each with a folder for
each class; ``val`` is used for training too. Writes JSON: ``accuracy`` on the test images.
"""

import json
import sys
from pathlib import Path
from typing import Any

import cv2  # type: ignore[import-not-found, unused-ignore]
import numpy as np
import openvino  # type: ignore[import-not-found, unused-ignore]
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

EDGE, BATCH = 224, 32


def load(folder: Path, classes: list[str]) -> tuple[Any, Any]:
    """Return pixels from -1 to 1 and labels."""
    pixels, labels = [], []
    for label, name in enumerate(classes):
        for path in sorted((folder / name).iterdir()):
            image = cv2.cvtColor(cv2.imread(str(path)), cv2.COLOR_BGR2RGB)
            pixels.append(cv2.resize(image, (EDGE, EDGE), interpolation=cv2.INTER_LINEAR))
            labels.append(label)
    return np.stack(pixels).astype(np.float32) / 127.5 - 1, np.array(labels)


def main(folder: str, file: str) -> None:
    """Compute features, fit, test."""
    core = openvino.Core()
    whole = core.read_model(file)
    pooled = [node for node in whole.get_ordered_ops() if node.get_type_name() in ("ReduceMean", "AvgPool")][-1]
    compiled = core.compile_model(openvino.Model([pooled.output(0)], whole.get_parameters(), "features"), "CPU")

    def features(pixels: Any) -> Any:
        parts = [pixels[first : first + BATCH] for first in range(0, len(pixels), BATCH)]
        return np.concatenate([compiled(part)[0].reshape(len(part), -1) for part in parts])

    root = Path(folder)
    classes = sorted(path.name for path in (root / "train").iterdir())
    parts = [load(root / part, classes) for part in ("train", "val")]
    x, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    x_test, y_test = load(root / "test", classes)
    probe = make_pipeline(StandardScaler(), LogisticRegression(C=0.02, max_iter=500))
    probe.fit(np.concatenate([features(x), features(x[:, :, ::-1])]), np.concatenate([y, y]))
    print(json.dumps({"accuracy": float(probe.score(features(x_test), y_test))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
