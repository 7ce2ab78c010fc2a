"""Using a trained classifier on sentences, files and tables of texts, or on the test set it was trained beside."""

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.config.schemas.common import Settings
from zoo.config.schemas.text import LabelledData, TextInferConfig
from zoo.config.tasks import Command
from zoo.core.errors import ZooError
from zoo.data.text import dataset, files, sources, tokenization
from zoo.runs import tables
from zoo.runs.context import RunContext, create_context, refuse_without_keras
from zoo.runs.execution import execute, raise_if_failed, request_of
from zoo.runs.lifecycle import record_outcome, start_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import summaries, trained_run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHOWN = 60


@dataclass
class _Inputs:
    names: list[str]
    tokens: "list[NDArray[np.int32]]"
    labels: "NDArray[np.int64] | None"
    record: Json


def infer(overrides: list[str]) -> Run:
    """Tell the classes of texts with a trained run.

    Raises:
        ZooError: anything that stops the run, with what to do about it.
    """
    source = trained_run.open_run(INFER, overrides)
    tokenizer = tokenization.load(source.folder / dataset.VOCABULARY)
    context = create_context(INFER, overrides)
    settings = context.settings
    refuse_without_keras(context)
    trained = trained_run.model(source, whole_numbers=("length",))
    inputs = _test_set(source) if settings.input == "test" else _own(settings, source, tokenizer)
    start_run(context, ["infer", trained["name"], context.choice.backend.name])
    with record_outcome(context):
        context.record.model, context.record.trained_run = trained["name"], str(source.folder)
        context.record.data = inputs.record
        request = request_of(context, trained["args"] | {"name": trained["name"]}, "predict_text")
        request |= {"weights": str(source.folder / "weights.npz"), "data": _save(context.folder, inputs)}
        request["infer"] = {"batch_size": settings.batch_size}
        outcome = execute(context, request)
        raise_if_failed(context, outcome)
        _keep(context, inputs, source.record["data"]["class_names"])
    return context.result


def _own(settings: TextInferConfig, source: Run, tokenizer: tokenization.Tokenizer) -> _Inputs:
    """The sentence itself, the text of a file, or a column of a table."""
    given, encoding = str(settings.input), str(source.record["config"]["data"]["encoding"])
    path = Path(given)
    if path.suffix.lower() in sources.TABLES:
        column = settings.text_column or str(source.record["config"]["data"]["text_column"])
        texts = _column(files.data_root(given, "a table"), encoding, column)
        names = [f"{path.name}[{number}]" for number in range(len(texts))]
    elif _is_file(given):
        texts, names = [files.read(files.data_root(given, "a text file"), encoding)], [path.name]
    else:
        texts, names = [given], [given if len(given) <= SHOWN else given[: SHOWN - 3] + "..."]
    tokens = tokenizer.encode_all(texts)
    empty = [name for name, numbers in zip(names, tokens, strict=True) if not len(numbers)]
    if empty:
        raise ZooError(f"There is nothing to read in {empty[0]!r}", "Give a text with words in it.")
    return _Inputs(names, tokens, None, {"name": names[0] if len(names) == 1 else given, "items": len(names)})


def _is_file(text: str) -> bool:
    """Whether an input names a file, and is not itself the sentence.

    Raises:
        ZooError: it names a folder.
    """
    try:
        if Path(text).is_dir():
            raise ZooError(f"{text} is a folder", "Give a sentence, or a .txt, .csv or .tsv file.")
        return text.endswith(sources.SUFFIX) or Path(text).is_file()
    except (OSError, ValueError):  # no file can have such a name
        return False


def _column(path: Path, encoding: str, column: str) -> list[str]:
    csv.field_size_limit(files.MOST_BYTES)
    text = files.read(path, encoding)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=sources.TABLES[path.suffix.lower()])
    if column not in (reader.fieldnames or []):
        shown = ", ".join(map(repr, reader.fieldnames or [])) or "none: the file is empty"
        raise ZooError(f"{path} has no column {column!r}", f"Its columns are {shown}. Set text_column.")
    texts = [row[column] or "" for row in reader]
    if not texts:
        raise ZooError(f"{path} has no row", "Give a table with texts in it.")
    return texts


def _test_set(source: Run) -> _Inputs:
    import numpy as np

    prepared = dataset.prepare(LabelledData(**source.record["config"]["data"]))
    trained_run.refuse_other_data(source, prepared.name, prepared.sha256)
    try:
        with np.load(source.folder / "split.npz", allow_pickle=False) as stored:
            chosen = stored["test"]
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise ZooError(f"{source.folder / 'split.npz'} cannot be used: {error}", "Train again.") from error
    tokens = np.load(prepared.folder / "tokens.npy", mmap_mode="r")
    offsets, labels = (np.load(prepared.folder / f"{name}.npy") for name in ("offsets", "labels"))
    texts = [np.array(tokens[offsets[each] : offsets[each + 1]], np.int32) for each in chosen]
    record = {"name": prepared.name, "items": len(chosen), "sha256": prepared.sha256}
    return _Inputs([f"test[{number}]" for number in range(len(chosen))], texts, labels[chosen], record)


def _save(folder: Path, inputs: _Inputs) -> dict[str, str | None]:
    """Write what was asked beside what is answered."""
    import numpy as np

    offsets = np.cumsum([0, *(len(each) for each in inputs.tokens)], dtype=np.int64)
    arrays: dict[str, Any] = {"tokens": np.concatenate(inputs.tokens), "offsets": offsets, "labels": inputs.labels}
    for name, array in arrays.items():
        if array is not None:
            np.save(folder / f"inputs_{name}.npy", array, allow_pickle=False)
    return {name: None if array is None else str(folder / f"inputs_{name}.npy") for name, array in arrays.items()}


def _keep(context: RunContext[Settings], inputs: _Inputs, classes: list[str]) -> None:
    import numpy as np

    context.record.data |= {"what": "texts", "class_names": classes}
    path = context.folder / "probabilities.npy"
    if path.is_file():
        probabilities = np.load(path, allow_pickle=False)
        names = inputs.names[: len(probabilities)]
        tables.write_predictions(context.folder / "predictions.csv", names, classes, probabilities)
        rows = [
            row | {"probabilities": {name: float(value) for name, value in zip(classes, values, strict=True)}}
            for row, values in zip(tables.likeliest(names, classes, probabilities), probabilities, strict=True)
        ]
        text = json.dumps(rows, ensure_ascii=False, indent=1)
        (context.folder / "predictions.json").write_text(text, encoding="utf-8")


INFER = Command(
    "infer",
    "text_classifier",
    "text_infer",
    TextInferConfig,
    infer,
    add_defaults=trained_run.add_defaults,
    summary=summaries.predictions,
)
