"""Continue a text with a language model, one token at a time, with a cache of keys and values."""

import codecs

import numpy as np

from zoo.worker.inference.decoder import open_decoder
from zoo.worker.inference.sampling import sample, step
from zoo.worker.phases import timed


def run(request, events, stop, phases):
    """Draw one token after the other and send the text of each.

    The request's ``generate`` part has the settings, and ``pieces`` the text of each token.
    """
    with timed(phases, "build_s"):
        memory = open_decoder(request)
    with timed(phases, "prompt_s"):
        logits = memory.read(request.generate.tokens[-memory.length :])
    with timed(phases, "infer_s"):
        written = _write(request, memory, logits, events, stop)
    metrics = {"items": written["count"], "items_per_s": written["count"] / max(1e-9, phases["infer_s"])}
    return {"metrics": metrics, "text": written["text"], "stopped": "interrupted" if stop.asked else None}


def _write(request, memory, logits, events, stop):
    settings, pieces = request.generate, [piece.encode("latin-1") for piece in request.pieces]
    random, decoder = np.random.RandomState(settings.seed), codecs.getincrementaldecoder("utf-8")("replace")
    seen, texts, count = list(settings.tokens), [], 0
    events.emit("text", text=settings.prompt)
    while count < settings.length and not stop.asked:
        token = sample(logits, settings.temperature, settings.top_k, random, settings.top_p)
        seen.append(token)
        count += 1
        texts.append(decoder.decode(pieces[token]))
        if texts[-1]:
            events.emit("text", text=texts[-1])
        if count < settings.length:
            logits = step(memory, seen)
    texts.append(decoder.decode(b"", final=True))
    return {"count": count, "text": "".join(texts)}
