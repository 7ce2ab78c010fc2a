"""Code shared by the training of text classifiers and language models."""

import dataclasses
from typing import TypeVar

from zoo.config.schemas.text import LabelledData, TextTraining
from zoo.core import console
from zoo.core.errors import counted
from zoo.data.targets import STRATUM
from zoo.data.text import dataset
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import Request, TextTrainPart
from zoo.runs import plots, promises
from zoo.runs.context import RunContext
from zoo.runs.history import History
from zoo.runs.records import Json

T = TypeVar("T", bound=TextTraining)
# Above this share of unknown tokens, the vocabulary is too small or for another language.
MANY_UNKNOWN = 0.2


def remark(texts: dataset.TextDataset) -> None:
    """Report how texts were read, and warn about anything unusual."""
    info = texts.info
    for note in info.notes:
        console.say(note)
    console.warn_of_skipped(info.skipped)
    if info.blank:
        console.warn(f"Skipped {counted(info.blank, 'blank text')} of {texts.source}")
    if info.unknown > MANY_UNKNOWN:
        console.warn(f"The vocabulary of {len(texts.tokenizer):,} lacks {info.unknown:.0%} of all tokens")


def tell_unknown(texts: dataset.TextDataset, shares: dict[str, float]) -> dict[str, float]:
    """Report and return the share of unknown tokens in the parts that are not used for training."""
    others = {name: share for name, share in shares.items() if name != "train"}
    words = ", ".join(f"{share:.1%} of the {name} texts" for name, share in others.items())
    is_much = max(others.values()) > max(MANY_UNKNOWN, 2 * shares["train"])
    say = console.warn if is_much else console.say
    say(f"Tokens that the vocabulary of {len(texts.tokenizer):,} {texts.tokenizer.kind} lacks: {words}")
    return shares


def record_of(texts: dataset.TextDataset, settings: TextTraining) -> Json:
    return {
        "name": texts.name, "reason": "", "what": "texts" if texts.info.class_names else "tokens",
        "sha256": texts.sha256, "source": texts.source, "class_names": texts.info.class_names,
        "tokeniser": texts.tokenizer.kind, "vocabulary": len(texts.tokenizer), "unknown": texts.info.unknown,
        "blank": texts.info.blank, "skipped_items": len(texts.info.skipped), "read": texts.info.notes,
        "dialect": texts.info.dialect, "split_told": "test" in texts.info.parts, **_split_words(texts, settings),
        "split_seed": settings.seed,
    }  # fmt: skip


def _split_words(texts: dataset.TextDataset, settings: TextTraining) -> Json:
    """Describe the parts of labeled texts that the data do not have."""
    data, given = settings.data, texts.info.parts
    if not isinstance(data, LabelledData):
        return {}
    fold = f"test: 1/{data.folds} of every {STRATUM[texts.info.target]} (fold {data.fold})"
    validation = f"validation: {data.validation:g} of the other texts"
    return {"split": "; ".join([fold] * ("test" not in given) + [validation] * ("validation" not in given))}


def request_for(
    context: RunContext[T], texts: dataset.TextDataset, job: str, weights: str | None, arguments: Json
) -> Request:
    """Return the request, and save the vocabulary in the run folder for inference."""
    texts.tokenizer.save(context.folder / dataset.VOCABULARY)
    settings = context.settings
    arguments = arguments | {"vocabulary": len(texts.tokenizer), "probabilities": True}
    request = request_of(context, settings.model, job, weights, arguments)
    request.train = TextTrainPart(**dataclasses.asdict(settings.trainer), seed=settings.seed)
    return request


def train_and_judge(context: RunContext[T], request: Request) -> None:
    """Run the worker, write history and curves, raise an error on failure, compare the result with the promise."""
    history = History(context)
    outcome = execute(context, request, history.watch, started=plots.make_ready)
    history.finish(outcome.epochs)
    raise_if_failed(context, outcome)
    context.record.update(promises.judge(context.command, context.settings, context.record))
