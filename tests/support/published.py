"""Small weights in the layouts in which others publish theirs, with drawn numbers."""

import json
from pathlib import Path

import h5py
import numpy as np

from zoo.weights import manifest

VGG_WIDTHS = (64, 128, 256, 512, 512)
VGG_DEPTHS = {"vgg16": (2, 2, 3, 3, 3), "vgg19": (2, 2, 4, 4, 4)}


def style_network(folder: Path, filters: int = 2, blocks: int = 1, edge: int = 3) -> dict[str, np.ndarray]:
    """Write a small network as its publishers would, and return it under the zoo's names."""
    random, named, rows = np.random.default_rng(0), {}, {}
    folder.mkdir(exist_ok=True)
    for number, (name, shape) in enumerate(manifest._shapes(filters, blocks, edge).items()):
        named[name] = random.random(shape).astype("<f4")
        file = "Variable" + (f"_{number}" if number else "")
        named[name].tofile(folder / file)
        rows[file] = {"filename": file, "shape": list(shape)}
    (folder / "manifest.json").write_text(json.dumps(dict(sorted(rows.items()))))
    return named


def vgg(path: Path, network: str) -> Path:
    """A file with the layers, names and shapes of the one that Keras publishes without its top; drawn numbers."""
    draw, channels = np.random.default_rng(1), 3
    with h5py.File(path, "w") as file:
        names = ["input_1"]
        file.create_group("input_1").attrs["weight_names"] = np.array([], "S1")
        for block, (width, depth) in enumerate(zip(VGG_WIDTHS, VGG_DEPTHS[network], strict=True), 1):
            for turn in range(1, depth + 1):
                names.append(f"block{block}_conv{turn}")
                group, stored = file.create_group(names[-1]), [f"{names[-1]}_{kind}_1:0" for kind in "Wb"]
                group.attrs["weight_names"] = np.array([name.encode() for name in stored])
                kernel = draw.standard_normal((3, 3, channels, width), np.float32)
                group[stored[0]], group[stored[1]] = kernel * (2 / (9 * channels)) ** 0.5, np.zeros(width, "f4")
                channels = width
            names.append(f"block{block}_pool")
            file.create_group(names[-1]).attrs["weight_names"] = np.array([], "S1")
        file.attrs["layer_names"] = np.array([name.encode() for name in names])
    return path
