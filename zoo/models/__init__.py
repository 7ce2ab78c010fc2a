"""Model builders, one file per model. The same code runs on every Keras from 2.1 (TensorFlow 1.8) to the current one.

Each file has ``build(compat, ...)``, which returns an uncompiled Keras model, and ``preprocess``, which converts
stored inputs to model inputs. ``compat`` is always the package ``zoo.models.compat``, which hides the differences
between Keras versions. Invalid arguments raise ``ValueError`` with the value received.

In your own code, ``MobileNet`` and ``MobileNetV2`` replace the networks of ``keras.applications``, and
``TransformerEncoder`` replaces the class of ``torch.nn``. ``load_weights`` loads their weights from a file. These
functions import Keras only when they are called.
"""

import importlib

from zoo.models.mobilenet import MobileNet
from zoo.models.mobilenet_v2 import MobileNetV2
from zoo.models.saved_weights import load_weights
from zoo.models.transformer import TransformerEncoder

__all__ = ["MobileNet", "MobileNetV2", "TransformerEncoder", "load_weights"]


def module_of(name):
    """Return the module of a model, such as ``"transformer/lm"``."""
    return importlib.import_module("zoo.models." + name.replace("/", "."))
