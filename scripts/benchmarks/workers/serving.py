"""MobileNet on OpenVINO inside its stack: in a loop with nothing else, or behind LitServe; for serving.py.

python serving.py loop ALPHA PRECISION WEIGHTS SECONDS    print pictures a second
python serving.py litserve ALPHA PRECISION WEIGHTS PORT   serve; LitServe must be in the environment
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
    """Predict one batch again and again; print pictures a second."""
    predict = make(alpha, precision, weights, [BATCH])[BATCH]
    pixels = np.random.RandomState(0).randint(0, 256, (BATCH, EDGE, EDGE, 3)).astype(np.uint8)
    for _ in range(3):
        predict(pixels)
    began, count = time.monotonic(), 0
    while time.monotonic() - began < float(seconds):
        predict(pixels)
        count += BATCH
    print(count / (time.monotonic() - began))


def litserve(alpha, precision, weights, port):
    """Serve the same functions by LitServe, with the settings its documentation gives for batches."""
    import litserve as ls

    class Api(ls.LitAPI):
        def setup(self, _):
            self.predict_by_size = make(alpha, precision, weights, [1, BATCH])

        def decode_request(self, request):
            return np.frombuffer(request["file"].file.read(), np.uint8).reshape(EDGE, EDGE, 3)

        def batch(self, inputs):
            return np.stack(inputs)

        def predict(self, x):
            x = x if x.ndim == 4 else x[None]
            return self.predict_by_size[1 if len(x) == 1 else BATCH](x)

        def unbatch(self, output):
            return list(output)

        def encode_response(self, output):
            row = np.ravel(output)
            best = row.argsort()[::-1][:5]
            return {"top": [{"class": int(each), "probability": float(row[each])} for each in best]}

    api = Api(max_batch_size=BATCH, batch_timeout=0.002)
    ls.LitServer(api, accelerator="cpu").run(
        port=int(port), host="127.0.0.1", log_level="warning", generate_client_file=False
    )


if __name__ == "__main__":
    {"loop": loop, "litserve": litserve}[sys.argv[1]](*sys.argv[2:])
