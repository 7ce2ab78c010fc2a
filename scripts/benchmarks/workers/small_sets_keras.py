"""Train by Keras's transfer-learning guide; argv: weights, size in pixels, SEED:FOLDER with train/ and test/ ...

The steps of https://keras.io/guides/transfer_learning/ for as many classes as there are folders.
"""

import importlib
import json
import sys
from typing import Any

keras: Any = importlib.import_module("keras")

BATCH, HEAD_EPOCHS, EPOCHS = 32, 20, 10
HEAD_RATE, RATE = 1e-3, 1e-5


def main(weights: str, size: int, runs: list[str]) -> None:
    """Train on every folder and print the test accuracies."""
    pairs = [run.partition(":")[::2] for run in runs]
    print(json.dumps({"rows": [trained(root, weights, int(seed), size) for seed, root in pairs]}))


def trained(root: str, weights: str, seed: int, size: int) -> dict[str, float]:
    """Train the head, then all layers; return the test accuracy after each."""
    keras.utils.clear_session()
    keras.utils.set_random_seed(seed)
    train, test = of_folder(f"{root}/train", size, True), of_folder(f"{root}/test", size, False)
    base = trained_network(weights, size)
    base.trainable = False
    model = classifier(base, len(train.class_names), size)
    fit(model, train, HEAD_RATE, HEAD_EPOCHS)
    of_head = model.evaluate(test, verbose=0)[1]
    base.trainable = True
    fit(model, train, RATE, EPOCHS)
    return {"head_accuracy": of_head, "test_accuracy": model.evaluate(test, verbose=0)[1]}


def of_folder(path: str, size: int, shuffle: bool) -> Any:
    """Return the pictures of a folder of classes."""
    return keras.utils.image_dataset_from_directory(
        path, image_size=(size, size), batch_size=BATCH, shuffle=shuffle, verbose=False
    )


def trained_network(weights: str, size: int) -> Any:
    """Return MobileNet without its top, for pictures of another size than its weights were trained on."""
    whole = keras.applications.MobileNet(alpha=0.25, weights=None)
    whole.load_weights(weights)
    base = keras.applications.MobileNet(alpha=0.25, weights=None, include_top=False, input_shape=(size, size, 3))
    for layer in base.layers[1:]:
        layer.set_weights(whole.get_layer(layer.name).get_weights())
    return base


def classifier(base: Any, classes: int, size: int) -> Any:
    """Put the guide's augmentation in front of the network and a new head behind it."""
    layers = keras.layers
    inputs = keras.Input((size, size, 3))
    x = layers.RandomRotation(0.1)(layers.RandomFlip("horizontal")(inputs))
    x = layers.Rescaling(scale=1 / 127.5, offset=-1)(x)
    x = layers.GlobalAveragePooling2D()(base(x, training=False))
    return keras.Model(inputs, layers.Dense(classes)(layers.Dropout(0.2)(x)))


def fit(model: Any, data: Any, rate: float, epochs: int) -> None:
    """Train with Adam at one rate; XLA would take longer to compile the network than this takes to train it."""
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer=keras.optimizers.Adam(rate), loss=loss, metrics=["accuracy"], jit_compile=False)
    model.fit(data, epochs=epochs, verbose=0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
