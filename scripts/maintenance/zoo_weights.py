"""Make the zoo's own networks, assets/weights, again: train, pack, measure on every stack, and write their cards.

    python3 scripts/run.py python scripts/maintenance/zoo_weights.py make --data DATA
    python3 scripts/run.py python scripts/maintenance/zoo_weights.py make mnist/mnist --data DATA
    python3 scripts/run.py python scripts/maintenance/zoo_weights.py pack mnist/mnist RUN --data DATA
    python3 scripts/run.py python scripts/maintenance/zoo_weights.py measure mnist/mnist --data DATA
    python3 scripts/run.py python scripts/maintenance/zoo_weights.py check --data DATA

`make` trains as scripts/maintenance/zoo_weights.yaml says; `pack` takes a finished run instead; `measure` writes the
figures of a card anew; `check` holds each card against 500 items. DATA holds mnist/, fashion/, text/, style/,
squeezenet/, vgg19/, photos/ and photos_and_tiles/ (scripts/maintenance/training_photos.py). Train in a clean checkout:
the card names its commit.
"""

import argparse
import contextlib
import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np
import yaml
from PIL import Image

from scripts.maintenance import class_folders
from zoo.config import config_files
from zoo.config.overrides import Overrides
from zoo.core.files import file_sha256
from zoo.data.text.dataset import VOCABULARY
from zoo.runs.result import Run
from zoo.tasks import registry
from zoo.weights import formats, zoo_networks
from zoo.weights.zoo_networks import Card, Check, Data, ZooNetwork

ROWS = Path(__file__).with_suffix(".yaml")
CHECK_ITEMS = 500
# Items of the language model's test are letters.
CHECK_LETTERS = 20_000
# A style network has no test set: it is held by what it makes of one picture, how far it changes that in gray levels.
CHANGE = "change"
PICTURE, PICTURE_SIZE = ROOT / "assets" / "landscape.jpg", 320
# Photos that style networks learn from, and the feature network that judges them, below DATA; rows may name others.
PHOTOS = "photos"
FEATURES = "squeezenet/squeezenet_weights_tf_dim_ordering_tf_kernels_notop.h5"
LIBRARIES = ("python", "keras", "tensorflow", "torch", "jax", "numpy")
# What training calls a figure that inference calls otherwise.
TRAINED = {"perplexity": "val_perplexity"}
LICENCE = "Apache-2.0, as the zoo; the data's licence is theirs"
# What inference reads of run.json, and what tells how the network came to be; no path of the machine among it.
KEPT = ("format", "zoo_version", "verb", "exit", "model", "backend", "device_kind", "git_commit", "versions",
        "metrics", "started", "finished")  # fmt: skip
KEPT_OF_STACK = ("name", "platform", "framework", "lock_sha256")
KEPT_OF_DATA = ("name", "what", "sha256", "class_names", "input_shape", "tokeniser", "vocabulary", "dialect",
                "train_items", "validation_items", "test_items", "split_seed", "split_told",
                "starts_from")  # fmt: skip
KEPT_OF_SETTINGS = ("model", "data", "trainer", "fine_tune", "freeze", "augment", "preset", "seed", "size",
                    "strength", "steps", "batch_size", "learning_rate", "features", "style_size")  # fmt: skip

# Of the command that trained: paths of the machine, and what leaves the network as it is.
LEFT_OUT = ("data.root=", "output.", "style=", "content=", "photos=", "feature_weights=", "trainer.report=")

Row = dict[str, Any]


def main(arguments: list[str]) -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "pack", "measure", "check"])
    parser.add_argument("names", nargs="*", metavar="MODEL/NAME", help="networks; all where none is named")
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parsed = parser.parse_args(arguments)
    if parsed.what == "pack":
        name, run = parsed.names
        (row,) = rows([name])
        pack(row, registry_run(Path(run)))
        measure(row, parsed.data)
        return 0
    chosen = rows(parsed.names)
    if parsed.what == "check":
        wrong = [check(row, parsed.data) for row in chosen]
        return 1 if any(wrong) else 0
    for row in chosen:
        if parsed.what == "make":
            pack(row, train(row, parsed.data))
        measure(row, parsed.data)
    return 0


def rows(names: list[str]) -> list[Row]:
    """Return the rows of the networks that are named, or all."""
    table: list[Row] = yaml.safe_load(ROWS.read_text(encoding="utf-8"))
    known = {f"{row['model']}/{row['name']}": row for row in table}
    return [known[name] for name in names] if names else list(known.values())


