"""Fine-tuning against training from scratch at equal time, on images in folders, both by ``zoo train``.

python scripts/benchmarks/finetune.py --fashion FOLDER --weights mobilenet_v1_0.25_224.h5 [--settings KEY=VALUE ...]

The images are Fashion-MNIST's, written as PNG in a folder for each class: gray and small, as far from ImageNet's as
images of clothes can be. First the recipe fine-tunes the network from the weights. Then the same network trains from
random weights, with the recipe's other settings, for as many epochs as fit into the time that fine-tuning took to
compute features, compile, train and evaluate, or into a multiple of it, rounded up; a run of two epochs shows how
long one takes.
"""

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common
from zoo.config.overrides import Overrides
from zoo.data import idx
from zoo.runs.result import Run
from zoo.tasks import registry

NAMES = (
    "T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
COMMON = ["model=mobilenet", "model.alpha=0.25", "data=folder", "backend=cpu"]
FROM_SCRATCH = ["weights=none", "trainer.patience=null"]


def main() -> int:
    """Write the images, train both, print the results."""
    parser = common.parser(__doc__, output=False)
    parser.add_argument("--fashion", type=Path, required=True, help="folder with Fashion-MNIST's four files")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=6000, help="number of images, as many of each class")
    parser.add_argument("--size", type=int, default=96, help="width and height that the network sees, in pixels")
    parser.add_argument("--work", type=Path, default=Path("bench-finetune"), help="folder for images and runs")
    parser.add_argument(
        "--times",
        type=float,
        nargs="+",
        default=[1.0],
        help="training time from scratch, as multiples of fine-tuning",
    )
    parser.add_argument("--settings", nargs="*", default=[], help="settings that override the recipe, for both")
    options = parser.parse_args()
    root = options.work / f"fashion-{options.pictures}"
    if not root.is_dir():
        write_images(options.fashion, root, options.pictures)
    shared = [
        *COMMON,
        f"data.root={root}",
        f"model.input_size={options.size}",
        f"output.root={options.work / 'runs'}",
    ]
    tuned = train([*shared, *options.settings, f"weights={options.weights}"])
    show("fine-tuned", tuned)
    trial = train([*shared, *options.settings, *FROM_SCRATCH, "trainer.epochs=2"])
    compile_s = float(trial.record["phases"]["compile_s"])
    for times in options.times:
        epochs = math.ceil((times * seconds(tuned) - compile_s) / (seconds(trial) - compile_s) * 2)
        show(
            f"from scratch, {times:g} x",
            train([*shared, *options.settings, *FROM_SCRATCH, f"trainer.epochs={epochs}"]),
        )
    return 0


def show(name: str, run: Run) -> None:
    """Print one line about a training."""
    metrics = run.metrics
    print(
        f"{name:<18} {seconds(run):6.1f} s, {len(run.history):>2} epochs: "
        f"test accuracy {metrics['test_accuracy']:.4f}, top-5 {metrics['test_top5']:.4f}, "
        f"best validation accuracy {metrics['val_accuracy']:.4f}; {run.folder}",
        flush=True,
    )


def write_images(source: Path, root: Path, count: int) -> None:
    """Write the first images of each class as PNG files, in a folder of its name."""
    from PIL import Image

    pictures = idx.read(source / "train-images-idx3-ubyte.gz", (28, 28))
    labels = idx.read(source / "train-labels-idx1-ubyte.gz", ())
    left = [count // len(NAMES)] * len(NAMES)
    for number, (picture, label) in enumerate(zip(pictures, labels, strict=True)):
        if left[label]:
            left[label] -= 1
            folder = root / NAMES[label]
            folder.mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(folder / f"{number:05}.png")


def train(settings: list[str]) -> Run:
    """Train with these settings."""
    print("zoo train", *settings, flush=True)
    return registry.dispatch("train", Overrides.parse(settings))


def seconds(run: Run) -> float:
    """Return the seconds of training, evaluation and compilation, without the start of Python and Keras."""
    phases = run.record["phases"]
    return float(sum(phases.get(f"{name}_s", 0.0) for name in ("features", "compile", "train", "evaluate")))


if __name__ == "__main__":
    sys.exit(main())
