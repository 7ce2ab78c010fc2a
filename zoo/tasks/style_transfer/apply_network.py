"""Restyle images with a trained feed-forward style network: one image, a video, or folders of either."""

import os
import tempfile
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Arguments, Settings
from zoo.config.schemas.style_network import RestyleConfig
from zoo.config.tasks import Command
from zoo.core import console
from zoo.core.arrays import Bytes
from zoo.core.errors import ZooError
from zoo.core.files import check_writable, storage_errors
from zoo.core.paths import existing_input, user_path
from zoo.data.images import decode, files, video
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import RestylePart
from zoo.runs.context import RunContext, create_context
from zoo.runs.lifecycle import recorded_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import trained_run
from zoo.tasks.style_transfer import images, pipeline
from zoo.weights import io, manifest, style_any
from zoo.weights.formats import Weights

MODEL = "style_transfer/fast"
PAINTING_EDGE = 256
KINDS = f"Give an image ({decode.NAMES}), a video, or a folder of images."


def infer(overrides: Overrides) -> Run:
    source = source_of(INFER, overrides)
    context = create_context(INFER, overrides)
    settings = context.settings
    weights, size = _network(settings, source)
    items = _planned(existing_input(str(settings.input), KINDS), settings)
    styles = _styles(settings, items)
    with recorded_run(context, ["restyle", context.choice.backend.name]):
        context.record.model = str(settings.model["name"])
        context.record.trained_run = str(source.folder) if source else None
        if settings.save is None:
            items = [pipeline.Item(item.source, context.folder / item.target) for item in items]
        _restyle(context, items, stored(context.folder, weights), size, styles)
    return context.result


def opened(overrides: Overrides) -> tuple[RunContext[RestyleConfig], Weights, Arguments]:
    """Open the network of ``run=`` or ``weights=``: the context, its weights, and its size."""
    overrides = overrides.with_("command", {"input": "-"})
    source = source_of(INFER, overrides)
    context = create_context(INFER, overrides)
    if context.settings.takes_any:
        raise ZooError(f"{context.settings.model['name']} is not served", f"Serve a network of model={MODEL}.")
    return context, *_network(context.settings, source)


def source_of(command: Command[Settings], overrides: Overrides) -> Run | None:
    for name in overrides.given("model"):
        raise ZooError(f"model.{name} has no effect", "The weights determine the size of the network.")
    if not overrides.get("run"):
        return None
    if overrides.get("weights"):
        raise ZooError("Both run= and weights= are given", "Give either run=RUN_FOLDER or weights=FILE_OR_FOLDER.")
    return trained_run.open_run(command, overrides)


def _styles(settings: RestyleConfig, items: list[pipeline.Item]) -> "list[Bytes]":
    """Return the paintings for the predictor, (256, 256, 3) each: resized without cropping."""
    names = settings.styles or ([settings.style] if settings.style else [])
    paintings = [images.opened(user_path(name), "style") for name in names]
    for painting in paintings:
        if any(item.target.exists() and item.target.samefile(painting.path) for item in items):
            raise ZooError(f"{painting.path} would be overwritten", "Give another place: save=PATH")
    return [images.sized(painting.pixels, PAINTING_EDGE, PAINTING_EDGE) for painting in paintings]


def _network(settings: RestyleConfig, source: Run | None) -> tuple[Weights, Arguments]:
    if settings.takes_any:
        path = user_path(settings.weights) if settings.weights else style_any.published()
        return style_any.require_both(path, io.read(path)), {}
    return network_of(source.folder / "weights.npz" if source else user_path(str(settings.weights)))


def network_of(path: Path) -> tuple[Weights, Arguments]:
    """Return the weights of a feed-forward style network, and its size as arguments of the builder."""
    weights = io.read(path)
    size = manifest.size_of(weights.arrays)
    if size is None:
        raise ZooError(
            f"{path} ({weights.kind}, {len(weights.arrays)} weights) is not a feed-forward style network",
            "Give weights from `train model=style_transfer/fast`, or a published network of that kind.",
        )
    return weights, size


def stored(folder: Path, weights: Weights) -> Path:
    path = folder / "weights.npz"
    io.write(path, weights)
    return path


