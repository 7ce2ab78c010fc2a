"""Convert a model to formats, run each in its own runtime, and compare it with its source."""

import errno
import json
import os
import shutil

import numpy as np

from zoo.worker import exporters
from zoo.worker.errors import UserError, describe
from zoo.worker.exporting import card, comparison, inside, outside, subject
from zoo.worker.jobs import answer
from zoo.worker.phases import timed

# Most copies of the model that a converter keeps on disk, including intermediate files (OpenVINO in 8 bits).
COPIES = 4


def run(request, events, stop, phases):
    """Write a folder for each format and quantization, with the file and its README; return a row for each.

    See :class:`zoo.protocol.request.ExportPart`.
    """
    wanted = request.export
    formats = [(name, exporters.find(name)) for name in wanted.formats]
    pairs = [(each, quantize) for each in formats for quantize in wanted.quantize]
    possible = "INSIDE" if wanted.reading.get("inside") else "QUANTIZATIONS"
    chosen = [(*each, quantize) for each, quantize in pairs if quantize in getattr(each[1], possible)]
    with timed(phases, "build_s"):
        job = _Job(request)
    rows = []
    with timed(phases, "export_s"):
        for number, (name, exporter, quantize) in enumerate(chosen, 1):
            if stop.asked:
                break
            rows.append(job.row(name, exporter, quantize))
            events.step(step=number, steps=len(chosen))
    metrics = {"items": job.items, "source_ms": job.source_ms, "rebuilt_difference": job.rebuilt}
    metrics["source_accuracy"] = comparison.accuracy(job.source, job.labels)
    return {"metrics": metrics, "rows": rows, "stopped": "interrupted" if stop.asked else None}


