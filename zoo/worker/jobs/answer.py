"""Run a model on items on the stack that trained it, for comparison with its exports."""

import os

import numpy as np

from zoo.worker.exporters import savedmodel
from zoo.worker.exporting import comparison, subject
from zoo.worker.files import save_arrays
from zoo.worker.phases import timed


def run(request, events, stop, phases):
    """Write the outputs, ``answers.npz`` and ``examples.npz``; ``metrics`` contains the milliseconds per item.

    If the request's ``export`` names a ``folder``, the model is written there as a SavedModel.
    """
    with timed(phases, "build_s"):
        source = subject.of(request)
        questions = source.questions(request.data)
    with timed(phases, "infer_s"):
        save(os.path.join(request.run_dir, "answers.npz"), source.answers(questions))
        examples = source.answers(source.questions(request.export.examples, 1))
        save(os.path.join(request.run_dir, "examples.npz"), examples)
    if request.export.folder:
        savedmodel.export(source, request.export.folder, "none", [], {})
    taken = comparison.milliseconds(lambda question: source.answers([question]), questions[0])
    return {"metrics": {"milliseconds": taken, "items": sum(len(question[0]) for question in questions)}}


def save(path, answers):
    rows = {"%d_%d" % (place, index): array for place, row in enumerate(answers) for index, array in enumerate(row)}
    save_arrays(path, rows)


def load(path, questions, outputs):
    with np.load(path, allow_pickle=False) as stored:
        return [[stored["%d_%d" % (place, index)] for index in range(outputs)] for place in range(questions)]
