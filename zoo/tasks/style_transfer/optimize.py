"""Style transfer by optimization: images, settings, worker and result files."""

from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.style_transfer import StyleConfig
from zoo.config.tasks import Command, Task
from zoo.core import console
from zoo.core.arrays import Bytes
from zoo.core.files import file_sha256, remove
from zoo.data.images import files
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.execution.worker_process import Outcome
from zoo.protocol.request import LayersPart, LossWeightsPart, Request, StylePart, StyleSize
from zoo.runs import plots
from zoo.runs.context import RunContext, create_training_context
from zoo.runs.lifecycle import recorded_run, set_data
from zoo.runs.result import Run
from zoo.tasks import fastest_stack
from zoo.tasks.style_transfer import images, inputs
from zoo.weights import feature_networks
from zoo.weights.feature_networks import FeatureNetwork


def train(overrides: Overrides) -> Run:
    context = create_training_context(TRAIN, overrides)
    settings = context.settings
    job = inputs.open_all(settings, inputs.own_result(context.resumes, settings))
    features = feature_networks.choose(settings.features, settings.feature_weights, settings.download)
    with recorded_run(context, ["style_transfer", context.choice.backend.name]):
        set_data(context, inputs.described(job))
        context.record.features = {"network": features.network, "weights": features.source}
        try:
            _finish(context, job, execute(context, _request(context, job, features)), features)
        finally:
            # The arrays for the worker are copies of the user's images.
            remove(context.folder / "work")
    return context.result


def _request(context: RunContext[StyleConfig], job: inputs.StyleInputs, features: FeatureNetwork) -> Request:
    settings, work_dir = context.settings, context.folder / "work"
    work_dir.mkdir(exist_ok=True)
    # An image to start from already has its fine detail.
    long_side = [job.long_side] if job.start else images.sizes(job.long_side, settings.min_size)
    request = request_of(context, settings.model, "optimize_style")
    request.style = StylePart(
        features=inputs.feature_network(features, settings, settings.seed, work_dir),
        layers=LayersPart(**vars(settings.layers)),
        strength=LossWeightsPart(**vars(settings.strength)),
        shares=job.shares,
        sizes=[
            _laid_down(work_dir, job, edge, settings.steps * 2 ** (len(long_side) - 1 - index), settings.style_scale)
            for index, edge in enumerate(long_side)
        ],
        start=settings.start if job.start is None else "picture",
        optimizer=settings.optimizer,
        rate=settings.rate,
        every=settings.every,
        seed=settings.seed,
        checkpoint_minutes=settings.checkpoint_minutes,
    )
    return request


def _laid_down(folder: Path, job: inputs.StyleInputs, long_side: int, steps: int, style_scale: float) -> StyleSize:
    def keep(name: str, pixels: "Bytes") -> str:
        return images.store(folder / f"{name}_{long_side}.npy", pixels)

    content = images.fitted(job.content.pixels, long_side)
    rows, columns = content.shape[:2]
    # Scale a style by area, not by its longer side, so that a panorama does not get very long strokes.
    edge = (rows * columns) ** 0.5 * style_scale
    styles = [_style_of(style.pixels, edge) for style in job.styles]
    return StyleSize(
        content=keep("content", content),
        styles=[keep(f"style{index}", pixels) for index, pixels in enumerate(styles)],
        masks=[
            None if mask is None else keep(f"mask{index}", images.sized(mask, rows, columns))
            for index, mask in enumerate(job.masks)
        ],
        start=keep("start", images.sized(job.start.pixels, rows, columns)) if job.start else None,
        steps=steps,
    )


def _style_of(pixels: "Bytes", edge: float) -> "Bytes":
    """Return a style with the area of a square of ``edge`` pixels, and sides from 16 to 4096."""
    rows, columns = pixels.shape[:2]
    scale = edge / (rows * columns) ** 0.5
    return images.sized(pixels, *(min(4096, max(16, round(side * scale))) for side in (rows, columns)))


def _finish(
    context: RunContext[StyleConfig], job: inputs.StyleInputs, outcome: Outcome, features: FeatureNetwork
) -> None:
    """Write the result, the sheet, the film and the curves from the worker's output, also after a failure."""
    result = context.folder / "picture.png"
    if result.is_file():
        _write_out(context, job, result)
    raise_if_failed(context, outcome)
    metrics = context.record.metrics
    if not metrics:  # stopped before the end of the first size, or before any report
        there = result.is_file() and (job.save or result)
        words = f"Stopped early; the image so far: {there}" if there else "Stopped before the first image was saved."
        context.record.summary = [words]
        return
    losses = ", ".join(f"{name} {metrics[name]:.4f}" for name in ("loss", "style", "content", "roughness"))
    used = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in metrics["layers"].items())
    context.record.summary = [
        f"Features: {features.network} ({features.source}), computed in {metrics['precision']}; {used}",
        f"After {metrics['steps']} steps: {losses}",
        f"Image: {job.save or result}",
        f"In the run folder: {', '.join(context.record.side_files)}",
    ]


def _write_out(context: RunContext[StyleConfig], job: inputs.StyleInputs, path: Path) -> None:
    result = images.opened(path, "result").pixels
    content = images.sized(images.fitted(job.content.pixels, job.long_side), *result.shape[:2])
    if context.settings.colors == "content":
        result = images.recoloured(result, content)
    files.write(path, [result], job.content.metadata)
    if job.save is not None:
        files.write(job.save, [result], job.content.metadata)
        context.record.saved, context.record.saved_sha256 = str(job.save), file_sha256(job.save)
    elif context.record.get("saved"):  # the resumed run saved a result, but `save` is not set now
        console.warn(f"{context.record.get('saved')} was not changed; the new image is {path}")
    words = [("content", content), *(("style", style.pixels) for style in job.styles), ("result", result)]
    files.write(context.folder / "sheet.jpg", [images.sheet(words)], files.ImageMetadata())
    context.record.side_files = ["sheet.jpg"]
    steps = sorted((context.folder / "steps").glob("*.png"))
    if len(steps) > 1:
        images.film(context.folder / "making.gif", steps, result)
        context.record.side_files.append("making.gif")
    losses = context.folder / "losses.csv"
    if losses.is_file():
        plots.losses(losses, f"style_transfer on {context.choice.backend.name}", context.folder / "losses.png")
        context.record.side_files.append("losses.png")


TRAIN = Command(
    "train", "stylize", "style", StyleConfig, train, fastest_stack.add, ("loss", "content", "style", "roughness")
)  # fmt: skip
TASK = Task("stylize", (TRAIN,))
