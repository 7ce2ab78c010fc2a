"""Run a trained classifier on sentences, files and tables of texts, or on the test set of its data."""

import json
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Settings
from zoo.config.schemas.text import TextInferConfig
from zoo.config.tasks import Command
from zoo.core import console, csv_files
from zoo.core.arrays import np
from zoo.data.text import tokenization
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import InferPart, ItemData
from zoo.protocol.targets import CLASSES, NUMBER
from zoo.runs import tables
from zoo.runs.context import RunContext
from zoo.runs.lifecycle import recorded_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import summaries, target_analysis, trained_run
from zoo.tasks.text import inputs as text_inputs
from zoo.tasks.text import trained_text
from zoo.tasks.text.inputs import Inputs

# Largest number of characters of a text in predictions.csv, because a run's page reads only small tables.
MOST_CHARACTERS = 500
# Fields needed from the record of the training run.
NEEDED = {"config.data": dict, "config.data.name": str, "data.class_names": list, "data.sha256": str}


def infer(overrides: Overrides) -> Run:
    context, source, trained, tokenizer = trained_text.opened(INFER, overrides, NEEDED)
    settings = context.settings
    is_test = settings.input == "test"
    context.refuse_needless(f"with input={text_inputs.shortened(str(settings.input))}",
                            *text_inputs.needless(settings, source))  # fmt: skip
    if is_test:
        inputs = text_inputs.part_of(settings.data, source, "test")
    else:
        inputs = text_inputs.own(settings, source, tokenizer)
    for note in inputs.notes:
        console.say(note)
    console.warn_of_skipped(inputs.skipped)
    _warn_of_unknown_words(inputs, tokenizer)
    with recorded_run(context, ["infer", trained["name"], context.choice.backend.name]):
        context.record.model, context.record.trained_run = trained["name"], str(source.folder)
        context.record.data = inputs.record
        csv_files.write_skipped(context.folder / "skipped.csv", inputs.skipped)
        request = request_of(context, trained, "predict_text", source.folder / "weights.npz")
        request.data, request.infer = save(context.folder, inputs), InferPart(batch_size=settings.batch_size)
        raise_if_failed(context, execute(context, request))
        _keep(context, inputs, source, trained)
    return context.result


def _warn_of_unknown_words(inputs: Inputs, tokenizer: tokenization.Tokenizer) -> None:
    if tokenizer.kind != "words":
        return
    count = sum(bool((tokens == tokenization.UNKNOWN).all()) for tokens in inputs.tokens)
    if count:
        texts = f"{count:,} of {len(inputs.tokens):,} texts" if len(inputs.tokens) > 1 else "the text"
        console.warn(f"No word of {texts} is in the vocabulary of the run: such predictions are unreliable")


def save(folder: Path, inputs: Inputs) -> ItemData:
    offsets = np.cumsum([0, *(len(each) for each in inputs.tokens)], dtype=np.int64)
    data = ItemData(tokens=str(folder / "inputs_tokens.npy"), offsets=str(folder / "inputs_offsets.npy"))
    np.save(str(data.tokens), np.concatenate(inputs.tokens), allow_pickle=False)
    np.save(str(data.offsets), offsets, allow_pickle=False)
    if inputs.labels is not None:
        data.labels = str(folder / "inputs_labels.npy")
        np.save(data.labels, inputs.labels, allow_pickle=False)
    return data


def _keep(context: RunContext[Settings], inputs: Inputs, source: Run, trained: Json) -> None:
    classes, target = source.record["data"]["class_names"], trained.get("target")
    context.record.data |= {"what": "texts", "class_names": classes}
    path = context.folder / "probabilities.npy"
    if not path.is_file():
        return
    outputs = np.load(path, allow_pickle=False)
    names, kind = inputs.names[: len(outputs)], target["kind"] if target else CLASSES
    more = {"text": [shortened(text) for text in inputs.texts[: len(names)]]}
    how = kind, target_analysis.thresholds(source.record, len(classes))
    if inputs.labels is not None and target:
        judged = target_analysis.of_outputs(target, classes, how[1], outputs, inputs.labels)
        context.record.metrics |= judged.metrics("test_")
    elif inputs.labels is not None:
        more["true_class"] = [classes[label] for label in inputs.labels[: len(names)]]
    tables.write_predictions(context.folder / "predictions.csv", names, classes, outputs, more, *how)
    pairs = zip(tables.answers(names, classes, outputs, *how), outputs, strict=True)
    rows = [
        row
        | ({} if kind == NUMBER else {"probabilities": dict(zip(classes, values.tolist(), strict=True))})
        | {name: column[number] for name, column in more.items()}
        for number, (row, values) in enumerate(pairs)
    ]
    text = json.dumps(rows, ensure_ascii=False, indent=1)
    (context.folder / "predictions.json").write_text(text, encoding="utf-8", errors="replace")


def shortened(text: str) -> str:
    """Cut a text to the length of a run's tables."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]} ..."


INFER = Command(
    "infer", "text_classifier", "text_infer", TextInferConfig, infer,
    add_defaults=trained_run.add_defaults, summary=summaries.predictions,
)  # fmt: skip
