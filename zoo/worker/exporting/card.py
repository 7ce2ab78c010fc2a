"""Describe an exported model: ``model.json``, the program ``predict.py``, and a README that contains it."""

import inspect
import json
import os
import shutil

from zoo.models.style_transfer import fast
from zoo.worker.exporting import programs
from zoo.worker.files import save_bytes

JSON_NAME, README, PROGRAM = "model.json", "README.md", "predict.py"
TASKS = {
    "images": "classifies images",
    "texts": "classifies texts",
    "pictures": "restyles images of any size",
    "next_token": "predicts the next token of a text (one step, with its cache)",
}
# Use of the program, and what its function returns.
_USES = {
    "images": ("classifies image files: `python predict.py cat.jpg dog.png`", "probabilities of all classes"),
    "texts": ('classifies texts: `python predict.py "a text"`', "probabilities of all classes"),
    "pictures": ("restyles image files: `python predict.py photo.jpg` writes `photo.restyled.png`", "pixels"),
    "next_token": ('continues a text by 200 tokens: `python predict.py "To be" 200`', "logits of the next token"),
}
_OF_TARGETS = {
    "labels": ("names the labels over their thresholds: `python predict.py %s`", "probabilities of all labels"),
    "number": ("predicts a number in its unit: `python predict.py %s`", "number"),
}
_INSIDE = " The model resizes and scales images: it takes the uint8 pixels of one image of any size."


def facts(subject, exporter, name, quantize):
    """Return the metadata of the exported model as JSON; ``name`` is the format."""
    request = subject.request
    task = {"labels": "gives labels", "number": "predicts a number"}.get(request.target, TASKS[subject.kind])
    about = {"description": "%s: %s" % (request.name, task), "model": request.name}
    about.update(format=name, quantize=quantize, source=request.about)
    about["inputs"] = [{"name": name, "shape": list(shape), "dtype": kind} for name, shape, kind in subject.inputs]
    about["outputs"] = list(subject.outputs)
    if request.classes:
        about["classes"] = request.classes
        if hasattr(exporter, "labels"):
            about["labels"] = exporter.labels(subject)
    if request.target:
        about["target"] = request.target
    if request.thresholds:
        about["thresholds"] = request.thresholds
    about["preprocessing"] = dict(request.reading, **(subject.preprocessing or {}))
    if subject.kind == "pictures":
        about["preprocessing"].update(multiple=fast.GRAIN, least=fast.LEAST_EDGE, range=[0, 255])
    return about


def write(subject, exporter, about, folder):
    """Write ``model.json``, ``predict.py``, ``README.md`` and the files that they need next to an exported file."""
    for path in subject.request.needed or ():
        shutil.copyfile(path, os.path.join(folder, os.path.basename(path)))
    code = program(subject, exporter)
    texts = {json_name(exporter): json.dumps(about, indent=1, sort_keys=True), PROGRAM: code}
    texts[README] = readme(subject, exporter, about, code)
    for name, text in texts.items():
        save_bytes(os.path.join(folder, name), text.encode("utf-8"))


def json_name(exporter):
    return getattr(exporter, "JSON_NAME", JSON_NAME)


def readme(subject, exporter, about, code):
    """Return a README with the program and, for Core ML, with code for Swift."""
    parts = ["# %s for %s" % (about["model"], exporter.RUNTIME)]
    packages = ["numpy", *(["pillow"] if subject.kind in ("images", "pictures") else []), exporter.PACKAGE]
    text = "`predict.py` needs the packages %s. It %s. The function `predict` returns the %s."
    use, returned = _USES[subject.kind]
    if subject.request.target:
        use, returned = _OF_TARGETS[subject.request.target]
        use %= '"A text."' if subject.kind == "texts" else "cat.jpg"
    parts.append(text % (", ".join("`%s`" % name for name in packages), use, returned))
    parts[-1] += _INSIDE if subject.before else ""
    contents = "`%s` contains the names of inputs, outputs and classes, and the preprocessing."
    parts.append(contents % json_name(exporter))
    if hasattr(exporter, "LINES"):
        code = programs.ending(exporter.LINES + subject.kind) + "\n"
    parts += ["```python\n%s```" % code]
    swift = getattr(exporter, "SWIFT", None)
    if swift:
        parts += ["In Swift:", "```swift\n%s\n```" % (swift if subject.kind == "images" else exporter.SWIFT_ELSE)]
    return "\n\n".join(parts) + "\n"


def program(subject, exporter):
    """Return the code of ``predict.py``, which reads files with a copy of the zoo's own code."""
    kind = "inside" if subject.before else subject.kind
    words = {"texts": "TEXT...", "next_token": "TEXT COUNT"}.get(kind, "IMAGE...")
    standard = sorted(["json", "os", "sys", *programs.STANDARD[kind]])
    lines = ["import %s" % name for name in standard] + ["from types import SimpleNamespace"]
    other = ["import numpy as np", *programs.OTHER[kind]]
    title = "%s for %s" % (subject.request.name, exporter.RUNTIME)
    head = programs.ending("head") % (title, words, "\n".join(lines), "\n".join(other), json_name(exporter))
    sources = [inspect.getsource(function).strip() for function in (*programs.FUNCTIONS[kind], exporter.opened)]
    parts = [head, subject.request.code.strip(), *sources, programs.ending(kind, subject.request.target)]
    return "\n\n\n".join(parts) + "\n"
