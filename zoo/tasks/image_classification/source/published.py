"""One of the zoo's networks, with published weights or weights in a file."""

from pathlib import Path

from zoo.config import config_files, model_files
from zoo.config.config_files import model_arguments
from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.core.errors import ZooError
from zoo.data.array_datasets import ArrayDataset
from zoo.environments.machine import Machine
from zoo.runs import records
from zoo.runs.context import RunContext
from zoo.tasks.image_classification.predict_photos import SCALES, Classifier, fastest
from zoo.weights import class_names, pretrained


def add_defaults(overrides: Overrides, here: Machine, _: bool) -> Overrides:
    """Add the fastest backend for photos, if the model is known."""
    name = overrides.get("model")
    known = name in config_files.options("model") or model_files.is_named(name)
    return fastest(overrides, here) if known else overrides


def classifier(context: RunContext[ClassifierConfig], dataset: ArrayDataset | None = None) -> Classifier:
    """Return the network of ``model=`` and ``weights=``; the file determines arguments that are not set."""
    settings = context.settings
    given = context.overrides.given("model")
    chosen = pretrained.choose(settings.weights, settings.model, given, settings.weights_checksum)
    name, network = str(settings.model["name"]), chosen.network if chosen else None
    if dataset:
        if chosen is None or network is not None:
            raise in_color(name, dataset)
        arguments = model_arguments(settings.model) | chosen.arguments
        arguments |= {"input_shape": list(dataset.input_shape), "classes": len(dataset.class_names)}
        model, size = {"name": name, "args": arguments}, dataset.input_shape[:2]
        return Classifier(model, size, chosen.npz, dataset.class_names, {"weights": chosen.record})
    if chosen is None or network is None:
        raise ZooError(f"{name} does not accept photos", "Give run=, weights=zoo, or model=mobilenet with weights=.")
    _refuse_other_targets(chosen.path)
    headless = settings.wants_features and network.classes is None
    if not headless and (network.classes is None or network.top_problem):
        raise ZooError(
            f"{chosen.path} contains {pretrained.describe(network)}, but cannot classify: it {network.top_problem}",
            f"Train new classes from it: train model={name} weights={settings.weights} data=folder data.root=FOLDER\n"
            "Or use a complete model file: infer model=FILE.keras (or FILE.h5) scale=... input=...",
        )
    count = network.classes or 1000
    names = class_names.choose(settings.classes, chosen.path, count, settings.weights == "imagenet")
    if chosen.arguments:
        context.overlay("weights", chosen.settings)
    edge = int(context.settings.model["input_size"])
    arguments = model_arguments(context.settings.model) | {"classes": count}
    scaling = SCALES[settings.scale] if settings.scale else network.scaling
    if scaling:
        arguments["normalise"] = scaling
    return Classifier({"name": name, "args": arguments}, (edge, edge), chosen.npz, names, {"weights": chosen.record})


def _refuse_other_targets(path: Path) -> None:
    """Raise an error for the weights of a run that learned labels or a number: they do not say so themselves."""
    folder = path.parent
    if not (folder / records.RECORD).is_file():
        return
    if kind := (records.read(folder).get("data") or {}).get("target"):
        raise ZooError(f"{path} is of a run that learned data.target={kind}, not classes", f"Give run={folder}.")


def in_color(name: str, dataset: ArrayDataset) -> ZooError:
    """Return the error for a network that does not accept the images of a data set."""
    words = f"{name} takes images in color, and those of data={dataset.name} are small and gray"
    return ZooError(words, "Give a folder of images with data.root=DIR, or another network.")
