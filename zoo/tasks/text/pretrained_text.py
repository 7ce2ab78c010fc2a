"""Start training on texts from one of the zoo's networks: use its weights, sizes and vocabulary."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from zoo.config.schemas.text import TextTraining
from zoo.core import console
from zoo.data.text import dataset, tokenization
from zoo.runs.context import RunContext
from zoo.runs.records import Json
from zoo.weights import pretrained

# Settings of the tokenizer, which training takes from the network that it starts from.
CUTTING = ("tokenizer", "vocabulary", "lowercase")


@dataclass(frozen=True)
class Start:
    """The start of training: the weights for the worker, their record in ``run.json``, and the vocabulary."""

    npz: str | None = None
    record: Json | None = None
    tokenizer: tokenization.Tokenizer | None = None


def choose(context: RunContext[Any]) -> Start:
    """Return the start that ``weights=`` names; its sizes replace sizes that the user did not set."""
    settings: TextTraining = context.settings
    given = set(settings.model) if context.resumes else context.overrides.given("model")
    chosen = pretrained.choose(settings.weights, settings.model, given)
    if chosen is None:
        return Start()
    why = f"with weights={settings.weights}, which has a vocabulary"
    context.refuse_needless(why, *(f"data.{key}" for key in CUTTING))
    tokenizer = tokenization.load(chosen.path.parent / dataset.VOCABULARY)
    data = {"tokenizer": tokenizer.kind, "vocabulary": max(3, len(tokenizer)), "lowercase": tokenizer.lowercase}
    present = dataclasses.asdict(settings.data)
    cutting = {f"data.{key}": data[key] for key in CUTTING if present[key] != data[key]}
    context.overlay("weights", chosen.settings | cutting)
    console.say(
        f"Using its vocabulary of {len(tokenizer):,} {tokenizer.kind}, with its data.tokenizer and data.lowercase"
    )
    return Start(str(chosen.npz), chosen.record, tokenizer)
