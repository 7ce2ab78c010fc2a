"""Train a feed-forward style network: painting, photos, worker, and samples during training."""

import dataclasses
import shlex
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Settings
from zoo.config.schemas.style_network import DATA, StyleNetworkConfig
from zoo.config.tasks import Command, Task
from zoo.core import console
from zoo.core.arrays import Bytes, Image, np
from zoo.core.errors import ZooError, listed
from zoo.core.paths import user_path
from zoo.data.images import decode
from zoo.data.images import files as image_files
from zoo.data.sources import bundled_photos
from zoo.execution.array_queue import ArrayQueue
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.events import ArtifactEvent, Event
from zoo.protocol.request import FeatureNetworkPart, LayersPart, LossWeightsPart, StyleTrainPart
from zoo.runs import promises, tables
from zoo.runs.context import RunContext, create_training_context
from zoo.runs.lifecycle import recorded_run, set_data
from zoo.runs.result import Run
from zoo.tasks import summaries
from zoo.tasks.style_transfer import apply_network, export, images, inputs
from zoo.tasks.style_transfer.apply_network import MODEL
from zoo.weights import feature_networks, io, manifest, zoo_networks
from zoo.weights.formats import Weights

# The initial weights, in the run folder during training.
START = "start.npz"
# Largest ratio of the sides of a painting; narrower ones show too little of a style.
MOST_LENGTH = 20
# Batches of random crops of photos that are created while the worker trains on earlier ones.
AHEAD = 4
# Edge of the crops as a share of the photo's shorter side.
LEAST_SHARE = 0.5
# Layers that Johnson et al. 2016 use of VGG16, and their counterparts in other networks.
LAYERS: dict[str, dict[str, list[str]]] = {
    "vgg16": {"style": ["block1_conv2", "block2_conv2", "block3_conv3", "block4_conv3"], "content": ["block3_conv3"]},
    "vgg19": {"style": ["block1_conv2", "block2_conv2", "block3_conv3", "block4_conv3"], "content": ["block3_conv3"]},
    "squeezenet": {"style": ["conv1", "fire2", "fire3", "fire4", "fire6"], "content": ["fire4"]},
    "distilled": {"style": [f"level{number}" for number in range(1, 6)], "content": ["level4"]},
    "random": {"style": [f"octave{number}" for number in range(1, 6)], "content": ["octave2"]},
}


def train(overrides: Overrides) -> Run:
    context = create_training_context(TRAIN, overrides)
    settings = context.settings
    painting, files = _painting(settings), _files(settings.photos)
    start = _start(context)
    chosen = feature_networks.choose(settings.features, settings.feature_weights, settings.download)
    layers = _layers(chosen)
    with recorded_run(context, [MODEL, context.choice.backend.name]):
        photos = [settings.photos or "scikit-learn's photos"]
        data: dict[str, Any] = {"name": DATA, "read": photos, "train_items": len(files)}
        data |= {"style": str(painting.path), "sha256": inputs.checksum([painting.path, *files])}
        set_data(context, data | {"starts_from": settings.weights})
        features = inputs.feature_network(chosen, settings, settings.seed, context.folder)
        images.store(context.folder / "painting.npy", painting.pixels)
        if start is not None:
            io.write(context.folder / START, start)
        context.record.features = features.to_json() | layers.to_json() | {"source": chosen.source}
        _work(context, files, features, layers)
    return context.result


