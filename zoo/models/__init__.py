"""Model builders, one file a model, the same code on every Keras from 2.1 (TensorFlow 1.8) to today's.

Each file has ``build(compat, ...)``, which returns an uncompiled Keras model, and ``preprocess``, which turns
stored uint8 pixels into what that model takes. Everything that differs between Keras versions is in ``compat``.
"""
