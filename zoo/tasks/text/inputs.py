"""Read the texts to classify: sentences, files, tables, or the test texts of the run."""

import dataclasses
import sys
from pathlib import Path

from zoo.config import setting
from zoo.config.schemas.common import TestData
from zoo.config.schemas.text import LabelledData, TextInferConfig, TextReading
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError
from zoo.data.text import dataset, files, sources, tables, tokenization
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import trained_run
from zoo.tasks.text import trained_text
from zoo.weights import zoo_networks

STANDARD_INPUT = "-"
SHOWN = 60


@dataclasses.dataclass
class Inputs:
    """Texts to classify.

    Attributes:
        tokens: token ids of each text.
        labels: the true classes, or None.
        record: the ``data`` of ``run.json``.
        skipped: position of each skipped text, and the reason.
        notes: sentences about how the texts were read.
    """

    names: list[str]
    texts: list[str]
    tokens: "list[NDArray[np.int32]]"
    labels: "NDArray[np.int64] | None"
    record: Json
    skipped: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)


def needless(settings: TextInferConfig, source: Run) -> list[str]:
    """Return the keys of ``data`` that have no effect with this ``input=``."""
    given, of_tables = str(settings.input), ["text_column", "delimiter", "quoting", "header"]
    if given == "test":
        keys = ["encoding", "lines", *of_tables]
    elif given == STANDARD_INPUT:
        keys = ["root", "test_limit", *of_tables]
    elif not _is_file(given):
        keys = ["root", "test_limit", "encoding", "lines", *of_tables]
    else:
        keys = ["root", "test_limit", *(["lines"] if _is_table(settings, source, Path(given)) else of_tables)]
    return [f"data.{key}" for key in keys]


def shortened(text: str) -> str:
    """Cut a text to the length shown in messages and prediction tables."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def own(settings: TextInferConfig, source: Run, tokenizer: tokenization.Tokenizer) -> Inputs:
    """Read the texts of ``input=``: a table, a file, standard input, or the sentence itself."""
    given, inputs = str(settings.input), Inputs([], [], [], None, {})
    path = Path(given)
    reading = _reading(settings, source, path)
    if given == STANDARD_INPUT:
        text = files.decode(sys.stdin.buffer.read(), reading.encoding, "standard input")[0]
        _take_text(inputs, "stdin", text, settings.data.lines is not False)
    elif not _is_file(given):
        inputs.names, inputs.texts = [shortened(given)], [given]
    elif _is_table(settings, source, path):
        _take_table(inputs, files.data_root(given, "a table"), reading, "".join(_dialect(source)[2:]))
    else:
        text = files.read(files.data_root(given, "a text file"), reading.encoding)[0]
        by_line = reading.name == "text_lines" if settings.data.lines is None else settings.data.lines
        _take_text(inputs, path.name, text, by_line)
    _tokenize(inputs, tokenizer)
    inputs.record = {"name": inputs.names[0] if len(inputs.names) == 1 else given, "items": len(inputs.names),
                     "skipped_items": len(inputs.skipped), "read": inputs.notes}  # fmt: skip
    return inputs


def _reading(settings: TextInferConfig, source: Run, path: Path) -> LabelledData:
    """Return how texts were read in training, with the user's settings applied."""
    reading = trained_text.settings_of(source, LabelledData)
    trained = _dialect(source)
    if trained and _is_like_trained(source, path):
        reading = dataclasses.replace(reading, delimiter=trained[0], quoting=trained[1])
    said = {key: value for key, value in dataclasses.asdict(settings.data).items() if value is not None}
    said = {key: value for key, value in said.items() if key not in ("lines", "root", "test_limit")}
    return dataclasses.replace(reading, **said)


def _dialect(source: Run) -> list[str]:
    """Return the delimiter, the quoting and, if recorded, the text column's title of the training table."""
    trained: list[str] = source.record["data"].get("dialect") or []
    known = isinstance(trained, list) and len(trained) in (0, 2, 3) and all(isinstance(each, str) for each in trained)
    if not known or (
        trained and setting.problems(LabelledData(name="text_table", delimiter=trained[0], quoting=trained[1]))
    ):
        raise ZooError(f"{source.folder / 'run.json'}: data.dialect is {trained!r}", "Give another run.")
    return trained


def _is_file(text: str) -> bool:
    """Return whether an input is a file name, not a sentence."""
    remedy = "Give a sentence, a .txt, .csv or .tsv file, or - to read lines."
    return trained_text.is_file(text, (sources.SUFFIX, files.PACKED, *tables.SUFFIXES), remedy)


def _is_table(settings: TextInferConfig, source: Run, path: Path) -> bool:
    """Return whether an input is a table: by its suffix, a text column in the settings, or the training table."""
    named = settings.data.text_column is not None
    return tables.suffix(path) in tables.SUFFIXES or named or _is_like_trained(source, path)


def _is_like_trained(source: Run, path: Path) -> bool:
    """Return whether training used a table with the same suffix."""
    data = source.record["config"]["data"]
    root = Path(str(data["root"]))
    trained = root.glob("train.*") if root.is_dir() else [root]
    return data["name"] == "text_table" and tables.suffix(path) in map(tables.suffix, trained)


