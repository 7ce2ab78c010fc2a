"""MobileNet behind BentoML, which loads this file by name; see peer_serving.py."""

import base64
import os
import sys
from pathlib import Path

import bentoml
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import peer_serving


@bentoml.service(workers=1, logging={"access": {"enabled": False}})
class Classifier:
    """What BentoML calls."""

    def __init__(self) -> None:
        self.network = peer_serving.network(os.environ[peer_serving.MODEL])

    @bentoml.api(batchable=True, max_batch_size=peer_serving.MOST, max_latency_ms=1000)
    def predict(self, b64: list[str]) -> list[dict]:
        """Predict a batch."""
        pixels = np.stack([peer_serving.image(base64.b64decode(each)) for each in b64])
        return [peer_serving.best(row) for row in self.network(pixels)]
