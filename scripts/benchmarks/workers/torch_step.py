"""Timing for torch_step.py in the stack torch: ``python torch_step.py NETWORK PRECISION THREADS ROUNDS STEPS``.

The last line of the output is JSON: median seconds of a step in every round, for each way.
"""

import importlib
import json
import os
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
CHARACTERS, LENGTH, TEXTS = 65, 64, 12
EDGE, PICTURES, CLASSES = 224, 32, 1000
# Channels and strides of the blocks of MobileNet v1.
BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
Step = Callable[[], None]


def language(compat: Any, torch: Any, autocast: Callable[[], Any]) -> tuple[Step, Step]:
    """Return a step of the language model, by the zoo and by plain PyTorch."""
    sys.path.insert(0, str(HERE))
    peer: Any = importlib.import_module("shakespeare_torch")
    model = importlib.import_module("zoo.models.transformer.lm").build(compat, CHARACTERS, LENGTH, probabilities=True)
    importlib.import_module("zoo.worker.weights").initialise(model, 1)
    compat.compile_classifier(model, "adam", 1e-3, False, clip=1.0, beta_2=0.99, weight_decay=0.1)
    tokens = np.random.RandomState(0).randint(0, CHARACTERS, (TEXTS, LENGTH + 1))
    x, y = tokens[:, :-1].astype(np.int32), np.eye(CHARACTERS, dtype=np.float32)[tokens[:, 1:]]
    means = compat.RunningMeans(model)
    plain = peer.Model(CHARACTERS)
    peer.initialize(plain)
    optimizer, whole = peer.optimizer_of(plain, 1e-3), torch.from_numpy(tokens)

    def theirs() -> None:
        with autocast():
            logits = plain(whole[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, 1), whole[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        optimizer.step()
        float(loss.detach())

    return lambda: means.train(x, y), theirs


def mobilenet(compat: Any, torch: Any, autocast: Callable[[], Any]) -> tuple[Step, Step]:
    """Return a step of MobileNet v1, by the zoo and by plain PyTorch."""
    model = importlib.import_module("zoo.models.mobilenet").build(compat)
    importlib.import_module("zoo.worker.weights").initialise(model, 1)
    compat.compile_classifier(model, "adam", 1e-4, False)
    draw = np.random.RandomState(0)
    x, labels = draw.rand(PICTURES, EDGE, EDGE, 3).astype(np.float32), draw.randint(0, CLASSES, PICTURES)
    y, means = np.eye(CLASSES, dtype=np.float32)[labels], compat.RunningMeans(model)
    plain = plain_mobilenet(torch.nn).to(memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(plain.parameters(), 1e-4, fused=True)
    maps = torch.from_numpy(x.transpose(0, 3, 1, 2)).to(memory_format=torch.channels_last)
    target = torch.from_numpy(labels)

    def theirs() -> None:
        with autocast():
            logits = plain(maps)
        loss = torch.nn.functional.cross_entropy(logits.float(), target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        float(loss.detach())

    return lambda: means.train(x, y), theirs


def plain_mobilenet(nn: Any) -> Any:
    """Return MobileNet v1 of width 1 (https://arxiv.org/abs/1704.04861, table 1)."""

    def convolution(inner: int, outer: int, edge: int, stride: int, groups: int = 1) -> list[Any]:
        weights = nn.Conv2d(inner, outer, edge, stride, edge // 2, groups=groups, bias=False)
        return [weights, nn.BatchNorm2d(outer, eps=1e-3, momentum=0.01), nn.ReLU6()]

    layers, inner = convolution(3, 32, 3, 2), 32
    for outer, stride in BLOCKS:
        layers += convolution(inner, inner, 3, stride, inner) + convolution(inner, outer, 1, 1)
        inner = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, CLASSES))


def main(network: str, precision: str, threads: int, rounds: int, steps: int) -> None:
    """Time both ways, which take turns."""
    runpy.run_path(str(HERE.parents[2] / "zoo" / "worker" / "bootstrap.py"))
    os.environ.setdefault("KERAS_TORCH_DEVICE", "cpu")
    compat: Any = importlib.import_module("zoo.models.compat")
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    compat.seed(1)
    compat.set_precision("mixed_bfloat16" if precision == "bfloat16" else precision)

    def autocast() -> Any:
        return torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16")

    zoo, plain = {"language": language, "mobilenet": mobilenet}[network](compat, torch, autocast)
    ways = {"zoo": zoo, "plain": plain}
    for step in ways.values():
        step()
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(steps):
            for name, step in ways.items():
                began = time.perf_counter()
                step()
                taken[name].append(time.perf_counter() - began)
        for name, seconds in taken.items():
            times[name].append(statistics.median(seconds))
    print(json.dumps(times))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
