"""Letting a language model go on with a text, one token at a time; keys and values of the past are kept."""

import codecs
import time

import numpy as np

from zoo.models.transformer import steps
from zoo.worker import weights
from zoo.worker.ready import shaped


def run(request, events, stop, phases):
    """Draw token after token and send each one's text as it comes.

    Args:
        request: ``infer`` holds the prompt, its tokens, length, temperature, top_k and seed; ``pieces`` what each
            token adds to a text, as bytes written as one character each.
        events: where to report.
        stop: looked at between tokens.
        phases: seconds by phase, filled in.

    Returns:
        The fields of the ``done`` event: ``metrics``, ``text`` and ``stopped``.
    """
    settings, arguments = request["infer"], request["model"]["args"]
    began = time.time()
    model = shaped(request)
    weights.load(model, request["weights"])
    given = {name: value for name, value in arguments.items() if name in STEP_ARGUMENTS}
    memory = steps.Cached(given, model.get_weights())
    phases["build_s"] = time.time() - began
    began = time.time()
    logits = recall(memory, settings["tokens"][-memory.length :])
    phases["prompt_s"] = time.time() - began
    began = time.time()
    written = _write(request, memory, logits, events, stop)
    phases["infer_s"] = time.time() - began
    metrics = {"items": written["count"], "items_per_s": written["count"] / max(1e-9, phases["infer_s"])}
    return {"metrics": metrics, "text": written["text"], "stopped": "interrupted" if stop.asked else None}


STEP_ARGUMENTS = ("vocabulary", "length", "layers", "d_model", "heads", "d_ff", "activation", "norm_first", "tied")


def _write(request, memory, logits, events, stop):
    settings, pieces = request["infer"], [piece.encode("latin-1") for piece in request["pieces"]]
    random, decoder = np.random.RandomState(settings["seed"]), codecs.getincrementaldecoder("utf-8")("replace")
    seen, texts, count = list(settings["tokens"]), [], 0
    events.emit("text", text=settings["prompt"])
    while count < settings["length"] and not stop.asked:
        token = draw(logits, settings["temperature"], settings["top_k"], random)
        seen.append(token)
        count += 1
        texts.append(decoder.decode(pieces[token]))
        if texts[-1]:
            events.emit("text", text=texts[-1])
        if count < settings["length"]:
            logits = follow(memory, seen)
    texts.append(decoder.decode(b"", final=True))
    return {"count": count, "text": "".join(texts)}


def recall(memory, tokens):
    """Take tokens in after one another; logits of what follows the last, (vocabulary,)."""
    for token in tokens:
        logits = memory.next([token])
    return logits[0]


def follow(memory, seen):
    """Logits of what follows ``seen``, whose last token is new to the memory.

    A memory that is full forgets all but the later half of what it held: keys and values know their place, so
    the text that stays has to be read again from the first place on.
    """
    if memory.place < memory.length:
        return memory.next(seen[-1:])[0]
    memory.forget()
    return recall(memory, seen[-max(1, memory.length // 2) :])


def draw(logits, temperature, top_k, random):
    """Draw a token.

    Args:
        logits: (vocabulary,).
        temperature: what they are divided by; 0 takes the likeliest.
        top_k: only so many of the likeliest can be drawn; None means all. Padding and the unknown never are.
        random: numpy's RandomState.
    """
    logits = np.array(logits, np.float64)
    logits[:2] = -np.inf
    if not temperature:
        return int(logits.argmax())
    if top_k is not None and top_k < len(logits):
        logits[logits < np.sort(logits)[-top_k]] = -np.inf
    chances = np.exp((logits - logits.max()) / temperature)
    return int(random.choice(len(chances), p=chances / chances.sum()))
