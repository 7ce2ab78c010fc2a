"""The texts of a training run: the settings of its data, and the tokens of a language model's text."""

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TypeVar

from zoo.config import setting
from zoo.config.overrides import Overrides
from zoo.config.schemas.common import Settings, TestData
from zoo.config.schemas.text import LanguageData, TextData
from zoo.config.tasks import Command
from zoo.core import paths, schema
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError
from zoo.data.text import dataset, tokenization
from zoo.runs.context import RunContext, create_context
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks import trained_run

S = TypeVar("S", bound=Settings)
T = TypeVar("T", bound=TextData)


def opened(
    command: Command[S], overrides: Overrides, needed: Mapping[str, type] | None = None
) -> tuple[RunContext[S], Run, Json, tokenization.Tokenizer]:
    """Open the run of ``run=``: the context, the run, its model and its vocabulary."""
    source = trained_run.open_run(command, overrides, needed)
    tokenizer = tokenization.load(source.folder / dataset.VOCABULARY)
    context = create_context(command, overrides)
    model = trained_run.model(source, whole_numbers=("length",), verb=command.verb)
    return context, source, model, tokenizer


def is_file(text: str, suffixes: Collection[str], remedy: str) -> bool:
    """Return whether an input names a file: by a suffix, or because it exists; raise ZooError for folders and pipes."""
    if paths.is_special(text):
        raise ZooError(f"{text} is a pipe or a device", remedy)
    try:
        if Path(text).is_dir():
            raise ZooError(f"{text} is a folder", remedy)
        return Path(text).suffix.lower() in suffixes or Path(text).is_file()
    except (OSError, ValueError):  # not a possible file name
        return False


def settings_of(source: Run, kind: type[T]) -> T:
    """Return the settings of a run's data; its record may come from a third party."""
    settings = source.record["config"]["data"]
    problems = schema.violations(settings, kind)
    if not problems:
        problems = setting.problems(kind(**settings), "data.")
    schema.refuse("record", source.folder / "run.json", problems)
    return kind(**settings)


def tokens_of(source: Run, asked: TestData, part: str) -> "tuple[NDArray[np.int32], dataset.TextDataset]":
    """Return the ``train`` or ``validation`` tokens of a language model's text, (n,) mapped from the file."""
    given = {key: value for key, value in dataclasses.asdict(asked).items() if value is not None}
    row = dataclasses.replace(settings_of(source, LanguageData), **given)
    prepared = dataset.prepare(row, tokenization.load(source.folder / dataset.VOCABULARY))
    trained_run.refuse_other_data(source, prepared.name, prepared.sha256)
    begin, end = dataset.split_tokens(prepared, row)[part]
    return np.load(prepared.folder / "tokens.npy", mmap_mode="r")[begin:end], prepared
