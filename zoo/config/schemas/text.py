"""Settings for training on texts, using text classifiers and generating text."""

import re
from dataclasses import dataclass, field
from typing import Any

from zoo.config.schemas import common
from zoo.config.schemas.launching import Shareable
from zoo.config.setting import SPEED, like, one_of, setting
from zoo.protocol.targets import CLASSES, KINDS, LABELS

TOKENIZERS = ("characters", "words", "bpe")
AUTO = "auto"
DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
TOKENIZER_MEANING = "units of text: words (for scripts with spaces), characters (any script) or byte-level bpe"
MISSING_RUN = "run is missing: give run=RUN_FOLDER, run=last, or model=NAME weights=zoo"


@dataclass
class TextTrainer(common.Trainer):
    steps: int = setting(
        250, "optimizer steps: per epoch for a language model, which samples its texts; in total for a style "
        "network", at_least=1, at_most=10_000_000, needs="data.name=text_file")  # fmt: skip
    clip: float | None = setting(
        1.0, "largest global norm of the gradients; null does not clip", at_least=1e-6, at_most=1e6
    )
    weight_decay: float = setting(
        0.0, "decoupled weight decay per step, times the learning rate; not on PlaidML", at_least=0, at_most=1
    )
    final_lr_ratio: float = setting(
        0.01, "final share of the learning rate in a cosine schedule", at_least=0, at_most=1,
        needs="trainer.schedule=cosine")  # fmt: skip
    word_dropout: float = setting(
        0.0, "share of the tokens that are hidden in training", at_least=0, at_most=0.9,
        needs="data.name!=text_file")  # fmt: skip


@dataclass
class TextData(common.TrainingData):
    encoding: str = setting("auto", "encoding of the files; auto detects it, and reports an encoding other than UTF-8")
    tokenizer: str = setting("words", TOKENIZER_MEANING, choices=TOKENIZERS)
    vocabulary: int = setting(
        20_000, "largest number of tokens, including padding and unknown", at_least=3, at_most=1_000_000
    )
    lowercase: bool = setting(True, "convert letters to lower case first")


def delimiter_problem(value: str) -> str | None:
    is_sign = re.fullmatch(r"(?! *$)([^\w\r\n\"\\]|_){1,8}", value)
    return None if is_sign else one_of("data.delimiter", value, ("auto", *DELIMITERS, "signs such as @ or ::"))


@dataclass
class LabelledData(TextData):
    name: str = setting("", choices=("text_folder", "text_table", "text_lines"))
    tokenizer: str = setting(AUTO, TOKENIZER_MEANING, choices=(AUTO, *TOKENIZERS))
    classes: list[str] = setting([], "class folders or labels to use; [] uses all")
    text_column: str = setting(
        "text", "column of a table with the texts: its name, or its number from 0 if there is no header",
        literal=True, needs="data.name=text_table")  # fmt: skip
    label_column: str = setting(
        "label", "column of a table with the classes: its name, or its number from 0 if there is no header. "
        "Names of several columns of 0 and 1 are separated by commas",
        literal=True, needs="data.name=text_table")  # fmt: skip
    target: str | None = setting(
        None, "target of an item in a table: classes (one class), labels (any number of labels) or number (an age); "
        "null detects it", choices=tuple(KINDS), otherwise=". A column is named with data.label_column={}",
        needs="data.name=text_table")  # fmt: skip
    delimiter: str = setting(
        "auto", "delimiter of a table: auto, comma, tab, semicolon, pipe, space (the first), or signs such as ::",
        literal=True, needs="data.name=text_table")  # fmt: skip
    quoting: str = setting(
        "auto", 'how a table quotes: double (a quote within is ""), backslash (\\"), single (by apostrophes) or none',
        choices=("auto", "double", "backslash", "single", "none"), needs="data.name=text_table")  # fmt: skip
    header: bool | None = setting(
        None, "whether a table begins with the names of its columns; null detects it",
        needs="data.name=text_table")  # fmt: skip
    strict: bool = setting(False, "stop at items that cannot be used, instead of skipping or correcting them")
    class_files: list[str] = setting(
        [], "files of one class each, one text per line; [] uses all .txt files", needs="data.name=text_lines"
    )
    folds: int = setting(
        10, "number of cross-validation parts, by class, if there is no test part", at_least=2, at_most=1000
    )
    fold: int = setting(0, "cross-validation part to test on, counted from 0", at_least=0, at_most=999)

    def checks(self) -> list[str | None]:
        late = f"data.fold must be from 0 to {self.folds - 1} with data.folds={self.folds}, got {self.fold}"
        needless = "data.classes has no effect with data.target=labels or number: remove it"
        return [
            delimiter_problem(self.delimiter),
            late if self.fold >= self.folds else None,
            needless if self.classes and self.kind != CLASSES else None,
        ]

    @property
    def kind(self) -> str:
        """Return the kind of target; several columns of labels are labels of which a text may have several."""
        return self.target or (LABELS if "," in self.label_column else CLASSES)


