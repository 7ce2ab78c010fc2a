"""Describe an exported file: facts for its metadata and the JSON next to it, and a README with code that runs."""

import json

JSON_NAME = "model.json"
README = "README.md"
TASKS = {
    "images": "tells the classes of images",
    "texts": "tells the classes of texts",
    "pictures": "restyles pictures of any size whose sides are multiples of 4",
    "next_token": "tells the next token of a text, one step with its cache",
}


def facts(subject, name, quantize):
    """Return the known facts of the model as JSON; ``name`` is the format."""
    request = subject.request
    about = {"description": "%s: %s" % (request.name, TASKS[subject.kind]), "model": request.name}
    about.update(format=name, quantize=quantize, source=request.about)
    about["inputs"] = [{"name": name, "shape": list(shape), "dtype": kind} for name, shape, kind in subject.inputs]
    about["outputs"] = list(subject.outputs)
    if request.classes:
        about["classes"] = request.classes
    if subject.preprocessing:
        words = "(pixel - subtract) / divide, pixels 0 to 255, channels last"
        about["preprocessing"] = dict(subject.preprocessing, words=words)
    return about


def as_text(about):
    """Return the facts as text by name, for the metadata of model files."""
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in about.items()}


def readme(subject, exporter, about):
    """Return a README with code for Python and, for Core ML, for Swift."""
    title = "# %s for %s\n\nIt %s." % (about["model"], exporter.RUNTIME, TASKS[subject.kind])
    parts = [title, "`%s` has the names of its classes, inputs and outputs." % JSON_NAME]
    parts += ["In Python:", _block("python", python(subject, exporter, about))]
    swift = getattr(exporter, "SWIFT", None)
    if swift:
        lines = (swift if subject.kind == "images" else exporter.SWIFT_ELSE).splitlines()
        parts += ["In Swift:", _block("swift", lines)]
    return "\n\n".join(parts) + "\n"


def _block(language, lines):
    return "\n".join(["```" + language, *lines, "```"])


def python(subject, exporter, about):
    """List the lines of a program that runs the exported file on one item."""
    as_image = subject.kind == "images" and getattr(exporter, "TAKES_IMAGES", False)
    imports = ["import json", "", "import numpy as np", *exporter.IMPORTS]
    imports += ["from PIL import Image"] if subject.kind in ("images", "pictures") else []
    use = [line.format(outputs=json.dumps(subject.outputs)) for line in exporter.USE]
    if as_image:
        return [*imports[2:], "", _picture(subject), 'inputs = {"image": picture}', *use[:-1], "print(answers)"]
    end = _END[subject.kind]
    needed = imports if any("json." in line for line in end) else imports[2:]
    return [*needed, "", *_BEGIN[subject.kind](subject), *use, *end]


def _picture(subject):
    height, width, channels = subject.inputs[0][1][1:]
    mode = "L" if channels == 1 else "RGB"
    return 'picture = Image.open("picture.png").convert("%s").resize((%s, %s))' % (mode, width or 224, height or 224)


def _begin_images(subject):
    row, (height, width, channels) = subject.preprocessing, subject.inputs[0][1][1:]
    flip = "[..., ::-1]" if row["color"] == "BGR" else ""
    shape = (1, height or 224, width or 224, channels)
    numbers = [json.dumps([round(number, 6) for number in row[name]]) for name in ("subtract", "divide")]
    return [
        _picture(subject),
        "pixels = np.asarray(picture, np.float32).reshape%s%s" % (shape, flip),
        'inputs = {"image": ((pixels - %s) / %s).astype(np.float32)}' % tuple(numbers),
    ]


def _begin_pictures(_):
    return [
        'picture = Image.open("picture.png").convert("RGB").resize((256, 256))',
        'inputs = {"image": np.asarray(picture, np.float32)[None]}',
    ]


def _begin_texts(_):
    return ['inputs = {"tokens": np.array([[2, 3, 4]], np.int32)}  # numbers of vocabulary.json; 0 is padding']


def _begin_next_token(subject):
    shapes = {name: shape for name, shape, _ in subject.inputs}
    names = [name for name, _, _ in subject.inputs[3:]]
    places = shapes["filled"][1]
    return [
        'inputs = {"tokens": np.array([[2]], np.int32), "places": np.array([[0]], np.int32)}',
        'inputs["filled"] = np.eye(1, %d, %d, dtype=np.float32)  # 1 for places of the cache that are taken'
        % (places, places - 1),
        "inputs.update({name: np.zeros(%s, np.float32) for name in %s})"
        % ((1, *shapes[names[0]][1:]), json.dumps(names)),
    ]


_BEGIN = {
    "images": _begin_images,
    "texts": _begin_texts,
    "pictures": _begin_pictures,
    "next_token": _begin_next_token,
}
_CLASS = [
    'classes = json.load(open("model.json"))["classes"]',
    "print(classes[outputs[0][0].argmax()], outputs[0][0].max())",
]
_END = {
    "images": _CLASS,
    "texts": _CLASS,
    "pictures": ['Image.fromarray(outputs[0][0].clip(0, 255).round().astype(np.uint8)).save("restyled.png")'],
    "next_token": ['print("the likeliest next token is", outputs[0].ravel().argmax())'],
}
