"""Save a trained model in one or several formats; each module of this package is one format.

A module has ``KIND``, the kind of the ``artifact`` event, and ``NAME``, the name of its file. ``NEEDS`` names the
modules that the stack must have, and ``export(model, path)`` writes it.

A format for another runtime, which stack ``export`` writes, also has ``QUANTIZATIONS``, its subset of none, float16,
dynamic and int8, on a single line, which the host parses. It has ``RUNTIME``, the runtime's name, and ``PACKAGE``,
its package. Its ``export`` is ``export(subject, path, quantize, calibration, facts)``, and ``opened(folder, about)``
returns the function from inputs, arrays by name, to the list of outputs. Its source is copied into ``predict.py``: it
uses only ``numpy``, ``os`` and what it imports itself. ``about`` is the content of ``model.json``. ``NOT_RUN`` may
say why the runtime is not available.
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
        raise UserError("there is no format %r to save a model in; known are %s" % (name, ", ".join(formats())))
    exporter = importlib.import_module("%s.%s" % (__name__, name))
    missing = [module for module in exporter.NEEDS if importlib.util.find_spec(module) is None]
    if missing:
        raise UserError("the format %s needs %s, which this stack does not have" % (name, " and ".join(missing)))
    return exporter


def wanted(asked):
    """List the exporters of the formats that every training run saves, and of the requested formats."""
    names = ALWAYS + tuple(sorted(set(asked) - set(ALWAYS)))
    return [find(name) for name in names]


def save(model, folder, events, exporters):
    for exporter in exporters:
        path = os.path.join(folder, exporter.NAME)
        exporter.export(model, path)
        events.emit("artifact", kind=exporter.KIND, path=path)
