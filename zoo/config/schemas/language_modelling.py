"""Settings for training language models and generating text."""

from dataclasses import dataclass, field

from zoo.config.schemas.common import Seeded, Settings, TestData, run_setting
from zoo.config.schemas.text import MISSING_RUN, TextData, TextTraining
from zoo.config.setting import like, setting


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
class GenerateConfig(Seeded, Settings):
    """Settings of ``infer`` with a language model."""

    run: str | None = run_setting()
    input: str | None = setting(
        None, "text to evaluate the model on, instead of generating: a file, - for standard input, or the text. "
        "test is the end of the training text, which was set aside", literal=True)  # fmt: skip
    data: TestData = field(default_factory=TestData)
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
