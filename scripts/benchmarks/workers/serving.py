"""MobileNet on OpenVINO inside its stack, in a loop with nothing else; for serving.py.

python serving.py ALPHA PRECISION WEIGHTS SECONDS
"""

import sys
import time

import numpy as np

BATCH, EDGE = 64, 224


def make(alpha, precision, weights, sizes):
    """Build the functions from pixels to probabilities that the zoo's own worker uses, by size of batch."""
    from zoo.worker import devices
    from zoo.worker.inference import predictors

    device = devices.load("openvino")
    device.start({})
    predictors.prepare(device, precision)
    import keras

    model = keras.applications.MobileNet(alpha=float(alpha), weights=None)
    model.load_weights(weights)

    def preprocess(pixels):
        return np.asarray(pixels, np.float32) / np.float32(127.5) - np.float32(1)

    return {size: predictors.of(device, model, preprocess, (size, EDGE, EDGE, 3)) for size in sizes}


def loop(alpha, precision, weights, seconds):
    """Predict one batch again and again; print pictures a second, and seconds of processor time for one."""
    predict = make(alpha, precision, weights, [BATCH])[BATCH]
    pixels = np.random.RandomState(0).randint(0, 256, (BATCH, EDGE, EDGE, 3)).astype(np.uint8)
    for _ in range(3):
        predict(pixels)
    began, spent, count = time.monotonic(), time.process_time(), 0
    while time.monotonic() - began < float(seconds):
        predict(pixels)
        count += BATCH
    print(count / (time.monotonic() - began), (time.process_time() - spent) / count)


if __name__ == "__main__":
    loop(*sys.argv[1:])
