"""Style transfer, time to a loss: the method of Keras's example against the zoo's, in turns.

    python scripts/benchmarks/style_transfer.py goal CONTENT STYLE VGG19_WEIGHTS FOLDER [ROWS]
    python scripts/benchmarks/style_transfer.py compare FOLDER [STEPS [STACK:PRECISION ...]] [--output FILE.json]

Same features (VGG19, as far as the weights reach), same loss, same start. The final loss of the example must be known
first: ``goal`` takes its 400 steps with one image in place of three, which gives the same numbers sooner, for at most
three minutes a call; repeat it until it prints that it is done. ``compare`` then alternates some of the example's own
steps with the zoo's whole way to that loss. It prints how far the example's own losses are from the goal's, and
scales its time to 400 steps. The zoo's result is evaluated in float32 by TensorFlow. Times are wall time and
processor time.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from scripts.benchmarks import common
from zoo.tasks.style_transfer import images
from zoo.weights import feature_networks, feature_weights

STEPS = 400
PATIENCE_S = 180.0
WAYS = ("torch:bfloat16", "torch:bfloat16")
GOAL_STACK = "tf-2.21"
WHAT = "style transfer, to the loss of the example after 400 steps"
AGAINST = "Keras's example, tf-2.21, float32"


def worker(stack: str, folder: Path) -> common.WorkerProcess:
    """Start the worker of a stack."""
    return common.WorkerProcess(stack, "style.py", common.ROOT, folder / "arrays.npz", folder / "weights.npz")


def main(argv: list[str]) -> int:
    """Run one of the two commands."""
    if len(argv) in (5, 6) and argv[0] == "goal":
        goal(Path(argv[1]), Path(argv[2]), Path(argv[3]), Path(argv[4]), int([*argv, "400"][5]))
    elif len(argv) >= 2 and argv[0] == "compare":
        words = argv[: argv.index("--output")] if "--output" in argv else argv
        ratios = compare(Path(argv[1]), int([*words, "20"][2]), tuple(words[3:]) or WAYS)
        rows = [(WHAT, way.replace(":", ", "), AGAINST, times) for way, times in ratios.items()]
        common.write_ratios(Path(argv[-1]) if words != argv else None, rows)
    else:
        print(__doc__)
        return 0 if argv in (["-h"], ["--help"]) else 2
    return 0


def goal(content: Path, style: Path, weights: Path, folder: Path, rows: int) -> None:
    """Continue the example's steps and store the state in ``folder``."""
    if not (folder / "weights.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        photo = images.opened(content, "content").pixels
        shape = (rows, round(rows * photo.shape[1] / photo.shape[0]))
        pictures = {"content": photo, "style": images.opened(style, "style").pixels}
        np.savez(folder / "arrays.npz", **{name: images.sized(each, *shape) for name, each in pictures.items()})  # type: ignore[arg-type]
        feature_weights.write(folder / "weights.npz", feature_networks.choose("vgg19", str(weights)).arrays or {})
    process = worker(GOAL_STACK, folder)
    state = process.ask(do="descend", steps=STEPS, state=str(folder / "goal.npz"), seconds=PATIENCE_S)
    status = "done" if state["done"] == STEPS else "again"
    print(f"{state['done']} of {STEPS} steps, loss {state['loss']:.1f}: {status}")
    process.close()


def compare(folder: Path, steps: int, ways: tuple[str, ...]) -> dict[str, list[float]]:
    """Run both ways in turns, print the measurements, and return how many times faster each turn was."""
    with np.load(folder / "goal.npz") as stored:
        known = stored["losses"]
    if len(known) <= STEPS:
        raise SystemExit("The goal is not known yet: call `goal` until it is done.")
    workers = {name: worker(name, folder) for name in {GOAL_STACK, *(way.partition(":")[0] for way in ways)}}
    print(f"the example's loss: {known[0]:.1f} at the start, {known[-1]:.1f} after {STEPS} steps", flush=True)
    taken, ours = list[dict[str, Any]](), dict[str, list[float]]()
    share = steps // (len(ways) + 1)
    workers[GOAL_STACK].ask(do="example", steps=1)  # where it is compiled
    for way in (None, *ways):
        if way is not None:
            ours.setdefault(way, []).append(_ours(workers, way, float(known[-1]), folder))
        taken.append(workers[GOAL_STACK].ask(do="example", steps=share))
        print(f"example, {share} steps: {_seconds(taken[-1])}", flush=True)
    losses = np.array([loss for part in taken for loss in part["losses"]])
    difference = np.abs(losses / known[1 : 1 + len(losses)] - 1).max()
    whole = sum(part["seconds"] for part in taken) / len(losses) * STEPS
    print(
        f"the example's own {len(losses)} losses differ by at most {difference:.1e}; {STEPS} steps take {whole:.0f} s"
    )
    for way, seconds in ours.items():
        mean = float(np.mean(seconds))
        print(f"{way}: {mean:.1f} s, {whole / mean:.1f} times faster")
    for process in workers.values():
        process.close()
    return {way: [whole / each for each in seconds] for way, seconds in ours.items()}


def _ours(workers: dict[str, common.WorkerProcess], way: str, target: float, folder: Path) -> float:
    """Return the seconds until the zoo reaches the target; NaN if it does not when evaluated in float32."""
    stack, _, precision = way.partition(":")
    saved = folder / "picture.npy"
    result = workers[stack].ask(do="ours", target=target, precision=precision, save=str(saved))
    true = workers[GOAL_STACK].ask(do="judge", path=str(saved))["loss"]
    print(f"ours, {way}: {_seconds(result)}, {result['looks']} evaluations, loss {true:.1f} in float32", flush=True)
    return float(result["seconds"]) if true <= target else float("nan")


def _seconds(result: dict[str, Any]) -> str:
    return f"{result['seconds']:.1f} s (processors {result['cpu']:.1f} s)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
