"""Model builders, one file per model, the same code on every Keras from 2.1 (TensorFlow 1.8) to the current one.

Each file has ``build(compat, ...)``, which returns an uncompiled Keras model, and ``preprocess``, which converts
stored inputs to model inputs. ``compat`` is always the package ``zoo.models.compat``, which hides the differences
between Keras versions. Invalid arguments raise ``ValueError`` with the value received.

``MobileNet`` and ``MobileNetV2`` replace those of ``keras.applications`` in your own Keras, ``TransformerEncoder``
replaces the one of ``torch.nn``, and ``load_weights`` fills them from a file. Keras is imported only when one of
them is called.
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
