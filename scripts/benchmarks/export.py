"""Measure "Export" in docs/background/benchmarks.md: every model in every format, next to its source stack.

python scripts/benchmarks/export.py --data ~/data --runs runs/exports
python scripts/benchmarks/export.py --data ~/data --runs runs/exports --only mobilenet --photos a/ --calibrate b/

The folder of --data holds mnist/ and fashion/ (the four files each), text/rt-polarity.pos and .neg, a text
text/tinyshakespeare_input.txt, mobilenet/mobilenet_v1_0.25_224.h5 and faststyle/wave. What is not there is left out,
and said. --photos are what MobileNet is compared on, and --calibrate what its 8 bits are calibrated with: other
photos. What has to be trained first stays in the folder of --runs, so that a second call only exports.
"""

import dataclasses
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

from scripts.benchmarks.common import parser, train, zoo
from scripts.maintenance import class_folders
from zoo.config.exporters import QUANTIZATIONS, formats

SHORT = ["trainer.epochs=1"]
HEADINGS = [
    "model", "format", "quantize", "KB", "largest difference", "changed in 1000", "accuracy before, after", "ms",
    "source ms", "",
]  # fmt: skip
# Pictures of Fashion-MNIST by part.
CLOTHES = {"train": 4000, "test": 1000}
LAX = ["max_difference=1", "max_changed=1000"]


@dataclasses.dataclass(frozen=True)
class Source:
    """What is exported.

    Attributes:
        name: in the table.
        quantize: how it is quantized, one export each.
        needs: files and folders below that of --data.
        train: settings of its training, with {data}; empty where weights are published.
        export: further settings of its export, with {data}, {photos} and {calibrate}.
        formats: that it is exported to; empty: all.
    """

    name: str
    quantize: tuple[str, ...]
    needs: tuple[str, ...]
    train: tuple[str, ...] = ()
    export: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()


def _mnist(stack: str, *quantize: str) -> Source:
    backend = "plaidml" if stack.startswith("plaidml") else "jax" if stack == "jax" else "cpu"
    train = ("model=mnist", "data=mnist", "data.root={data}/mnist", "data.train_limit=12000", *SHORT)
    train += (f"backend={backend}", f"stack={stack}")
    return Source(f"mnist, run of {stack}", ("none", *quantize), ("mnist",), train)


_TEXTS = ("model=transformer/classifier", "data=text_lines", "data.root={texts}", "backend=cpu", "stack=torch")
_CLOTHES = ("data=folder", "data.root={clothes}", "backend=cpu", "stack=tf-2.21", *SHORT)
_SMALL = ("model.alpha=0.25", "model.input_size=32")
# From scratch.
_LONGER = ("trainer.epochs=4", "trainer.batch_size=32")
_LETTERS = ("model=transformer/lm", "data=text_file", "data.root={data}/text/tinyshakespeare_input.txt")
_MOBILENET = "model=mobilenet", "model.alpha=0.25", "weights={data}/mobilenet/mobilenet_v1_0.25_224.h5"
_WAVE = "model=style_transfer/fast", "weights={data}/faststyle/wave"
SOURCES = (
    _mnist("plaidml-0.7"),
    _mnist("tf-1.8", "float16", "dynamic", "int8"),
    _mnist("torch"),
    _mnist("jax"),
    Source(
        "MobileNet 0.25, ImageNet weights", ("none", "float16", "dynamic", "int8"), ("mobilenet",),
        export=(*_MOBILENET, "input={photos}", "calibrate={calibrate}"),
    ),
    Source(
        "MobileNet 0.25, 32 x 32, run of tf-2.21", ("none", "dynamic", "int8"), ("fashion",),
        train=("model=mobilenet", *_SMALL, "weights=zoo", *_CLOTHES),
    ),
    Source(
        "MobileNet v2 0.35, 32 x 32, run of tf-2.21", ("none", "int8"), ("fashion",),
        train=("model=mobilenet_v2", "model.alpha=0.35", "model.input_size=32", *_CLOTHES, *_LONGER),
    ),
    Source(
        "keras/MobileNetV3Small, 32 x 32, run of tf-2.21", ("none", "int8"), ("fashion",),
        train=("model=keras/MobileNetV3Small", "model.input_size=32", *_CLOTHES, *_LONGER),
    ),
    Source(
        "transformer/classifier, run of torch", ("none", "float16", "dynamic", "int8"), ("text/rt-polarity.pos",),
        train=(*_TEXTS, "trainer.epochs=3"),
    ),
    Source(
        "transformer/lm, one step, run of torch", ("none", "float16", "int8"), ("text/tinyshakespeare_input.txt",),
        train=(*_LETTERS, "backend=cpu", "stack=torch", *SHORT, "trainer.steps=60"), export=("items=60",),
    ),
    Source(
        "style_transfer/fast, published *wave*", ("none", "float16"), ("faststyle/wave",), export=_WAVE,
        formats=("onnx", "litert", "openvino", "coreml"),
    ),
)  # fmt: skip


