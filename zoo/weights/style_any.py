"""Read the published networks for style in one pass: two TensorFlow Lite files, or the zoo's ``.npz`` of both.

The weights in the zoo's file have the names of the layers in ``zoo.models.style_transfer.any``.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.core import paths, schema
from zoo.core.download import fetch
from zoo.core.errors import ZooError
from zoo.weights import tflite
from zoo.weights.formats import Arrays, RejectedFileError, Weights

TABLE = paths.CONFIGS / "weights" / "style_any.yaml"
KIND = "TensorFlow Lite, style in one pass"
_BLOCKS = 17
_STYLE = "style_params/transformer/{place}/StyleNorm/"


def describes(path: Path) -> bool:
    return path.is_dir() and any(path.glob("*.tflite"))


def require_both(path: Path, weights: Weights) -> Weights:
    """Return the weights of a path, after checking that they belong to both networks."""
    if set(weights.arrays) != set(_names()):
        raise ZooError(
            f"{path} ({weights.kind}, {len(weights.arrays)} weights) does not contain networks for style in one pass",
            "Remove weights= to use the published networks, or give the folder of their two .tflite files.",
        )
    return weights


def read(folder: Path) -> Weights:
    """Read the folder of the two files, whose names do not matter; raise OSError if one cannot be opened."""
    constants: Arrays = {}
    for path in sorted(folder.glob("*.tflite"))[:10]:
        constants |= tflite.read(path)
    missing = sorted(set(_names().values()) - set(constants))
    if missing:
        reason = f"its files of TensorFlow Lite are not predictor and transformer: {missing[0]} is missing"
        raise RejectedFileError(folder, reason)
    return Weights({name: _as_keras(name, constants[published]) for name, published in _names().items()}, KIND)


def is_downloaded() -> bool:
    return all((_folder() / row["file"]).is_file() for row in schema.read_yaml(TABLE)["files"])


def _folder() -> Path:
    return paths.cache_dir() / "downloads" / "style_any"


def published() -> Path:
    """Return the folder of the published files, downloaded once and verified by SHA-256."""
    table, folder = schema.read_yaml(TABLE), _folder()
    for row in table["files"]:
        try:
            fetch(row["file"], [table["address"] + row["file"]], row["sha256"], folder, row["bytes"])
        except ZooError as error:
            error.remedy += f"\nOr download the two files of {table['address']} yourself: weights=FOLDER"
            raise
    return folder


def _names() -> dict[str, str]:
    names = _pair("predict_conv", "MobilenetV2/Conv")
    for number in range(_BLOCKS):
        ours = f"predict_block{number}_"
        theirs = "MobilenetV2/expanded_conv" + (f"_{number}/" if number else "/")
        names |= _pair(ours + "expand", theirs + "expand") if number else {}
        names |= {
            f"{ours}depthwise/depthwise_kernel": f"{theirs}depthwise/depthwise_weights",
            f"{ours}depthwise/bias": f"{theirs}depthwise/depthwise_bias",
        }
        names |= _pair(ours + "project", theirs + "project")
    names |= _pair("predict_last", "MobilenetV2/Conv_1") | _pair("predict_style", "mobilenet_conv/Conv")
    for number in (1, 2, 3):
        place = f"transformer/contract/conv{number}"
        names |= {f"conv{number}/kernel": f"{place}/weights", f"conv{number}_norm/shift": f"{place}/Conv2D_bias"}
    places = {
        f"block{number}_{half}": f"residual/residual{number}/conv{index}"
        for number in range(1, 6)
        for index, half in enumerate("ab", 1)
    }
    places |= {name: f"expand/conv{index}/conv" for index, name in enumerate(("up1", "up2", "output"), 1)}
    for name, place in places.items():
        names[f"{name}/kernel"] = f"transformer/{place}/weights"
        for part, layer in (("shift", "Conv"), ("scale", "Conv_1")):
            prefix = _STYLE.format(place=place) + layer
            names |= {
                f"{name}_style/{part}_kernel": f"{prefix}/weights",
                f"{name}_style/{part}_bias": f"{prefix}/Conv2D_bias",
            }
    return names


def _pair(ours: str, theirs: str) -> dict[str, str]:
    return {f"{ours}/kernel": f"{theirs}/weights", f"{ours}/bias": f"{theirs}/Conv2D_bias"}


def _as_keras(name: str, array: "NDArray[np.float32]") -> "NDArray[np.float32]":
    """Convert a weight to Keras's layout: kernels as (height, width, in, out), 1x1 kernels as (in, out)."""
    if array.ndim != 4:
        return array
    if name == "conv1/kernel":
        array = np.asarray(array / 255, np.float32)  # our network takes pixels from 0 to 255
    kernel: NDArray[np.float32] = np.ascontiguousarray(array.transpose(1, 2, 3, 0))
    single = name.startswith("predict_style/") or "_style/" in name
    return kernel.reshape(kernel.shape[2:]) if single else kernel
