"""MobileNet on OpenVINO behind LitServe, with the functions that the zoo's own worker uses; for serving.py.

python serving_litserve.py ALPHA PRECISION WEIGHTS PORT

LitServe must be in the environment. It sends the class to other processes, so that stands at the top of a module.
"""

import base64
import os
import sys

import litserve as ls
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import serving


class Api(ls.LitAPI):
    """What LitServe calls."""

    def setup(self, _):
        self.predict_by_size = serving.make(*sys.argv[1:4], [1, serving.BATCH])

    def decode_request(self, request):
        return np.frombuffer(base64.b64decode(request["b64"]), np.uint8).reshape(serving.EDGE, serving.EDGE, 3)

    def batch(self, inputs):
        return np.stack(inputs)

    def predict(self, x):
        x = x if x.ndim == 4 else x[None]
        return self.predict_by_size[1 if len(x) == 1 else serving.BATCH](x)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        row = np.ravel(output)
        best = row.argsort()[::-1][:5]
        return {"top": [{"class": int(each), "probability": float(row[each])} for each in best]}


if __name__ == "__main__":
    api = Api(max_batch_size=serving.BATCH, batch_timeout=0.002)
    server = ls.LitServer(api, accelerator="cpu")
    server.run(port=int(sys.argv[4]), host="127.0.0.1", log_level="warning", generate_client_file=False)
