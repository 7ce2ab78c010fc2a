"""Time to a loss: the method of Keras's own style-transfer example against the zoo's, in one run.

    python scripts/bench/style_speed.py CONTENT STYLE VGG19_WEIGHTS [ROWS [STEPS]]

Same features (VGG19, as far as the weights reach), same loss, same start. The example takes its steps in two parts
and after each the zoo goes all the way to the loss that the example ends with, on each stack. That loss must be known
first: the example's 400 steps are taken with one picture in place of three, which gives the same numbers; how far the
example's own losses are from those is printed. With fewer STEPS than 400 its time is scaled up.

Each side computes in one thread, and processor seconds are counted, so that other work on the machine counts for
neither.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from zoo import artwork, envs, featurechoice, machine, stacks

HERE = Path(__file__).resolve()
STEPS = 400
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
WAYS = (("torch", "bfloat16"), ("torch", "float32"), ("tf-2.21", "float32"))


class Side:
    """A worker that waits for orders."""

    def __init__(self, stack: str, arrays: Path, weights: Path) -> None:
        made = envs.ensure(stacks.load(stack), machine.probe().platform)
        checkout = str(HERE.parents[2])
        command = [
            str(made.python),
            "-I",
            "-B",
            str(HERE.with_name("style_worker.py")),
            checkout,
            str(arrays),
            str(weights),
        ]
        variables = envs.child_environment(stacks.load(stack)) | {"ZOO_KERAS": stacks.load(stack).keras} | ONE_THREAD
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
    """Print the table."""
    if len(argv) not in (3, 4, 5):
        print(__doc__)
        return 2
    content, style = Path(argv[0]), Path(argv[1])
    rows, steps = (int(text) for text in [*argv[3:], *("400", "400")[len(argv) - 3 :]])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        photo = artwork.opened(content, "content").pixels
        # A multiple of 16, so that both sides see exactly the same picture.
        shape = (rows // 16 * 16, round(rows * photo.shape[1] / photo.shape[0] / 16) * 16)
        pictures = {"content": photo, "style": artwork.opened(style, "style").pixels}
        np.savez(folder / "arrays.npz", **{name: artwork.sized(each, *shape) for name, each in pictures.items()})  # type: ignore[arg-type]
        featurechoice.write(folder / "weights.npz", featurechoice.choose("vgg19", argv[2]))
        print(f"{content.name} in the style of {style.name}, {shape[1]} x {shape[0]} pixels", flush=True)
        compare(folder, steps)
    return 0


def compare(folder: Path, steps: int) -> None:
    """Run both ways in turns and print what was measured."""
    paths = (folder / "arrays.npz", folder / "weights.npz")
    example = Side("tf-2.21", *paths)
    sides = {stack: Side(stack, *paths) for stack in dict(WAYS)}
    known = sides["tf-2.21"].ask(do="descend", steps=STEPS)["losses"]
    print(f"the example's loss after {STEPS} steps: {known[-1]:.1f}, at the start {known[0]:.1f}", flush=True)
    taken, ours = list[dict[str, Any]](), {way: list[float]() for way in WAYS}
    for _ in range(2):
        taken.append(example.ask(do="example", steps=steps // 2))
        print(f"example, {steps // 2} steps: {taken[-1]['seconds']:.1f} s", flush=True)
        for way in WAYS:
            saved = folder / "picture.npy"
            found = sides[way[0]].ask(do="ours", target=known[-1], precision=way[1], save=str(saved))
            true = sides["tf-2.21"].ask(do="judge", path=str(saved))["loss"]
            ours[way].append(found["seconds"] or float("nan"))
            told = f"{found['seconds']:.1f} s" if found["seconds"] else "not reached"
            print(f"ours, {' '.join(way)}: {told}, {found['steps']} steps, loss {true:.1f} in float32", flush=True)
    losses = np.array([loss for part in taken for loss in part["losses"]])
    apart = np.abs(losses / known[: len(losses)] - 1).max()
    whole = sum(part["seconds"] for part in taken) / len(losses) * STEPS
    print(f"the example's own {len(losses)} losses are within {apart:.1e} of those; {STEPS} steps take {whole:.0f} s")
    for way, seconds in ours.items():
        print(f"{' '.join(way)}: {np.mean(seconds):.1f} s, {whole / float(np.mean(seconds)):.1f} times faster")
    for side in [*sides.values(), example]:
        side.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
