"""Settings for training on texts and using text classifiers."""

from dataclasses import dataclass, field
from typing import Any

from zoo.config import ranges
from zoo.config.ranges import one_of, within, within_or_null
from zoo.config.schemas.common import Arguments, Settings, Tracking, Trainer, TrainingOutput, literal
from zoo.config.schemas.distributed import Shareable

LABELLED = ("text_folder", "text_table", "text_lines")
TOKENIZERS = ("characters", "words", "bpe")
DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
QUOTINGS = ("auto", "double", "backslash", "none")
MISSING_RUN = "run is missing: give run=RUN_FOLDER, run=last, or model=NAME weights=zoo"


@dataclass
class TextTrainer(Trainer):
    """How to train on texts; everything that images are trained with, and:

    Attributes:
        steps: optimizer steps of an epoch of a language model, which draws its texts at random.
        clip: largest global norm of the gradients; null does not clip.
        weight_decay: decoupled weight decay per step, times the learning rate; needs Keras 3.
        final_lr_ratio: share of the learning rate that a cosine schedule ends at.
        word_dropout: share of the tokens of a text that are hidden while training on it.
    """

    steps: int = 250
    clip: float | None = 1.0
    weight_decay: float = 0.0
    final_lr_ratio: float = 0.01
    word_dropout: float = 0.0

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            *super().checks(),
            within("trainer.steps", self.steps, 1, 10**7),
            within_or_null("trainer.clip", self.clip, 1e-6, 1e6),
            within("trainer.weight_decay", self.weight_decay, 0.0, 1.0),
            within("trainer.final_lr_ratio", self.final_lr_ratio, 0.0, 1.0),
            within("trainer.word_dropout", self.word_dropout, 0.0, 0.9),
        ]


@dataclass
class TextData:
    """Where texts come from and how they are cut into tokens.

    Attributes:
        root: folder, file or archive of the texts.
        encoding: of the files; auto takes what their bytes show, and says so where it is not UTF-8.
        tokenizer: words, characters or bpe (byte-level).
        vocabulary: largest number of tokens, the two for padding and the unknown included.
        lowercase: convert letters to lower case first.
        validation: share of the training texts set aside to choose the best epoch; of one text, its end.
        train_limit: use only this many training texts (of one text: this many of its tokens).
        test_limit: use only this many test texts (of one text: this many tokens of its end).
    """

    name: str = ""
    root: str | None = literal()
    encoding: str = "auto"
    tokenizer: str = "words"
    vocabulary: int = 20_000
    lowercase: bool = True
    validation: float = 0.1
    train_limit: int | None = None
    test_limit: int | None = None

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            one_of("data.tokenizer", self.tokenizer, TOKENIZERS),
            within("data.vocabulary", self.vocabulary, 3, 1_000_000),
            within("data.validation", self.validation, 0.0, 0.9),
            within_or_null("data.train_limit", self.train_limit, 1, 10**9),
            within_or_null("data.test_limit", self.test_limit, 1, 10**9),
        ]


def _delimiter(value: str) -> str | None:
    is_sign = len(value) == 1 and not value.isalnum() and value not in '"\r\n\\ '
    return None if is_sign else one_of("data.delimiter", value, ("auto", *DELIMITERS, "a sign, such as @"))


@dataclass
class LabelledData(TextData):
    """Texts with classes.

    Attributes:
        classes: class folders or labels to use; [] uses all.
        text_column: column of a table that holds the texts: its name, or its number from 0 on without a header.
        label_column: column of a table that holds the classes, likewise.
        delimiter: auto, comma, tab, semicolon, pipe, any sign, or space: the first blank of a line, after the label.
        quoting: auto; double, where "" stands for a quote within quotes; backslash, where \\" does; none.
        header: whether a table begins with the names of its columns; null: with names yes, with numbers no.
        strict: refuse texts that cannot be used and labels of several spellings, instead of leaving out and joining.
        class_files: files of one class each, one text a line; [] uses all that end in .txt.
        folds: number of cross-validation parts, class by class, where nothing says which texts are for testing.
        fold: the part to test on, from 0 on.
    """

    classes: list[str] = field(default_factory=list)
    text_column: str = literal("text")
    label_column: str = literal("label")
    delimiter: str = literal("auto")
    quoting: str = "auto"
    header: bool | None = None
    strict: bool = False
    class_files: list[str] = field(default_factory=list)
    folds: int = 10
    fold: int = 0

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            one_of("data", self.name, LABELLED),
            *super().checks(),
            _delimiter(self.delimiter),
            one_of("data.quoting", self.quoting, QUOTINGS),
            within("data.folds", self.folds, 2, 1000),
            within("data.fold", self.fold, 0, self.folds - 1),
        ]


