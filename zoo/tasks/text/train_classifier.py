"""Train a text classifier."""

from collections.abc import Sequence
from typing import Any

from zoo.config.overrides import Overrides
from zoo.config.schemas.text import TextTrainConfig, TextTraining
from zoo.config.tasks import Command, Task
from zoo.core import console, csv_files
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError
from zoo.data.targets import Targets
from zoo.data.text import dataset
from zoo.execution import calibration
from zoo.protocol.request import Request, TextData
from zoo.runs.context import RunContext, create_training_context
from zoo.runs.history import title
from zoo.runs.lifecycle import recorded_run, set_data
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import error_analysis, fastest_stack, few_items, summaries, target_analysis
from zoo.tasks.text import export, linear, predict, pretrained_text, training

# Training keeps several copies of the table of pairs: 3.4 GB were used for one of 0.64 GB.
COPIES = 5


def train(overrides: Overrides) -> Run:
    context = create_training_context(TRAIN, overrides)
    start = pretrained_text.choose(context)
    settings = context.settings
    texts = dataset.prepare(settings.data, start.tokenizer or settings.seed)
    training.remark(texts)
    _tell_longer(texts, settings)
    _check_pairs(context, len(texts.tokenizer), len(texts.info.class_names))
    parts = dataset.split_texts(texts, settings.data, settings.seed)
    context.refuse_without_validation(len(parts["validation"]), "texts")
    for part, keys in {"test": ("data.fold", "data.folds"), "validation": ("data.validation",)}.items():
        if part in texts.info.parts:
            context.refuse_needless(f"with {texts.source}, which has a {part} part", *keys)
    if settings.model.get("spelling") and not settings.model.get("pair_buckets", True):
        context.refuse_needless("without model.pair_buckets", "model.spelling")
    known = texts.targets
    if known:
        _prepare_targets(context, known, parts["train"])
    few_items.adapt(context, overrides, {name: len(part) for name, part in parts.items()})

    starts = bool(settings.model.get("pair_buckets")) and not start.npz
    scaled = starts and not linear.is_logistic(texts, parts["train"], settings.model["length"])

    def requested(trial: RunContext[TextTrainConfig], fitted: str = "") -> Request:
        arguments, split = {"classes": len(texts.info.class_names)}, trial.folder / "split.npz"
        if scaled:
            arguments["scaled"] = True
        request = training.request_for(trial, texts, "train_text_classifier", start.npz, arguments)
        if request.model and known:
            request.model.target = known.part(parts["train"], trial.settings.trainer.loss)
        files = {name: str(texts.folder / f"{name}.npy") for name in ("tokens", "offsets", "labels")}
        np.savez(split, **dict[str, Any](parts))
        request.data = TextData(**files, split=str(split), linear=fitted)
        return request

    calibration.settle(context, requested)
    settings = context.settings
    if known:
        console.say(known.words(known.part(parts["train"], settings.trainer.loss)))
    with recorded_run(context, [str(settings.model["name"]), context.choice.backend.name]):
        sizes = {f"{name}_items": len(part) for name, part in parts.items()}
        set_data(context, training.record_of(texts, settings) | sizes)
        csv_files.write_skipped(context.folder / "skipped.csv", texts.info.skipped)
        context.record.data["unknown_by_part"] = training.tell_unknown(texts, dataset.unknown_shares(texts, parts))
        twice, part = dataset.duplicates(texts, parts)
        count = int(twice.sum())
        if count:
            share = f"{count:,} of {len(twice):,} test texts ({count / len(twice):.1%})"
            console.warn(f"{share} are also used for {part}: memorized texts count as correct")
        if shared := dataset.shared_validation(texts, parts):
            console.warn(f"{shared:,} of {len(parts['validation']):,} validation texts are also used for training")
        context.record.data.update(duplicates=count, duplicates_in=part)
        context.record.weights = start.record
        try:
            target = known.part(parts["train"], context.settings.trainer.loss) if known else None
            resumed = any((context.folder / "checkpoints").glob("*.json"))
            fitted = linear.fit(context, texts, parts, target) if starts and not resumed else ""
            training.train_and_judge(context, requested(context, fitted))
        finally:
            (context.folder / linear.FILE).unlink(missing_ok=True)
        context.record.judgement = _judgement(context, texts, parts, twice)
        if context.settings.linear_baseline and context.result.metrics.get("test_accuracy") is not None:
            context.record.linear_baseline = linear.baseline(texts, parts, settings.model)
    return context.result


