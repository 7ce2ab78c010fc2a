"""The Keras example of imdb.py in a stack's interpreter: ``python imdb_keras.py ARRAYS``.

The last line of the output is JSON: seconds of training and the accuracy after each epoch.
"""

import importlib
import json
import sys
import time
from typing import Any

import numpy as np

WORDS, LENGTH, WIDTH = 20_000, 200, 32


def network(keras: Any) -> Any:
    """Build https://keras.io/examples/nlp/text_classification_with_transformer/ (Apache-2.0)."""
    layers: Any = keras.layers

    class Block(layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.attention = layers.MultiHeadAttention(num_heads=2, key_dim=WIDTH)
            self.inner, self.outer = layers.Dense(WIDTH, activation="relu"), layers.Dense(WIDTH)
            self.norms = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
            self.drops = [layers.Dropout(0.1) for _ in range(2)]

        def call(self, x: Any, training: Any = None) -> Any:
            x = self.norms[0](x + self.drops[0](self.attention(x, x), training=training))
            return self.norms[1](x + self.drops[1](self.outer(self.inner(x)), training=training))

    class Embeddings(layers.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = layers.Embedding(WORDS, WIDTH), layers.Embedding(LENGTH, WIDTH)

        def call(self, x: Any) -> Any:
            return self.words(x) + self.places(keras.ops.arange(0, LENGTH))

    inputs = layers.Input(shape=(LENGTH,))
    x = layers.GlobalAveragePooling1D()(Block()(Embeddings()(inputs)))
    x = layers.Dense(20, activation="relu")(layers.Dropout(0.1)(x))
    outputs = layers.Dense(2, activation="softmax")(layers.Dropout(0.1)(x))
    return keras.Model(inputs, outputs)


def main(arrays: str) -> None:
    """Train for two epochs as the example does."""
    keras: Any = importlib.import_module("keras")
    keras.utils.set_random_seed(1)
    model = network(keras)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    with np.load(arrays) as stored:
        x, y, test = stored["x"], stored["y"], stored["test"]
    mixed = np.random.RandomState(1).permutation(np.flatnonzero(~test))
    began = time.monotonic()
    history = model.fit(x[mixed], y[mixed], batch_size=32, epochs=2, validation_data=(x[test], y[test]), verbose=0)
    spent = time.monotonic() - began
    print(json.dumps({"train_s": spent, "accuracy": history.history["val_accuracy"]}))


if __name__ == "__main__":
    main(sys.argv[1])
