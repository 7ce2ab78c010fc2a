"""Export text models: a classifier, or one step of a language model with its cache."""

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.common import TestData
from zoo.config.schemas.export import ExportConfig
from zoo.config.tasks import Command
from zoo.core.arrays import np
from zoo.core.errors import ZooError
from zoo.data.text import cutting, dataset, tokenization
from zoo.protocol.request import ItemData
from zoo.runs.result import Run
from zoo.tasks import export_examples, exporting, target_analysis
from zoo.tasks.text import inputs as text_inputs
from zoo.tasks.text import predict, scored_text, trained_text

CODE = (cutting.numbers_of, cutting.pieces_of, cutting.bytes_of, cutting.merged, cutting.byte_letters)
# Number of parts of a text that are used as prompts.
PROMPTS = 10
Write = Callable[[Run, TestData, str, Path, int], ItemData]


def export_classifier(overrides: Overrides) -> Run:
    return _export(CLASSIFIER, overrides, predict.NEEDED, "texts", _texts, "test")


def export_language_model(overrides: Overrides) -> Run:
    """Export one step of a language model, with its cache of keys and values as inputs and outputs."""
    return _export(LANGUAGE_MODEL, overrides, scored_text.NEEDED, "next_token", _tokens, "validation")


def _export(
    command: Command[ExportConfig], overrides: Overrides, needed: Mapping[str, type], kind: str, write: Write,
    part: str,
) -> Run:  # fmt: skip
    """Export a model of a run, compared on a part of its texts and calibrated on its training texts."""
    context, source, model, tokenizer = trained_text.opened(command, overrides, needed)
    settings, data = context.settings, context.settings.data
    for key, value, usual in (("input", settings.input, "test"), ("calibrate", settings.calibrate, "train")):
        if value not in (None, usual):
            raise ZooError(f"{key}={value}: text models are compared on texts of their run", f"Leave {key}= out.")
    subject = exporting.Subject(
        kind=kind,
        model=model,
        weights=source.folder / "weights.npz",
        classes=(names := [str(name) for name in source.record["data"].get("class_names", [])]),
        target=(model.get("target") or {}).get("kind"),
        thresholds=target_analysis.thresholds(source.record, len(names)) if model.get("target") else None,
        items=lambda folder, most: write(source, data, part, folder, most),
        examples=lambda folder: _examples(kind, tokenizer, folder),
        reading={**tokenizer.cutting._asdict(), "length": model["args"]["length"], "vocabulary": dataset.VOCABULARY},
        code=CODE,
        calibration=lambda folder, most: write(source, data, "train", folder, most),
        source=source,
        needed=[source.folder / dataset.VOCABULARY],
    )
    return exporting.export(context, subject)


def _examples(kind: str, tokenizer: tokenization.Tokenizer, folder: Path) -> tuple[list[str], ItemData]:
    """Choose texts of many kinds, from the tokens of the items."""
    added = [each.encode("latin-1") for each in tokenizer.token_bytes()]
    if kind == "texts":
        tokens, offsets = (np.load(folder / f"inputs_{name}.npy") for name in ("tokens", "offsets"))
        parts = [tokens[begin:end] for begin, end in itertools.pairwise(offsets)]
    else:
        parts = np.array_split(np.load(folder / "items.npy"), PROMPTS)
    given = [b"".join(added[token] for token in part).decode("utf-8", "replace") for part in parts]
    texts = export_examples.texts([text for text in given if text.strip()] or ["a"])
    texts = [text for text in texts if len(tokenizer.encode(text))]
    (folder / "examples").mkdir()
    read = text_inputs.Inputs([], texts, tokenizer.encode_all(texts), None, {})
    return texts, predict.save(folder / "examples", read)


def _texts(source: Run, asked: TestData, part: str, folder: Path, most: int) -> ItemData:
    """Write the tokens of texts, evenly spaced over a part."""
    inputs = text_inputs.part_of(asked, source, part)
    count = len(inputs.tokens)
    if not count:
        raise ZooError(f"{source.folder} has no texts for {part}", "Give another run.")
    chosen = np.linspace(0, count - 1, min(most, count)).round().astype(np.int64)
    labels = None if inputs.labels is None or inputs.labels.ndim > 1 else inputs.labels[chosen]
    few = text_inputs.Inputs([], [], [inputs.tokens[number] for number in chosen], labels, {})
    return predict.save(folder, few)


def _tokens(source: Run, asked: TestData, part: str, folder: Path, most: int) -> ItemData:
    tokens, _ = trained_text.tokens_of(source, asked, part)
    np.save(folder / "items.npy", np.array(tokens[:most], np.int32), allow_pickle=False)
    return ItemData(x=str(folder / "items.npy"))


CLASSIFIER = exporting.command("text_classifier", export_classifier)
LANGUAGE_MODEL = exporting.command("language_model", export_language_model)