def _take_table(inputs: Inputs, path: Path, reading: LabelledData, title: str) -> None:
    table = tables.open_table(path, reading, [("data.text_column", reading.text_column)], title)
    inputs.notes.append(f"Read {table.words}")
    for number, (line, cells, problem) in enumerate(table.rows):
        if problem:
            inputs.skipped.append((f"{path}, line {line}", problem))
        else:
            inputs.names.append(f"{path.name}[{number}]")
            inputs.texts.append(cells[0])
    if not inputs.texts:
        where, problem = inputs.skipped[0] if inputs.skipped else (str(path), "it has no row")
        raise ZooError(f"{where}: {problem}", "Give a table with texts in it.")


def _take_text(inputs: Inputs, name: str, text: str, by_line: bool) -> None:
    inputs.texts = files.lines(text) if by_line else [text]
    inputs.names = [f"{name}[{number}]" for number in range(len(inputs.texts))] if by_line else [name]
    other = "data.lines=false reads one text" if by_line else "data.lines=true reads one text a line"
    if "\n" in text.strip():
        inputs.notes.append(f"Read {name}: {'one text a line' if by_line else 'one text'}; {other}")


def _tokenize(inputs: Inputs, tokenizer: tokenization.Tokenizer) -> None:
    tokens = tokenizer.encode_all(inputs.texts)
    readable = [not tokenization.is_blank(tokenizer.kind, text) and len(each) > 0
                for text, each in zip(inputs.texts, tokens, strict=True)]  # fmt: skip
    if not any(readable):
        name = inputs.names[0] if inputs.names else "standard input"
        raise ZooError(f"There is nothing to read in {name!r}", "Give a text with words in it.")
    inputs.skipped += [(name, "blank") for name, usable in zip(inputs.names, readable, strict=True) if not usable]
    kept = [number for number, usable in enumerate(readable) if usable]
    inputs.names, inputs.texts = [inputs.names[each] for each in kept], [inputs.texts[each] for each in kept]
    inputs.tokens = [tokens[each] for each in kept]


def part_of(asked: TestData | TextReading, source: Run, part: str) -> Inputs:
    """Read texts of a part (train, validation or test) of a run's data, at most the requested number."""
    trained, moved = trained_text.settings_of(source, LabelledData), asked.root
    known = tokenization.load(source.folder / dataset.VOCABULARY)
    prepared = dataset.prepare(dataclasses.replace(trained, root=moved) if moved else trained, known)
    trained_run.refuse_other_data(source, prepared.name, prepared.sha256)
    parts = _split(source, prepared, trained)
    chosen = parts[part]
    _refuse_other_reading(source, prepared, parts)
    limit = min(asked.test_limit or len(chosen), len(chosen))
    chosen = chosen[np.arange(limit) * len(chosen) // limit]
    tokens = np.load(prepared.folder / "tokens.npy", mmap_mode="r")
    offsets, labels = (np.load(prepared.folder / f"{name}.npy") for name in ("offsets", "labels"))
    numbers = [np.array(tokens[offsets[each] : offsets[each + 1]], np.int32) for each in chosen]
    record = {"name": prepared.name, "items": len(chosen), "sha256": prepared.sha256}
    names = [f"{part}[{number}]" for number in range(len(chosen))]
    return Inputs(names, dataset.texts_of(prepared, chosen), numbers, labels[chosen], record)


def _split(source: Run, prepared: dataset.TextDataset, trained: LabelledData) -> "dict[str, NDArray[np.int64]]":
    """Return a run's split; the zoo's networks do not store it, because their seed and settings determine it."""
    path = source.folder / "split.npz"
    if not path.exists() and source.folder.is_relative_to(zoo_networks.FOLDER):
        return dataset.split_texts(prepared, trained, int(source.record["config"]["seed"]))
    try:
        with np.load(path, allow_pickle=False) as stored:
            parts = {name: stored[name] for name in stored.files}
            return parts | {"test": parts["test"]}
    except (OSError, ValueError, KeyError, RecursionError) as error:
        raise ZooError(f"{path} cannot be used: {error}", "Train again.") from error


def _refuse_other_reading(source: Run, prepared: dataset.TextDataset, parts: "dict[str, NDArray[np.int64]]") -> None:
    """Reject files whose texts differ from the run's texts, because its split would then refer to different texts."""
    count, data = len(np.load(prepared.folder / "labels.npy", mmap_mode="r")), source.record["config"]["data"]
    whole = data.get("train_limit") is None and data.get("test_limit") is None
    split = sum(map(len, parts.values()))
    outside = any(len(part) and (part.min() < 0 or part.max() >= count) for part in parts.values())
    if outside or (whole and split != count) or prepared.info.class_names != source.record["data"]["class_names"]:
        raise ZooError(
            f"The texts of {prepared.source} differ from those that {source.folder} was trained with: now {count:,} "
            f"of {len(prepared.info.class_names)} classes",
            "Train again.",
        )