@dataclass
class TextTraining(common.Seeded, Shareable, common.Tracking, common.Settings):
    """Settings for training text classifiers and language models."""

    model: common.Arguments = field(default_factory=dict)
    data: TextData = field(default_factory=TextData)
    trainer: TextTrainer = field(default_factory=TextTrainer)
    weights: str = setting(
        "none", "initial weights, with their vocabulary: zoo or zoo/NAME (the zoo's own), or none (random)",
        literal=True)  # fmt: skip
    preset: str = setting("full")
    expect: dict[str, Any] = setting({}, "expected result of the recipe, by data set", affects=SPEED)
    output: common.TrainingOutput = field(default_factory=common.TrainingOutput)

    def checks(self) -> list[str | None]:
        known = self.weights in ("none", "zoo") or self.weights.startswith("zoo/")
        return [None if known else f"weights must be zoo, zoo/NAME or none, got {self.weights!r}"]


@dataclass
class TextTrainConfig(TextTraining):
    """Settings of ``train`` for a text classifier."""

    data: LabelledData = field(default_factory=LabelledData)
    linear_baseline: bool = setting(
        True, "after the test, fit a linear classifier to the same texts and report its accuracy", affects=SPEED
    )

    def checks(self) -> list[str | None]:
        placed = "data.placement=device is not possible for texts with classes: the host pads each batch"
        return [*super().checks(), placed if self.data.placement == "device" else None]


@dataclass
class TextReading(common.TestData):
    """How texts to classify are read; null means as in training."""

    encoding: str | None = like(LabelledData, "encoding", default=None)
    text_column: str | None = like(LabelledData, "text_column", default=None)
    delimiter: str | None = like(LabelledData, "delimiter", default=None)
    quoting: str | None = like(LabelledData, "quoting", default=None)
    header: bool | None = like(LabelledData, "header", default=None)
    lines: bool | None = setting(None, "one text per line; null: as in training for a file, true for standard input")

    def checks(self) -> list[str | None]:
        return [None if self.delimiter is None else delimiter_problem(self.delimiter)]


@dataclass
class TextInferConfig(common.Settings):
    """Settings of ``infer`` with a text classifier."""

    run: str | None = common.run_setting()
    input: str | None = setting(
        None, "a sentence; a text file; a table (.csv, .tsv); - for standard input; or test: the run's test texts",
        literal=True)  # fmt: skip
    data: TextReading = field(default_factory=TextReading)
    batch_size: int = setting(64, "texts at a time", at_least=1, at_most=65_536)

    def checks(self) -> list[str | None]:
        missing = 'input is missing: give input="a sentence", a .txt, .csv or .tsv file, -, or input=test'
        return [None if self.run else MISSING_RUN, None if self.input else missing]


@dataclass
class LanguageData(TextData):
    name: str = setting("", choices=("text_file",))
    tokenizer: str = like(TextData, "tokenizer", default="characters")
    lowercase: bool = like(TextData, "lowercase", default=False)


@dataclass
class LanguageTrainConfig(TextTraining):
    """Settings of ``train`` for a language model."""

    data: LanguageData = field(default_factory=LanguageData)


@dataclass
class GenerateConfig(common.Seeded, common.Settings):
    """Settings of ``infer`` with a language model."""

    run: str | None = common.run_setting()
    input: str | None = setting(
        None, "text to evaluate the model on, instead of generating: a file, - for standard input, or the text. "
        "test is the end of the training text, which was set aside", literal=True)  # fmt: skip
    data: common.TestData = field(default_factory=common.TestData)
    prompt: str = setting("", "beginning of the text; empty means a line break", literal=True)
    length: int = setting(500, "number of tokens to generate", at_least=1, at_most=1_000_000, needs="input=null")
    temperature: float = setting(
        0.8, "values below 1 favor likely tokens, values above 1 unlikely ones; 0 always takes the most likely",
        at_least=0, at_most=100, needs="input=null")  # fmt: skip
    top_k: int | None = setting(
        None, "sample from this many of the most likely tokens; null means all", at_least=1, at_most=1_000_000,
        needs="input=null and temperature")  # fmt: skip
    top_p: float | None = setting(
        None, "sample from the most likely tokens that make up this share of the probability; null means all",
        at_least=1e-6, at_most=1, needs="input=null and temperature")  # fmt: skip

    def checks(self) -> list[str | None]:
        return [
            None if self.run else MISSING_RUN,
            "input= evaluates a text, prompt= starts one: give only one" if self.input and self.prompt else None,
        ]
