"""Passes of torch.nn.TransformerEncoder: python peer_encoder.py PASSES

Six layers of width 512, eight heads, an input of 1,024 positions, float32, with its fast path for evaluation. Writes
JSON: passes a second.
"""

import json
import sys
import time

import torch  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]

LAYERS, WIDTH, HEADS, INNER, LENGTH = 6, 512, 8, 2048, 1024


def main(passes: int) -> None:
    """Time it."""
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, batch_first=True)
    model, x = nn.TransformerEncoder(layer, LAYERS).eval(), torch.randn(1, LENGTH, WIDTH)
    with torch.inference_mode():
        model(x)
        began = time.perf_counter()
        for _ in range(passes):
            model(x)
        seconds = time.perf_counter() - began
    print(json.dumps({"speed": passes / seconds}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
