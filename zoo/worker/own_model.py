"""Build a model from a user's file, whose code runs only here.

The request has the path of a copy in the run folder and the checksum of the original. Changed files are not run.
"""

import contextlib
import hashlib
import inspect
import os
import sys
import traceback
import types

from zoo.models import compat
from zoo.protocol.targets import CLASSES, KINDS, NUMBER
from zoo.worker.errors import UserError

# Layers that may follow the one whose activation determines the meaning of the outputs.
SHAPING = ("Reshape", "Flatten", "Dropout", "Permute")
# Layers or operations that end in probabilities; a softmax after a log-softmax is harmless.
ACTIVATIONS = ("softmax", "sigmoid")


def build(model):
    """Execute the file of a request's model and return the Keras model of its ``build``, ending in probabilities."""
    path, arguments = model.file, dict(model.args)
    name = os.path.basename(path)
    compat.prepare_for_foreign_code()
    with _explained(name):
        function = _function(path, model.sha256, name)
        built = function(**_typed(function, arguments))
    return check(built, arguments["classes"], name, model.learns)


def _function(path, sha256, name):
    with open(path, "rb") as source:
        content = source.read()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise UserError("%s has changed: its sha256 is different from the original's" % path)
    module = types.ModuleType(os.path.splitext(name)[0])
    module.__file__ = name
    sys.modules.setdefault(module.__name__, module)
    exec(compile(content, name, "exec"), vars(module))  # noqa: S102  (requested by the user)
    if not callable(getattr(module, "build", None)):
        raise UserError("%s has no function build" % name)
    return module.build


def _typed(function, arguments):
    """Return arguments with the types of the function's defaults: JSON has no tuples."""
    typed = dict(arguments, input_shape=tuple(arguments["input_shape"]))
    for name, parameter in inspect.signature(function).parameters.items():
        if isinstance(parameter.default, tuple) and isinstance(typed.get(name), list):
            typed[name] = tuple(typed[name])
    return typed


@contextlib.contextmanager
def _explained(name):
    """Turn any error in the file into one that names its line; the file may not fork or end this process."""
    process, fork = os.getpid(), os.fork

    def refuse():
        raise UserError("%s starts another process with os.fork, which a model file cannot do" % name)

    os.fork = refuse
    try:
        yield
    except UserError:
        raise
    except SyntaxError as error:
        where = (error.filename or name, error.lineno, *sys.version_info[:2], error.msg)
        raise UserError("%s, line %s is not Python %d.%d: %s" % where) from error
    except (Exception, SystemExit) as error:
        raise UserError("%s: %s" % (_where(name, error), _said(error))) from error
    finally:
        os.fork = fork
        if os.getpid() != process:  # forked in another way: the copy must not report for the worker
            os._exit(1)


def _where(name, error):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame[0] == name]
    return "%s, line %d, in %s" % (name, frames[-1][1], frames[-1][2]) if frames else name


def _said(error):
    words = "%s: %s" % (type(error).__name__, error)
    if isinstance(error, ImportError):
        words += " (a model file can import packages of its stack, but not other files of its folder)"
    return words if len(words) <= 2000 else words[:2000] + " ..."


def check(model, classes, name, kind=CLASSES):
    """Check that a model ends in a number per class or label, or one number, with the activation of its target."""
    if not isinstance(model, compat.keras.models.Model):
        what = "nothing" if model is None else "an object of type %s" % type(model).__name__
        raise UserError("build in %s returned %s, not a Keras model" % (name, what))
    if not getattr(model, "inputs", None):
        raise UserError("the model of %s is not built: begin with Input(shape=input_shape)" % name)
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        counts = (name, len(model.inputs), len(model.outputs))
        raise UserError("the model of %s has %d inputs and %d outputs, not one of each" % counts)
    shape = compat.static_shape(model.outputs[0])
    if len(shape) != 2 or shape[1] != classes:
        raise UserError("the model of %s ends in %s; this data needs (None, %d)" % (name, shape, classes))
    if kind == CLASSES:
        return ending_in_probabilities(model)
    ending, wanted = activation_of(model), KINDS[kind].activation
    if ending not in ("linear", wanted):
        words = "the model of %s ends in %s; data.target=%s needs a last layer without activation%s"
        raise UserError(words % (name, ending, kind, " or with sigmoid" if wanted == "sigmoid" else ""))
    return model if kind == NUMBER else ending_in_probabilities(model, wanted)


def ending_in_probabilities(model, activation="softmax"):
    """Return the model, with an activation added if its last layer has none."""
    if activation_of(model) != "linear":
        return model
    last = compat.keras.layers.Activation(activation, name="probabilities", **compat.full_precision())
    return compat.keras.models.Model(inputs=model.inputs[0], outputs=last(model.outputs[0]), name=model.name)


def activation_of(model):
    """Return the activation of the last layer that has one, including layers of nested networks."""
    for layer in reversed(getattr(model, "operations", model.layers)):  # Keras 3's layers exclude operations
        if isinstance(layer, compat.keras.models.Model):
            return activation_of(layer)
        kind = type(layer).__name__
        # Keras 2 wraps operations and stores their name as a symbol, such as nn.softmax.
        itself = str(getattr(layer, "symbol", kind)).rpartition(".")[2].replace("_", "").lower()
        if itself in ACTIVATIONS:
            return itself
        activation = getattr(getattr(layer, "activation", None), "__name__", "linear")
        # Models in mixed precision end in such an activation, which only casts to float32.
        passes_on = kind == "Activation" and activation == "linear"
        if kind not in SHAPING and not passes_on:
            return activation
    return "linear"
