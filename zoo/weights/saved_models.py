"""Describe saved Keras models of any origin, and reject models that would run code.

Keras loads the file later, in a stack of the generation that wrote it. Its safe mode has had vulnerabilities, and old
versions lack it. Therefore, only classes of Keras that do not run code from the file are accepted.
"""

import functools
import itertools
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError, listed
from zoo.core.files import file_sha256
from zoo.core.paths import existing_input
from zoo.weights import model_config, sandbox
from zoo.weights.formats import RejectedFileError
from zoo.weights.keras_layout import KerasConfig

FORM = "Give a model saved by Keras: FILE.keras or FILE.h5."
# Layers of Keras that run code or read files named in the configuration.
CODE = ("Lambda", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "StringLookup", "IntegerLookup",
        "TextVectorization", "ClassMethod", "InstanceMethod", "InstanceProperty", "TensorFlowOpLayer")  # fmt: skip
# Operations of TensorFlow that Keras 2 wraps as layers of these kinds, by name prefix.
WRAPPERS = ("TFOpLambda", "SlicingOpLambda")
OPERATIONS = (
    "math.", "nn.", "__operators__.", "cast", "clip_by_value", "concat", "expand_dims", "reshape", "squeeze", "stack",
    "transpose", "image.resize", "compat.v1.transpose", "split", "identity",
)  # fmt: skip
SEQUENCES = ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "Conv1D", "TimeDistributed")
# Modules of Keras with parts of networks.
PARTS = re.compile(
    r"(tf_)?keras(\.src)?(\.(layers|models|engine|initializers|regularizers|constraints|activations|dtype_policies"
    r"|mixed_precision|random|ops|backend)(\.[\w.]+)?)?$"
)
# Regression losses in Keras's spelling, without capitals and underscores.
LOSSES_OF_NUMBERS = (
    "mse", "meansquarederror", "mae", "meanabsoluteerror", "mape", "meanabsolutepercentageerror", "msle",
    "meansquaredlogarithmicerror", "huber", "huberloss", "logcosh",
)  # fmt: skip
LOSSES_OF_LABELS = ("binarycrossentropy", "binaryfocalcrossentropy")
FUNCTIONS = re.compile(r"(tf_)?keras(\.src)?\.(activations|initializers|regularizers|constraints)(\.[\w.]+)?$")
OWN = (
    "Replace it with layers of Keras, or put the network into a model file: train model=FILE.py weights=FILE. "
    "For predictions only, save the model where it was made: model.export('FOLDER')."
)


@dataclass(frozen=True)
class SavedModel:
    """A saved model that may be loaded.

    Attributes:
        version: version of Keras that wrote it.
        input_shape: (height, width, channels) of an image; None for a variable size.
        outputs: number of outputs, if known.
        wanted_scale: ``scale=`` that its own layers expect; None if they do not scale pixels, or if it is unknown.
        scaled_by: the layer that scales pixels, or may scale them; empty without one.
        measures: the last layer of a model compiled for regression, or of an unsure one; empty for other models.
        unsure: whether the model was not compiled and ends in one linear number, which may be a logit.
        labels: whether each of several outputs is a separate probability (multi-label classification).
    """

    path: Path
    sha256: str
    version: str
    input_shape: tuple[int | None, int | None, int]
    outputs: int | None
    wanted_scale: str | None
    scaled_by: str
    measures: str
    labels: bool
    unsure: bool = False

    @property
    def generation(self) -> int:
        return int(self.version.partition(".")[0])


def read(text: str) -> SavedModel:
    """Read the description of a saved model without Keras. An unchanged file is read once."""
    path = existing_input(text, FORM).absolute()
    now = path.stat()
    return _read(path, (now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns))


@functools.lru_cache(maxsize=1)
def _read(path: Path, _: tuple[int, ...]) -> SavedModel:
    content = sandbox.read_model(path)
    version, config = content["version"], content["config"]
    if not isinstance(config, dict):
        raise RejectedFileError(path, "its configuration is not a JSON object")
    if not re.fullmatch(r"[23]\.\d{1,3}(\.\d{1,3})?\S{0,20}", version):
        raise RejectedFileError(path, f"its version of Keras is unknown: {version[:50]!r}")
    rows = list(itertools.islice(_objects(config), 1_000_000))
    _refuse_other_tasks(path, version, config, rows)
    layers = [row for row in rows if isinstance(row.get("config"), dict)]
    shape = _input_shape(path, rows)
    ordered = model_config.layers(config)
    wanted, scaled_by = model_config.wanted_scale(ordered, content.get("adapted", {}))
    outputs, loss, ending = _outputs(layers), _loss(content.get("compiled")), model_config.output_activation(ordered)
    measures = loss in LOSSES_OF_NUMBERS and ending not in ("softmax", "sigmoid")
    unsure = not loss and outputs == 1 and ending == "linear"
    labels = outputs not in (None, 1) and ending != "softmax" and (ending == "sigmoid" or loss in LOSSES_OF_LABELS)
    return SavedModel(
        path, file_sha256(path), version, shape, outputs, wanted, scaled_by,
        str(ordered[-1].settings.get("name", "")) if measures or unsure else "", labels, unsure,
    )  # fmt: skip


def _loss(compiled: Any) -> str:
    """Return the loss in the compile settings, without capitals and underscores, or an empty text."""
    loss = compiled.get("loss") if isinstance(compiled, dict) else None
    if isinstance(loss, dict):
        inner = loss.get("config")
        loss = inner if isinstance(inner, str) else loss.get("class_name")
    return re.sub(r"[^a-z]", "", str(loss or "").lower())


