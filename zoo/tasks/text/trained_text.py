"""The texts of a training run: the settings of its data, and the tokens of a language model's text."""

import dataclasses
from typing import TypeVar

from zoo.config import setting
from zoo.config.schemas.common import TestData
from zoo.config.schemas.language_modelling import LanguageData
from zoo.config.schemas.text import TextData
from zoo.core import schema
from zoo.core.arrays import NDArray, np
from zoo.data.text import dataset
from zoo.runs.result import Run
from zoo.tasks import trained_run
from zoo.tasks.text import pretrained_text

T = TypeVar("T", bound=TextData)


def settings_of(source: Run, kind: type[T]) -> T:
    """Return the settings of a run's data; its record may come from a stranger."""
    settings = source.record["config"]["data"]
    problems = schema.violations(settings, kind)
    if not problems:
        problems = setting.problems(kind(**settings), "data.")
    schema.refuse("record", source.folder / "run.json", problems)
    return kind(**settings)


def tokens_of(source: Run, asked: TestData, part: str) -> "tuple[NDArray[np.int32], dataset.TextDataset]":
    """Return the tokens of ``train`` or ``validation`` of a language model's text, as in its training.

    The tokens are mapped from the file: (n,), int32 once copied.
    """
    given = {key: value for key, value in dataclasses.asdict(asked).items() if value is not None}
    row = dataclasses.replace(settings_of(source, LanguageData), **given)
    prepared = dataset.prepare(row, pretrained_text.vocabulary_of(source))
    trained_run.refuse_other_data(source, prepared.name, prepared.sha256)
    begin, end = dataset.split_tokens(prepared, row)[part]
    return np.load(prepared.folder / "tokens.npy", mmap_mode="r")[begin:end], prepared