def registry_run(folder: Path) -> Run:
    """Open a finished training."""
    from zoo.runs import result

    return result.open_run(folder.resolve())


def train(row: Row, data: Path | None) -> Run:
    """Train a network by its row."""
    with material(row, data, ("train", "test")) as given:
        return registry.dispatch(
            "train",
            Overrides.parse(
                [f"model={row['model']}", f"stack={row['stacks'][0]}", "backend=cpu", *row["train"], *given]
            ),
        )


@contextlib.contextmanager
def material(row: Row, data: Path | None, parts: tuple[str, ...], limit: int | None = None) -> Iterator[list[str]]:
    """Yield the settings that name the data of a row, laid out in class folders where the row asks for it."""
    if data is None or not row["data"]:
        yield []
    elif is_style(row):
        photos, features = (data / row.get(key, usual) for key, usual in (("photos", PHOTOS), ("features", FEATURES)))
        yield [f"style={painting(row, data)}", f"photos={photos}", f"feature_weights={features}"]
    elif row.get("form") == "class_folders":
        with tempfile.TemporaryDirectory() as folder:
            for part in parts:
                class_folders.write(data / row["data"], Path(folder), part, limit)
            yield [f"data.root={folder}", "data=folder"]
    else:
        yield [f"data.root={data / row['data']}"]


def is_style(row: Row) -> bool:
    """Return whether a row is of a style network."""
    return config_files.task_of(row["model"]) == "restyle"


def painting(row: Row, data: Path | None) -> Path:
    """Return the painting of a style network: one of the zoo's own, or one below DATA."""
    own = ROOT / str(row["painting"]["file"])
    return own if own.is_file() or data is None else data / str(row["painting"]["file"])


def pack(row: Row, run: Run) -> None:
    """Keep of a run what inference needs, in the folder of the network."""
    target = zoo_networks.FOLDER / row["model"] / row["name"]
    target.mkdir(parents=True, exist_ok=True)
    for path in target.iterdir():
        path.unlink()
    _write_json(target / "run.json", kept(run.record, row["source"].get("name")))
    request = json.loads((run.folder / "request.json").read_text(encoding="utf-8"))
    _write_json(target / "request.json", {"model": request["model"]})
    if (run.folder / VOCABULARY).is_file():
        (target / VOCABULARY).write_bytes((run.folder / VOCABULARY).read_bytes())
    precision, parameters = _write_weights(run.folder / "weights.npz", target / "weights.npz", row)
    card = _card(row, run.record, precision, parameters, target)
    _write_card(target, card)


def kept(record: dict[str, Any], called: str | None = None) -> dict[str, Any]:
    """Return the part of a record that goes with the network; ``called`` names the data in place of a folder."""
    settings = {name: record["config"][name] for name in KEPT_OF_SETTINGS if name in record["config"]}
    if "data" in settings:
        settings["data"] = settings["data"] | {"root": None}
    stack = {name: record["stack"][name] for name in KEPT_OF_STACK if name in record["stack"]}
    data = {name: record["data"][name] for name in KEPT_OF_DATA if name in record.get("data", {})}
    data |= {"name": called} if called else {}
    fields = {name: record[name] for name in KEPT if name in record}
    fields["versions"] = {name: text for name, text in record["versions"].items() if name in LIBRARIES}
    return fields | {"command": _command(record), "config": settings, "stack": stack, "data": data}


def _command(record: dict[str, Any]) -> list[str]:
    return [text for text in record["command"] if not text.startswith(LEFT_OUT)]


def _write_weights(source: Path, target: Path, row: Row) -> tuple[str, int]:
    precision = row.get("precision", "float16")
    with np.load(source, allow_pickle=False) as stored:
        arrays = {name: stored[name].astype(precision) for name in stored.files}
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise SystemExit(f"{source} holds numbers that {precision} cannot")
    formats.write_npz(target, formats.Weights(arrays, "zoo"))
    return precision, sum(array.size for array in arrays.values())


