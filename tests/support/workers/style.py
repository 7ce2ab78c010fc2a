"""The style network against numpy, its tiles, its training; runs inside a stack, Python 3.6 or newer."""

import os

import numpy as np

SHAPE = (52, 36)


def pad_same(x, size):
    edge = size // 2
    return np.pad(x, ((edge, edge), (edge, edge), (0, 0)), "constant")


def convolve(x, kernel, stride, mirror=False):
    """Stride 1 with zeros all around, stride 2 with some at the end; or mirrored all around."""
    size = kernel.shape[0]
    if mirror:
        padded = np.pad(x, ((size // 2, size // 2), (size // 2, size // 2), (0, 0)), "reflect")
    else:
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


def reference(x, chain, arrays, colors=(150, 1), epsilon=1e-3):
    """The network in float64, loop by loop."""
    x = x.astype(np.float64)
    for stage in chain:
        if stage.name.endswith("_a"):
            start = x
        kernel = arrays[stage.name + "/kernel"].astype(np.float64)
        if stage.kind == "repeat":
            x = x.repeat(2, axis=0).repeat(2, axis=1)
        stride = 2 if stage.kind == "halve" else 1
        x = transpose(x, kernel) if stage.kind == "double" else convolve(x, kernel, stride, stage.mirror)
        if stage.norm == "instance":
            x = (x - x.mean(axis=(0, 1))) / np.sqrt(x.var(axis=(0, 1)) + epsilon) * arrays[stage.name + "_norm/scale"]
        x = x + arrays[stage.name + "_norm/shift"]
        if stage.name.endswith("_b"):
            x = x + start
        elif stage.name != "output":
            x = np.maximum(x, 0)
    return colors[0] * np.tanh(x * colors[1]) + 127.5


def tiled(model, chain, x, folder, **more):
    from zoo.worker.inference import tiles

    def read(top, left, rows, columns):
        return x[top : top + rows, left : left + columns]

    parts = [rows for _, rows in tiles.restyle(model, chain, read, SHAPE, folder, 16, lambda share: None, **more)]
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


def any_painting():
    """The network that takes any painting: whole, in tiles, and the style that it sees, of drawn weights."""
    from zoo.models import compat
    from zoo.models.style_transfer import any as network

    compat.keras.backend.clear_session()
    network.BLOCKS = 1  # each is one more part to compile
    random = np.random.RandomState(2)
    model, predictor = network.build(compat), network.build_predictor(compat)
    for each in (model, predictor):
        shapes = [shape for _, shape in compat.named_weights(each)]
        each.set_weights([random.normal(0, 1.5 / np.sqrt(np.prod(s[:-1]) + 1), s).astype(np.float32) for s in shapes])
    painting = random.randint(0, 256, (1, 8, 8, 3)).repeat(32, axis=1).repeat(32, axis=2).astype(np.float32)
    style = compat.predict(predictor, painting / 255)[0]
    arrays = {}
    for stage in network.stages():
        for part in ("shift", "scale"):
            prefix = stage.name + "_style/" + part + "_"
            arrays[prefix + "kernel"] = random.normal(0, 0.1, (network.NUMBERS, stage.filters))
            arrays[prefix + "bias"] = random.normal(1, 0.1, stage.filters)
    x = random.randint(0, 256, (*SHAPE, 3)).astype(np.float32)
    for sign in (-1, 1):  # the second style must replace the first
        network.apply_style(compat, model, arrays, sign * np.linspace(-1, 1, network.NUMBERS))
        whole = compat.outputs(model, x[None])[0][0]
    names = [name for name, _ in compat.named_weights(model)]
    named = dict(zip(names, model.get_weights()))  # noqa: B905  (Python 3.6)
    wanted = reference(x, network.stages(), named, network.COLORS, network.EPSILON)
    answer = {"whole": float(np.abs(whole - wanted).max())}
    in_tiles = tiled(model, network.stages(), x, ".", colors=network.COLORS)
    return dict(answer, tiles=float(np.abs(in_tiles - wanted).max()), style=[float(each) for each in style[:3]])


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
    """A few steps on drawn pictures: the gradients, through instance normalisation and Gram matrices.

    Returns:
        The losses of three steps at a stretch, and those of a run that was stopped after one step and resumed.
    """
    np.save(
        os.path.join(request["out"], "painting.npy"),
        np.random.RandomState(1).randint(0, 256, (40, 48, 3)).astype(np.uint8),
    )
    stopped = trained(request, "resumed", Stop(1))
    return trained(request, "whole", Stop()), stopped + trained(request, "resumed", Stop(), resume=True)


class Stop:
    """Asks to stop after so many reports."""

    def __init__(self, after=99):
        self.events, self._after = Events(), after

    @property
    def asked(self):
        return len(self.events.losses) >= self._after


def trained(request, name, stop, **more):
    from zoo.protocol.request import Request
    from zoo.worker.jobs import train_style_network

    folder, random = os.path.join(request["out"], name), np.random.RandomState(2)
    inbox = os.path.join(folder, "inbox")
    if not os.path.isdir(inbox):
        os.makedirs(inbox)
    for number in range(3):
        squares = random.randint(0, 256, (2, 8, 8, 3)).astype(np.uint8)
        np.save(os.path.join(inbox, str(number) + ".npy"), squares.repeat(4, axis=1).repeat(4, axis=2))
    features = {"network": "random", "seed": 0, "precision": "float32"}
    settings = {"steps": 3, "report": 1, "batch_size": 2, "size": 32, "optimizer": "momentum", "learning_rate": 0.01}
    settings.update(schedule="constant", warmup=0, seed=1, checkpoint_minutes=0)
    settings["strength"] = {"content": 1, "style": 5, "total_variation": 0.1}
    settings.update(features=features, inbox=inbox, painting=os.path.join(request["out"], "painting.npy"))
    settings["layers"] = {"style": ["octave1"], "content": ["octave1"]}
    stack = {"framework": request["framework"], "keras": "keras"}
    given = dict(more, protocol=1, verb="train", job="train_style_network", stack=stack, device=request["device"])
    given.update(run_dir=folder, model={"name": "style_transfer/fast", "args": request["model"]}, train=settings)
    train_style_network.run(Request.of(given), stop.events, stop, {})
    return stop.events.losses


def answer(request):
    """Largest differences in grey levels, and the losses of a short training."""
    results = dict(check(request), any=any_painting())
    if request["trains"]:
        results["loss"], results["resumed"] = train(request)
    return results
