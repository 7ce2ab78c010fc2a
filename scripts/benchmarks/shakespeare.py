"""Shakespeare letter by letter: the zoo's language model and the same in plain PyTorch, one after the other.

python scripts/benchmarks/shakespeare.py TEXT [--stack torch] [--rounds 1] [--rate 0.001]

TEXT is Tiny Shakespeare, 1,115,394 characters. Both have nanoGPT's settings for a CPU,
https://github.com/karpathy/nanoGPT: 4 layers of width 128, 4 heads, windows of 64, batches of 12, 2,000 steps, AdamW
from 1e-3 (or what --rate says) along a cosine to a tenth of it after 100 steps of warming up, beta2 0.99, decay 0.1,
gradients clipped to 1. Both take the same batches in the same order and are evaluated over the whole last tenth of
the text. Times are of the 2,000 steps alone.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
LAYERS, WIDTH, HEADS, LENGTH, BATCH, EPOCHS, STEPS = 4, 128, 4, 64, 12, 4, 500


def main() -> int:
    """Run both and print what each took and reached."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--stack", default="torch")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--output", type=Path, help="a JSON file for ratios.py")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    text = str(Path(told.text).resolve())
    if told.inside:
        plain(text, told.epochs, told.rate)
        return 0
    sys.path.insert(0, str(ROOT))
    from zoo.environments import machine, stacks, store

    stack = stacks.load("torch")
    python = str(store.ensure(stack, machine.probe().platform).python)
    with tempfile.TemporaryDirectory() as folder:
        times = []
        for number in range(1, told.rounds + 1):
            ours = zoo(text, told, Path(folder) / str(number))
            command = [python, "-I", "-B", __file__, text, "--inside", "--epochs", str(told.epochs)]
            command += ["--rate", str(told.rate)]
            answer = subprocess.run(command, env=store.child_environment(stack), stdout=subprocess.PIPE, check=True)
            theirs = json.loads(answer.stdout.splitlines()[-1])
            for name, found in ((f"zoo, {told.stack}", ours), ("plain PyTorch", theirs)):
                print(f"{name:<16} {found['train_s']:7.1f} s of training, validation loss {found['val_loss']:.4f}")
            times.append(theirs["train_s"] / ours["train_s"])
            print(f"zoo / plain PyTorch: {ours['train_s'] / theirs['train_s']:.2f} of the time", flush=True)
    if told.output:
        import ratios

        note = f"validation loss {ours['val_loss']:.4f} and {theirs['val_loss']:.4f}"
        what = "language model, training"
        ratios.write(told.output, [ratios.row(what, told.stack, "plain PyTorch", times, note=note)])
    return 0


def zoo(text: str, asked: argparse.Namespace, root: Path) -> dict[str, float]:
    """Train with the zoo's command line and its recipe."""
    told = ["model=transformer/lm", "backend=cpu", "data=text_file", f"data.root={text}", f"stack={asked.stack}"]
    told += [f"trainer.epochs={asked.epochs}", f"trainer.learning_rate={asked.rate}", f"output.root={root}"]
    command = [sys.executable, "-m", "zoo", "train", *told, "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    record = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True, env=environment).stdout)
    trained = record["phases"]["train_s"] + record["phases"]["compile_s"]
    return {"train_s": trained, "val_loss": record["metrics"]["val_loss"]}


def plain(text: str, epochs: int, highest: float) -> None:
    """The same in PyTorch's own words; runs where PyTorch is."""
    import math

    import numpy as np

    torch: Any = importlib.import_module("torch")
    nn: Any = torch.nn
    functional: Any = nn.functional

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.joint, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):  # type: ignore[no-untyped-def]
            shape = (len(x), -1, HEADS, WIDTH // HEADS)
            q, k, v = (part.view(shape).transpose(1, 2) for part in self.joint(self.norm1(x)).split(WIDTH, 2))
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
            return x + self.outer(functional.gelu(self.inner(self.norm2(x))))

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self, vocabulary: int) -> None:
            super().__init__()
            self.letters, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)

        def forward(self, x):  # type: ignore[no-untyped-def]
            found = self.letters(x) + self.places.weight[: x.shape[1]]
            return functional.linear(self.norm(self.blocks(found)), self.letters.weight)

    torch.manual_seed(1)
    content = Path(text).read_text(encoding="utf-8")
    letters = sorted(set(content))
    tokens = np.array([letters.index(sign) for sign in content], np.int64)
    border = int(len(tokens) * 0.9)
    known, held = tokens[:border], tokens[border:]
    model = Model(len(letters))
    for name, value in model.named_parameters():
        if value.dim() < 2:
            nn.init.constant_(value, 1.0 if "norm" in name and name.endswith("weight") else 0.0)
        else:
            last = name.endswith(("out.weight", "outer.weight"))
            nn.init.normal_(value, 0.0, 0.02 / math.sqrt(2 * LAYERS) if last else 0.02)
    wide = [value for value in model.parameters() if value.dim() >= 2]
    narrow = [value for value in model.parameters() if value.dim() < 2]
    groups = [{"params": wide, "weight_decay": 0.1}, {"params": narrow, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=highest, betas=(0.9, 0.99))
    total, step, began = epochs * STEPS, 0, time.monotonic()
    warm = int(0.05 * total)
    for epoch in range(1, epochs + 1):
        random = np.random.RandomState([1, epoch])
        for _ in range(STEPS):
            begins = random.randint(0, len(known) - LENGTH, BATCH)[:, None] + np.arange(LENGTH)
            x, y = torch.from_numpy(known[begins]), torch.from_numpy(known[begins + 1])
            turn = (step - warm) / max(1, total - warm)
            share = (step + 1) / warm if step < warm else 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * turn))
            for group in optimizer.param_groups:
                group["lr"] = highest * share
            loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            float(loss.detach())
            step += 1
    spent, losses = time.monotonic() - began, 0.0
    with torch.inference_mode():
        for begin in range(0, len(held) - 1, LENGTH):
            x, y = held[begin : begin + LENGTH + 1][:-1], held[begin : begin + LENGTH + 1][1:]
            found = model(torch.from_numpy(x)[None])[0]
            losses += float(functional.cross_entropy(found, torch.from_numpy(y), reduction="sum"))
    print(json.dumps({"train_s": spent, "val_loss": losses / (len(held) - 1)}))


if __name__ == "__main__":
    sys.exit(main())