def _card(row: Row, record: dict[str, Any], precision: str, parameters: int, target: Path) -> Card:
    seed = record["config"].get("seed", 1)
    taken = {name: record.get("data", {}).get(name, "") for name in ("name", "sha256")}
    data = Data(**taken | row["source"])
    recipe = " ".join(["python -m zoo train", *_command(record)[4:]])
    files = {path.name: file_sha256(path) for path in sorted(target.iterdir()) if path.name != zoo_networks.CARD}
    facts = {"parameters": parameters, "precision": precision, "data": data, "recipe": recipe, "seed": seed}
    versions = {name: text for name, text in record["versions"].items() if name in LIBRARIES}
    facts |= {"commit": record["git_commit"], "stack": record["stack"]["name"], "versions": versions}
    figure = record["metrics"].get(TRAINED.get(row.get("metric", ""), row.get("metric")))
    facts["in_training"] = None if figure is None else round(float(figure), 6)
    named = {name: row[name] for name in ("model", "name", "about", "limits")}
    facts["painting"] = _painting(row, record) if is_style(row) else None
    return Card(**named, **facts, licence=LICENCE, figures={}, files=files, default=row.get("default", False))


def _painting(row: Row, record: dict[str, Any]) -> Data:
    fields = {name: row["painting"][name] for name in ("name", "about", "source", "licence")}
    return Data(**fields, sha256=file_sha256(Path(record["data"]["style"])))


def measure(row: Row, data: Path | None) -> None:
    """Write the figures of a network on every stack into its card, and the quick one."""
    network = zoo_networks.find(row["model"], f"zoo/{row['name']}")
    metric = row.get("metric")
    if not metric:
        return
    figures = {stack: figure(row, network, data, stack) for stack in row["stacks"]}
    items = {"perplexity": CHECK_LETTERS, CHANGE: 1}.get(metric, CHECK_ITEMS)
    quick = Check(items, metric, figure(row, network, data, row["stacks"][0], items))
    _write_card(network.folder, dataclasses.replace(network.card, figures={metric: figures}, check=quick))


def check(row: Row, data: Path | None) -> list[str]:
    """Return what is not true of a card: files, or the quick figure."""
    network = zoo_networks.find(row["model"], f"zoo/{row['name']}")
    quick = network.card.check
    if quick is None:
        return []
    value = figure(row, network, data, row["stacks"][0], quick.items)
    right = abs(value - quick.value) < tolerance(quick)
    print(f"{row['model']} {network.source}: {quick.metric} of {quick.items}: {value:.4f}, card {quick.value:.4f}")
    return [] if right else [f"{network.folder}: {quick.metric} is {value}, the card says {quick.value}"]


def tolerance(check: Check) -> float:
    """Return how far a figure may be off: stacks round differently, and gray levels go up to 255."""
    return 5e-5 * (check.value if check.metric == CHANGE else 1.0)


def figure(row: Row, network: ZooNetwork, data: Path | None, stack: str, limit: int | None = None) -> float:
    """Measure a network on its test set, or on the first items of it."""
    named = [f"model={row['model']}", f"weights={network.source}", "backend=cpu", f"stack={stack}"]
    with tempfile.TemporaryDirectory() as folder:
        named += [f"output.root={folder}"]
        if is_style(row):
            return change(named, Path(folder) / "result.png")
        with material(row, data, ("test",), limit) as test:
            limited = [f"data.test_limit={limit}"] if limit else []
            if row.get("form"):
                run = registry.dispatch("evaluate", Overrides.parse([*named, *test, *limited]))
            else:
                run = registry.dispatch("infer", Overrides.parse([*named, "input=test", *test, *limited]))
        return round(float(run.metrics[row["metric"]]), 6)


def change(named: list[str], result: Path) -> float:
    """Return how far a style network changes a picture: mean absolute difference in gray levels, to a thousandth."""
    registry.dispatch("infer", Overrides.parse([*named, f"input={PICTURE}", f"size={PICTURE_SIZE}", f"save={result}"]))
    with Image.open(result) as restyled, Image.open(PICTURE) as picture:
        before = np.asarray(picture.resize(restyled.size, Image.Resampling.BOX), np.float64)
        return round(float(np.abs(np.asarray(restyled.convert("RGB"), np.float64) - before).mean()), 3)


def _write_card(folder: Path, card: Card) -> None:
    row = {key: value for key, value in dataclasses.asdict(card).items() if value not in (None, False)}
    text = yaml.safe_dump(row, sort_keys=False, allow_unicode=True, width=110)
    (folder / zoo_networks.CARD).write_text(text, encoding="utf-8")


def _write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
