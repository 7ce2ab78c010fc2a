"""Ask stacks of Keras 3 to build, train, resume and export every model; write docs/background/correctness.md.

python scripts/maintenance/frameworks_page.py ask LOG torch mlx         ask stacks, a line in LOG for each model
python scripts/maintenance/frameworks_page.py ask LOG jax --models mnist
python scripts/maintenance/frameworks_page.py write LOG                 replace the rows of the lines in LOG

A line of LOG is of a model, a stack and a version of Keras; a second start asks only what is missing. The reference
is stack torch with a release of Keras: LOG needs its losses of each model (`--losses` asks for nothing else, and such
a line makes no row). To ask a nightly build, lock the stacks with it in another checkout (`python
scripts/lock.py --nightly --platform linux-x86_64`) and give the same LOG there.

Of each model and stack, by commands of the zoo:

* train: a short training with its checkpoints. Losses are compared with those of the reference: same data, order,
  initial weights, and nothing drawn by the framework.
* resume: the same training, whose worker is killed by SIGKILL after its first checkpoint, then resumed. The weights
  are compared with those of the training that was not killed.
* predict and export: `export` of the trained weights. The stack's own answers are compared with those of stack export
  (a release of Keras on TensorFlow), and the answers of each exported file, run by its runtime, with the stack's.
"""

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from zoo.certification import samples, steps
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.core.files import atomic_write
from zoo.environments import machine, stacks, store
from zoo.protocol.events import ResumeEvent
from zoo.runs import event_log, result
from zoo.tasks import registry

PAGE = ROOT / "docs" / "background" / "correctness.md"
MARKS = ("<!-- frameworks -->", "<!-- end of frameworks -->")
REFERENCE = "torch"
FORMATS = ("onnx", "litert", "openvino", "savedmodel", "coreml")
STYLE = "trainer.steps=4 trainer.report=1 trainer.size=32 model.filters=4 model.blocks=1 features=random"
IMAGE = "features=random size=64 min_size=64 steps=6 every=0 precision=float32"
# What steps.first_epoch_settings has no settings for.
OWN = {
    "mnist_conv5": "data=digits data.train_limit=512 trainer.batch_size=32 trainer.learning_rate=0.001",
    "mobilenet_v2": "data=folder data.root={samples}/shapes data.layout=classes model.input_size=64"
    " model.alpha=0.35 model.bn_momentum=0.5 augment.flip=false augment.crop=0 trainer.batch_size=32"
    " trainer.optimizer=adam trainer.learning_rate=0.0001 trainer.schedule=constant trainer.warmup=0",
    "style_transfer/fast": STYLE,
    "style_transfer": IMAGE,
}
MODELS = ("mnist_dense", "mnist", "mobilenet", "transformer/classifier", "transformer/lm", *OWN)
EPOCHS = 2
Line = dict[str, Any]


