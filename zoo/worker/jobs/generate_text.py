"""Continue a text with a language model, one token at a time, with a cache of keys and values."""

from zoo.worker.inference.decoder import open_decoder
from zoo.worker.inference.sampling import Continuation
from zoo.worker.phases import timed


def run(request, events, stop, phases):
    """Draw one token after the other and send the text of each.

    The request's ``generate`` part has the settings, and ``pieces`` the text of each token.
    """
    with timed(phases, "build_s"):
        text = Continuation(request.generate, open_decoder(request), request.pieces)
    with timed(phases, "prompt_s"):
        text.read()
    written = []
    with timed(phases, "infer_s"):
        events.emit("text", text=request.generate.prompt)
        while text.left and not stop.asked:
            written.append(text.draw())
            if written[-1]:
                events.emit("text", text=written[-1])
    metrics = {"items": len(written), "items_per_s": len(written) / max(1e-9, phases["infer_s"])}
    whole = "".join(written) + text.decoder.decode(b"", final=True)
    return {"metrics": metrics, "text": whole, "stopped": "interrupted" if stop.asked else None}
