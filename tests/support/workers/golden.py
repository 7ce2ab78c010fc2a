"""Runs classifiers for tests and scripts/maintenance/golden.py; runs inside a stack, Python 3.6 or newer.

Each job of a request leaves ``KEY.npy`` (probabilities) and ``KEY.json`` (parameters, weights by name and shape).
"""

import inspect
import json
import os
import warnings

import numpy as np

BATCH = 5
MODELS = {}


def model_of(job):
    """The job's model; one that was built before is filled anew, for compiling is most of the time."""
    from zoo.models import compat
    from zoo.protocol.request import ModelPart
    from zoo.worker.model import build_model

    key = job["model"] + json.dumps(job["args"], sort_keys=True)
    # Keras on OpenVINO compiles the weights into the model and does not notice when they change.
    if key not in MODELS or compat.backend_name() == "openvino":
        MODELS[key] = build_model(ModelPart.of({"name": job["model"], "args": job["args"]}))
    return MODELS[key]


def run(job, out):
    """Build one model, fill it, and write what it says of the pictures, five at a time."""
    from zoo.models import compat
    from zoo.worker import weights
    from zoo.worker.benchmarks.golden import draw_pictures, draw_weights
    from zoo.worker.prediction import probabilities

    model, preprocess = model_of(job)
    named = compat.named_weights(model)
    if job.get("weights"):
        weights.load(model, job["weights"])
        pictures = np.load(job["pictures"])
    else:
        model.set_weights(draw_weights(named, job["seed"], job["gain"]))
        shape = job["args"].get("input_shape") or [job["args"]["input_size"]] * 2 + [3]
        pictures = draw_pictures(job["seed"], job["count"], shape[0])[..., : shape[2]]
    np.save(os.path.join(out, job["key"] + ".npy"), probabilities(model, preprocess, pictures, BATCH))
    described = {"parameters": int(model.count_params()), "weights": named, "keras": compat.version()}
    if job.get("against"):
        described.update(against(job, model, preprocess, pictures, out))
    with open(os.path.join(out, job["key"] + ".json"), "w") as stream:
        json.dump(described, stream)


def step(out, rate=0.01):
    """Lengths of the gradients of one step of a small network made of MobileNet's pieces, by weight."""
    from zoo.models import compat
    from zoo.models.layers import mobilenet_blocks
    from zoo.worker.benchmarks.golden import draw_weights

    start = compat.keras.layers.Input(shape=(16, 16, 3))
    x = mobilenet_blocks.batch_norm(
        compat, mobilenet_blocks.conv(compat, start, 8, "conv", size=3, stride=2), "conv_bn"
    )
    x = mobilenet_blocks.depthwise_conv(compat, compat.relu6("conv_relu")(x), "dw")
    x = compat.relu6("dw_relu")(mobilenet_blocks.batch_norm(compat, x, "dw_bn"))
    x = compat.keras.layers.GlobalAveragePooling2D()(x)
    x = compat.keras.layers.Dense(4, activation="softmax", name="predictions")(x)
    model = compat.keras.models.Model(inputs=start, outputs=x)
    named = compat.named_weights(model)
    before = draw_weights(named, 1, 1)
    model.set_weights(before)
    compat.compile_classifier(model, "sgd", rate, False)
    inputs = np.random.RandomState(2).uniform(-1, 1, (8, 16, 16, 3)).astype(np.float32)
    model.train_on_batch(inputs, np.eye(4, dtype=np.float32)[np.arange(8) % 4])
    changes = zip(model.get_weights(), before)  # noqa: B905  (Python 3.6)
    lengths = [np.sqrt(np.square(new - old).sum()) / rate for new, old in changes]
    with open(os.path.join(out, "step.json"), "w") as stream:
        json.dump({named[index][0]: float(length) for index, length in enumerate(lengths)}, stream)


