"""MNIST without the zoo, for mnist.py, in a stack's interpreter: as the documentation of Keras and PyTorch shows it.

``python mnist_plain.py keras DATA.npz SEED GOAL`` trains the network of Keras's example as the example does, until
the test accuracy reaches the goal; ``speed-keras`` and ``speed-torch`` measure images a second. The last line of the
output is JSON. The seconds do not include testing: the example tests once.
"""

import json
import sys
import time
from typing import Any

BEGAN = time.perf_counter()
ROUND, BATCH = 25_600, 128


def network(keras: Any) -> Any:
    """Build the network of https://keras.io/examples/vision/mnist_convnet/ (Apache-2.0), compiled as there."""
    layers = keras.layers
    model = keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(32, (3, 3), activation="relu"), layers.MaxPooling2D((2, 2)),
        layers.Conv2D(64, (3, 3), activation="relu"), layers.MaxPooling2D((2, 2)),
        layers.Flatten(), layers.Dropout(0.5), layers.Dense(10, activation="softmax"),
    ])  # fmt: skip
    model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
    return model


def load(path: str) -> Any:
    """Return images in 0..1 and one-hot labels, of the training part and of the test part."""
    import numpy as np

    data = np.load(path)
    pictures = [data[name].astype("float32")[..., None] / 255 for name in ("x_train", "x_test")]
    labels = [np.eye(10, dtype="float32")[data[name]] for name in ("y_train", "y_test")]
    return pictures, labels


def train(path: str, seed: int, goal: float) -> dict[str, Any]:
    """Measure epochs and seconds from the start of the process until the test accuracy reaches the goal."""
    import keras  # type: ignore[import-not-found]

    keras.utils.set_random_seed(seed)
    (x, x_test), (y, y_test) = load(path)
    tests: list[float] = []
    model, testing_s = network(keras), 0.0
    while not tests or tests[-1] < goal:
        if len(tests) == 40:
            raise SystemExit(f"40 epochs did not reach {goal}: {tests}")
        model.fit(x, y, batch_size=BATCH, epochs=1, validation_split=0.1, verbose=0)
        began = time.perf_counter()
        tests.append(float(model.evaluate(x_test, y_test, verbose=0)[1]))
        testing_s += time.perf_counter() - began
    return {"seconds": time.perf_counter() - BEGAN - testing_s, "epochs": len(tests), "accuracy": tests}


def speed_keras(path: str, rounds: int) -> dict[str, Any]:
    """Measure images a second of ``fit``, the first round not counted."""
    import keras

    (x, _), (y, _) = load(path)
    model, rates = network(keras), []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        model.fit(x[:ROUND], y[:ROUND], batch_size=BATCH, verbose=0)
        rates.append(ROUND / (time.perf_counter() - began))
    return {"rates": rates[1:]}


def speed_torch(path: str, rounds: int) -> dict[str, Any]:
    """Measure images a second of the same network in PyTorch, channels last, which is faster; tensors in memory."""
    import torch  # type: ignore[import-not-found]
    from torch import nn

    (x, _), (y, _) = load(path)
    pictures, labels = torch.tensor(x[:ROUND]).permute(0, 3, 1, 2), torch.tensor(y[:ROUND]).argmax(1)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10),
    ).to(memory_format=torch.channels_last)  # fmt: skip
    optimizer, rates = torch.optim.Adam(model.parameters()), []
    for _ in range(rounds + 1):
        began = time.perf_counter()
        for chosen in torch.randperm(ROUND).split(BATCH):
            optimizer.zero_grad()
            batch = pictures[chosen].contiguous(memory_format=torch.channels_last)
            nn.functional.cross_entropy(model(batch), labels[chosen]).backward()
            optimizer.step()
        rates.append(ROUND / (time.perf_counter() - began))
    return {"rates": rates[1:]}


if __name__ == "__main__":
    way, file, *rest = sys.argv[1:]
    answer = {
        "keras": lambda: train(file, int(rest[0]), float(rest[1])),
        "speed-keras": lambda: speed_keras(file, int(rest[0])),
        "speed-torch": lambda: speed_torch(file, int(rest[0])),
    }[way]()
    print(json.dumps(answer))
