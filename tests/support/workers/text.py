"""Trains and asks tiny models of text inside a stack's interpreter for test_texts_stacks.py, Python 3.6 or newer.

``python -I -B text_worker.py requests.json``: each request is done by the module of ``zoo.worker`` that it names.
"""

import importlib
import json
import os
import runpy
import sys


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


def main(path):
    with open(path) as stream:
        told = json.load(stream)
    runpy.run_path(os.path.join(told["zoo"], "worker", "bootstrap.py"))
    os.environ["ZOO_KERAS"] = told["keras"]
    device = {"promise": "cpu", "framework": told["framework"]}
    importlib.import_module("zoo.worker.devices." + told["framework"]).start(device)
    answers = []
    for request in told["requests"]:
        events = Events()
        answer = importlib.import_module("zoo.worker.jobs." + request["job"]).run(
            dict(request, device=device), events, Stop(), {}
        )
        answers.append(dict(answer, written=events.written))
    with open(told["out"], "w") as stream:
        json.dump(answers, stream, default=float)


if __name__ == "__main__":
    main(sys.argv[1])
