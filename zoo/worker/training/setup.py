"""Models of texts made ready: built for this stack, first weights drawn, compiled; and any model saved in the end."""

import os
import time

from zoo.models import compat
from zoo.worker import precision, weights
from zoo.worker.errors import RefusalError
from zoo.worker.model import build


def ready(request, phases):
    """Build and compile the model that a request trains.

    Raises:
        RefusalError: the stack cannot compute in the precision asked for, or shrink weights.
    """
    settings = request["train"]
    began = time.monotonic()
    try:
        compat.set_precision(precision.policy(settings["precision"], request["device"]["promise"]))
        compat.seed(settings["seed"])
        model = shaped(request)
        weights.initialise(model, settings["seed"])
        extras = {name: settings[name] for name in ("clip", "beta_2", "weight_decay")}
        compat.compile_classifier(model, settings["optimizer"], settings["learning_rate"], settings["jit"], **extras)
    except ValueError as error:
        raise RefusalError(str(error)) from error
    if request.get("weights"):
        weights.load(model, request["weights"])
    phases["build_s"] = time.monotonic() - began
    return model


def shaped(request):
    """Build the model of a request; ``fixed`` is added to its arguments: PlaidML compiles for one length only."""
    request["model"]["args"]["fixed"] = compat.backend_name() == "plaidml"
    return build(request)[0]


def save_all(model, folder, events):
    """Write ``weights.npz`` and the model in the format of this Keras."""
    path = os.path.join(folder, "weights.npz")
    weights.save(None, model, path)
    events.emit("artifact", kind="weights", path=path)
    native = os.path.join(folder, "model" + compat.native_suffix())
    compat.save(model, native)
    events.emit("artifact", kind="model", path=native)
