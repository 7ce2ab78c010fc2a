"""Save a trained model in one or several formats; each module of this package is one format.

A module has ``KIND``, the kind of the ``artifact`` event, and ``NAME``, the name of its file. ``NEEDS`` names the
modules that the stack must have, and ``export(model, path)`` writes the file.

The stack ``export`` writes formats for other runtimes, which also have ``QUANTIZATIONS``: some of none, float16,
dynamic and int8, in a single line, which the host parses. ``INSIDE``, if any, are those that are possible with
``preprocessing=inside``. ``RUNTIME`` and ``PACKAGE`` name the runtime and its package. ``export`` is
``export(subject, path, quantize, calibration, facts)``. ``opened(folder, about)`` returns a function from inputs,
arrays by name, to a list of outputs; ``about`` is the content of ``model.json``. Its source is copied into
``predict.py``, so it uses only ``numpy``, ``os`` and its own imports. ``NOT_RUN`` is the reason why the runtime is
not available, or None.
"""

import importlib
import importlib.util
import os
import pkgutil

from zoo.worker.errors import UserError

# The formats that every training run saves.
ALWAYS = ("npz", "native")


def formats():
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name):
    """Import a format's exporter; raise UserError if the stack lacks a module that it needs."""
    if name not in formats():
        raise UserError("unknown export format %r; available formats: %s" % (name, ", ".join(formats())))
    exporter = importlib.import_module("%s.%s" % (__name__, name))
    missing = [module for module in exporter.NEEDS if importlib.util.find_spec(module) is None]
    if missing:
        raise UserError("the format %s needs %s, which this stack does not have" % (name, " and ".join(missing)))
    return exporter


def wanted(asked):
    """List the exporters of the formats that every training run saves, and of the requested formats."""
    return [find(name) for name in (*ALWAYS, *sorted(set(asked) - set(ALWAYS)))]


def save(model, folder, events, exporters, whole=None):
    """Write a model in all formats; ``whole`` is the model that files with the network itself contain."""
    for exporter in exporters:
        path = os.path.join(folder, exporter.NAME)
        exporter.export(model if exporter.KIND == "weights" else whole or model, path)
        events.emit("artifact", kind=exporter.KIND, path=path)
