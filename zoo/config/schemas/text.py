"""What a run on texts is told to do, checked as all settings are; it starts from ``configs/text_*.yaml``."""

from dataclasses import dataclass, field
from typing import Any

from zoo.config.schemas.common import Output, Settings, Tracking, Trainer, model_argument, one_of, within

LABELLED = ("text_folder", "text_table", "text_lines")


TOKENIZERS = ("characters", "words", "bpe")


@dataclass
class TextTrainer(Trainer):
    """How to train on texts; all that pictures are trained with, and:

    Attributes:
        steps: optimizer steps of an epoch of a language model, which takes its texts from anywhere.
        clip: largest norm of all gradients together; null leaves them as they are.
        weight_decay: share, times the learning rate, that weights shrink by in a step; needs Keras 3.
        final: share of the learning rate that a cosine falls to.
        word_dropout: share of the tokens of a text that are hidden while training on it.
    """

    steps: int = 250
    clip: float | None = 1.0
    weight_decay: float = 0.0
    final: float = 0.01
    word_dropout: float = 0.0

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        clip = None if self.clip is None else within("trainer.clip", self.clip, 1e-6, 1e6)
        return [
            *super().problems(),
            within("trainer.steps", self.steps, 1, 10**7),
            clip,
            within("trainer.weight_decay", self.weight_decay, 0.0, 1.0),
            within("trainer.final", self.final, 0.0, 1.0),
            within("trainer.word_dropout", self.word_dropout, 0.0, 0.9),
        ]


@dataclass
class TextData:
    """Where texts come from and how they are cut into tokens.

    Attributes:
        root: folder, file or archive of the texts.
        encoding: of the files.
        tokeniser: words, characters or bpe (byte-level).
        vocabulary: most tokens it may know, the two for padding and the unknown among them.
        lowercase: make letters small first.
        validation: share of the training texts set aside to choose the best epoch; of one text, its end.
        train_limit: use only so many training texts (of one text: so many of its tokens).
        test_limit: use only so many test texts (of one text: so many tokens of its end).
    """

    name: str = ""
    root: str | None = None
    encoding: str = "utf-8"
    tokeniser: str = "words"
    vocabulary: int = 20_000
    lowercase: bool = True
    validation: float = 0.1
    train_limit: int | None = None
    test_limit: int | None = None

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        limits = {key: getattr(self, key) for key in ("train_limit", "test_limit")}
        return [
            one_of("data.tokeniser", self.tokeniser, TOKENIZERS),
            within("data.vocabulary", self.vocabulary, 3, 1_000_000),
            within("data.validation", self.validation, 0.0, 0.9),
            *(None if most is None else within(f"data.{key}", most, 1, 10**9) for key, most in limits.items()),
        ]


@dataclass
class LabelledData(TextData):
    """Texts with classes.

    Attributes:
        classes: class folders or labels to take; [] takes all.
        text_column: column of a table that holds the texts.
        label_column: column of a table that holds the classes.
        class_files: files of one class each, one text a line; [] takes all that end in .txt.
        folds: where nothing says which texts are to test on: parts that they are cut into, class by class.
        fold: the part to test on, from 0 on; all of them one after the other are a cross-validation.
    """

    classes: list[str] = field(default_factory=list)
    text_column: str = "text"
    label_column: str = "label"
    class_files: list[str] = field(default_factory=list)
    folds: int = 10
    fold: int = 0

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        return [
            one_of("data", self.name, LABELLED),
            *super().problems(),
            within("data.folds", self.folds, 2, 1000),
            within("data.fold", self.fold, 0, self.folds - 1),
        ]


@dataclass
class LanguageData(TextData):
    """One long text."""

    tokeniser: str = "characters"
    lowercase: bool = False

    def problems(self) -> list[str | None]:
        """What is out of range, and None for what is not."""
        return [one_of("data", self.name, ("text_file",)), *super().problems()]


@dataclass
class TextTrainConfig(Tracking, Settings):
    """Everything ``train`` is told about a classifier of texts.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        seed: of the split, the first weights, the order of the texts and the framework.
        expect: the result that the recipe promises, by data set.
    """

    model: dict[str, Any] = field(default_factory=dict)
    data: LabelledData = field(default_factory=LabelledData)
    trainer: TextTrainer = field(default_factory=TextTrainer)
    preset: str = "full"
    seed: int = 1
    expect: dict[str, Any] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Everything out of range, one sentence each."""
        found = [*self.data.problems(), *self.trainer.problems(), within("seed", self.seed, 0, 2**31 - 1)]
        found += [model_argument(key, value) for key, value in self.model.items()]
        return [problem for problem in found if problem]


@dataclass
class LanguageTrainConfig(TextTrainConfig):
    """Everything ``train`` is told about a language model.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        seed: of the first weights, the pieces of text that are taken and the framework.
        expect: the result that the recipe promises, by data set.
    """

    data: LanguageData = field(default_factory=LanguageData)  # type: ignore[assignment]


@dataclass
class TextInferConfig(Settings):
    """Everything ``infer`` is told about a classifier of texts.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        input: a sentence; a .txt file, one text; .csv or .tsv; or ``test``: the test texts of the run.
        text_column: column of a table that holds the texts; null means the one the run was trained with.
        stack: name of the stack to use; null means the run's own where the backend has it.
        batch_size: texts at a time.
    """

    run: str | None = None
    input: str | None = None
    text_column: str | None = None
    batch_size: int = 64
    output: Output = field(default_factory=Output)

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        found = [
            within("batch_size", self.batch_size, 1, 65_536),
            None if self.run else "run is missing: give run=RUN_FOLDER, or run=last",
            None
            if self.input
            else 'input is missing: give input="a sentence", a .txt, .csv or .tsv file, or input=test',
        ]
        return [problem for problem in found if problem]


@dataclass
class GenerateConfig(Settings):
    """Everything ``infer`` is told about a language model.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        prompt: how the text begins; empty begins with the end of a line.
        length: tokens to add.
        temperature: below 1 the likely tokens are drawn oftener, above 1 less often; 0 always takes the likeliest.
        top_k: draw among so many of the likeliest tokens; null means all.
        seed: of the draws.
        stack: name of the stack to use; null means the run's own where the backend has it.
    """

    run: str | None = None
    prompt: str = ""
    length: int = 500
    temperature: float = 0.8
    top_k: int | None = None
    seed: int = 1

    def problems(self) -> list[str]:
        """Everything missing or out of range, one sentence each."""
        found = [
            None if self.run else "run is missing: give run=RUN_FOLDER, or run=last",
            within("length", self.length, 1, 1_000_000),
            within("temperature", self.temperature, 0.0, 100.0),
            None if self.top_k is None else within("top_k", self.top_k, 1, 1_000_000),
            within("seed", self.seed, 0, 2**31 - 1),
        ]
        return [problem for problem in found if problem]
