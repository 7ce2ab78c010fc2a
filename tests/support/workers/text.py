"""Trains and asks tiny models of text; runs inside a stack, Python 3.6 or newer."""

import importlib


class Stop:
    asked, reason = False, "interrupted"


class Events:
    def __init__(self):
        self.written = ""

    def emit(self, event, **fields):
        if event == "text":
            self.written += fields["text"]

    def step(self, **fields):
        pass


def answer(request):
    """What the modules of ``zoo.worker.jobs`` answer to the requests, and what they wrote."""
    from zoo.models import compat
    from zoo.protocol.request import Request

    stack, answers = {"framework": request["framework"], "keras": "keras"}, []
    for each in request["requests"]:
        compat.keras.backend.clear_session()
        events = Events()
        job = importlib.import_module("zoo.worker.jobs." + each["job"])
        answers.append(
            dict(
                job.run(
                    Request.of(dict(each, protocol=1, verb="train", stack=stack, device=request["device"])),
                    events,
                    Stop(),
                    {},
                ),
                written=events.written,
            )
        )
    return answers
