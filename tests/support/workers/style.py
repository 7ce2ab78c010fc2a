"""The style network against numpy, its tiles, its training; runs inside a stack, Python 3.6 or newer."""

import os
import types

import numpy as np

SHAPE = (52, 36)


def pad_same(x, size):
    edge = size // 2
    return np.pad(x, ((edge, edge), (edge, edge), (0, 0)), "constant")


def convolve(x, kernel, stride):
    """Stride 1 with zeros all around; stride 2 with one row and column of zeros at the end."""
    size = kernel.shape[0]
    padded = pad_same(x, size) if stride == 1 else np.pad(x, ((0, 1), (0, 1), (0, 0)), "constant")
    rows, columns = x.shape[0] // stride, x.shape[1] // stride
    out = np.zeros((rows, columns, kernel.shape[3]))
    for i in range(size):
        for j in range(size):
            out += padded[i : i + rows * stride : stride, j : j + columns * stride : stride].dot(kernel[i, j])
    return out


def transpose(x, kernel):
    """Every value paints 3 x 3 others, two apart; what reaches over the end is cut off."""
    rows, columns = x.shape[:2]
    out = np.zeros((2 * rows + 2, 2 * columns + 2, kernel.shape[2]))
    for i in range(3):
        for j in range(3):
            out[i : i + 2 * rows : 2, j : j + 2 * columns : 2] += x.dot(kernel[i, j].T)
    return out[: 2 * rows, : 2 * columns]


def reference(x, chain, arrays):
    """The network in float64, loop by loop."""
    x = x.astype(np.float64)
    for stage in chain:
        if stage.name.endswith("_a"):
            start = x
        kernel = arrays[stage.name + "/kernel"].astype(np.float64)
        if stage.kind == "repeat":
            x = x.repeat(2, axis=0).repeat(2, axis=1)
        x = transpose(x, kernel) if stage.kind == "double" else convolve(x, kernel, 2 if stage.kind == "halve" else 1)
        x = (x - x.mean(axis=(0, 1))) / np.sqrt(x.var(axis=(0, 1)) + 1e-3)
        x = x * arrays[stage.name + "_norm/scale"] + arrays[stage.name + "_norm/shift"]
        if stage.name.endswith("_b"):
            x = x + start
        elif stage.name != "output":
            x = np.maximum(x, 0)
    return 150 * np.tanh(x) + 127.5


def tiled(model, chain, x, folder):
    from zoo.worker.inference import tiles

    def read(top, left, rows, columns):
        return x[top : top + rows, left : left + columns]

    parts = [rows for _, rows in tiles.restyle(model, chain, read, SHAPE, folder, 16, lambda share: None)]
    return np.concatenate(parts).astype(np.float64)


def check(request):
    """Both ways of growing: what they give, and what tiles give, against numpy."""
    answer = compared(request, request["model"], "net.npz")
    if request["repeats"]:
        repeated = compared(dict(request, narrow=False), dict(request["model"], upsampling="nearest"), "repeats.npz")
        answer = {name: max(value, repeated.get(name, 0)) for name, value in answer.items()}
    return answer


def compared(request, size, name):
    from zoo.models import compat
    from zoo.models.style_transfer import fast as network
    from zoo.worker import weights
    from zoo.worker.inference import tiles

    compat.keras.backend.clear_session()
    folder = request["out"]
    model = network.build(compat, initializer="zeros", **size)
    weights.load(model, os.path.join(folder, name))
    chain = network.stages(**size)
    with np.load(os.path.join(folder, name)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    x = np.random.RandomState(0).randint(0, 256, (*SHAPE, 3)).astype(np.float32)
    wanted = reference(x, chain, arrays)
    answer = {"whole": float(np.abs(compat.outputs(model, x[None])[0][0] - wanted).max())}
    clipped = np.clip(wanted, 0, 255)
    answer["tiles"] = float(np.abs(tiled(model, chain, x, folder) - clipped).max())
    if request["narrow"]:
        enough = tiles._halo
        tiles._halo = lambda stages, grain: enough(stages, grain) - 1
        answer["narrow"] = float(np.abs(tiled(model, chain, x, folder) - clipped).max())
        tiles._halo = enough
    return answer


class Events:
    """Remembers the loss of every report."""

    def __init__(self):
        self.losses = []

    def step(self, **_):
        pass

    def emit(self, event, **fields):
        if event == "epoch":
            self.losses.append(fields["loss"])


def train(request):
    """A few steps on drawn pictures: the gradients, through instance normalisation and Gram matrices."""
    from zoo.worker.jobs import train_style_network

    folder, random = request["out"], np.random.RandomState(1)
    inbox = os.path.join(folder, "inbox")
    os.makedirs(inbox)
    for number in range(3):
        squares = random.randint(0, 256, (2, 8, 8, 3)).astype(np.uint8)
        np.save(os.path.join(inbox, str(number) + ".npy"), squares.repeat(4, axis=1).repeat(4, axis=2))
    np.save(os.path.join(folder, "painting.npy"), random.randint(0, 256, (40, 48, 3)).astype(np.uint8))
    features = {"network": "random", "weights": None, "seed": 0, "style": ["octave1"], "content": ["octave1"]}
    settings = {"steps": 3, "report": 1, "batch_size": 2, "size": 32, "optimizer": "sgd", "learning_rate": 0.02}
    settings.update(schedule="constant", warmup=0, seed=1)
    settings["strength"] = {"content": 1, "style": 5, "total_variation": 0.1}
    settings.update(features=features, inbox=inbox, painting=os.path.join(folder, "painting.npy"))
    events, stop = Events(), types.SimpleNamespace(asked=False)
    given = {"run_dir": folder, "model": {"args": request["model"]}, "train": settings}
    train_style_network.run(given, events, stop, {})
    return events.losses


def answer(request):
    """Largest differences in grey levels, and the losses of a short training."""
    results = check(request)
    if request["trains"]:
        results["loss"] = train(request)
    return results