def _start(context: RunContext[StyleNetworkConfig]) -> Weights | None:
    """Return the weights that ``weights=`` names, or None; set the network's size in the settings to theirs."""
    settings = context.settings
    if settings.weights is None:
        return None
    given = context.overrides.given("model")
    # The settings of a resumed run already contain the size.
    for name in () if context.resumes else given - {"upsampling"}:
        raise ZooError(f"model.{name} has no effect", f"weights={settings.weights} sets the size of the network.")
    is_own = zoo_networks.is_named(settings.weights)
    path = zoo_networks.find(MODEL, settings.weights).weights if is_own else user_path(settings.weights)
    weights, size = apply_network.network_of(path)
    own = size.get("upsampling", "transposed")
    chosen = settings.model["upsampling"] if "upsampling" in given else own
    if chosen == "transposed" != own:
        raise ZooError(f"{settings.weights} has model.upsampling={own}, not {chosen}", "Remove model.upsampling.")
    if chosen != own:
        weights = dataclasses.replace(weights, arrays=manifest.without_transposed(weights.arrays))
    settings.model |= size | {"upsampling": chosen}
    return weights


def _painting(settings: StyleNetworkConfig) -> images.Picture:
    """Return the painting, by default the zoo's, with its shorter side scaled as requested."""
    if not settings.style:
        console.warn("No style= is given: using a painting that comes with the zoo.")
    painting = images.opened(user_path(settings.style) if settings.style else inputs.PAINTING, "style")
    rows, columns = painting.pixels.shape[:2]
    if max(rows, columns) > MOST_LENGTH * min(rows, columns):
        raise ZooError(f"{painting.path} is too narrow, {columns} x {rows}", "Crop a less narrow part of it.")
    scale = settings.style_size / min(rows, columns)
    pixels = images.sized(painting.pixels, round(rows * scale), round(columns * scale))
    return dataclasses.replace(painting, pixels=pixels)


def _files(photos: str | None) -> list[Path]:
    if photos is None:
        console.warn("No photos are given: using two photos of scikit-learn. photos=FOLDER gives better results.")
        return bundled_photos()
    folder, remedy = user_path(photos), "Give a folder of photos: photos=FOLDER"
    if not folder.is_dir():
        raise ZooError(f"There is no folder {folder}", remedy)
    return [folder / name for name in images.listed(folder, remedy)]


def _layers(chosen: feature_networks.FeatureNetwork) -> LayersPart:
    """Return the layers of a feature network whose outputs are compared, only those that have weights."""
    layers = LayersPart(**LAYERS[chosen.network])
    if chosen.arrays is None:
        return layers
    begins = {layer: (f"{layer}/", f"{layer}_") for layer in layers.style + layers.content}
    available = {layer for layer, begin in begins.items() if any(name.startswith(begin) for name in chosen.arrays)}
    missing = [layer for layer in layers.style if layer not in available]
    if missing:
        console.warn(f"The weights have no {listed(missing)}, so the style loss does not use them")
    if not set(layers.content) <= available or len(missing) == len(layers.style):
        raise ZooError(
            f"{chosen.source} has too few layers of {chosen.network}", f"It needs all up to {layers.content[-1]}."
        )
    return layers.replace(style=[layer for layer in layers.style if layer not in missing])


def _work(
    context: RunContext[StyleNetworkConfig], files: list[Path], features: FeatureNetworkPart, layers: LayersPart
) -> None:
    settings, trainer = context.settings, context.settings.trainer
    how = trainer.size, trainer.batch_size, trainer.steps, settings.seed

    def watch(event: Event) -> None:
        if isinstance(event, ArtifactEvent) and event.kind == "batch":
            queue.task_done()
        elif isinstance(event, ArtifactEvent) and event.kind == "sample":
            path, sample = Path(event.path), np.load(event.path, allow_pickle=False)
            image_files.write(path.with_suffix(".png"), [sample], image_files.ImageMetadata())
            path.unlink()

    inbox = Path(tempfile.mkdtemp(prefix="batches-", dir=context.folder))
    try:
        with ArrayQueue(inbox, AHEAD, lambda into: feed(into, files, *how)) as queue:
            start = None if settings.weights is None else context.folder / START
            request = request_of(context, settings.model, "train_style_network", start)
            request.train = StyleTrainPart(
                **dataclasses.asdict(trainer), seed=settings.seed, features=features, layers=layers, inbox=str(inbox),
                strength=LossWeightsPart(**vars(settings.strength)), painting=str(context.folder / "painting.npy"),
            )  # fmt: skip
            outcome = execute(context, request, watch)
    finally:
        shutil.rmtree(inbox, ignore_errors=True)
        (context.folder / START).unlink(missing_ok=True)
    context.record.model = MODEL
    if outcome.epochs:
        tables.write_history(context.folder / "history.csv", outcome.epochs, TRAIN.figures)
    queue.check()
    raise_if_failed(context, outcome)
    judged = promises.judge(TRAIN, settings, context.record)
    context.record.update(judged)
    context.record.summary = [*_words(context), *summaries.expected(judged)]


