"""A classifier from a SavedModel, TensorFlow Lite or ONNX file, executed by the runtime of that format."""

import ast
import re
import zipfile
from pathlib import Path
from typing import Any

from zoo.config import model_files
from zoo.config.overrides import Overrides
from zoo.config.schemas.classifiers import ClassifierConfig
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.data.array_datasets import ArrayDataset
from zoo.environments import store
from zoo.environments.machine import Machine
from zoo.protocol.request import ModelPart
from zoo.protocol.targets import CLASSES, LABELS
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.tasks import target_analysis
from zoo.tasks.image_classification.predict_photos import SCALES, Classifier
from zoo.tasks.image_classification.source import application, saved
from zoo.weights import class_names

# The stack with the runtimes of all formats.
STACK = "export"
# Description that `export` writes next to a model, and the one of models from the Hugging Face hub.
HUB_FACTS = "preprocessor_config.json"
# The one of Azure's Custom Vision, and its ranges of pixels.
AZURE_FACTS = "metadata_properties.json"
_AZURE_RANGES = {"NominalRange_0_255": "none", "Normalized_0_1": "0..1", "Normalized_1_1": "-1..1"}
# Operations of ONNX that scale pixels, and those that may precede them.
_ARITHMETIC = ("Sub", "Div", "Mul", "Add")
_LAYOUT = ("Constant", "Cast", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Identity")


def add_defaults(overrides: Overrides, _: Machine, __: bool) -> Overrides:
    """Add the stack with the runtimes, if the user chose none."""
    if overrides.get("stack") or overrides.get("backend") not in (None, "auto", "cpu"):
        return overrides
    return overrides.with_("machine", {"backend": "cpu", "stack": STACK})


def classifier(context: RunContext[ClassifierConfig], _: ArrayDataset | None = None) -> Classifier:
    """Return the network, which accepts images of one size."""
    settings = context.settings
    kind = model_files.kind_of(str(settings.model["saved"]))
    path = kind.path
    context.refuse_needless(f"with {path.name}, {kind.about}", "precision")
    part = ModelPart(name=path.name, args={}, saved=str(path))
    environment = store.ensure(context.choice.stack, context.machine.platform)
    console.say(f"Asking stack {context.choice.stack.name} for the inputs and outputs of {path.name}")
    row = application.asked(context.choice.stack, environment.python, "describe_model", f"open {path.name}", part)
    facts, of_hub = saved.exported(path), saved.facts(path, HUB_FACTS)
    height, width, channels = row["shape"]
    edges = of_hub["size"] if isinstance(of_hub.get("size"), dict) and not of_hub.get("do_center_crop") else {}
    if settings.size == "auto" and None in (height, width) and all(type(each) is int for each in edges.values()):
        height, width = edges.get("height"), edges.get("width")
    size = saved.size_of(settings, path, (height, width))
    target = CLASSES if settings.wants_features else saved.target_of(facts)
    names = [] if settings.wants_features else _names(settings, path, row, facts, target)
    of_azure = saved.facts(path, AZURE_FACTS)
    mean, scale = _scaling(settings, path, row, facts, of_hub, of_azure)
    if channels == 1:
        mean, scale = [sum(mean) / len(mean)], [sum(scale) / len(scale)]
    arguments: Json = {
        "classes": len(names) or None, "channels": channels, "normalise": (mean, scale), "frozen": True,
        "output": settings.model["output"], "unchanged": target != CLASSES,
        "bgr": str(of_azure.get("Image.BitmapPixelFormat")).startswith("Bgr"),
    }  # fmt: skip
    record = {
        "source": str(path), "file": str(path),
        "sha256": file_sha256(path / "saved_model.pb" if path.is_dir() else path), "kind": kind.word,
    }  # fmt: skip
    what = "features" if settings.wants_features else f"{len(names)} {target}"
    console.say(f"{path.name}: {kind.about}, {size[0]} x {size[1]} x {channels}, {row['dtype']}, {what}")
    request = {"name": path.name, "args": arguments, "saved": str(path)}
    limits = target_analysis.thresholds(facts, len(names)) if target == LABELS else None
    return Classifier(request, size, None, names, {"weights": record}, target, limits)


def _names(settings: ClassifierConfig, path: Path, row: Json, facts: Json, target: str) -> list[str]:
    """Return the class names from ``classes=``, the file itself or a file next to it, or numbers."""
    wanted, outputs = settings.model["output"], row["outputs"]
    boxes = [name for name, shape in outputs.items() if len(shape) > 1 and shape[-1] == 4]
    if boxes and len(outputs) > 2:
        raise ZooError(
            f"{path} detects objects: output {boxes[0]} has 4 sides for each of {outputs[boxes[0]][0]} boxes",
            "Only classifiers work, which have one number for each class.",
        )
    shapes = [shape for name, shape in outputs.items() if wanted in (None, name)]
    counts = {_width(shape) for shape in shapes} - {None}
    if len(counts) != 1:
        listing = ", ".join(f"{name} {shape}" for name, shape in outputs.items())
        fitting = any(_width(shape) for shape in outputs.values())
        raise ZooError(
            f"{path} has the outputs {listing}",
            "Choose one with a number for each class: model.output=NAME"
            if fitting
            else "Its outputs are words or maps. Export it without ZipMap, or from Custom Vision as TensorFlow Lite."
            if not outputs
            else "None has one number for each class: it may detect objects or make images. Only classifiers work.",
        )
    count = max(2 if target == CLASSES else 1, counts.pop() or 0)
    by_number = saved.facts(path, saved.CONFIG).get("id2label")
    of_hub = [by_number.get(str(number)) for number in range(count)] if isinstance(by_number, dict) else None
    own = settings.classes is None and (facts.get("classes") or _packed(path) or of_hub or _in_metadata(path, row))
    if own and len(own) == count and all(isinstance(name, str) for name in own):
        return list(own)
    beside = path / "-" if path.is_dir() and any((path / name).is_file() for name in class_names.BESIDE) else path
    return class_names.choose(settings.classes, beside, count)


def _in_metadata(path: Path, row: Json) -> list[Any] | None:
    """Return the names that Ultralytics writes into ONNX files, such as ``{0: 'ripe', 1: 'unripe'}``, or None."""
    try:
        names = ast.literal_eval(row.get("metadata", {}).get("names", ""))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    if not isinstance(names, dict):
        return None
    console.say(f"Names of the classes: in the metadata of {path.name}")
    return [names.get(number) for number in range(len(names))]


def _width(shape: list[int | None]) -> int | None:
    sizes = [size for size in shape if size != 1] or [1]
    return sizes[0] if len(sizes) == 1 else None


def _packed(path: Path) -> list[str] | None:
    """Return the labels in the metadata of a TensorFlow Lite file, which is then also a zip archive; else None."""
    if path.is_dir() or not zipfile.is_zipfile(path):
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            members = [each for each in archive.infolist() if each.filename.endswith(".txt")]
            if len(members) != 1 or members[0].file_size > saved.MOST_BYTES:
                return None
            text = archive.read(members[0]).decode("utf-8-sig")
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        console.warn(f"The labels in {path.name} cannot be read: {error}")
        return None
    console.say(f"Names of the classes: {members[0].filename} in {path.name}")
    return class_names.lines(text)


def _scaling(
    settings: ClassifierConfig, path: Path, row: Json, facts: Json, of_hub: Json, of_azure: Json
) -> tuple[Any, Any]:
    """Return (mean, scale) of pixels: from the user, the description, or the quantized input."""
    if settings.scale:
        return SCALES[settings.scale]
    if known := saved.scaling_of(facts):
        return known
    if row["dtype"] in ("uint8", "int8"):
        scale, zero = row["quantization"] or (1.0, 0)
        lowest = -128 if row["dtype"] == "int8" else 0
        console.say(f"The input of {path.name} is {row['dtype']}: pixels are not scaled")
        return [float(zero - lowest)] * 3, [1 / scale] * 3
    whole = of_hub.get("do_normalize", True) and of_hub.get("do_rescale", True)
    for name, scaling in SCALES.items() if whole else ():
        rounded = [[round(each / 255, 3) for each in row] for row in scaling]
        if rounded == [of_hub.get("image_mean"), of_hub.get("image_std")]:
            console.say(f"{HUB_FACTS} next to {path.name}: scale={name}")
            return scaling
    if wanted := _AZURE_RANGES.get(str(of_azure.get("Image.NominalPixelRange"))):
        console.say(f"{AZURE_FACTS} next to {path.name}: scale={wanted}, {of_azure.get('Image.BitmapPixelFormat')}")
        return SCALES[wanted]
    if row.get("metadata", {}).get("author") == "Ultralytics":
        console.say(f"{path.name} is of Ultralytics: scale=0..1")
        return SCALES["0..1"]
    inside = _scaled_inside(path)
    raise ZooError(
        f"scale is missing: it was not found in {path.name}"
        + f"; its {inside} changes pixels, so scale=none is likely" * bool(inside),
        f"Add one of: {', '.join(f'scale={each}' for each in SCALES)}. Usual are -1..1 for Teachable Machine and "
        "Keras's MobileNet, imagenet for photos in PyTorch and the ONNX Model Zoo, 0..1 for TensorFlow Hub and YOLO.",
    )


def _scaled_inside(path: Path) -> str:
    """Return what scales pixels in a file: a layer Rescaling by name, or the first operations of ONNX."""
    for file in [path / "keras_metadata.pb", path / "saved_model.pb"] if path.is_dir() else [path]:
        content = file.read_bytes() if file.is_file() and file.stat().st_size < saved.MOST_BYTES else b""
        if b"escaling" in content:
            return "layer Rescaling"
    if path.suffix != ".onnx":
        return ""
    with path.open("rb") as stream:
        head = stream.read(1 << 16)
    # The kind of each operation, field 4 of NodeProto: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
    named = re.findall(rb'"([\x03-\x14])([A-Z][A-Za-z]+)', head)
    kinds = [kind[: size[0]].decode() for size, kind in named if len(kind) >= size[0]]
    first = next((kind for kind in kinds if not kind.startswith(_LAYOUT)), "")
    return f"first operation {first}" if first.startswith(_ARITHMETIC) else ""
