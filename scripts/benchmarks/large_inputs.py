"""Make what is large, for before_after.py: many run folders, a run of many epochs, a folder of many pictures."""

import csv
import json
import os
import shutil
from pathlib import Path

import numpy as np
from PIL import Image

EDGE, CLASSES = 32, 10


def many_runs(run: Path, folder: Path, count: int) -> None:
    """Copy a run folder's record, settings and history so many times, each under a name of its own."""
    for number in range(count):
        copy = folder / f"{run.name}-{number:05d}"
        copy.mkdir(parents=True)
        for name in ("run.json", "config.yaml", "history.csv"):
            os.link(run / name, copy / name)


def many_epochs(run: Path, copy: Path, count: int) -> None:
    """Copy a run folder, its epochs repeated until there are so many."""
    shutil.copytree(run, copy)
    with (copy / "history.csv").open(encoding="utf-8", newline="") as source:
        names, *rows = csv.reader(source)
    with (copy / "history.csv").open("w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(names)
        writer.writerows([str(number + 1), *rows[number % len(rows)][1:]] for number in range(count))
    record = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    record["metrics"]["epochs"] = count
    (copy / "run.json").write_text(json.dumps(record), encoding="utf-8")


def many_pictures(folder: Path, count: int) -> None:
    """Draw pictures of ten classes, each its own gray with noise, in a folder for each class."""
    draw = np.random.default_rng(0)
    for label in range(CLASSES):
        (folder / str(label)).mkdir(parents=True)
        for number in range(count // CLASSES):
            noise = draw.integers(-20, 20, (EDGE, EDGE, 3))
            Image.fromarray((25 * label + 20 + noise).clip(0, 255).astype(np.uint8)).save(
                folder / str(label) / f"{number:05d}.png", compress_level=1
            )
