"""Measure how well a language model predicts a text: its perplexity."""

import sys

from zoo.config.schemas.text import GenerateConfig
from zoo.core import console
from zoo.core.arrays import NDArray, np
from zoo.core.errors import ZooError, counted
from zoo.data.text import encodings, files, tokenization
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import ItemData
from zoo.runs.context import RunContext
from zoo.runs.lifecycle import recorded_run
from zoo.runs.records import Json
from zoo.runs.result import Run
from zoo.tasks.text import trained_text

NEEDED = {"config.data": dict, "data.sha256": str}


def score(context: RunContext[GenerateConfig], source: Run, tokenizer: tokenization.Tokenizer, trained: Json) -> Run:
    """Evaluate the text of ``input=``; its metrics become the run's metrics."""
    given = str(context.settings.input)
    if given != "test":
        context.refuse_needless(f"with input={given[:60]}", "data.root", "data.test_limit")
    tokens, record = _test(context.settings, source) if given == "test" else _own(given, tokenizer)
    if len(tokens) < 2:
        raise ZooError(f"{given!r} has {counted(len(tokens), 'token')}", "Give a text of at least two.")
    with recorded_run(context, ["infer", trained["name"], context.choice.backend.name]):
        context.record.model, context.record.trained_run = trained["name"], str(source.folder)
        context.record.data = {"what": "tokens", "items": len(tokens) - 1, **record}
        path = context.folder / "inputs_tokens.npy"
        np.save(path, tokens.astype(np.int32), allow_pickle=False)
        request = request_of(context, trained, "score_text", source.folder / "weights.npz")
        request.data = ItemData(tokens=str(path))
        raise_if_failed(context, execute(context, request))
    return context.result


def _test(settings: GenerateConfig, source: Run) -> "tuple[NDArray[np.int32], Json]":
    tokens, prepared = trained_text.tokens_of(source, settings.data, "validation")
    if not len(tokens):
        raise ZooError(f"{source.folder} was trained without a validation part", "Give input=FILE.")
    return np.array(tokens, np.int32), {"name": prepared.name, "sha256": prepared.sha256}


def _own(given: str, tokenizer: tokenization.Tokenizer) -> "tuple[NDArray[np.int32], Json]":
    tokens = tokenizer.encode_all([_text(given)])[0]
    unknown = int((tokens == tokenization.UNKNOWN).sum()) if tokenizer.kind != "bpe" else 0
    if unknown:
        console.warn(
            f"The vocabulary of the run lacks {unknown:,} of {len(tokens):,} tokens: they count as not predicted"
        )
    return tokens, {"name": given if len(given) <= 60 else f"{given[:57]}...", "unknown": unknown}


def _text(given: str) -> str:
    if given == "-":
        return files.decode(sys.stdin.buffer.read(), encodings.AUTO, "standard input")[0]
    remedy = "Give a text file, - for standard input, test, or the text itself."
    is_file = trained_text.is_file(given, (".txt",), remedy)
    return files.read(files.data_root(given, "a text file"), encodings.AUTO)[0] if is_file else given
