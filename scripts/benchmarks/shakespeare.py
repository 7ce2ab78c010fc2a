"""Character-level language model on Tiny Shakespeare: the zoo and plain PyTorch, in turns.

python scripts/benchmarks/shakespeare.py TEXT [--stack torch] [--rounds 1] [--rate 0.001]

TEXT is Tiny Shakespeare, 1,115,394 characters. Both use nanoGPT's settings for a CPU,
https://github.com/karpathy/nanoGPT: 4 layers of width 128, 4 heads, context of 64, batches of 12, 2,000 steps, AdamW
from 1e-3 (or --rate) along a cosine to a tenth of it after 100 steps of warmup, beta2 0.99, weight decay 0.1,
gradients clipped to 1. Both train on the same batches in the same order and are evaluated on the whole last tenth of
the text. Times are those of the 2,000 steps alone.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common


def main() -> int:
    """Train both and print time and validation loss."""
    parser = common.parser(__doc__)
    parser.add_argument("text")
    parser.add_argument("--stack", default="torch")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=4, help="of 500 steps")
    parser.add_argument("--rate", type=float, default=1e-3, help="highest learning rate")
    options = parser.parse_args()
    text, ratios = str(Path(options.text).resolve()), []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, options.rounds + 1):
            ours = zoo(text, options, Path(folder) / str(number))
            theirs = common.run_in_stack("torch", "shakespeare_torch.py", text, options.epochs, options.rate)
            for name, result in ((f"zoo, {options.stack}", ours), ("plain PyTorch", theirs)):
                print(f"{name:<16} {result['train_s']:7.1f} s of training, validation loss {result['val_loss']:.4f}")
            ratios.append(theirs["train_s"] / ours["train_s"])
            print(f"zoo / plain PyTorch: {1 / ratios[-1]:.2f} of the time", flush=True)
    note = f"validation loss {ours['val_loss']:.4f} and {theirs['val_loss']:.4f}"
    row = ("language model, training", options.stack, "plain PyTorch", ratios, None, note)
    common.write_ratios(options.output, [row])
    return 0


def zoo(text: str, options: argparse.Namespace, root: Path) -> dict[str, float]:
    """Train by the zoo's recipe."""
    record, _ = common.train(
        [
            "model=transformer/lm", "backend=cpu", "data=text_file", f"data.root={text}", f"stack={options.stack}",
            f"trainer.epochs={options.epochs}", f"trainer.learning_rate={options.rate}", f"output.root={root}",
        ]
    )  # fmt: skip
    return {"train_s": common.training_s(record), "val_loss": record["metrics"]["val_loss"]}


if __name__ == "__main__":
    sys.exit(main())
