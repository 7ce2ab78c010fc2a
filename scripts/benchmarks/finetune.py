"""Fine-tuning against training from scratch at equal time, on pictures in folders, both through ``zoo train``.

python scripts/benchmarks/finetune.py --fashion FOLDER --weights mobilenet_v1_0.25_224.h5 [--settings KEY=VALUE ...]

The pictures are Fashion-MNIST's, written as PNG in a folder for each class: grey and small, as far from ImageNet's as
pictures of clothes can be. First the recipe fine-tunes the network from the weights. Then the same network learns
from random weights, with the recipe's other settings, for as many epochs as fit into the time that fine-tuning took
to compute features, compile, train and judge, or into a multiple of it, rounded up; a run of two epochs tells how
long one takes.
"""

import argparse
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from zoo.data import idx
from zoo.runs.result import Run
from zoo.tasks import registry

NAMES = (
    "T-shirt", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
COMMON = ["model=mobilenet", "model.alpha=0.25", "data=folder", "backend=cpu"]
FROM_SCRATCH = ["weights=none", "trainer.patience=null"]


def main() -> int:
    """Write the pictures, train in turn, print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fashion", type=Path, required=True, help="folder with Fashion-MNIST's four files")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--pictures", type=int, default=6000, help="to write, as many of each class")
    parser.add_argument("--size", type=int, default=96, help="edge that the network sees, in pixels")
    parser.add_argument("--work", type=Path, default=Path("bench-finetune"), help="where pictures and runs go")
    parser.add_argument(
        "--times", type=float, nargs="+", default=[1.0], help="the time from scratch, in that of tuning"
    )
    parser.add_argument("--settings", nargs="*", default=[], help="laid over the recipe, for both")
    told = parser.parse_args()
    root = told.work / f"fashion-{told.pictures}"
    if not root.is_dir():
        write_pictures(told.fashion, root, told.pictures)
    alike = [*COMMON, f"data.root={root}", f"model.input_size={told.size}", f"output.root={told.work / 'runs'}"]
    tuned = train([*alike, *told.settings, f"weights={told.weights}"])
    say("fine-tuned", tuned)
    trial = train([*alike, *told.settings, *FROM_SCRATCH, "trainer.epochs=2"])
    compile_s = float(trial.record["phases"]["compile_s"])
    for times in told.times:
        epochs = math.ceil((times * seconds(tuned) - compile_s) / (seconds(trial) - compile_s) * 2)
        say(f"from scratch, {times:g} x", train([*alike, *told.settings, *FROM_SCRATCH, f"trainer.epochs={epochs}"]))
    return 0


def say(name: str, one: Run) -> None:
    """One line about a training."""
    found = one.metrics
    print(
        f"{name:<18} {seconds(one):6.1f} s, {len(one.history):>2} epochs: "
        f"test accuracy {found['test_accuracy']:.4f}, top-5 {found['test_top5']:.4f}, "
        f"best validation accuracy {found['val_accuracy']:.4f}; {one.folder}",
        flush=True,
    )


def write_pictures(source: Path, root: Path, count: int) -> None:
    """Write the first pictures of each class as PNG files, in a folder named for it."""
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
    """Train as told."""
    print("zoo train", *settings, flush=True)
    return registry.train(settings)


def seconds(one: Run) -> float:
    """What training took with its judging and compiling, but without the start of Python and Keras."""
    phases = one.record["phases"]
    return float(sum(phases.get(f"{name}_s", 0.0) for name in ("features", "compile", "train", "evaluate")))


if __name__ == "__main__":
    sys.exit(main())