def against(job, model, preprocess, pictures, out):
    """The same network from keras.applications, with the same weights."""
    from zoo.models import compat
    from zoo.worker.prediction import probabilities

    size = job["args"]["input_size"]
    make = getattr(compat.keras.applications, job["against"])
    theirs = make(weights=None, input_shape=(size, size, 3), alpha=job["args"]["alpha"])
    if job.get("published"):
        theirs.load_weights(job["published"])
    else:
        theirs.set_weights(model.get_weights())
    np.save(os.path.join(out, job["key"] + ".theirs.npy"), probabilities(theirs, preprocess, pictures, BATCH))
    names = [[layer.name for layer in each.layers] for each in (model, theirs)]
    return {"their_parameters": int(theirs.count_params()), "layers": names[0], "their_layers": names[1]}


def outcome(make, arguments):
    """What a call comes to: the error, or the shape of the output and the model's name."""
    try:
        model = make(**arguments)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["model", [list(model.input_shape), list(model.output_shape), model.name, int(model.count_params())]]


def files(folder, job, out):
    """Load the files that the host wrote, and write the same weights as this Keras writes them."""
    from zoo.models import compat

    model, _ = model_of(job)
    stored = np.load(os.path.join(folder, "w.npz"))
    named = [name for name, _ in compat.named_weights(model)]
    new = compat.MAJOR >= 3
    loaded = {}
    for name in ["w.h5", "w.weights.h5"] if new else ["w.h5"]:
        model.set_weights([np.zeros_like(value) for value in model.get_weights()])
        model.load_weights(os.path.join(folder, name))
        after = model.get_weights()
        loaded[name] = all(np.array_equal(stored[path], after[index]) for index, path in enumerate(named))
    names = ["own.weights.h5", "own.keras", "own_model.h5"] if new else ["own.h5"]
    for name in names:
        path = os.path.join(out, name)
        model.save(path) if name in ("own.keras", "own_model.h5") else model.save_weights(path)
    with open(os.path.join(out, "files.json"), "w") as stream:
        json.dump({"loaded": loaded, "saved": names}, stream)


def compare_arguments(cases, out):
    """Call ours and theirs with the same arguments."""
    import zoo.models
    from zoo.models import compat

    warnings.simplefilter("ignore")
    outcomes = []
    for name, arguments in cases:
        arguments = {key: tuple(value) if isinstance(value, list) else value for key, value in arguments.items()}
        if arguments.pop("tensor", False):
            arguments["input_tensor"] = compat.keras.layers.Input((64, 64, 3))
        pair = (getattr(zoo.models, name), getattr(compat.keras.applications, name))
        outcomes.append([outcome(make, arguments) for make in pair])
    signatures = {
        name: [str(inspect.signature(getattr(each, name))) for each in (zoo.models, compat.keras.applications)]
        for name in ("MobileNet", "MobileNetV2")
    }
    with open(os.path.join(out, "arguments.json"), "w") as stream:
        json.dump({"outcomes": outcomes, "signatures": signatures}, stream)


def imagenet(path, out):
    """Ask for the published weights; the download is answered with a file at hand."""
    from zoo.models import MobileNet, compat

    asked = []
    compat.keras.utils.get_file = lambda name, address, **_: asked.append([name, address]) or path
    model = MobileNet(alpha=0.25)
    with open(os.path.join(out, "imagenet.json"), "w") as stream:
        json.dump({"asked": asked, "mean": float(np.mean(model.get_weights()[0]))}, stream)


def answer(request):
    """Do the jobs, and whatever else the request names."""
    out = request["out"]
    for job in request["jobs"]:
        run(job, out)
    if request.get("step"):
        step(out)
    if request.get("files"):
        files(request["files"], request["jobs"][0], out)
    if request.get("cases"):
        compare_arguments(request["cases"], out)
    if request.get("imagenet"):
        imagenet(request["imagenet"], out)
    MODELS.clear()
    return {}