def measure(source: Source, quantize: str, runs: Path, places: Mapping[str, str]) -> list[list[str]]:
    """Export in one quantization; return the rows of the table."""
    settings = [text.format(**places) for text in source.export]
    if source.train:
        settings = [f"run={trained(source, runs, places)}", "compare_to=run", *settings]
    known = source.formats or tuple(formats())
    chosen = [name for name in known if quantize in formats()[name]]
    tolerance = LAX if quantize != "none" else []
    settings += [f"format={','.join(chosen)}", f"quantize={quantize}", *tolerance]
    with tempfile.TemporaryDirectory() as folder:
        record = zoo("export", [*settings, f"output={folder}/exported", f"output.root={folder}"])
    return [_cells(source.name, row, record["compared_with"]) for row in record["exports"]]


def trained(source: Source, runs: Path, places: Mapping[str, str]) -> Path:
    """Return the run of a source, which is trained where it is not there."""
    name = re.sub(r"[^A-Za-z0-9.]+", "-", source.name)
    if not (runs / name / "weights.npz").is_file():
        settings = [text.format(**places) for text in source.train]
        train([*settings, f"output.root={runs}", f"output.name={name}"])
    return runs / name


def _cells(name: str, row: dict[str, Any], compared: dict[str, Any]) -> list[str]:
    begin = [name, row["format"], row["quantize"], f"{row['bytes'] / 1000:,.0f}"]
    source = f"{compared['milliseconds']:.2f}"
    if not row["ran"]:
        return [*begin, "", "", "", "", source, "converted only"]
    accuracy = f"{compared['accuracy']:.3f}, {row['accuracy']:.3f}" if compared["accuracy"] else ""
    figures = [f"{row['difference']:.1e}", f"{row['changed']:.0f}", accuracy, f"{row['milliseconds']:.2f}"]
    return [*begin, *figures, source, "ran"]


def show(cells: list[str]) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(cells)} |", flush=True)


def _texts(data: Path, folder: Path) -> Path:
    """Name a folder in which each class has a file of texts."""
    for name, ending in (("good", "pos"), ("bad", "neg")):
        file = data / "text" / f"rt-polarity.{ending}"
        if file.is_file():
            (folder / f"{name}.txt").write_bytes(file.read_bytes())
    return folder


def _clothes(data: Path, folder: Path) -> Path:
    """Name a folder of pictures of Fashion-MNIST, with a folder for each class."""
    for part, limit in CLOTHES.items():
        if (data / "fashion").is_dir() and not (folder / part).is_dir():
            class_folders.write(data / "fashion", folder, part, limit)
    return folder


def prepare(data: Path, runs: Path, photos: str) -> dict[str, str]:
    """Write the data of trainings below ``runs``, and return the places that settings name."""
    texts = runs / "texts"
    texts.mkdir(parents=True, exist_ok=True)
    places = {"data": str(data), "texts": str(_texts(data, texts)), "photos": photos, "calibrate": "train"}
    return places | {"clothes": str(_clothes(data, runs / "clothes"))}


def main(argv: list[str]) -> int:
    """Run the command line and return the exit status."""
    options_of = parser(__doc__, output=False)
    options_of.add_argument("--data", type=Path, required=True)
    options_of.add_argument("--runs", type=Path, required=True, help="folder for what has to be trained")
    options_of.add_argument("--photos", default="null", help="folder; otherwise two that come with scikit-learn")
    options_of.add_argument("--calibrate", help="folder; without it MobileNet is not converted to int8")
    options_of.add_argument("--only", default="", help="sources whose name has this, in small letters")
    options_of.add_argument("--quantize", nargs="+", default=QUANTIZATIONS, help="only these")
    options_of.add_argument("--train-only", action="store_true", help="train what has to be trained, and end")
    options = options_of.parse_args(argv)
    data, runs = options.data.absolute(), options.runs.absolute()
    places = prepare(data, runs, options.photos) | {"calibrate": options.calibrate or "train"}
    if not options.train_only:
        show(HEADINGS)
        show(["---"] * len(HEADINGS))
    for source in [each for each in SOURCES if options.only in each.name.lower()]:
        missing = [name for name in source.needs if not (data / name).exists()]
        if missing:
            print(f"{source.name} is left out: {data / missing[0]} is not there", file=sys.stderr)
            continue
        if options.train_only:
            print(trained(source, runs, places) if source.train else "", file=sys.stderr)
            continue
        for quantize in [each for each in source.quantize if each in options.quantize]:
            if quantize == "int8" and "calibrate={calibrate}" in source.export and not options.calibrate:
                print(f"{source.name}, int8, is left out: --calibrate is not given", file=sys.stderr)
                continue
            for cells in measure(source, quantize, runs, places):
                show(cells)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