def feed(queue: ArrayQueue, files: list[Path], size: int, batch: int, steps: int, seed: int) -> None:
    """Write ``steps`` batches of square crops, uint8 (batch, size, size, 3), reproducible by ``seed``.

    Every photo is used once before any is used again.
    """
    draw, waiting, spoilt = np.random.default_rng(seed), list[Path](), set[Path]()

    with ThreadPoolExecutor(4) as pool:
        for _ in range(steps):
            pieces: list[Bytes] = []
            while len(pieces) < batch:
                waiting = waiting or [files[index] for index in draw.permutation(len(files))]
                count = min(batch - len(pieces), len(waiting))
                chosen = [(waiting.pop(), int(draw.integers(2**31))) for _ in range(count)]
                patches = pool.map(lambda pair: _piece(pair[0], pair[1], size), chosen)
                for (file, _), patch in zip(chosen, patches, strict=True):
                    if not isinstance(patch, str):
                        pieces.append(patch)
                    elif file not in spoilt:
                        spoilt.add(file)
                        if len(spoilt) == len(files):
                            why = f"None of the photos can be used. {file}: {patch}"
                            raise ZooError(why, "Give a folder of photos: photos=FOLDER")
                        console.warn(f"Skipped {file}: {patch}")
            queue.put(np.stack(pieces))


def _piece(file: Path, seed: int, size: int) -> "Bytes | str":
    """Return a random square crop of a photo, mirrored at random, or the reason if the photo is unusable."""
    from PIL import ImageOps

    draw = np.random.default_rng(seed)
    try:
        photo = decode.to_rgb(decode.open_upright(file, 2 * size))
    except decode.UnreadableError as reason:
        return str(reason)
    edge = max(1.0, min(photo.size) * draw.uniform(LEAST_SHARE, 1.0))
    left, top = draw.uniform(0, photo.width - edge), draw.uniform(0, photo.height - edge)
    box = (left, top, min(left + edge, photo.width), min(top + edge, photo.height))
    piece = photo.resize((size, size), Image.Resampling.BICUBIC, box=box)
    return np.asarray(ImageOps.mirror(piece) if draw.random() < 0.5 else piece)


def _words(context: RunContext[Settings]) -> list[str]:
    metrics = context.record.metrics
    if "step" not in metrics:
        there = (context.folder / "weights.npz").is_file()
        return [f"Interrupted{'; the weights are those of an earlier step' if there else ' before the first step'}"]
    figures = ", ".join(f"{name} {metrics[name]:.4f}" for name in ("loss", "content", "style", "roughness"))
    begun = "Interrupted after" if context.record.exit == "interrupted" else "Trained"
    return [
        f"{begun} {metrics['step']:,} steps: {figures}",
        f"Restyle with it: python -m zoo infer {shlex.quote(f'run={context.folder}')} input=PHOTO",
    ]


TRAIN = Command(
    "train", "restyle", "style_network", StyleNetworkConfig, train, figures=("loss", "content", "style", "roughness")
)
TASK = Task("restyle", (TRAIN, apply_network.INFER, export.EXPORT), network_arguments={"input_shape": [256, 256, 3]})
