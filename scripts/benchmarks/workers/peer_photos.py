"""Classify JPEG files with OpenVINO: python peer_photos.py WAY MODEL.onnx FOLDER PRECISION LABELS.json

Files are decoded by simplejpeg, at a reduced size where that suffices, and resized in 8 bits by cv2. The network
scales the pixels itself. WAY is ``threads``: threads decode the next batches while all cores compute; or
``processes``: each core decodes and computes its own batches; or ``exact``, which writes LABELS, the classes of files
that are decoded at full size. Writes JSON: images a second from the first file to the
last class, and ``accuracy``, the share of the classes that LABELS has too.
"""

import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2  # type: ignore[import-not-found, unused-ignore]
import numpy as np
import openvino  # type: ignore[import-not-found, unused-ignore]
import simplejpeg  # type: ignore[import-not-found, unused-ignore]
from openvino.preprocess import PrePostProcessor  # type: ignore[import-not-found, unused-ignore]

EDGE, BATCH = 224, 32
HINTS = {"float32": "f32", "bfloat16": "bf16"}
Network = Any
_ready: dict[str, Network] = {}


def decode(path: str) -> Any:
    """Return the pixels of a file at the size of the network."""
    pixels = simplejpeg.decode_jpeg(
        Path(path).read_bytes(), "RGB", fastdct=True, fastupsample=True, min_height=EDGE, min_width=EDGE, min_factor=1
    )
    return cv2.resize(pixels, (EDGE, EDGE), interpolation=cv2.INTER_AREA)


def exact(path: str) -> Any:
    """Return the pixels of a file, decoded at its full size and resized by Pillow with antialiasing."""
    from PIL import Image

    return np.asarray(Image.open(path).convert("RGB").resize((EDGE, EDGE), Image.Resampling.BILINEAR))


def network(file: str, precision: str, threads: int) -> Network:
    """Return the function from pixels (uint8, NHWC) to classes."""
    core = openvino.Core()
    steps = PrePostProcessor(core.read_model(file))
    steps.input().tensor().set_element_type(openvino.Type.u8)
    steps.input().preprocess().convert_element_type(openvino.Type.f32).mean(127.5).scale(127.5)
    settings = {"INFERENCE_PRECISION_HINT": HINTS[precision], "INFERENCE_NUM_THREADS": threads,
                "PERFORMANCE_HINT": "LATENCY"}  # fmt: skip
    compiled = core.compile_model(steps.build(), "CPU", settings)
    compiled(np.zeros((BATCH, EDGE, EDGE, 3), np.uint8))
    return lambda pixels: compiled(pixels)[0].argmax(1).tolist()


def begin(file: str, precision: str) -> None:
    """Prepare a process."""
    cv2.setNumThreads(1)
    _ready["network"] = network(file, precision, 1)


def part(paths: list[str]) -> list[int]:
    """Return the classes of a batch, in a process."""
    classes: list[int] = _ready["network"](np.stack([decode(path) for path in paths]))
    return classes


def main(way: str, file: str, folder: str, precision: str, labels: str) -> None:
    """Classify all."""
    paths = sorted(str(path) for path in Path(folder).iterdir())
    batches = [paths[first : first + BATCH] for first in range(0, len(paths), BATCH)]
    cores = len(os.sched_getaffinity(0))
    classes: list[int] = []
    if way == "processes":
        with multiprocessing.get_context("spawn").Pool(cores, begin, (file, precision)) as pool:
            pool.map(part, batches[:1] * cores, chunksize=1)  # all are ready
            began = time.perf_counter()
            for answer in pool.imap(part, batches):
                classes += answer
            seconds = time.perf_counter() - began
    else:
        cv2.setNumThreads(1)
        predict, read = network(file, precision, cores), exact if way == "exact" else decode
        with ThreadPoolExecutor(cores) as pool:
            began = time.perf_counter()
            waiting = [[pool.submit(read, path) for path in batch] for batch in batches]
            for decoding in waiting:
                classes += predict(np.stack([each.result() for each in decoding]))
            seconds = time.perf_counter() - began
    if way == "exact":
        Path(labels).write_text(json.dumps(classes), encoding="utf-8")
    expected = json.loads(Path(labels).read_text(encoding="utf-8"))
    print(json.dumps({"speed": len(paths) / seconds, "accuracy": float(np.mean(np.equal(classes, expected)))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