class _Job:
    """Data that all formats share: the model, the inputs, and the outputs of the source."""

    def __init__(self, request):
        self._wanted = request.export
        target = request.model.target
        self._how = {"scale": target.scale if target else 1.0, "thresholds": request.export.thresholds}
        self._subject = subject.of(request)
        self._questions = self._subject.questions(request.data)
        self.items = sum(len(question[0]) for question in self._questions)
        self.labels = np.load(request.data.labels, allow_pickle=False) if request.data.labels else None
        own = self._subject.answers(self._questions)
        self.source, self.source_ms, outputs = own, self._wanted.answers_ms, len(self._subject.outputs)
        if self._wanted.answers:
            self.source = answer.load(self._wanted.answers, len(self._questions), outputs)
        else:
            self.source_ms = comparison.milliseconds(lambda one: self._subject.answers([one]), self._questions[0])
        self.rebuilt = comparison.compare(self._subject.kind, own, self.source, **self._how)["difference"]
        calibration = self._wanted.calibration
        size = 1 if self._wanted.batch == "one" else subject.BATCH
        self._calibration = self._subject.questions(calibration, size) if calibration else []

        self._examples = self._subject.questions(self._wanted.examples, 1)
        if self._wanted.example_answers:
            self._example_answers = answer.load(self._wanted.example_answers, len(self._examples), outputs)
        else:
            self._example_answers = self._subject.answers(self._examples)
        self._given = self._questions
        if self._wanted.reading.get("inside"):
            inside.include(self._subject)
            self._given = [[image[np.newaxis]] for image in np.load(request.data.pictures[0], allow_pickle=False)]
            for limits in self._wanted.tolerance.values():
                limits["difference"] += comparison.INSIDE
        elif self._wanted.batch == "one":
            self._given = self._subject.questions(request.data, 1)
            self._subject.inputs = [(name, (1, *shape[1:]), kind) for name, shape, kind in self._subject.inputs]
        if self._given is not self._questions:  # one item each
            self.source = [[part[n : n + 1] for part in row] for row in self.source for n in range(len(row[0]))]

    def row(self, name, exporter, quantize):
        """Export to one format and return its row; a wrong result is removed."""
        several = len(self._wanted.quantize) > 1
        row = {"format": name, "quantize": quantize, "folder": "%s-%s" % (name, quantize) if several else name}
        row.update(kept=False, ran=False)
        folder = os.path.join(self._wanted.folder, row["folder"])
        os.mkdir(folder)
        try:
            self._export(row, exporter, folder)
            row["kept"] = True
        except OSError:
            raise
        except Exception as error:
            size = sum(array.nbytes for array in self._subject.model.get_weights())
            # Converters report a disk without room for their copies in many ways.
            if not isinstance(error, UserError) and shutil.disk_usage(self._wanted.folder).free < COPIES * size:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            row["problem"] = str(error) if isinstance(error, UserError) else describe(error)
        if not row["kept"]:
            shutil.rmtree(folder)
        return row

    def _export(self, row, exporter, folder):
        quantize = row["quantize"]
        about = card.facts(self._subject, exporter, row["format"], quantize)
        calibration = self._calibration if quantize == "int8" else []
        path = os.path.join(folder, exporter.NAME)
        with timed(row, "export_s"):
            # The metadata of model files is text.
            texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in about.items()}
            exporter.export(self._subject, path, quantize, calibration, texts)
        paths = (os.path.join(where, name) for where, _, names in os.walk(folder) for name in names)
        row["bytes"] = sum(os.path.getsize(path) for path in paths)
        row["not_run"] = getattr(exporter, "NOT_RUN", None)
        card.write(self._subject, exporter, about, folder)
        if not row["not_run"]:
            opened = exporter.opened(folder, about)
            self._check(row, lambda question: opened(self._subject.named(question)), folder)

    def _check(self, row, run, folder):
        answers = [run(question) for question in self._given]
        row.update(comparison.compare(self._subject.kind, answers, self.source, **self._how), ran=True)
        row["accuracy"] = comparison.accuracy(answers, self.labels)
        row["milliseconds"] = comparison.milliseconds(run, self._given[0])
        tolerance = self._wanted.tolerance[row["quantize"]]
        if any(row[name] > most for name, most in tolerance.items()):
            figures = (row["difference"], row["changed"], row["items"])
            words = "largest difference %.3g, %.3g predictions in 1000 changed, of %d items" % figures
            most = tuple(tolerance[name] for name in ("difference", "changed"))
            problem = "its outputs differ from the source model's: %s; the limits are %.3g and %.3g"
            raise UserError(problem % (words, *most))
        self._check_readme(row, run, folder)

    def _check_readme(self, row, run, folder):
        """Run the README's code on files, and compare its answers with the zoo's own."""
        kind, files = self._subject.kind, self._wanted.example_files
        answers = outside.answers(folder, files)
        row["files"] = comparison.of_files(kind, answers, self._example_answers, **self._how)
        most, own = self._wanted.tolerance[row["quantize"]]["difference"] + comparison.FROM_FILES[kind], row["files"]
        if not self._subject.before:
            scaled = [run(question) for question in self._scaled_examples()]
            own = comparison.of_files(kind, answers, scaled, **self._how)
        if own["difference"] > (most if self._subject.before else comparison.FROM_FILES[kind]) or own["changed"]:
            name = os.path.basename(files[own["worst"]]) if kind in ("images", "pictures") else files[own["worst"]]
            words = "its README's program differs for files: largest difference %.3g, for %r; %d of %d answers differ"
            raise UserError(words % (own["difference"], name, own["changed"], own["items"]))
        if row["files"]["difference"] > most:
            words = "its results for files differ from the source model's by up to %.3g; at most %.3g is allowed"
            raise UserError(words % (row["files"]["difference"], most))

    def _scaled_examples(self):
        """Return the examples, scaled as by the README's program: in 8 bits, the last bit of a pixel can count."""
        if not self._subject.preprocessing:
            return self._examples
        scale = inside.scaling(self._subject)
        return [[scale(image[np.newaxis])] for image in np.load(self._wanted.examples.x, allow_pickle=False)]
