"""Settings for training language models and generating text."""

from dataclasses import dataclass, field

from zoo.config import ranges
from zoo.config.ranges import one_of, within, within_or_null
from zoo.config.schemas.common import Settings, TestData, literal
from zoo.config.schemas.text import MISSING_RUN, TextData, TextTraining


@dataclass
class LanguageData(TextData):
    """One long text."""

    tokenizer: str = "characters"
    lowercase: bool = False

    def checks(self) -> list[str | None]:
        """Return what is out of range, None for what is not."""
        return [one_of("data", self.name, ("text_file",)), *super().checks()]


@dataclass
class LanguageTrainConfig(TextTraining):
    """Settings of ``train`` for a language model.

    Attributes:
        stack: name of the stack to use; null means the backend's best for this machine.
        seed: random seed for weight initialization, the windows of text and the framework.
        expect: the result that the recipe promises, by data set.
    """

    data: LanguageData = field(default_factory=LanguageData)


@dataclass
class GenerateConfig(Settings):
    """Settings of ``infer`` with a language model.

    Attributes:
        run: folder of a training run, or ``last``: the newest one under output.root.
        input: instead of writing, measure how well the model foretells this text: a file, - for standard input, the
            text itself, or test, the end of the text that the training set aside.
        prompt: how the text begins; empty begins with the end of a line.
        length: number of tokens to generate.
        temperature: below 1 likely tokens are sampled more often, above 1 less often; 0 always takes the likeliest.
        top_k: sample among this many of the likeliest tokens; null means all.
        top_p: sample among the likeliest tokens that make up this share of the probability; null means all.
        seed: random seed for sampling.
        stack: name of the stack to use; null means the run's own where the backend has it.
    """

    run: str | None = literal()
    input: str | None = literal()
    data: TestData = field(default_factory=TestData)
    prompt: str = literal("")
    length: int = 500
    temperature: float = 0.8
    top_k: int | None = None
    top_p: float | None = None
    seed: int = 1

    def problems(self) -> list[str]:
        """Return everything missing or out of range, one sentence each."""
        return ranges.problems(
            [
                None if self.run else MISSING_RUN,
                within("length", self.length, 1, 1_000_000),
                within("temperature", self.temperature, 0.0, 100.0),
                within_or_null("top_k", self.top_k, 1, 1_000_000),
                within_or_null("top_p", self.top_p, 1e-6, 1.0),
                *self.data.checks(),
                "input= measures a text, prompt= begins one: give one" if self.input and self.prompt else None,
                ranges.seed(self.seed),
            ]
        )
