"""Python API of the zoo, for scripts and notebooks. It runs the same code as the command line.

from zoo.api import train, infer

run = train(model="mnist", data="digits", trainer={"epochs": 20})
run.metrics["test_accuracy"]
run                                     # in a notebook: the curves
infer(run=run.folder, input="seven.png").predictions
"""

import sys
from typing import Any

if sys.version_info < (3, 11):  # noqa: UP036  (the kernel of an old stack)
    raise ImportError("zoo.api needs Python 3.11 or newer; this is the Python of a stack, %s" % sys.executable)  # noqa: UP031

from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError, not_installed
from zoo.runs.result import Run

__all__ = ["Run", "bench", "evaluate", "export", "infer", "train"]


def train(**settings: Any) -> Run:
    """Train a model.

    Args:
        **settings: as on the command line: ``model="mnist"``, ``backend="cpu"``, ``seed=2``; nested ones as
            dictionaries, ``trainer={"epochs": 3}``, or by dotted name, ``**{"trainer.epochs": 3}``.

    Returns:
        The finished run: ``metrics``, ``history``, ``folder``, ``curves``.
    """
    return _run("train", settings)


def export(**settings: Any) -> Run:
    """Export a trained model to other runtimes, and compare each export with its source.

    Args:
        **settings: as on the command line: ``run="last"``, ``format=["onnx", "litert"]``, ``quantize="int8"``.

    Returns:
        The finished run; ``record["exports"]`` has a row for each format.
    """
    return _run("export", settings)


def infer(**settings: Any) -> Run:
    """Use a trained run on images.

    Args:
        **settings: ``run`` (a :class:`Run`, its folder, or ``"last"``), ``input``, and as on the command line.

    Returns:
        The finished run; ``predictions`` holds a row an input.
    """
    return _run("infer", settings)


def evaluate(**settings: Any) -> Run:
    """Evaluate a classifier of images on labeled images.

    Args:
        **settings: ``run`` or ``model`` with ``weights``, ``data``, and as on the command line.

    Returns:
        The finished run: ``metrics``, and in its folder ``evaluation.json``, ``classes.csv`` and ``confusion.csv``.
    """
    return _run("evaluate", settings)


def bench(**settings: Any) -> Run:
    """Time a model.

    Args:
        **settings: as on the command line: ``model="transformer"``, ``compare_to=["jax"]``.

    Returns:
        The finished run; ``results.csv`` and ``results.json`` in its folder hold a row a timing.
    """
    return _run("bench", settings)


def _run(verb: str, settings: dict[str, Any]) -> Run:
    named = {key: value.folder if isinstance(value, Run) else value for key, value in settings.items()}
    try:
        from zoo.tasks import registry

        try:
            overrides = registry.with_gpu(Overrides.of(named))
        except (RecursionError, ValueError) as error:  # endless, or a number with thousands of digits
            raise ZooError(f"Cannot read the values of {', '.join(named)}: {error}", "Correct them.") from error
        return registry.dispatch(verb, overrides)
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from error