def _objects(config: Any) -> Iterator[KerasConfig]:
    pending = [config]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            yield item
            # Keras does not load the compile settings of the model, but those of nested models.
            parts = [value for key, value in item.items() if key != "compile_config" or item is not config]
            pending += reversed(parts)
        elif isinstance(item, list):
            pending += reversed(item)


def _refuse_other_tasks(path: Path, version: str, config: Any, rows: list[KerasConfig]) -> None:
    """Raise an error for models of texts, for code, and for models with several inputs or outputs."""
    if any(row.get("class_name") == "InputLayer" and _inner(row).get("dtype") == "string" for row in rows):
        raise ZooError(f"{path} takes texts, not images", "Train a model on your texts: model=transformer/classifier")
    _refuse_code(path, rows)  # first, because the last remedy loads the file
    for key in ("inputs", "outputs"):
        ends = _inner(config).get(f"{key[:-1]}_layers")
        names = list(ends) if isinstance(ends, dict) else [str(end[0]) for end in ends or () if isinstance(end, list)]
        if len(names) > 1 and key == "inputs":
            raise ZooError(f"{path} has {len(names)} inputs: {listed(names)}", "Only models of one image are used.")
        if len(names) > 1:
            stack, file = ("tf-2.12", "one.h5") if version.startswith("2.") else ("tf-2.21", "one.keras")
            load = f"import keras; model = keras.models.load_model({json.dumps(str(path))}, compile=False)"
            code = shlex.quote(f'{load}; keras.Model(model.inputs, model.outputs[0]).save("{file}")')
            raise ZooError(
                f"{path} has {len(names)} outputs: {listed(names)}",
                f"Save a model with one (outputs[0] is {names[0]}): python -m zoo run stack={stack} -c {code}\n"
                f"Then give model={file}. model.output= is for SavedModel, TensorFlow Lite and ONNX only.",
            )


def _refuse_code(path: Path, rows: list[KerasConfig]) -> None:
    for row in rows:
        kind, inner = row.get("class_name"), row.get("config")
        name = str(inner.get("name", kind) if isinstance(inner, dict) else inner)[:100]
        if not isinstance(kind, str):
            continue
        if kind in CODE or kind == "__lambda__":
            raise ZooError(f"{path} is refused: its layer {name!r} is a {kind}, which runs code of the file", OWN)
        if kind in WRAPPERS and not str(_inner(row).get("function")).startswith(OPERATIONS):
            raise ZooError(f"{path} is refused: its layer {name!r} calls {_inner(row).get('function')!r}", OWN)
        if kind == "KerasLayer":
            raise ZooError(
                f"{path} is refused: its layer {name!r} is a KerasLayer of TensorFlow Hub, whose code is missing",
                'Save the model where it runs, with tensorflow_hub: model.save("FOLDER", save_format="tf")\n'
                "Then give model=FOLDER.",
            )
        if _is_custom(row):
            words = f"{path} is refused: {name!r} is a {kind}, which is not part of Keras: its code is missing"
            raise ZooError(words, OWN)


def _is_custom(row: KerasConfig) -> bool:
    """Return True if Keras would import a class or function of a third party."""
    module, registered, kind = row.get("module"), row.get("registered_name"), str(row["class_name"])
    if ">" in kind or (isinstance(registered, str) and ">" in registered):
        return True
    if module is None:  # files of Keras 2, which rejects unknown names itself
        return registered is not None
    if module == "builtins":
        return kind == "function"
    allowed = FUNCTIONS if kind == "function" else PARTS
    return not isinstance(module, str) or not allowed.match(module)


def _inner(row: KerasConfig) -> KerasConfig:
    inner = row.get("config")
    return inner if isinstance(inner, dict) else {}


def _input_shape(path: Path, rows: list[KerasConfig]) -> tuple[int | None, int | None, int]:
    """Return the shape of the first layer that has one; (height, width) alone means gray."""
    keys = ("batch_shape", "batch_input_shape", "build_input_shape", "input_shape")
    shapes = [row[key] for row, key in itertools.product(rows, keys) if isinstance(row.get(key), list)]
    shapes = [shape for shape in shapes if all(size is None or isinstance(size, int) for size in shape)]
    image = shapes[0] if shapes and len(shapes[0]) in (3, 4) else None
    if image and len(image) == 3 and image[1] != image[2] and any(row.get("class_name") in SEQUENCES for row in rows):
        image = None  # steps and features; a square may be an image that is read row by row
    if image is None or (len(image) == 4 and image[3] not in (1, 3)):
        shape = tuple(shapes[0][1:]) if shapes else "of unknown shape"
        raise ZooError(
            f"{path}: its input, {shape}, is not an image",
            "Images have the shape (rows, columns, channels), with 1 or 3 channels, channels last."
            + " This model takes numbers of tokens, and its vocabulary is not in the file. For texts, train "
            "model=transformer/classifier." * any(row.get("class_name") == "Embedding" for row in rows),
        )
    return image[1], image[2], (*image, 1)[3]


def _outputs(layers: list[KerasConfig]) -> int | None:
    for row in reversed(layers):
        width = row["config"].get("units") or row["config"].get("filters")
        if isinstance(width, int) and 0 < width <= 1_000_000:
            return width
    return None