def main() -> int:
    """Run the command line and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    ask = actions.add_parser("ask", help="ask stacks and append lines to LOG")
    ask.add_argument("log", type=Path)
    ask.add_argument("stacks", nargs="+")
    ask.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    ask.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    ask.add_argument("--losses", action="store_true", help="train once, without a kill and without exports")
    write = actions.add_parser("write", help="write the tables of LOG into docs/background/correctness.md")
    write.add_argument("log", type=Path)
    options = parser.parse_args()
    if options.action == "write":
        _write(_lines(options.log))
        return 0
    for stack in options.stacks:
        for model in options.models:
            _ask(options.log, stack, model, () if options.losses else options.formats)
    return 0


def _lines(log: Path) -> list[Line]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.is_file() else []


def _ask(log: Path, stack: str, model: str, formats: Sequence[str]) -> None:
    """Append the line of a stack and a model, unless it is there; without formats only its losses."""
    versions = store.ensure(stacks.load(stack), machine.probe().platform).versions
    keras = versions.get("keras-nightly") or versions["keras"]
    if any((row["stack"], row["keras"], row["model"]) == (stack, keras, model) for row in _lines(log)):
        return
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), stack, model)
        line: Line = {"model": model, "stack": stack, "keras": keras, "framework": stacks.load(stack).framework}
        line |= place.trained(bool(formats)) if stacks.load(stack).trains else place.borrowed()
        if formats and model != "style_transfer" and (place.folder / "whole").is_dir():
            done = place.exported(formats)
            line |= {**done, "refused": {**line.get("refused", {}), **done.pop("refused", {})}}
    line["seconds"] = round(time.monotonic() - began, 1)
    with log.open("a", encoding="utf-8") as out:
        out.write(json.dumps(line) + "\n")
    print(json.dumps(line), flush=True)


class Place:
    """A model on a stack, and the folder of its runs."""

    def __init__(self, folder: Path, stack: str, model: str) -> None:
        self.folder, self.stack, self.model = folder, stack, model
        backend = "openvino" if stack == "openvino" else "cpu"
        drawn = samples.draw(folder / "samples")
        own = [f"model={model}", *OWN[model].format(samples=drawn).split()] if model in OWN else None
        settings = own or steps.first_epoch_settings(model, drawn)
        epochs = [f"trainer.epochs={EPOCHS}"] if model.partition("/")[0] != "style_transfer" else []
        often = "checkpoint_minutes=0.0001" if model == "style_transfer" else "trainer.checkpoint_minutes=0.0001"
        # With the averages of a long training, batch normalization shrinks what so short a training says to nothing.
        settings = [re.sub(r"(bn_momentum)=.*", r"\1=0.5", word) for word in settings]
        kept = [word for word in settings if not (epochs and word.startswith("trainer.epochs="))]
        where = [f"backend={backend}", f"stack={stack}", "backend.probes=false", f"output.root={folder}"]
        self.words = list(dict.fromkeys([*kept, *epochs, often, "seed=1", *where]))

    def trained(self, resume: bool) -> Line:
        """Train; if ``resume``, train again with a kill in between."""
        try:
            whole = registry.dispatch("train", Overrides.parse([*self.words, "output.name=whole"])).folder
        except ZooError as error:
            return {"refused": {"train": error.message}}
        return {"losses": _losses(whole)} | ({"resumed": self._resumed(whole)} if resume else {})

    def _resumed(self, whole: Path) -> Line:
        """Kill the worker after its first checkpoint, resume, and compare with the run that was not killed."""
        folder = self.folder / "cut"
        command = [sys.executable, "-m", "zoo", "train", *self.words, "output.name=cut"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as host:
            while host.poll() is None and not _checkpoints(folder):
                time.sleep(0.005)
            for worker in psutil.Process(host.pid).children() if host.poll() is None else []:
                worker.kill()
        if result.open_run(folder).exit == "completed":
            return {"done": None, "difference": None}  # it was over before it could be killed
        registry.dispatch("train", Overrides.parse([f"resume={folder}"]))
        done = [event.done for event in event_log.read(folder / "events.jsonl") if isinstance(event, ResumeEvent)]
        return {"done": done[-1] if done else None, "difference": _difference(whole, folder)}

    def borrowed(self) -> Line:
        """Let a stack that does not train have a training of the reference, as a run of its own."""
        try:
            registry.dispatch("train", Overrides.parse([*self.words, "output.name=refused"]))
        except ZooError as error:
            refused = error.message
        reference = Place(self.folder, REFERENCE, self.model)
        whole = registry.dispatch("train", Overrides.parse([*reference.words, "output.name=whole"])).folder
        record = json.loads((whole / "run.json").read_text(encoding="utf-8"))
        record["stack"]["name"], record["backend"] = self.stack, self.stack
        (whole / "run.json").write_text(json.dumps(record), encoding="utf-8")
        return {"refused": {"train": refused}}

    def exported(self, formats: Sequence[str]) -> Line:
        """Export the training; the difference of each format that its runtime ran."""
        words = [f"run={self.folder / 'whole'}", f"format={','.join(formats)}", "compare_to=run"]
        words += [f"output.root={self.folder}", "output.name=exported", "max_difference=1"]
        try:
            record = registry.dispatch("export", Overrides.parse(words)).record
        except ZooError as error:
            return {"exports": {}, "refused": {"export": error.message}}
        compared = record["compared_with"]
        rows = {row["format"]: row["difference"] if row["ran"] else row["not_run"] for row in record["exports"]}
        return {"outputs": compared["rebuilt_difference"], "items": compared["items"], "exports": rows}


def _checkpoints(folder: Path) -> bool:
    return any((folder / "checkpoints").glob("*.json")) or any((folder / "steps").glob("*.json"))


def _losses(folder: Path) -> list[float]:
    """Return the losses of a run, in order."""
    table = next(path for path in (folder / "history.csv", folder / "losses.csv") if path.is_file())
    with table.open(newline="", encoding="utf-8") as rows:
        return [float(row[name]) for row in csv.DictReader(rows) for name in ("loss", "val_loss") if row.get(name)]


def _difference(whole: Path, cut: Path) -> float:
    """Return the largest difference of a weight, or of a color of an image that was optimized."""
    if not (whole / "weights.npz").is_file():
        from PIL import Image

        one, other = (np.asarray(Image.open(path / "picture.png"), np.float32) for path in (whole, cut))
        return float(np.abs(one - other).max())
    one, other = (np.load(path / "weights.npz") for path in (whole, cut))
    return max(float(np.abs(one[name] - other[name]).max()) for name in one.files)


def _write(lines: list[Line]) -> None:
    """Replace rows between the marks of the page."""
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    earlier, after = rest.split(MARKS[1])
    atomic_write(PAGE, f"{before}{MARKS[0]}\n{table(lines, earlier)}\n{MARKS[1]}{after}")


def table(lines: list[Line], earlier: str = "") -> str:
    """Return the table in Markdown, with the sentences of what was refused below it.

    A row of ``earlier``, the table so far, stays if no line is of its stack, its model, and a Keras of its kind: a
    release or a nightly build. Its sentences stay with it.
    """
    reference = {row["model"]: row["losses"] for row in lines if row["stack"] == REFERENCE and _released(row)}
    asked = [line for line in lines if "resumed" in line or line.get("refused")]
    new = {(not _released(line), line["stack"], line["model"]): _row(line, reference) for line in asked}
    kept = {key: cells for key, cells in _rows(earlier).items() if key not in new}
    rows = sorted((kept | new).items(), key=lambda row: (*row[0][:2], MODELS.index(row[0][2])))
    refused = [
        f"- `{line['stack']}`, {verb}: {sentence.splitlines()[0]}"
        for line in asked
        for verb, sentence in line.get("refused", {}).items()
    ]
    stays = {f"- `{stack}`," for _, stack, _ in kept}
    refused += [each for each in earlier.splitlines() if each.startswith(tuple(stays))] if stays else []
    heading = [
        "| stack | Keras | model | build | predict | train | resume | export |",
        "|---|---|---|---|---|---|---|---|",
    ]
    body = [f"| {' | '.join(cells)} |" for _, cells in rows]
    return "\n".join([*heading, *body, "", "Refused:", "", *sorted(set(refused))])


def _rows(earlier: str) -> dict[tuple[bool, str, str], list[str]]:
    """Return the rows of a table in Markdown by kind of Keras, stack and model."""
    lines = [line for line in earlier.splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    return {("dev" in keras, stack, model): row for row in cells for stack, keras, model in [row[:3]]}


def _row(line: Line, reference: dict[str, list[float]]) -> list[str]:
    exports = {name: each for name, each in line.get("exports", {}).items() if isinstance(each, float)}
    count = len(line.get("exports", {}))
    return [
        line["stack"],
        line["keras"],
        line["model"],
        "yes" if line.get("losses") or exports else "no",
        f"{line['outputs']:.1e}" if line.get("outputs") is not None else "",
        _of_losses(line, reference),
        _of_resumed(line.get("resumed")),
        f"{count} format{'s' * (count != 1)}, {max(exports.values()):.1e}" if exports else "",
    ]


def _released(line: Line) -> bool:
    return "dev" not in line["keras"]


def _of_losses(line: Line, reference: dict[str, list[float]]) -> str:
    """Return the largest difference of a loss from that of the reference, as a share of it."""
    own, theirs = line.get("losses"), reference.get(line["model"])
    if not own:
        return "refused" if "train" in line.get("refused", {}) else ""
    if not theirs:
        return "yes"
    if own is theirs:
        return "reference"
    return f"{max(abs(one / other - 1) for one, other in zip(own, theirs, strict=True)):.1e}"


def _of_resumed(resumed: Line | None) -> str:
    if not resumed or resumed["done"] is None:
        return ""
    return "same bits" if resumed["difference"] == 0 else f"differs by {resumed['difference']:.2g}"


if __name__ == "__main__":
    sys.exit(main())
