"""Convert a model into formats, run each with its own runtime, and compare it with its source."""

import errno
import os
import shutil
import time

import numpy as np

from zoo.models import compat
from zoo.worker import exporters
from zoo.worker.errors import UserError, describe
from zoo.worker.exporting import card, comparison, subject
from zoo.worker.files import atomic_write, save_json
from zoo.worker.jobs import answer

# Copies of the model that a converter has on the disk at a time: OpenVINO's in 8 bits, and intermediate files.
COPIES = 4


def run(request, events, stop, phases):
    """Write a folder for each format, with the file, ``model.json`` and ``README.md``; return a row for each.

    The request's ``export`` has ``formats``, ``quantize``, ``folder``, ``kind``, ``name``, ``classes``, ``about``,
    ``tolerance``; and, or null, ``calibration``, a ``data`` part, and ``answers``, a file of its source.
    """
    began, wanted = time.monotonic(), request.export
    chosen = [(name, exporters.find(name)) for name in wanted.formats]
    job = _Job(request)
    phases["build_s"] = time.monotonic() - began
    rows = []
    for number, (name, exporter) in enumerate(chosen, 1):
        if stop.asked:
            break
        rows.append(job.row(name, exporter))
        events.step(step=number, steps=len(chosen))
    phases["export_s"] = time.monotonic() - began - phases["build_s"]
    metrics = {"items": job.items, "source_ms": job.source_ms, "rebuilt_difference": job.rebuilt}
    metrics["source_accuracy"] = comparison.accuracy(job.source, job.labels)
    return {"metrics": metrics, "rows": rows, "stopped": "interrupted" if stop.asked else None}


class _Job:
    """Data that all formats share: the model, the questions, and the answers of the source."""

    def __init__(self, request):
        self._wanted = request.export
        self._subject = subject.of(request)
        self._questions = self._subject.questions(request.data)
        self.items = sum(len(question[0]) for question in self._questions)
        self.labels = _labels(request.data)
        own = self._subject.answers(self._questions)
        self.source, self.source_ms = self._answers(own)
        self.rebuilt = comparison.compare(self._subject.kind, own, self.source)["difference"]
        calibration = self._wanted.calibration
        self._calibration = self._subject.questions(calibration) if calibration else []

    def _answers(self, own):
        if self._wanted.answers:
            stored = answer.load(self._wanted.answers, len(self._questions), len(self._subject.outputs))
            return stored, self._wanted.answers_ms
        model = self._subject.model
        taken = comparison.milliseconds(lambda question: compat.outputs(model, _alone(question)), self._questions[0])
        return own, taken

    def row(self, name, exporter):
        """Export to one format and return its row; a wrong result is removed."""
        folder = os.path.join(self._wanted.folder, name)
        row = {"format": name, "quantize": self._wanted.quantize, "kept": False, "ran": False}
        os.mkdir(folder)
        try:
            self._export(row, name, exporter, folder)
            row["kept"] = True
        except OSError:
            raise
        except Exception as error:
            self._raise_if_full(error)
            row["problem"] = str(error) if isinstance(error, UserError) else describe(error)
        if not row["kept"]:
            shutil.rmtree(folder)
        return row

    def _raise_if_full(self, error):
        """Raise OSError if the disk has no room for a converter's copies, which converters report in many ways."""
        size = sum(array.nbytes for array in self._subject.model.get_weights())
        if not isinstance(error, UserError) and shutil.disk_usage(self._wanted.folder).free < COPIES * size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error

    def _export(self, row, name, exporter, folder):
        path, quantize = os.path.join(folder, exporter.NAME), self._wanted.quantize
        began = time.monotonic()
        about = card.facts(self._subject, name, quantize)
        exporter.export(self._subject, path, quantize, self._calibration, card.as_text(about))
        row["export_s"] = time.monotonic() - began
        row["bytes"] = _size(folder)
        row["not_run"] = getattr(exporter, "NOT_RUN", None)
        if not row["not_run"]:
            self._check(row, exporter.runtime(self._subject, path))
        save_json(os.path.join(folder, card.JSON_NAME), about)
        with atomic_write(os.path.join(folder, card.README)) as out:
            out.write(card.readme(self._subject, exporter, about).encode("utf-8"))

    def _check(self, row, run):
        answers = [run(question) for question in self._questions]
        row.update(comparison.compare(self._subject.kind, answers, self.source), ran=True)
        row["accuracy"] = comparison.accuracy(answers, self.labels)
        row["milliseconds"] = comparison.milliseconds(run, self._questions[0])
        if any(row[name] > most for name, most in self._wanted.tolerance.items()):
            figures = (row["difference"], row["changed"], row["items"])
            words = "largest difference %.3g, %.3g answers in 1000 changed, of %d items" % figures
            most = tuple(self._wanted.tolerance[name] for name in ("difference", "changed"))
            raise UserError(
                "it answers otherwise than its source: %s; tolerated are %.3g and %.3g" % ((words, *most))
            )


def _alone(question):
    return question if len(question) > 1 else question[0]


def _labels(data):
    return np.load(data.labels, allow_pickle=False) if data.labels else None


def _size(folder):
    return sum(os.path.getsize(os.path.join(where, name)) for where, _, names in os.walk(folder) for name in names)
