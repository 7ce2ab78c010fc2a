"""Time to a loss: the method of Keras's own style-transfer example against the zoo's, in one run.

    python scripts/benchmarks/style_transfer.py goal CONTENT STYLE VGG19_WEIGHTS FOLDER [ROWS]
    python scripts/benchmarks/style_transfer.py compare FOLDER [STEPS [STACK:PRECISION ...]] [--output FILE.json]

Same features (VGG19, as far as the weights reach), same loss, same start. The loss that the example ends with must be
known first: ``goal`` takes its 400 steps with one picture in place of three, which gives the same numbers sooner, for
at most three minutes a call; call it until it says that it is done. ``compare`` then takes some of the example's own
steps, lets the zoo go all the way to that loss, takes some more, and so on in turns; it tells how far the example's
own losses are from the goal's, and scales its time up to 400 steps. What the zoo reached is judged in float32 by
TensorFlow. Seconds are those of the clock, with those of all processors beside them.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from zoo.environments import machine, stacks, store
from zoo.tasks.style_transfer import images
from zoo.weights import feature_networks

HERE = Path(__file__).resolve()
STEPS = 400
PATIENCE_S = 180.0
WAYS = ("torch:bfloat16", "torch:bfloat16")
GOAL_STACK = "tf-2.21"
WHAT = "style transfer, to the loss of the example after 400 steps"
AGAINST = "Keras's example, tf-2.21, float32"


class Side:
    """A worker that waits for orders."""

    def __init__(self, stack: str, folder: Path) -> None:
        made = store.ensure(stacks.load(stack), machine.probe().platform)
        checkout = str(HERE.parents[2])
        command = [
            str(made.python),
            "-I",
            "-B",
            str(HERE.with_name("workers") / "style.py"),
            checkout,
            str(folder / "arrays.npz"),
            str(folder / "weights.npz"),
        ]
        variables = store.child_environment(stacks.load(stack)) | {"ZOO_KERAS": stacks.load(stack).keras}
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the worker lives)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=variables,
            text=True,
        )

    def ask(self, **order: Any) -> dict[str, Any]:
        """Give an order and wait for the answer."""
        assert self._process.stdin is not None  # noqa: S101  (asked for above)
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise RuntimeError(self._log.read().decode("utf-8", "replace")[-2000:])
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin is not None  # noqa: S101
        self._process.stdin.close()
        self._process.wait()


def main(argv: list[str]) -> int:
    """Do one of the two."""
    if len(argv) in (5, 6) and argv[0] == "goal":
        goal(Path(argv[1]), Path(argv[2]), Path(argv[3]), Path(argv[4]), int([*argv, "400"][5]))
    elif len(argv) >= 2 and argv[0] == "compare":
        words = argv[: argv.index("--output")] if "--output" in argv else argv
        found = compare(Path(argv[1]), int([*words, "20"][2]), tuple(words[3:]) or WAYS)
        if words != argv:
            import ratios

            rows = [ratios.row(WHAT, way.replace(":", ", "), AGAINST, times) for way, times in found.items()]
            ratios.write(Path(argv[-1]), rows)
    else:
        print(__doc__)
        return 2
    return 0


def goal(content: Path, style: Path, weights: Path, folder: Path, rows: int) -> None:
    """Go on with the example's steps, and keep how far that came in ``folder``."""
    if not (folder / "weights.npz").exists():
        folder.mkdir(parents=True, exist_ok=True)
        photo = images.opened(content, "content").pixels
        shape = (rows, round(rows * photo.shape[1] / photo.shape[0]))
        pictures = {"content": photo, "style": images.opened(style, "style").pixels}
        np.savez(folder / "arrays.npz", **{name: images.sized(each, *shape) for name, each in pictures.items()})  # type: ignore[arg-type]
        feature_networks.write(folder / "weights.npz", feature_networks.choose("vgg19", str(weights)))
    side = Side(GOAL_STACK, folder)
    told = side.ask(do="descend", steps=STEPS, state=str(folder / "goal.npz"), seconds=PATIENCE_S)
    print(f"{told['done']} of {STEPS} steps, loss {told['loss']:.1f}: {'done' if told['done'] == STEPS else 'again'}")
    side.close()


def compare(folder: Path, steps: int, ways: tuple[str, ...]) -> dict[str, list[float]]:
    """Run both ways in turns, print what was measured, and return how many times faster each turn was."""
    with np.load(folder / "goal.npz") as stored:
        known = stored["losses"]
    if len(known) <= STEPS:
        raise SystemExit("The goal is not known yet: call `goal` until it is done.")
    sides = {name: Side(name, folder) for name in {GOAL_STACK, *(way.partition(":")[0] for way in ways)}}
    print(f"the example's loss: {known[0]:.1f} at the start, {known[-1]:.1f} after {STEPS} steps", flush=True)
    taken, ours = list[dict[str, Any]](), dict[str, list[float]]()
    share = steps // (len(ways) + 1)
    sides[GOAL_STACK].ask(do="example", steps=1)  # where it is compiled
    for way in (None, *ways):
        if way is not None:
            ours.setdefault(way, []).append(_ours(sides, way, float(known[-1]), folder))
        taken.append(sides[GOAL_STACK].ask(do="example", steps=share))
        print(f"example, {share} steps: {_seconds(taken[-1])}", flush=True)
    losses = np.array([loss for part in taken for loss in part["losses"]])
    apart = np.abs(losses / known[1 : 1 + len(losses)] - 1).max()
    whole = sum(part["seconds"] for part in taken) / len(losses) * STEPS
    print(f"the example's own {len(losses)} losses are within {apart:.1e} of those; {STEPS} steps take {whole:.0f} s")
    for way, seconds in ours.items():
        mean = float(np.mean(seconds))
        print(f"{way}: {mean:.1f} s, {whole / mean:.1f} times faster")
    for side in sides.values():
        side.close()
    return {way: [whole / each for each in seconds] for way, seconds in ours.items()}


def _ours(sides: dict[str, Side], way: str, target: float, folder: Path) -> float:
    """Seconds until the zoo is as far; not a number where, judged in float32, it is not."""
    stack, _, precision = way.partition(":")
    saved = folder / "picture.npy"
    found = sides[stack].ask(do="ours", target=target, precision=precision, save=str(saved))
    true = sides[GOAL_STACK].ask(do="judge", path=str(saved))["loss"]
    print(f"ours, {way}: {_seconds(found)}, {found['looks']} looks, loss {true:.1f} in float32", flush=True)
    return float(found["seconds"]) if true <= target else float("nan")


def _seconds(told: dict[str, Any]) -> str:
    return f"{told['seconds']:.1f} s (processors {told['cpu']:.1f} s)"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
