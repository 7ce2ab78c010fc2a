"""Build models of texts for this stack, with their first weights drawn, and compile them."""

from zoo.models import compat
from zoo.worker import devices, precision, weights
from zoo.worker.errors import UserError
from zoo.worker.model import build
from zoo.worker.training import feature_extraction


def build_and_compile(run):
    """Build and compile the model that a request trains.

    Raises:
        UserError: the stack cannot compute in the precision asked for, or shrink weights.
    """
    settings, request = run.settings, run.request
    with run.timed("build_s"):
        try:
            compat.set_precision(precision.policy(settings["precision"], request["device"]["promise"]))
            compat.seed(settings["seed"])
            model = build_for_texts(request)
            weights.initialise(model, settings["seed"])
            extras = {name: settings[name] for name in ("clip", "beta_2", "weight_decay")}
            chosen = [settings[name] for name in ("optimizer", "learning_rate", "jit")]
            compat.compile_classifier(model, *chosen, **extras)
        except ValueError as error:
            raise UserError(str(error)) from error
        if request.get("weights"):
            _start_from(model, request["weights"], run)
    return model


def _start_from(model, path, run):
    """Fill a model with the weights to start from; a last layer for other classes stays new."""
    last = feature_extraction.name_of(model)
    if weights.load_but_head(model, path, last):
        run.warn("The last layer, %s, is new: the weights tell other classes apart" % last)


def build_for_texts(request):
    """Build the model of a request; where the framework compiles for one length only, ``fixed`` says so."""
    request["model"]["args"]["fixed"] = not devices.capabilities()["any_length"]
    return build(request)[0]
