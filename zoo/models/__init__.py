"""Model builders, one file a model, the same code on every Keras from 2.1 (TensorFlow 1.8) to today's.

Each file has ``build(compat, ...)``, which returns an uncompiled Keras model, and ``preprocess``, which turns
stored uint8 pixels into what that model takes. Everything that differs between Keras versions is in ``compat``.

``MobileNet`` and ``MobileNetV2`` are for direct use beside your own Keras, in place of those of
``keras.applications``, ``TransformerEncoder`` in place of ``torch.nn``'s. Nothing here imports Keras before one of
them is called.
"""

from zoo.models.mobilenet import MobileNet
from zoo.models.mobilenet_v2 import MobileNetV2
from zoo.models.transformer import TransformerEncoder

__all__ = ["MobileNet", "MobileNetV2", "TransformerEncoder"]