def _judgement(
    context: RunContext[TextTrainConfig], texts: dataset.TextDataset, parts: dict[str, Any], known: Any
) -> Json | None:
    """Write the error analysis and return its fields for ``run.json``; None if nothing was evaluated.

    ``known`` is true for the test texts that are also used for training or validation.
    """
    judged = error_analysis.read(context.folder)
    if judged is None:
        return None

    def names(part: str, numbers: Sequence[int]) -> list[str]:
        return [f"{part}[{number}]" for number in numbers]

    if targets := texts.targets:
        part, predictions = judged
        result = target_analysis.of_worker(targets, parts["train"], predictions)
        return target_analysis.keep(context.folder, result, title(context), part, names)

    def read(part: str, numbers: Sequence[int]) -> list[str]:
        return [predict.shortened(text) for text in dataset.texts_of(texts, parts[part][list(numbers)])]

    items = error_analysis.Items(texts.info.class_names, names, read, known)
    return error_analysis.keep(context.folder, items, title(context), *judged)


def _prepare_targets(context: RunContext[TextTrainConfig], known: Targets, rows: "NDArray[np.int64]") -> None:
    """Refuse settings that need classes, and turn off those of the recipe."""
    known.check_training(rows)
    why = f"with targets that are not classes (data.target={known.kind})"
    off = {"trainer.label_smoothing": 0.0, "linear_baseline": False}
    context.refuse_needless(why, *off)
    context.overlay("machine", off)
    console.say(f"Label smoothing and the linear baseline are off {why}")


def _tell_longer(texts: dataset.TextDataset, settings: TextTraining) -> None:
    sizes, most = np.diff(np.load(texts.folder / "offsets.npy")), settings.model["length"]
    longer = int((sizes > most).sum())
    if longer:
        longer_texts = f"{longer:,} of {len(sizes):,} texts have more than {most} tokens"
        console.say(f"{longer_texts}: their beginning and end are read")


def _check_pairs(context: RunContext[TextTrainConfig], vocabulary: int, classes: int) -> None:
    """Refuse buckets for pairs of tokens that need too much memory; warn if many pairs share a bucket."""
    buckets, memory = context.settings.model.get("pair_buckets", 0), context.machine.memory_bytes
    needed = COPIES * 4 * (buckets + vocabulary) * classes
    if buckets and 0 < memory < needed:
        raise ZooError(
            f"model.pair_buckets={buckets} takes about {needed / 1e9:.2g} GB of memory for {classes:,} classes; this "
            f"machine has {memory / 1e9:.2g} GB",
            f"Give a smaller number: model.pair_buckets={1 << (buckets * memory // needed).bit_length() - 1}.",
        )
    if buckets and (buckets % 3 == 0 or buckets % 5 == 0):
        console.warn(
            f"model.pair_buckets={buckets} is a multiple of 3 or 5: too many pairs share a bucket. "
            "1048576 is a good number"
        )


TRAIN = Command(
    "train", "text_classifier", "text_train", TextTrainConfig, train, fastest_stack.add_to_training,
    summaries.FIGURES, summaries.COLUMNS, summaries.training,
)  # fmt: skip
# Benchmarks build networks with the sizes for film reviews.
SIZES = {"vocabulary": 20_000, "classes": 2, "fixed": True}
TASK = Task("text_classifier", (TRAIN, predict.INFER, export.CLASSIFIER), network_arguments=SIZES)
