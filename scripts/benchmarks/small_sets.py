"""Fine-tuning on small sets of pictures, ``zoo train`` against Keras's own transfer-learning guide.

python scripts/benchmarks/small_sets.py DATA --weights mobilenet_v1_0.25_224.h5 [--only clothes shoes]

DATA holds photos, paintings, MNIST and Fashion-MNIST in the folders ``imagenet/photos``, ``style``, ``mnist`` and
``fashion``. Five sets of 3 to 5 classes and 24 to 180 pictures to learn from are cut out of them, anew for each seed:
tiles of photos and of paintings, each picture a class; garments that are hard to tell apart; shoes; digits. Both
train MobileNet of width 0.25 from the same weights on the same pictures, and are tested on the same others. The
zoo runs with its defaults; the guide (https://keras.io/guides/transfer_learning/) with flips and rotations, 20 epochs
of a new head at 1e-3 on the frozen network, then 10 of all layers at 1e-5, batches of 32.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

import numpy as np
from PIL import Image

from scripts.benchmarks import common
from zoo.data import idx

PHOTOS = ("bird.bmp", "cat_720p.jpg", "dog_test_0.bmp", "owl.jpg", "pets.jpg")
PAINTINGS = ("golden_gate.jpg", "starry_night.jpg", "tubingen.jpg", "wave.jpg")
GARMENTS = {"Pullover": 2, "Dress": 3, "Coat": 4, "Shirt": 6}
SHOES = {"Sandal": 5, "Sneaker": 7, "Boot": 9}
DIGITS = {"three": 3, "five": 5, "eight": 8}
# By set: pictures of each class to learn from, those to choose the best epoch by among them, and to test on.
SIZES = {"photos": (12, 2, 13), "paintings": (20, 2, 16), "clothes": (45, 5, 50), "shoes": (8, 1, 60),
         "digits": (30, 3, 60)}  # fmt: skip
PARTS = ("train", "val", "test")
Pictures = dict[str, list[Image.Image]]


def main() -> int:
    """Write the sets, train both on each, print a table."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("data", type=Path)
    parser.add_argument("--weights", type=Path, required=True, help="ImageNet weights of MobileNet 0.25")
    parser.add_argument("--work", type=Path, default=Path("bench-small-sets"), help="folder for pictures and runs")
    parser.add_argument("--only", nargs="+", default=list(SIZES), help="names of the sets")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--size", type=int, default=96, help="width and height that the network sees, in pixels")
    parser.add_argument("--settings", nargs="*", default=[], help="settings of the zoo instead of its defaults")
    options = parser.parse_args()
    print("| set | zoo | guide | its head alone |\n|---|---|---|---|")
    accuracies = [_of_set(name, options) for name in options.only]
    _row("mean", np.mean(accuracies, axis=0))
    return 0


def _of_set(name: str, options: Any) -> Any:
    """Mean test accuracies of the zoo, the guide and the guide's head alone on one set."""
    roots = {seed: options.work / f"{name}-{seed}" for seed in range(1, options.seeds + 1)}
    for seed, root in roots.items():
        if not root.is_dir():
            write(pictures(name, options.data), SIZES[name], root, seed)
    ours = [zoo(root, seed, options) for seed, root in roots.items()]
    theirs = guide(roots, options)
    rows = [[mine, *other] for mine, other in zip(ours, theirs, strict=True)]
    for seed, row in zip(roots, rows, strict=True):
        _row(f"{name}, seed {seed}", row)
    _row(name, np.mean(rows, axis=0))
    return np.mean(rows, axis=0)


def _row(name: str, accuracies: Any) -> None:
    print(f"| {name:<20} |" + "".join(f" {each:.3f} |" for each in accuracies), flush=True)


def zoo(root: Path, seed: int, options: Any) -> float:
    """Train by the zoo's command; return the test accuracy."""
    settings = ["model=mobilenet", "model.alpha=0.25", "data=folder", f"data.root={root}", f"seed={seed}",
                f"weights={options.weights}", "backend=cpu", "stack=tf-2.21", f"model.input_size={options.size}",
                f"output.root={options.work / 'runs'}", *options.settings]  # fmt: skip
    return float(common.train(settings)[0]["metrics"]["test_accuracy"])


def guide(roots: dict[int, Path], options: Any) -> list[tuple[float, float]]:
    """Train by Keras's guide, once for each seed; return the test accuracies in the end and of the head alone."""
    words = [f"{seed}:{root}" for seed, root in roots.items()]
    answer = common.run_in_stack("tf-2.21", "small_sets_keras.py", options.weights, options.size, *words)
    return [(row["test_accuracy"], row["head_accuracy"]) for row in answer["rows"]]


def pictures(name: str, data: Path) -> Pictures:
    """Return all pictures of a set by class."""
    if name in ("photos", "paintings"):
        folder, files = {"photos": ("imagenet/photos", PHOTOS), "paintings": ("style", PAINTINGS)}[name]
        return {Path(file).stem: list(tiles(data / folder / file, sum(SIZES[name][::2]))) for file in files}
    source, classes = {"clothes": ("fashion", GARMENTS), "shoes": ("fashion", SHOES), "digits": ("mnist", DIGITS)}[name]
    drawn = idx.read(data / source / "t10k-images-idx3-ubyte.gz", (28, 28))
    labels = idx.read(data / source / "t10k-labels-idx1-ubyte.gz", ())
    return {each: [Image.fromarray(drawn[row]) for row in np.flatnonzero(labels == label)]
            for each, label in classes.items()}  # fmt: skip


def tiles(path: Path, count: int) -> Iterator[Image.Image]:
    """Cut a photo into so many squares, or a few more, that do not overlap."""
    photo = Image.open(path).convert("RGB")
    edge = next(size for size in range(400, 0, -1) if (photo.width // size) * (photo.height // size) >= count)
    for top in range(0, photo.height - edge + 1, edge):
        for left in range(0, photo.width - edge + 1, edge):
            yield photo.crop((left, top, left + edge, top + edge))


def write(by_class: Pictures, sizes: tuple[int, int, int], root: Path, seed: int) -> None:
    """Draw the parts of a set and write them as PNG, a folder a class below one a part."""
    learnt, validating, tested = sizes
    counts = (learnt - validating, validating, tested)
    for number, (name, drawn) in enumerate(by_class.items()):
        order = iter(np.random.default_rng([seed, number]).permutation(len(drawn)))
        for part, count in zip(PARTS, counts, strict=True):
            folder = root / part / name
            folder.mkdir(parents=True)
            for row in [next(order) for _ in range(count)]:
                drawn[row].save(folder / f"{row:05}.png")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
