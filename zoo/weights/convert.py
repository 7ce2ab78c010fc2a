"""Convert files of weights from one format to another, and list what they hold."""

from pathlib import Path

from zoo.core.errors import ZooError
from zoo.weights import io, keras3_layout, torch_names
from zoo.weights.formats import Weights


def convert(source: Path, target: Path, names: str = "zoo") -> list[str]:
    """Read weights of any kind and write them as the kind that the target's name ends in.

    Args:
        source: the file to read. Weights of ``torch.nn.TransformerEncoder`` are known by their names.
        target: the file to write.
        names: ``zoo``, the names of the zoo's own encoder, or ``torch``, those of PyTorch's.

    Returns:
        What was read and written, in lines for people.

    Raises:
        ZooError: the source cannot be read, or cannot become what was asked for.
    """
    io.writer_for(target)
    weights = torch_names.to_zoo(io.read(source))
    if target.exists() and target.samefile(source):
        raise ZooError(f"{source} would be written over itself", "Name another file to write.")
    io.write(target, torch_names.to_torch(weights) if names == "torch" else weights)
    lines = [f"{source}: {_described(weights)}", f"{target}: written, {target.stat().st_size:,} bytes"]
    if target.name.endswith(".weights.h5"):
        counted = ", ".join(f"{count} {kind}" for kind, count in keras3_layout.classes_of(weights).items())
        lines.append(f"Layers by class: {counted}")
    return lines


def show(path: Path) -> list[str]:
    """List what a file of weights holds, in lines for people.

    Raises:
        ZooError: it cannot be read.
    """
    weights = io.read(path)
    width = max(len(name) for name in weights.arrays)
    rows = [f"{name:<{width}}  {array.shape}" for name, array in weights.arrays.items()]
    problems = [f"It cannot become .h5 or .weights.h5: {problem}" for problem in weights.order_problems]
    return [f"{path}: {_described(weights)}", *problems, *rows]


def _described(weights: Weights) -> str:
    numbers = sum(array.size for array in weights.arrays.values())
    return f"{weights.kind}, {len(weights.arrays)} weights, {numbers:,} parameters"
