"""Measure "Exports outside the zoo" in docs/background/benchmarks.md: answers of predict.py and of `infer`.

python scripts/benchmarks/outside.py --data ~/data --runs runs/exports
python scripts/benchmarks/outside.py --data ~/data --runs runs/exports --photos photos/ --only mobilenet

Every model answers 200 files by `infer`, and by the predict.py of each of its exports, copied out of the zoo, in an
isolated process without it: images of all sizes and kinds, texts, or a text continued by 200 tokens. A style
network restyles 20 images. The data are those of export.py in the same folder.
"""

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np
from PIL import Image

from scripts.benchmarks import export
from scripts.benchmarks.common import parser, zoo
from zoo.data import idx
from zoo.environments import machine, stacks, store
from zoo.tasks import export_examples

ASKED = "output.name=asked"
COUNT, FORMATS = 200, ("onnx", "litert", "openvino", "savedmodel")
HEADINGS = ["model", "format", "answers", "changed", "largest difference"]
# In the folder of an export alone.
ASK = """
import json, sys
sys.path.insert(0, "")
import numpy as np
import predict
call = getattr(predict, sys.argv[1])
np.savez(sys.argv[2], *[np.array(call(*each)) for each in json.load(sys.stdin)])
"""


@dataclasses.dataclass(frozen=True)
class Answers:
    """What `infer` said: its answers, and the arguments of predict.py for the same."""

    values: list[Any]
    questions: list[list[Any]]
    function: str = "predict"


def outside(folder: Path, answers: Answers) -> list[Any]:
    """Return the answers of an export, in a process that has only a copy of its folder."""
    row = stacks.load("export")
    python = store.ensure(row, machine.probe().platform).python
    with tempfile.TemporaryDirectory() as scratch:
        place, out = Path(scratch) / "copy", Path(scratch) / "answers.npz"
        shutil.copytree(folder, place)
        command = [str(python), "-I", "-B", "-c", ASK, answers.function, str(out)]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
        question = json.dumps(answers.questions)
        subprocess.run(command, cwd=place, input=question, text=True, env=environment, check=True)
        with np.load(out) as stored:
            return [stored[name] for name in stored.files]


def compared(answers: Answers, ours: list[Any]) -> list[str]:
    """Return count, changed answers and the largest difference, as cells of the table."""
    theirs = [np.asarray(value) for value in answers.values]
    if answers.function == "continued":
        changed = sum(one != other for one, other in zip(str(ours[0]), str(theirs[0]), strict=True))
        return [f"{len(str(theirs[0]))} tokens", str(changed), ""]
    if theirs[0].dtype == np.uint8:  # pixels
        levels = max(int(np.abs(a.astype(int) - b).max()) for a, b in zip(ours, theirs, strict=True))
        return [f"{len(theirs)} images", "", f"{levels} of 255"]
    changed = sum(a.argmax() != b.argmax() for a, b in zip(ours, theirs, strict=True))
    most = max(float(np.abs(a - b).max()) for a, b in zip(ours, theirs, strict=True))
    return [str(len(theirs)), str(changed), f"{most:.1e}"]


