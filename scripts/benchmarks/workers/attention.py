"""Attention on PyTorch, fused and by products; each line of input is a case, answered by the milliseconds of both."""

import importlib
import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Answer until standard input ends."""
    os.environ.setdefault("KERAS_TORCH_DEVICE", "cpu")
    runpy.run_path(str(HERE.parents[2] / "zoo" / "worker" / "bootstrap.py"))
    attention: Any = importlib.import_module("zoo.models.compat.attention")
    for line in sys.stdin:
        print(json.dumps(answer(attention, **json.loads(line))), flush=True)


def answer(attention: Any, shape: list[int], precision: str, backward: bool, rounds: int) -> dict[str, list[float]]:
    """Return milliseconds by round of both ways, which take turns; the first round is not counted.

    Args:
        attention: the module ``zoo.models.compat.attention``.
        shape: texts, heads, width of a head, length.
        precision: ``float32`` or ``bfloat16``.
        backward: also compute the gradients.
        rounds: number of rounds.
    """
    import torch  # type: ignore[import-not-found]  # of the stack

    texts, heads, width, length = shape
    torch.manual_seed(1)
    q, k, v = (
        torch.randn(texts, length, heads * width, dtype=getattr(torch, precision), requires_grad=backward)
        for _ in range(3)
    )
    taken: dict[str, list[float]] = {"fused": [], "products": []}
    for _ in range(rounds + 1):
        for way, times in taken.items():
            attention._faster_by_products = lambda *_, products=way == "products": products
            began = time.perf_counter()
            with torch.set_grad_enabled(backward):
                attended = attention.attention(q, k, v, heads, None, False, None)
            if backward:
                attended.sum().backward()
            times.append(1000 * (time.perf_counter() - began))
    return {way: times[1:] for way, times in taken.items()}


if __name__ == "__main__":
    main()
