"""Training steps in a stack's interpreter: ``python training_step.py NETWORK WAY PRECISION THREADS [TREE]``.

WAY is zoo, on any stack, or PyTorch without Keras: plain or compiled, explicit (attention that is not fused, for the
language model) or timm (its MobileNet, which must be installed). THREADS 0 leaves their number to the stack. The
zoo is that of TREE, another checkout, or the one that this file belongs to. NETWORK is language, or a classifier of
the zoo, with its width if it has one: mobilenet-0.25. A line of input, ``{"steps": N}``, is answered by
``{"seconds": [...], "cpu_seconds": ...}``: one for each step, and processor time of all threads for the mean step;
``{"profile": N}``, on PyTorch, by ``{"operations": {...}}``: milliseconds of a step by the name of the operation, and
``step``, all of it.
"""

import importlib
import json
import os
import runpy
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
CHARACTERS, LENGTH, TEXTS = 65, 64, 12
EDGE, PICTURES, CLASSES = 224, 32, 1000
DIGITS = 64
# Channels and strides of the blocks of MobileNet v1.
BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)]
Step = Callable[[], object]


def zoo(network: str, precision: str, tree: Path) -> Step:
    """Return a step of a network by the zoo."""
    os.environ.setdefault("KERAS_TORCH_DEVICE", "cpu")
    runpy.run_path(str(tree / "zoo" / "worker" / "bootstrap.py"))
    compat: Any = importlib.import_module("zoo.models.compat")
    compat.seed(1)
    compat.set_precision("mixed_bfloat16" if precision == "bfloat16" else precision)
    rate, settings = 1e-4, {}
    if network == "language":
        model = importlib.import_module("zoo.models.transformer.lm").build(
            compat, CHARACTERS, LENGTH, probabilities=True
        )
        rate, settings = 1e-3, {"clip": 1.0, "beta_2": 0.99, "weight_decay": 0.1}
    else:
        name, _, width = network.partition("-")
        sizes = {"alpha": float(width)} if width else {}
        model = importlib.import_module(f"zoo.models.{name}").build(compat, **sizes)
    importlib.import_module("zoo.worker.weights").initialise(model, 1)
    compat.compile_classifier(model, "adam", rate, False, **settings)
    x, labels = batch(network)
    classes = CHARACTERS if network == "language" else int(labels.max()) + 1 if network == "mnist" else CLASSES
    y = np.eye(classes, dtype=np.float32)[labels]
    return lambda: compat.train_classifier(model, x, y)


def batch(network: str) -> tuple[Any, Any]:
    """Return random inputs and labels; what they are does not change the time."""
    draw = np.random.RandomState(0)
    if network == "language":
        tokens = draw.randint(0, CHARACTERS, (TEXTS, LENGTH + 1))
        return tokens[:, :-1].astype(np.int32), tokens[:, 1:]
    if network == "mnist":
        return draw.rand(DIGITS, 28, 28, 1).astype(np.float32), np.arange(DIGITS) % 10
    return draw.rand(PICTURES, EDGE, EDGE, 3).astype(np.float32), draw.randint(0, CLASSES, PICTURES)


def plain(network: str, precision: str, way: str) -> Step:
    """Return a step of plain PyTorch as a good user writes it: fused attention and optimizer, channels last."""
    torch: Any = importlib.import_module("torch")
    torch.manual_seed(1)
    x, labels = (torch.from_numpy(each) for each in batch(network))
    model: Any
    if network == "language":
        sys.path.insert(0, str(HERE))
        peer: Any = importlib.import_module("shakespeare_torch")
        model = peer.Model(CHARACTERS, explicit=way == "explicit")
        peer.initialize(model)
        optimizer, clip, x = peer.optimizer_of(model, 1e-3), 1.0, x.long()
    else:
        model = timm() if way == "timm" else mobilenet(torch.nn)
        model = model.to(memory_format=torch.channels_last).train()
        optimizer, clip = torch.optim.Adam(model.parameters(), 1e-4, fused=True), 0.0
        x = x.permute(0, 3, 1, 2)  # NHWC in memory is what PyTorch calls channels last
    call = torch.compile(model) if way == "compiled" else model

    def step() -> None:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            logits = call(x)
        loss = torch.nn.functional.cross_entropy(logits.float().flatten(0, -2), labels.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        float(loss.detach())

    return step


def mobilenet(nn: Any) -> Any:
    """Return MobileNet v1 of width 1 (https://arxiv.org/abs/1704.04861, table 1)."""

    def convolution(inner: int, outer: int, edge: int, stride: int, groups: int = 1) -> list[Any]:
        weights = nn.Conv2d(inner, outer, edge, stride, edge // 2, groups=groups, bias=False)
        return [weights, nn.BatchNorm2d(outer, eps=1e-3, momentum=0.01), nn.ReLU6()]

    layers, inner = convolution(3, 32, 3, 2), 32
    for outer, stride in BLOCKS:
        layers += convolution(inner, inner, 3, stride, inner) + convolution(inner, outer, 1, 1)
        inner = outer
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inner, CLASSES))


def timm() -> Any:
    """Return timm's MobileNet v1 of width 1."""
    # timm imports torchvision, whose compiled part from PyPI needs CUDA. Without it, these registrations fail.
    sys.modules["torchvision._meta_registrations"] = types.ModuleType("torchvision._meta_registrations")
    return importlib.import_module("timm").create_model("mobilenetv1_100", num_classes=CLASSES)


def profile(step: Step, count: int) -> dict[str, float]:
    """Return milliseconds a step that PyTorch's operations took themselves, by their names, and ``step``, of all."""
    profiler: Any = importlib.import_module("torch.profiler")
    begin = time.perf_counter()
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as taken:
        for _ in range(count):
            step()
        spent = time.perf_counter() - begin
    operations = {each.key: each.self_cpu_time_total / 1e3 / count for each in taken.key_averages()}
    return {**operations, "step": 1e3 * spent / count}


def main(network: str, way: str, precision: str, threads: int, tree: Path) -> None:
    """Answer until standard input ends."""
    if threads:
        importlib.import_module("torch").set_num_threads(threads)
    step = zoo(network, precision, tree) if way == "zoo" else plain(network, precision, way)
    for line in sys.stdin:
        question = json.loads(line)
        if "profile" in question:
            print(json.dumps({"operations": profile(step, question["profile"])}), flush=True)
            continue
        seconds, used = [], time.process_time()
        for _ in range(question["steps"]):
            begin = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - begin)
        used = (time.process_time() - used) / question["steps"]
        print(json.dumps({"seconds": seconds, "cpu_seconds": used}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), Path([*sys.argv, str(HERE.parents[2])][5]))
