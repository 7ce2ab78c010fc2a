"""Convert files of weights from one format to another, and list their content."""

import os
from pathlib import Path

from zoo.core import file_kinds
from zoo.core.errors import ZooError
from zoo.core.files import check_writable
from zoo.weights import io, keras3_layout, pretrained, recognition, sandbox, torch_names
from zoo.weights.formats import Weights


def convert(source: Path, target: Path, names: str = "zoo", overwrite: bool = False) -> list[str]:
    """Read weights in any format, write them in the format of the target's suffix, and return a report in lines.

    Weights of ``torch.nn.TransformerEncoder`` are recognized by their names. ``names`` selects the names of the zoo's
    encoder (``zoo``) or of PyTorch's (``torch``).
    """
    io.writer_for(target)
    if target.exists() and source.exists() and target.samefile(source):
        raise ZooError(f"{source} would be written over itself", "Name another file to write.")
    if os.path.lexists(target) and not overwrite:
        raise ZooError(f"{target} already exists", "Name another file to write, or add overwrite=true.")
    check_writable(target)
    weights, notes = torch_names.to_zoo(io.read(source)), []
    network = recognition.recognize(weights) if weights.order_problems and target.suffix == ".h5" else None
    if network:
        note = f"Written as {pretrained.describe(network)}, with the names of keras.applications"
        notes = ["; ".join([note, *_scaling(network), *network.notes])]
        weights = Weights(network.arrays, weights.kind)
    renamed = torch_names.to_torch(weights) if names == "torch" else weights
    if names == "torch" and renamed.arrays.keys() == weights.arrays.keys():
        raise ZooError(f"{source} has no encoder, so --names torch would have no effect", "Remove --names torch.")
    io.write(target, renamed)
    lines = [f"{source}: {_described(weights)}", *notes, f"{target}: written, {target.stat().st_size:,} bytes"]
    if target.name.endswith(".weights.h5"):
        counted = ", ".join(f"{count} {kind}" for kind, count in keras3_layout.classes_of(weights).items())
        lines.append(f"Layers by class: {counted}")
    return lines


def show(path: Path) -> list[str]:
    kind = file_kinds.of(path)
    if kind.word in file_kinds.FROZEN:
        return [f"{path}: {kind.about}"]
    weights = io.read(path)
    width = max(len(name) for name in weights.arrays)
    rows = [f"{name:<{width}}  {array.shape}" for name, array in weights.arrays.items()]
    problems = [f"It cannot become .h5 or .weights.h5: {problem}" for problem in weights.order_problems]
    network = recognition.recognize(weights)
    known = [f"It contains {pretrained.describe(network)}"] if network else []
    if network and network.top_problem:
        known.append(f"It can be fine-tuned, but cannot classify: it {network.top_problem}")
    notes = [*_scaling(network), *network.notes] if network else []
    if kind.word in file_kinds.MODELS:
        known.insert(0, f"It is {kind.about}, saved by Keras {sandbox.read_model(path)['version'][:50] or 'unknown'}")
    return [f"{path}: {_described(weights)}", *known, *notes, *problems, *rows]


def _scaling(network: recognition.Network) -> list[str]:
    """Describe a pixel scaling other than -1 to 1, which a file of weights cannot store."""
    if network.scaling is None:
        return []
    mean, scale = ([f"{value:g}" for value in dict.fromkeys(values)] for values in network.scaling)
    return [f"it takes (pixel - {' '.join(mean)}) / {' '.join(scale)}"]


def _described(weights: Weights) -> str:
    return f"{weights.kind}, {len(weights.arrays)} weights, {weights.parameters:,} parameters"
