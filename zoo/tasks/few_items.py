"""Adapt settings to the number of training items, if there are too few for the recipe.

A recipe sets a number of epochs. With few items these have too few optimizer steps, so the batch size is reduced and
the number of epochs increased. Learning rates follow the batch size (Malladi et al. 2022,
https://arxiv.org/abs/2205.10287).

The moving averages of batch normalization start at mean 0 and variance 1. With Keras's momentum of 0.99 or 0.999 they
need thousands of steps to converge. With fewer, a deep network gives all images the same prediction, even if it is
well trained.
"""

import dataclasses
import math
from typing import Any

from zoo.config import compose
from zoo.config.overrides import Overrides, leaves
from zoo.config.schemas.image_classification import TrainConfig
from zoo.config.schemas.text import TextTrainConfig
from zoo.core import console
from zoo.runs.context import RunContext

# Settings that determine a recipe.
GROUPS = ("model", "backend", "data", "recipes")
Training = TrainConfig | TextTrainConfig
# A recipe with fewer than LEAST_STEPS steps is adapted, to STEPS steps in a stage.
LEAST_STEPS, STEPS = 250, 400
# Pretrained layers are trained for fewer steps, at a learning rate that preserves their features.
TUNING_STEPS, TUNING_RATE, HEAD_RATE = 200, 2e-4, 0.003
SMALLEST_BATCH, BATCHES = 8, 8
# From this number of epochs on, a network memorizes few items unless dropout is high.
MANY_PASSES, DROPOUT = 10, 0.5
# Adam's usual decay of squared gradients: a longer memory would keep the large first ones for all steps.
LONG_MEMORY = 0.999
# Time constants of the moving averages in a run: about a millionth of the initial values remains at the end.
FORGETTING, LEAST_MOMENTUM = 14, 0.8
# The highest momentum of moving averages in keras.applications (MobileNetV3).
LONGEST_MOMENTUM = 0.999
# With fewer validation items, the loss is more reliable than the accuracy.
FEW_TO_VALIDATE = 200


def adapt(context: RunContext[Any], overrides: Overrides, sizes: dict[str, int]) -> None:
    """Adapt the settings of a training run to its number of items, except settings from the user.

    The changes become part of the run's command, so that a resumed run has them, and of the settings of ``context``.
    ``sizes`` is the number of items by part.
    """
    settings = context.settings
    if context.resumes or settings.preset != "full":
        return
    own, present = set(overrides.layers), dict(leaves(dataclasses.asdict(settings)))
    recipe = compose.compose(context.command, context.overrides.only(*GROUPS))
    wanted = derived(settings, recipe, own, sizes)
    changed = {key: value for key, value in wanted.items() if key not in own and present[key] != value}
    if changed:
        context.overlay("few items", changed)
        shown = " ".join(Overrides.of(changed).words)
        console.say(f"The recipe is changed for only {sizes['train']:,} training items: {shown}")


def derived(settings: Training, recipe: Training, own: set[str], sizes: dict[str, int]) -> dict[str, Any]:
    """Return the settings that follow from the number of items; none if the recipe fits.

    ``recipe`` has the settings of the recipe alone, ``own`` the keys that the user set, ``sizes`` the items by part.
    """
    tuned = _is_tuned(settings)
    head = recipe.fine_tune.head_epochs if tuned and isinstance(recipe, TrainConfig) else 0
    steps = (head or recipe.trainer.epochs) * -(-sizes["train"] // recipe.trainer.batch_size)
    # The linear part of a text classifier from scratch is fitted to all texts before the first step.
    from_scratch = isinstance(settings, TextTrainConfig) and settings.weights == "none"
    is_fitted = from_scratch and settings.model.get("pair_buckets")
    values = {} if steps >= LEAST_STEPS or is_fitted else _for_few(settings, recipe, own, sizes)
    return values if tuned else values | _forgetting(settings, own, values, sizes["train"])


def _is_tuned(settings: Training) -> bool:
    return isinstance(settings, TrainConfig) and settings.weights != "none"


def _for_few(settings: Training, recipe: Training, own: set[str], sizes: dict[str, int]) -> dict[str, Any]:
    items, usual, tuned = sizes["train"], recipe.trainer.batch_size, _is_tuned(settings)
    size = settings.trainer.batch_size if "trainer.batch_size" in own else batch_size(items, usual)
    steps = -(-items // size)
    values = _tuning(steps) if tuned else _from_scratch(recipe, steps, size / usual)
    values["trainer.batch_size"] = size
    if tuned and "trainer.epochs" in own:  # the user's number of epochs also limits the first stage
        values["fine_tune.head_epochs"] = min(values["fine_tune.head_epochs"], settings.trainer.epochs)
    if isinstance(settings, TrainConfig):
        values["freeze.before"] = None  # freezing only saves time, and few items need little
        if steps * MANY_PASSES <= STEPS and "dropout" in settings.model:
            values["model.dropout"] = max(DROPOUT, settings.model["dropout"])
    if 0 < sizes["validation"] < FEW_TO_VALIDATE:
        values["trainer.best_by"] = "loss"
    return values


def batch_size(items: int, usual: int) -> int:
    """Return a batch size with several steps per epoch for few items: a power of two, or the usual size."""
    return min(usual, max(SMALLEST_BATCH, 1 << int(math.log2(max(1, items / BATCHES)))))


def _tuning(steps: int) -> dict[str, Any]:
    """Return the settings that train a new last layer first, and then all unfrozen layers at a low rate."""
    return {
        "fine_tune.head_epochs": math.ceil(STEPS / steps), "fine_tune.head_learning_rate": HEAD_RATE,
        "trainer.epochs": math.ceil(TUNING_STEPS / steps), "trainer.learning_rate": TUNING_RATE,
        "trainer.schedule": "cosine", "trainer.warmup": 0.1,
    }  # fmt: skip


def _forgetting(settings: Training, own: set[str], changed: dict[str, Any], items: int) -> dict[str, Any]:
    """Return the momentum with which moving averages converge within the steps of a run."""
    if not isinstance(settings, TrainConfig) or "bn_momentum" not in settings.model:
        return {}
    usual = settings.model["bn_momentum"] or LONGEST_MOMENTUM
    kept = "trainer.epochs" in own or "trainer.epochs" not in changed
    epochs = settings.trainer.epochs if kept else changed["trainer.epochs"]
    steps = epochs * -(-items // changed.get("trainer.batch_size", settings.trainer.batch_size))
    needed = float(f"{max(LEAST_MOMENTUM, 1 - FORGETTING / steps):.4g}")
    return {"model.bn_momentum": needed} if needed < usual else {}


def _from_scratch(recipe: Training, steps: int, share: float) -> dict[str, Any]:
    trainer = recipe.trainer
    power = 0.5 if trainer.optimizer in ("adam", "rmsprop") else 1.0
    return {
        "trainer.epochs": math.ceil(STEPS / steps),
        "trainer.learning_rate": float(f"{trainer.learning_rate * share**power:.2g}"),
        "trainer.beta_2": max(trainer.beta_2, min(LONG_MEMORY, float(f"{1 - (1 - trainer.beta_2) * share:.4g}"))),
    }
