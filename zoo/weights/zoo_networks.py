"""The zoo's own trained networks, ``weights=zoo``: they come with the package and need neither data nor a network.

Each lies in ``assets/weights/MODEL/NAME``, in the form of a run folder (``run.json``, ``request.json``,
``weights.npz``, a vocabulary), so that whatever takes ``run=`` takes it, with ``card.yaml`` for people beside it.
``scripts/maintenance/zoo_weights.py`` makes them.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """What a network was trained with: name, checksum as ``run.json`` has it, source, and licence."""

    name: str
    about: str
    sha256: str
    source: str
    licence: str


@dataclass(frozen=True)
class Check:
    """What anybody can hold the card against in seconds: a figure on the first items of the test set."""

    items: int
    metric: str
    value: float


@dataclass(frozen=True)
class Card:
    """What a ``card.yaml`` says.

    Attributes:
        model: as ``model=`` names it.
        name: as ``weights=zoo/NAME`` names it.
        about: what it tells, or makes, of what.
        parameters: how many numbers.
        precision: of the stored numbers, ``float16`` or ``float32``.
        in_training: the figure at the end of the training, of the numbers before they were stored in ``precision``.
        default: whether ``weights=zoo`` means this one where a model has several.
        data: that it was trained with.
        recipe: the command that trained it.
        commit: of the zoo that trained it.
        seed: of that training.
        stack: that it was trained on.
        versions: of the libraries then.
        licence: of the weights.
        limits: what it cannot do, one sentence each.
        figures: of these very files: metric -> stack -> value.
        files: every other file of the folder -> sha256.
        check: a quick figure; None where there is no test set.
        painting: whose style a style network learned.
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
    """A network and its card."""

    folder: Path
    card: Card

    @property
    def source(self) -> str:
        """Return what ``weights=`` calls it."""
        return f"{WORD}/{self.card.name}"

    @property
    def weights(self) -> Path:
        """Return the file of its weights."""
        return self.folder / WEIGHTS

    @property
    def arguments(self) -> dict[str, Any]:
        """Return the arguments of its builder."""
        request = json.loads((self.folder / "request.json").read_text(encoding="utf-8"))
        return dict(request["model"]["args"])

    @property
    def bytes(self) -> int:
        """Return the size of its files."""
        return sum(path.stat().st_size for path in self.folder.iterdir())


def is_named(source: str | None) -> bool:
    """Return whether ``weights=`` names a network of the zoo's own."""
    return source == WORD or bool(source and source.startswith(f"{WORD}/"))


def load_all(folder: Path | None = None) -> list[ZooNetwork]:
    """Read all cards, in the order of their models and names."""
    return [ZooNetwork(path.parent, read_card(path)) for path in sorted((folder or FOLDER).rglob(CARD))]


def read_card(path: Path) -> Card:
    """Read a card."""
    row = schema.read_yaml(path)
    schema.refuse("card", path, schema.violations(row, Card))
    check = Check(**row["check"]) if row.get("check") else None
    painting = Data(**row["painting"]) if row.get("painting") else None
    return Card(**row | {"data": Data(**row["data"]), "check": check, "painting": painting})


def of_model(model: str) -> list[ZooNetwork]:
    """Return the networks that the zoo has of a model, the one that ``weights=zoo`` means first."""
    return sorted((row for row in load_all() if row.card.model == model), key=lambda row: not row.card.default)


def find(model: str, source: str) -> ZooNetwork:
    """Return the network that ``weights=zoo`` or ``weights=zoo/NAME`` means for a model, its files verified."""
    known = of_model(model)
    name = source.partition("/")[2]
    chosen = [row for row in known if name in ("", row.card.name)]
    if not known:
        models = dict.fromkeys(row.card.model for row in load_all())
        raise ZooError(f"The zoo has no trained network of {model}", f"There are some of {listed(models)}.")
    if not chosen:
        words = listed(row.source for row in known)
        raise ZooError(
            f"There is no weights={source} of {model}{nearest(source, [row.source for row in known])}",
            f"Choose one of {words}: `python -m zoo list weights`.",
        )
    _verify(chosen[0])
    return chosen[0]


def _verify(network: ZooNetwork) -> None:
    for name, sha256 in network.card.files.items():
        path = network.folder / name
        if not path.is_file() or file_sha256(path) != sha256:
            raise ZooError(f"{path} is not the file of its card", "Install the zoo anew, or restore it from git.")


def as_run(overrides: Overrides) -> Overrides:
    """Replace ``model=`` and ``weights=zoo`` by the folder of that network as ``run=``."""
    source, model = overrides.get("weights"), overrides.get("model")
    if not is_named(source):
        _refuse_model_alone(model, overrides)
        return overrides
    assert source is not None  # noqa: S101  (has a name)
    _refuse_contradictions(source, model, overrides)
    network = find(str(model), source)
    console.say(f"{network.source}: {network.card.about}")
    return Overrides.of({"run": network.folder}) | overrides.without("model", "weights")


def _refuse_model_alone(model: str | None, overrides: Overrides) -> None:
    """Stop where a model of texts is named without weights: it is used by ``run=``, or by those of the zoo's own."""
    of_texts = config_files.task_of(model) in ("text_classifier", "language_model")
    if model and of_texts and not overrides.get("run"):
        known = ", ".join(["weights=zoo", *(f"weights={row.source}" for row in of_model(model))])
        raise ZooError(f"weights is missing for model={model}", f"Give {known}, or run=RUN_FOLDER instead of model=.")


def _refuse_contradictions(source: str, model: str | None, overrides: Overrides) -> None:
    if not model:
        known = dict.fromkeys(row.card.model for row in load_all())
        raise ZooError(f"weights={source} needs a model", f"Give model=NAME: {listed(known)}.")
    for entry in overrides:
        if entry.key == "run" or entry.key.startswith("model."):
            words = f"{entry.text} has no use beside weights={source}, which tells the network"
            raise ZooError(words, f"Leave {entry.key} out.")


def start_from(model: str, source: str, given: dict[str, Any]) -> tuple[ZooNetwork, dict[str, Any]]:
    """Return the network to start a training from, and its arguments, dropout and the like left out.

    Args:
        model: its name.
        source: what ``weights=`` says.
        given: the arguments that the user chose.
    """
    network = find(model, source)
    # What came later than the network has the value that leaves it as it was; a recipe may have another one.
    arguments = config_files.default_arguments(model) | network.arguments
    fixed = {key: value for key, value in arguments.items() if not _is_of_training(key)}
    wrong = {key: value for key, value in given.items() if fixed.get(key, value) != value}
    if wrong:
        asked = ", ".join(f"model.{key}={value}" for key, value in wrong.items())
        raise ZooError(
            f"{network.source} has {', '.join(f'{key}={fixed[key]}' for key in wrong)}, and {asked} is "
            "asked for", f"Leave model.{' and model.'.join(wrong)} out.",
        )  # fmt: skip
    console.say(f"Starting from {network.source}: {network.card.about}")
    return network, fixed


def _is_of_training(argument: str) -> bool:
    return argument.endswith("dropout") or argument in ("l2", "bn_momentum")


def as_dict(card: Card) -> dict[str, Any]:
    """Return a card as plain values; what is not told is left out."""
    return {key: value for key, value in dataclasses.asdict(card).items() if value not in (None, False)}
