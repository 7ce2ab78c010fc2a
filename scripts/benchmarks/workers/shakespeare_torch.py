"""The language model of shakespeare.py in plain PyTorch: ``python shakespeare_torch.py TEXT EPOCHS RATE``.

The last line of the output is JSON: seconds of training and validation loss.
"""

import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]
from torch.nn import functional  # type: ignore[import-not-found, unused-ignore]

LAYERS, WIDTH, HEADS, LENGTH, BATCH, STEPS = 4, 128, 4, 64, 12, 500


class Block(nn.Module):  # type: ignore[misc, unused-ignore]
    """One layer, normalization first. Attention is PyTorch's fused operation, or explicit products and softmax."""

    def __init__(self, explicit: bool) -> None:
        super().__init__()
        self.explicit = explicit
        self.register_buffer("later", torch.full((LENGTH, LENGTH), float("-inf")).triu(1), persistent=False)
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.joint, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.inner, self.outer = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        shape = (len(x), -1, HEADS, WIDTH // HEADS)
        q, k, v = (part.view(shape).transpose(1, 2) for part in self.joint(self.norm1(x)).split(WIDTH, 2))
        if self.explicit:
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.later[: x.shape[1], : x.shape[1]]
            attended = scores.softmax(-1).to(v.dtype) @ v
        else:
            attended = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(x.shape))
        return x + self.outer(functional.gelu(self.inner(self.norm2(x))))


class Model(nn.Module):  # type: ignore[misc, unused-ignore]
    """Embeddings, layers, and logits by the embedding of the characters."""

    def __init__(self, vocabulary: int, explicit: bool = False) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks, self.norm = nn.Sequential(*(Block(explicit) for _ in range(LAYERS))), nn.LayerNorm(WIDTH)

    def forward(self, x: Any) -> Any:
        embedded = self.letters(x) + self.places.weight[: x.shape[1]]
        return functional.linear(self.norm(self.blocks(embedded)), self.letters.weight)


def load(path: str) -> tuple[Any, Any, int]:
    """Return the characters as numbers, nine tenths to train on and one tenth to validate, and their variety."""
    content = Path(path).read_text(encoding="utf-8")
    letters = sorted(set(content))
    tokens = np.array([letters.index(sign) for sign in content], np.int64)
    border = int(len(tokens) * 0.9)
    return tokens[:border], tokens[border:], len(letters)


def initialize(model: Any) -> None:
    """Draw the initial weights as GPT-2 does."""
    for name, value in model.named_parameters():
        if value.dim() < 2:
            nn.init.constant_(value, 1.0 if "norm" in name and name.endswith("weight") else 0.0)
        else:
            last = name.endswith(("out.weight", "outer.weight"))
            nn.init.normal_(value, 0.0, 0.02 / math.sqrt(2 * LAYERS) if last else 0.02)


def optimizer_of(model: Any, rate: float) -> Any:
    """Create AdamW; weights of one axis do not decay."""
    wide = [value for value in model.parameters() if value.dim() >= 2]
    narrow = [value for value in model.parameters() if value.dim() < 2]
    groups = [{"params": wide, "weight_decay": 0.1}, {"params": narrow, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.99), fused=True)


def batches(tokens: Any, epochs: int) -> Iterator[tuple[Any, Any]]:
    """Yield the batches that the zoo draws."""
    for epoch in range(1, epochs + 1):
        random = np.random.RandomState([1, epoch])
        for _ in range(STEPS):
            begins = random.randint(0, len(tokens) - LENGTH, BATCH)[:, None] + np.arange(LENGTH)
            yield torch.from_numpy(tokens[begins]), torch.from_numpy(tokens[begins + 1])


def schedule(step: int, total: int) -> float:
    """Return the share of the highest learning rate: linear warmup, then a cosine to a tenth."""
    warmup = int(0.05 * total)
    if step < warmup:
        return (step + 1) / warmup
    progress = (step - warmup) / max(1, total - warmup)
    return 0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress))


def train(model: Any, tokens: Any, epochs: int, rate: float) -> float:
    """Train and return the seconds that it took."""
    optimizer, total, began = optimizer_of(model, rate), epochs * STEPS, time.monotonic()
    for step, (x, y) in enumerate(batches(tokens, epochs)):
        for group in optimizer.param_groups:
            group["lr"] = rate * schedule(step, total)
        loss = functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        float(loss.detach())
    return time.monotonic() - began


def validate(model: Any, tokens: Any) -> float:
    """Return the mean loss over all validation tokens."""
    losses = 0.0
    with torch.inference_mode():
        for begin in range(0, len(tokens) - 1, LENGTH):
            window = tokens[begin : begin + LENGTH + 1]
            logits = model(torch.from_numpy(window[:-1])[None])[0]
            losses += float(functional.cross_entropy(logits, torch.from_numpy(window[1:]), reduction="sum"))
    return losses / (len(tokens) - 1)


def main(path: str, epochs: int, rate: float) -> None:
    """Train and validate."""
    torch.manual_seed(1)
    training, validation, vocabulary = load(path)
    model = Model(vocabulary)
    initialize(model)
    spent = train(model, training, epochs, rate)
    print(json.dumps({"train_s": spent, "val_loss": validate(model, validation)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
