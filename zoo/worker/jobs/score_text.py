"""Measure how well a language model predicts a text."""

import math

import numpy as np

from zoo.worker.jobs.train_language_model import evaluate
from zoo.worker.phases import timed
from zoo.worker.training.setup import build_trained_for_texts


def run(request, events, stop, phases):
    """Return perplexity, cross-entropy (nats per token) and accuracy over the tokens in the request's ``data``."""
    with timed(phases, "build_s"):
        model = build_trained_for_texts(request)
    tokens = np.load(request.data.tokens, allow_pickle=False)
    with timed(phases, "infer_s"):
        loss, accuracy = evaluate(model, tokens, request.model.args["length"])
    metrics = {"perplexity": math.exp(min(700.0, loss)), "loss": loss, "token_accuracy": accuracy}
    speed = {"items": len(tokens) - 1, "items_per_s": (len(tokens) - 1) / max(1e-9, phases["infer_s"])}
    return {"metrics": dict(metrics, **speed), "stopped": "interrupted" if stop.asked else None}
