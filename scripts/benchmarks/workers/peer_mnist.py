"""MNIST in plain PyTorch: python peer_mnist.py FOLDER SEED

Three convolutions with batch normalization, one pass over the training images, one cycle of the learning rate. Uses
bfloat16 if the processor multiplies it in hardware. Writes JSON: ``accuracy`` on all test images.
"""

import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]

BATCH, RATE, WIDTH = 128, 0.01, 16
MEAN, DEVIATION = 33.3, 78.6  # of all training pixels


def load(folder: str, part: str) -> tuple[Any, Any]:
    """Return pixels (images, 1, 28, 28) and labels of a part, ``train`` or ``t10k``."""
    path = Path(folder) / part
    pixels = np.frombuffer(gzip.decompress(Path(f"{path}-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress(Path(f"{path}-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    return torch.from_numpy(pixels.reshape(-1, 1, 28, 28).copy()), torch.from_numpy(labels.astype(np.int64))


def network() -> Any:
    """Return the network; pooling before normalization saves three quarters of its work."""
    layers: list[Any] = []
    for inner, outer in ((1, WIDTH), (WIDTH, 2 * WIDTH), (2 * WIDTH, 4 * WIDTH)):
        layers.append(nn.Conv2d(inner, outer, 3, padding=1, bias=False))
        layers += [nn.MaxPool2d(2), nn.BatchNorm2d(outer), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(4 * WIDTH * 9, 10)).to(memory_format=torch.channels_last)


def main(folder: str, seed: int) -> None:
    """Train and test."""
    torch.manual_seed(seed)
    flags = Path("/proc/cpuinfo").read_text().split() if sys.platform == "linux" else []
    lower = "avx512_bf16" in flags or "amx_bf16" in flags
    kind = torch.bfloat16 if lower else torch.float32
    (x, y), (x_test, y_test) = load(folder, "train"), load(folder, "t10k")

    def scaled(pixels: Any) -> Any:
        return ((pixels.float() - MEAN) / DEVIATION).to(kind).contiguous(memory_format=torch.channels_last)

    model, count = network(), len(x) // BATCH
    optimizer = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01, fused=True)
    cycle = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=count, pct_start=0.2, anneal_strategy="linear", final_div_factor=1e3
    )
    for rows in torch.randperm(len(x))[: count * BATCH].view(count, BATCH):
        with torch.autocast("cpu", torch.bfloat16, enabled=lower):
            logits = model(scaled(x[rows]))
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(logits.float(), y[rows], label_smoothing=0.05).backward()
        optimizer.step()
        cycle.step()
    model.eval()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=lower):
        right = [(model(scaled(part)).argmax(1) == known).sum().item()
                 for part, known in zip(x_test.split(1000), y_test.split(1000), strict=True)]  # fmt: skip
    print(json.dumps({"accuracy": sum(right) / len(y_test)}), flush=True)
    os._exit(0)  # without the seconds that PyTorch needs to end


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
