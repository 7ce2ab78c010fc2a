"""The zoo's own trained networks, ``weights=zoo``, which are included in the package.

Each is in ``assets/weights/MODEL/NAME``: a run folder (``run.json``, ``request.json``, ``weights.npz``, a vocabulary)
that ``run=`` accepts, with a ``card.yaml``. ``scripts/maintenance/zoo_weights.py`` creates them.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

from zoo.config import config_files
from zoo.config.overrides import Overrides
from zoo.core import console, paths, schema
from zoo.core.errors import ZooError, listed, nearest
from zoo.core.files import file_sha256

WORD = "zoo"
CARD = "card.yaml"
WEIGHTS = "weights.npz"
FOLDER = paths.ROOT / "assets" / "weights"


@dataclass(frozen=True)
class Data:
    """The training data of a network: name, checksum as in ``run.json``, source, and license."""

    name: str
    about: str
    sha256: str
    source: str
    licence: str


@dataclass(frozen=True)
class Check:
    """A metric on the first items of the test set, to verify the card in seconds."""

    items: int
    metric: str
    value: float


@dataclass(frozen=True)
class Card:
    """The content of a ``card.yaml``.

    Attributes:
        name: NAME in ``weights=zoo/NAME``.
        about: what the network predicts or creates.
        precision: precision of the stored numbers, ``float16`` or ``float32``.
        in_training: the metric at the end of training, before the conversion to ``precision``.
        default: whether ``weights=zoo`` selects this network of several for a model.
        figures: values of these files by metric and stack.
        files: SHA-256 of every other file of the folder.
        check: a quick metric; None without a test set.
        painting: the painting whose style a style network learned.
    """

    model: str
    name: str
    about: str
    parameters: int
    precision: str
    data: Data
    recipe: str
    commit: str
    seed: int
    stack: str
    versions: dict[str, str]
    licence: str
    limits: list[str]
    figures: dict[str, dict[str, float]]
    files: dict[str, str]
    in_training: float | None = None
    default: bool = False
    check: Check | None = None
    painting: Data | None = None


@dataclass(frozen=True)
class ZooNetwork:
    folder: Path
    card: Card

    @property
    def source(self) -> str:
        return f"{WORD}/{self.card.name}"

    @property
    def weights(self) -> Path:
        return self.folder / WEIGHTS

    @property
    def arguments(self) -> dict[str, Any]:
        request = json.loads((self.folder / "request.json").read_text(encoding="utf-8"))
        return dict(request["model"]["args"])

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.iterdir())


def is_named(source: str | None) -> TypeGuard[str]:
    return source == WORD or bool(source and source.startswith(f"{WORD}/"))


def load_all(folder: Path | None = None) -> list[ZooNetwork]:
    return [ZooNetwork(path.parent, read_card(path)) for path in sorted((folder or FOLDER).rglob(CARD))]


def read_card(path: Path) -> Card:
    row = schema.read_yaml(path)
    schema.refuse("card", path, schema.violations(row, Card))
    check = Check(**row["check"]) if row.get("check") else None
    painting = Data(**row["painting"]) if row.get("painting") else None
    return Card(**row | {"data": Data(**row["data"]), "check": check, "painting": painting})


def of_model(model: str) -> list[ZooNetwork]:
    """Return the zoo's networks of a model; the network for ``weights=zoo`` comes first."""
    return sorted((row for row in load_all() if row.card.model == model), key=lambda row: not row.card.default)


def find(model: str, source: str) -> ZooNetwork:
    """Return the network for ``weights=zoo`` or ``weights=zoo/NAME`` of a model, after checking its files."""
    known = of_model(model)
    name = source.partition("/")[2]
    chosen = [row for row in known if name in ("", row.card.name)]
    if not known:
        models = dict.fromkeys(row.card.model for row in load_all())
        raise ZooError(f"The zoo has no trained network of {model}", f"It has networks of {listed(models)}.")
    if not chosen:
        sources = [row.source for row in known]
        remedy = f"Choose one of {listed(sources)}: `python -m zoo list weights`."
        raise ZooError(f"There is no weights={source} of {model}{nearest(source, sources)}", remedy)
    for name, sha256 in chosen[0].card.files.items():
        path = chosen[0].folder / name
        if not path.is_file() or file_sha256(path) != sha256:
            raise ZooError(f"{path} differs from the checksum in its card", "Reinstall the zoo, or restore the file.")
    return chosen[0]


def as_run(overrides: Overrides) -> Overrides:
    """Replace ``model=`` and ``weights=zoo`` with ``run=`` and the folder of the network."""
    source, model = overrides.get("weights"), overrides.get("model")
    if not is_named(source):
        of_texts = config_files.task_of(model) in ("text_classifier", "language_model")
        if model and of_texts and not overrides.get("run"):
            known = ", ".join(["weights=zoo", *(f"weights={row.source}" for row in of_model(model))])
            remedy = f"Give {known}, or run=RUN_FOLDER instead of model=."
            raise ZooError(f"weights is missing for model={model}", remedy)
        return overrides
    if not model:
        models = dict.fromkeys(row.card.model for row in load_all())
        raise ZooError(f"weights={source} needs a model", f"Give model=NAME: {listed(models)}.")
    for entry in overrides:
        if entry.key == "run" or entry.key.startswith("model."):
            raise ZooError(f"{entry.text} has no effect with weights={source}", f"Remove {entry.key}.")
    network = find(str(model), source)
    console.say(f"{network.source}: {network.card.about}")
    return Overrides.of({"run": network.folder}) | overrides.without("model", "weights")


def start_from(model: str, source: str, given: dict[str, Any]) -> tuple[ZooNetwork, dict[str, Any]]:
    """Return the network to start training from, and its arguments except dropout and similar arguments.

    ``source`` is the value of ``weights=``, and ``given`` are the arguments that the user set.
    """
    network = find(model, source)
    # Arguments that are newer than the network get the default, which does not change it.
    arguments = config_files.default_arguments(model) | network.arguments
    of_training = ("l2", "bn_momentum")
    fixed = {key: value for key, value in arguments.items() if key not in of_training and not key.endswith("dropout")}
    wrong = {key: value for key, value in given.items() if fixed.get(key, value) != value}
    if wrong:
        asked = ", ".join(f"model.{key}={value}" for key, value in wrong.items())
        own, remedy = ", ".join(f"{key}={fixed[key]}" for key in wrong), f"Remove model.{' and model.'.join(wrong)}."
        raise ZooError(f"{network.source} has {own}, and {asked} is requested", remedy)
    console.say(f"Starting from {network.source}: {network.card.about}")
    return network, fixed
