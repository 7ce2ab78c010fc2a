"""Train a language model on a text, and continue or evaluate another text with it."""

import shlex

from zoo.config.overrides import Overrides
from zoo.config.schemas.text import GenerateConfig, LanguageTrainConfig
from zoo.config.tasks import Command, Task
from zoo.core import console
from zoo.core.errors import ZooError, counted
from zoo.data.text import dataset, tokenization
from zoo.execution import calibration
from zoo.execution.execution import execute, raise_if_failed, request_of
from zoo.protocol.request import GeneratePart, Request, TokenData
from zoo.runs import records
from zoo.runs.context import RunContext, create_training_context
from zoo.runs.lifecycle import recorded_run, set_data
from zoo.runs.result import Run
from zoo.tasks import fastest_stack, summaries, trained_run
from zoo.tasks.text import export, pretrained_text, scored_text, trained_text, training

GENERATED = "generated.txt"


def train(overrides: Overrides) -> Run:
    context = create_training_context(TRAIN, overrides)
    start = pretrained_text.choose(context)
    settings = context.settings
    prepared = dataset.prepare(settings.data, start.tokenizer or settings.seed)
    training.remark(prepared)
    parts = dataset.split_tokens(prepared, settings.data)
    validated, most = parts["validation"][1] - parts["validation"][0], dataset.MOST_VALIDATED
    context.refuse_without_validation(validated, "texts")
    if settings.data.test_limit is None and validated == most:
        console.say(f"Validation uses only the first {most:,} tokens of its part; data.test_limit=N uses N")
    if parts["train"][1] <= settings.model["length"]:
        raise ZooError(
            f"The training part has {parts['train'][1]} tokens; model.length={settings.model['length']} needs more",
            "Lower model.length, or give a longer text.",
        )

    def requested(trial: RunContext[LanguageTrainConfig]) -> Request:
        request = training.request_for(trial, prepared, "train_language_model", start.npz, {})
        tokens, where = str(prepared.folder / "tokens.npy"), settings.data.placement
        request.data = TokenData(tokens=tokens, parts=parts, placement=where)
        return request

    calibration.settle(context, requested, fixed_steps=True)
    with recorded_run(context, [str(settings.model["name"]), context.choice.backend.name]):
        sizes = {f"{name}_items": end - begin for name, (begin, end) in parts.items()}
        set_data(context, training.record_of(prepared, settings) | sizes | {"test_items": 0})
        context.record.weights = start.record
        training.train_and_judge(context, requested(context))
    return context.result


def infer(overrides: Overrides) -> Run:
    """Continue a prompt with a trained language model, printing each token, or evaluate it on a text."""
    context, source, trained, tokenizer = trained_text.opened(INFER, overrides)
    settings = context.settings
    if settings.input:
        records.require(source.folder, source.record, scored_text.NEEDED)
        return scored_text.score(context, source, tokenizer, trained)
    context.refuse_needless("without input=test", "data.root", "data.test_limit")
    tokens = prompt_tokens(tokenizer, settings.prompt)
    if settings.top_k is not None and settings.top_k > len(tokenizer):
        raise ZooError(f"top_k={settings.top_k} exceeds the vocabulary of {len(tokenizer)} tokens", "Reduce top_k=.")
    if len(tokens) > trained["args"]["length"]:
        console.warn(f"The context has {trained['args']['length']} tokens: only the end of the prompt is used")
    with recorded_run(context, ["infer", trained["name"], context.choice.backend.name]):
        context.record.model, context.record.trained_run = trained["name"], str(source.folder)
        context.record.data = {"name": "prompt", "what": "tokens", "items": len(tokens), "prompt": settings.prompt}
        request = request_of(context, trained, "generate_text", source.folder / "weights.npz")
        request.pieces = tokenizer.token_bytes()
        same = ("prompt", "length", "temperature", "top_k", "top_p", "seed")
        request.generate = GeneratePart(tokens=tokens, **{name: getattr(settings, name) for name in same})
        outcome = execute(context, request)
        raise_if_failed(context, outcome)
        generated = outcome.done.text if outcome.done else ""
        (context.folder / GENERATED).write_text(settings.prompt + generated, encoding="utf-8")
    return context.result


def prompt_tokens(tokenizer: tokenization.Tokenizer, prompt: str) -> list[int]:
    """Return the prompt's tokens; an empty prompt becomes the end of a line, or the first token if there is none."""
    missing = tokenizer.missing(prompt)
    if missing:
        shown = " ".join(repr(each) for each in missing[:10])
        raise ZooError(f"The vocabulary of the run lacks {shown} of the prompt", "Remove this from the prompt.")
    line_end = [each for each in tokenizer.encode("\n") if each != tokenization.UNKNOWN]
    return tokenizer.encode(prompt) or line_end or [2]


def summary(run: Run) -> list[str]:
    """Return the path and the speed of generated text, or the metrics of an evaluated text."""
    speed = f"{counted(run.metrics.get('items', 0), 'token')}, {run.metrics.get('items_per_s', 0):,.0f} tokens/s"
    if "perplexity" in run.metrics:
        figures = f"perplexity {run.metrics['perplexity']:.4f}, token accuracy {run.metrics['token_accuracy']:.4f}"
        return [f"{summaries.where(run.record)}: {figures}; {speed}"]
    return [f"\n{summaries.where(run.record)}: {speed}; the text is in generated.txt"]


TRAIN = Command(
    "train",
    "language_model",
    "language_train",
    LanguageTrainConfig,
    train,
    figures=("loss", "accuracy", "val_loss", "val_accuracy", "val_token_accuracy"),
    add_defaults=fastest_stack.add_to_training,
    summary=lambda run: [
        *summaries.training(run),
        f"To continue a text: python -m zoo infer run={shlex.quote(str(run.folder))} prompt=TEXT",
    ],
)
INFER = Command(
    "infer", "language_model", "language_infer", GenerateConfig, infer,
    add_defaults=trained_run.add_defaults, summary=summary,
)  # fmt: skip
# Benchmarks build networks with the sizes for a text of letters.
SIZES = {"vocabulary": 65, "fixed": True, "probabilities": True}
TASK = Task("language_model", (TRAIN, INFER, export.LANGUAGE_MODEL), network_arguments=SIZES)