def _planned(given: Path, settings: RestyleConfig) -> list[pipeline.Item]:
    """Return the sources and targets, after checking that no file is overwritten by mistake."""
    items = _items(given, user_path(settings.save) if settings.save else None)
    for item in items:
        (video.check_target if video.describes(item.source) else files.output_format)(item.target)
    if settings.save:
        _refuse_collisions(items)
        check_writable(items[0].target, "Choose a place you can write: save=PATH")
    there = [item.target for item in items if settings.save and item.target.exists()]
    if there and not settings.overwrite:
        more = f" and {len(there) - 1:,} more" if len(there) > 1 else ""
        raise ZooError(f"{there[0]}{more} would be overwritten", "Choose another place, or add overwrite=true.")
    if there:
        console.warn(f"overwrite=true: {len(there):,} of {len(items):,} images will be replaced")
    return items


def _refuse_collisions(items: list[pipeline.Item]) -> None:
    sources, targets = {os.path.realpath(item.source) for item in items}, set[str]()
    for item in items:
        where = os.path.realpath(item.target)
        if where in sources:
            raise ZooError(f"{where} is an input and would be overwritten", "Give another place: save=PATH")
        if where in targets:
            raise ZooError(f"Two results would have the name {item.target}", "Rename one of the images.")
        targets.add(where)


def _items(given: Path, save: Path | None) -> list[pipeline.Item]:
    if given.is_dir():
        names, folder = images.listed(given, KINDS), save or Path("pictures")
        if save and save.exists() and not save.is_dir():
            raise ZooError(f"{save} is a file, and {given} a folder", "Give a folder: save=FOLDER")
        if save and not save.exists() and decode.is_named(save):
            raise ZooError(f"{save} is the name of an image, and {given} a folder", "Give a folder: save=FOLDER")
        return [pipeline.Item(given / name, folder / _written_name(name)) for name in names]
    if video.describes(given):
        video.opened(given)
    else:
        try:
            files.open_image(given)
        except decode.UnreadableError as reason:
            raise ZooError(f"{given} cannot be used: {reason}", KINDS) from reason
    if save is None or save.is_dir() or not save.suffix:
        return [pipeline.Item(given, (save or Path()) / _written_name(given.name))]
    return [pipeline.Item(given, save)]


def _written_name(name: str) -> str:
    return name if Path(name).suffix.lower() in (*files.WRITTEN, *video.FORMATS) else f"{name}.png"


def _restyle(
    context: RunContext[RestyleConfig], plan: list[pipeline.Item], weights: Path, size: Arguments,
    styles: "list[Bytes]",
) -> None:  # fmt: skip
    settings = context.settings
    with storage_errors("write", context.folder):
        exchange = tempfile.TemporaryDirectory(prefix="exchange-", dir=context.folder, ignore_cleanup_errors=True)
    with exchange as folder:
        pictures = pipeline.ImagePipeline(plan, Path(folder), settings.size)
        with pictures.queue:
            request = request_of(context, {"name": context.record.model} | size, "apply_style_network", weights)
            paintings = [images.store(Path(folder, f"painting_{n}.npy"), style) for n, style in enumerate(styles)]
            shares = settings.style_weights or [1.0] * len(styles)
            request.restyle = RestylePart(
                exchange=folder, tile=settings.tile, precision=settings.precision, items=len(plan),
                strength=settings.strength, colors=settings.colors, paintings=paintings,
                shares=[each / sum(shares) for each in shares],
            )  # fmt: skip
            outcome = execute(context, request, pictures.take)
            pictures.close()
    context.record.data = {"name": str(settings.input), "items": len(plan), "skipped": pictures.skipped}
    context.record.results = [str(path) for path in pictures.written[:1000]]
    context.record.metrics |= {"written": len(pictures.written)}
    context.record.summary = _words(context.record.to_json())
    raise_if_failed(context, outcome)
    if not pictures.written and pictures.skipped:
        name, reason = pictures.skipped[0]
        raise ZooError(f"{name} cannot be used: {reason}", KINDS)


def _words(record: Json) -> list[str]:
    metrics, results = record["metrics"], record["results"]
    lines = [*results[:5], *([f"... and {metrics['written'] - 5:,} more"] if metrics["written"] > 5 else [])]
    skipped = len(record["data"]["skipped"])
    lines += [f"Skipped as unusable: {skipped:,}"] if skipped else []
    if record["exit"] == "interrupted":
        lines.append(f"Interrupted after {metrics['written']:,} of {record['data']['items']:,}")
    if "s_per_megapixel" in metrics:
        lines.append(f"{metrics['megapixels']:.2f} megapixels, {metrics['s_per_megapixel']:.2f} s per megapixel")
    return lines


INFER = Command("infer", "restyle", "restyle", RestyleConfig, infer, add_defaults=trained_run.add_defaults)