def _files(pixels: "list[np.ndarray[Any, Any]]", folder: Path, count: int = COUNT) -> list[Path]:
    """Write so many image files of all kinds."""
    folder.mkdir()
    paths: list[Path] = []
    for part in range(count // export_examples.COUNT):
        shown = [pixels[(part * export_examples.COUNT + n) % len(pixels)] for n in range(export_examples.COUNT)]
        paths += export_examples.images(shown, folder / f"{part:02d}")
    return paths


def images(settings: list[str], files: list[Path], folder: Path, color: bool) -> Answers:
    more = ["probabilities=true", "sheets=0"] if color else []
    record = zoo("infer", [*settings, f"input={folder / 'files'}", f"output.root={folder}", ASKED, *more])
    assert record["data"]["items"] == len(files)  # noqa: S101
    values = np.load(folder / "asked" / "probabilities.npy")
    return Answers(list(values), [[str(path)] for path in sorted(files)])


def texts(settings: list[str], places: Mapping[str, str], folder: Path) -> Answers:
    given = (Path(places["data"]) / "text" / "rt-polarity.neg").read_text(encoding="latin-1").splitlines()
    lines = [" ".join(text.split()) for part in range(0, COUNT, 20) for text in export_examples.texts(given[part:])]
    (folder / "texts.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    words = [
        f"input={folder / 'texts.txt'}",
        "data.lines=true",
        "data.encoding=utf-8",
        f"output.root={folder}",
        ASKED,
    ]
    zoo("infer", [*settings, *words])
    values = np.load(folder / "asked" / "probabilities.npy")
    return Answers(list(values), [[line] for line in lines])


def tokens(settings: list[str], folder: Path) -> Answers:
    prompt = "To be, or not"
    words = [f"prompt={prompt}", f"length={COUNT}", "temperature=0", f"output.root={folder}", ASKED]
    zoo("infer", [*settings, *words])
    text = (folder / "asked" / "generated.txt").read_text(encoding="utf-8")
    return Answers([text[len(prompt) :]], [[prompt, COUNT, 0]], "continued")


def styled(settings: list[str], folder: Path) -> Answers:
    pixels = [np.asarray(Image.open(path).resize((60, 47))) for path in _photos(None)]
    files = _files(pixels, folder / "files", 20)
    record = zoo("infer", [*settings, f"input={folder / 'files'}", f"save={folder / 'out'}", f"output.root={folder}"])
    results = {Path(name).stem: np.asarray(Image.open(name).convert("RGB")) for name in record["results"]}
    kept = [path for path in files if path.suffix in (".png", ".bmp") and "A" not in path.stem.split("-")[1]]
    return Answers([results[path.stem] for path in kept], [[str(path)] for path in kept])


def _photos(folder: str | None) -> list[Path]:
    from zoo.data.sources import bundled_photos

    if folder in (None, "null"):
        return list(bundled_photos())
    return sorted(path for path in Path(folder).iterdir() if path.is_file())


def measure(source: export.Source, runs: Path, places: Mapping[str, str]) -> list[list[str]]:
    """Return the rows of a model."""
    settings = [f"run={export.trained(source, runs, places)}"] if source.train else []
    settings += [text.format(**places) for text in source.export if text.startswith(("model", "weights"))]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        answers = _asked(source, settings, places, folder)()
        words = [*settings, f"format={','.join(FORMATS)}", "items=200", f"output={folder / 'exported'}"]
        zoo("export", [*words, f"output.root={folder}", *_inputs(source, places)])
        name = source.name.partition(", run of")[0]
        return [[name, each, *compared(answers, outside(folder / "exported" / each, answers))] for each in FORMATS]


def _inputs(source: export.Source, places: Mapping[str, str]) -> list[str]:
    return [text.format(**places) for text in source.export if text.startswith("input")]


def _asked(
    source: export.Source, settings: list[str], places: Mapping[str, str], folder: Path
) -> Callable[[], Answers]:
    if "classifier" in source.name:
        return lambda: texts(settings, places, folder)
    if "lm" in source.name:
        return lambda: tokens(settings, folder)
    if "style" in source.name:
        return lambda: styled(settings, folder)
    if source.name.startswith("mnist"):
        digits = idx.read(Path(places["data"]) / "mnist" / "t10k-images-idx3-ubyte.gz", (28, 28))[:COUNT]
        return lambda: images(settings, _files(list(digits[..., None]), folder / "files"), folder, color=False)
    clothes = sorted((Path(places["clothes"]) / "test").rglob("*.png"))[:: 1000 // COUNT]
    paths = _photos(places["photos"]) if "ImageNet" in source.name else clothes
    pixels = [np.asarray(Image.open(path).convert("RGB").resize((97, 90))) for path in paths]
    return lambda: images(settings, _files(pixels, folder / "files"), folder, color=True)


def main(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    options_of = parser(__doc__, output=False)
    options_of.add_argument("--data", type=Path, required=True)
    options_of.add_argument("--runs", type=Path, required=True, help="folder for what has to be trained")
    options_of.add_argument("--photos", default="null", help="folder; otherwise two that come with scikit-learn")
    options_of.add_argument("--only", default="", help="sources whose name has this, in small letters")
    options = options_of.parse_args(argv)
    places = export.prepare(options.data.absolute(), options.runs.absolute(), options.photos)
    export.show(HEADINGS)
    export.show(["---"] * len(HEADINGS))
    for source in [each for each in export.SOURCES if options.only in each.name.lower()]:
        for cells in measure(source, options.runs.absolute(), places):
            export.show(cells)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
