"""MobileNet behind LitServe, whose processes load this file by name; see peer_serving.py."""

import base64
import os

import litserve
import numpy as np
import peer_serving


class Api(litserve.LitAPI):
    """What LitServe calls."""

    def setup(self, _):
        self.network = peer_serving.network(os.environ[peer_serving.MODEL])

    def decode_request(self, request):
        return peer_serving.image(base64.b64decode(request["b64"]))

    def batch(self, inputs):
        return np.stack(inputs)

    def predict(self, x):
        return self.network(x)

    def unbatch(self, output):
        return list(output)

    def encode_response(self, output):
        return peer_serving.best(output)
