"""Build text models for this stack, with their random initial weights, and compile them."""

from zoo.models import compat
from zoo.worker import devices, endings, precision, weights
from zoo.worker.errors import UserError
from zoo.worker.model import build
from zoo.worker.training.checkpointing import precision_before


def build_and_compile(run):
    settings, request = run.settings, run.request
    with run.timed("build_s"):
        try:
            settings.precision = settled_precision(run)
            compat.set_precision(settings.precision)
            compat.seed(settings.seed)
            model = build_for_texts(request)
            weights.initialise(model, settings.seed)
            compat.compile_classifier(
                model, settings.optimizer, settings.learning_rate, settings.jit, endings.loss(run.target),
                clip=settings.clip, beta_2=settings.beta_2, weight_decay=settings.weight_decay,
            )  # fmt: skip
        except ValueError as error:
            raise UserError(str(error)) from error
        load_weights(run, model)
    return model


def load_weights(run, model):
    """Fill a model with the weights of the request, if any, and report the network."""
    if run.request.weights:
        last = weights.load_but_head(model, run.request.weights)
        if last:
            run.warn("The last layer, %s, starts untrained: the weights are for other classes" % last)
    run.report_network(model)


def settled_precision(run):
    """Return Keras's name of the training precision; a resumed run keeps the precision of its checkpoint.

    Raises:
        ValueError: float64 is requested on a GPU.
    """
    wanted, network = run.settings.precision, run.request.model.name
    if wanted == "auto":
        wanted = precision_before(run) or wanted
    return precision.policy(wanted, run.request.device.device_kind, network)


def build_for_texts(request):
    """Build the model of a request; set ``fixed`` if the framework compiles for only one length."""
    request.model.args["fixed"] = not devices.capabilities()["any_length"]
    return build(request)[0]


def build_trained_for_texts(request):
    """Build the model of a request with its weights."""
    model = build_for_texts(request)
    if request.weights:
        weights.load(model, request.weights)
    return endings.in_unit(model, request.model.target)