@dataclass
class TextTraining(Shareable, Tracking, Settings):
    """Settings that text classifiers and language models are trained with.

    Attributes:
        weights: to start from, with their vocabulary: zoo, the zoo's own, or zoo/NAME; none, random ones.
    """

    model: Arguments = field(default_factory=dict)
    data: TextData = field(default_factory=TextData)
    trainer: TextTrainer = field(default_factory=TextTrainer)
    weights: str = literal("none")
    preset: str = "full"
    seed: int = 1
    expect: dict[str, Any] = field(default_factory=dict)
    output: TrainingOutput = field(default_factory=TrainingOutput)

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        checks = [self._weights_check(), *self.data.checks(), *self.trainer.checks(), *self.output.checks()]
        checks += [ranges.seed(self.seed), *self.distributed.checks()]
        return ranges.problems([*checks, *ranges.model_problems(self.model)])

    def _weights_check(self) -> str | None:
        known = self.weights in ("none", "zoo") or self.weights.startswith("zoo/")
        return None if known else f"weights must be zoo, zoo/NAME or none, got {self.weights!r}"


@dataclass
class TextTrainConfig(TextTraining):
    """Settings of ``train`` for a text classifier.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        seed: random seed for the split, weight initialization, shuffling and the framework.
        expect: the result that the recipe promises, by data set.
        linear_baseline: after the test, fit a linear classifier to the same texts and say how well it does.
    """

    data: LabelledData = field(default_factory=LabelledData)
    linear_baseline: bool = True


@dataclass
class TextReading:
    """How texts to classify are read.

    Attributes:
        encoding: of files and standard input; null means as in training, like all of these.
        text_column: column of a table that holds the texts: its name, or its number from 0 on without a header.
        delimiter: of a table.
        quoting: of a table.
        header: whether a table begins with the names of its columns.
        lines: one text a line; null: of a file as data=text_lines or another trained the run, of standard input yes.
        root: of the test texts, where input=test finds them now; null means where they were in training.
        test_limit: use only this many of the test texts, evenly spaced.
    """

    encoding: str | None = None
    text_column: str | None = literal()
    delimiter: str | None = literal()
    quoting: str | None = None
    header: bool | None = None
    lines: bool | None = None
    root: str | None = literal()
    test_limit: int | None = None

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [
            None if self.delimiter is None else _delimiter(self.delimiter),
            None if self.quoting is None else one_of("data.quoting", self.quoting, QUOTINGS),
            within_or_null("data.test_limit", self.test_limit, 1, 10**9),
        ]


@dataclass
class TextInferConfig(Settings):
    """Settings of ``infer`` with a text classifier.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        input: a sentence; a text file; a table (.csv, .tsv); - for standard input; or test, the run's test texts.
        stack: name of the stack to use; null means the run's own where the backend has it.
        batch_size: texts at a time.
    """

    run: str | None = literal()
    input: str | None = literal()
    data: TextReading = field(default_factory=TextReading)
    batch_size: int = 64

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        missing = 'input is missing: give input="a sentence", a .txt, .csv or .tsv file, -, or input=test'
        return ranges.problems(
            [
                *self.data.checks(),
                within("batch_size", self.batch_size, 1, 65_536),
                None if self.run else MISSING_RUN,
                None if self.input else missing,
            ]
        )
