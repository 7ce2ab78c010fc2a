"""Pictures a second: the zoo's training loop against Keras's own ``fit``, on one stack, in one run.

python scripts/benchmarks/training_loop.py [--stack tf-2.21] [--rounds 5]

The three ways take turns, so that a machine whose speed drifts slows all of them: ``fit`` as Keras compiles it by
itself (``jit_compile="auto"``: XLA where it thinks it can), ``fit`` without XLA, and the zoo's loop. The network is
``mnist``, the pictures are random: their content does not matter for the time.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
ITEMS, BATCH = 12_800, 128


def main() -> int:
    """Time the three ways in the stack's own interpreter and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", default="tf-2.21")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="a JSON file for ratios.py")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.inside:
        inside(told.rounds)
        return 0
    sys.path.insert(0, str(ROOT))
    from zoo.environments import machine, stacks, store

    stack = stacks.load(told.stack)
    ready = store.ensure(stack, machine.probe().platform)
    command = [str(ready.python), "-I", "-B", __file__, "--inside", "--rounds", str(told.rounds)]
    answer = subprocess.run(
        command, env={**store.child_environment(stack), "ZOO_KERAS": stack.keras}, stdout=subprocess.PIPE, check=True
    )
    times: dict[str, list[float]] = json.loads(answer.stdout.splitlines()[-1])
    zoo = times["the zoo's loop"]
    print(f"{told.stack}, mnist, batch {BATCH}, {ITEMS:,} pictures a round, {told.rounds} rounds")
    rows = []
    for name, rates in times.items():
        ratio = statistics.median(own / other for own, other in zip(zoo, rates, strict=True))
        low, middle, high = statistics.quantiles(rates, n=4)
        if name != "the zoo's loop":
            ratio_of = [own / other for own, other in zip(zoo, rates, strict=True)]
            rows.append((f"mnist, training, batch {BATCH}", told.stack, name, ratio_of))
        print(f"{name:<28} {middle:8,.0f} items/s ({low:,.0f} to {high:,.0f})   zoo / this: {ratio:.2f}")
    if told.output:
        sys.path.insert(0, str(Path(__file__).parent))
        import ratios

        ratios.write(told.output, [ratios.row(*row) for row in rows])
    return 0


def inside(rounds: int) -> None:
    """The timing itself; runs where Keras is."""
    import importlib
    import runpy
    import time

    runpy.run_path(str(ROOT / "zoo" / "worker" / "bootstrap.py"))
    import numpy as np

    compat, mnist = (importlib.import_module(f"zoo.models.{name}") for name in ("compat", "mnist"))
    x = np.random.RandomState(0).randint(0, 256, (ITEMS, 28, 28, 1)).astype(np.uint8)
    y = np.eye(10, dtype=np.float32)[np.random.RandomState(1).randint(0, 10, ITEMS)]
    ready = mnist.preprocess(x)

    def fit(model: object) -> None:
        model.fit(ready, y, batch_size=BATCH, epochs=1, verbose=0)  # type: ignore[attr-defined]

    def loop(model: object) -> None:
        means = compat.RunningMeans(model)
        for begin in range(0, ITEMS, BATCH):
            compat.set_learning_rate(model, 0.001)
            means.train(mnist.preprocess(x[begin : begin + BATCH]), y[begin : begin + BATCH])

    ways = {
        "fit, as Keras compiles it": (fit, "auto"),
        "fit, without XLA": (fit, False),
        "the zoo's loop": (loop, False),
    }
    prepared = {}
    for name, (run, jit) in ways.items():
        model = mnist.build(compat)
        extra = {"jit_compile": jit} if compat.MAJOR >= 3 else {}
        model.compile(
            loss="categorical_crossentropy", optimizer=compat.optimizer("adam", 0.001), metrics=["accuracy"], **extra
        )
        run(model)
        prepared[name] = (run, model)
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (run, model) in prepared.items():
            began = time.perf_counter()
            run(model)
            rates[name].append(ITEMS / (time.perf_counter() - began))
    print(json.dumps(rates))


if __name__ == "__main__":
    sys.exit(main())
