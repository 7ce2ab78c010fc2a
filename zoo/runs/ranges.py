"""The batch sizes, learning rates and precisions with which a recipe was measured to reach its target."""

from dataclasses import asdict, dataclass
from typing import Any

from zoo.config import bounds, compose, config_files
from zoo.config.overrides import Overrides, leaves
from zoo.config.tasks import Command
from zoo.core.errors import ZooError
from zoo.environments import backends

# Scaling of the learning rate: exponent of the ratio of the batch size to the recipe's.
RULES = {"linear": 1.0, "sqrt": 0.5, "fixed": 0.0}
BATCH, RATE, PRECISION = "trainer.batch_size", "trainer.learning_rate", "trainer.precision"
# Style networks have the precision of their feature network.
FEATURE_PRECISION = "precision"
SETTINGS = (BATCH, RATE, PRECISION, FEATURE_PRECISION)
# Tolerance for equal rates, because users round them.
SAME_RATE = 0.005


@dataclass(frozen=True)
class Range:
    """The range in which a recipe reaches its target on a data set.

    Attributes:
        batch_size: smallest and largest batch size.
        learning_rate: rule for the learning rate, a key of :data:`RULES`.
        precisions: trusted values of ``trainer.precision`` on the backend.
        target: promised metrics, such as ``{"test_accuracy": 0.99}``.
        usual: the batch size and the learning rate of the promise.
        precision: the setting with the precision.
    """

    batch_size: tuple[int, int]
    learning_rate: str
    precisions: tuple[str, ...]
    target: dict[str, Any]
    usual: tuple[int, float]
    precision: str = PRECISION

    def settings(self, batch_size: int, precision: str) -> dict[str, Any]:
        """Return the settings of a point by dotted key, with the learning rate for its batch size."""
        return {BATCH: batch_size, RATE: self.rate(batch_size), self.precision: precision}

    def rate(self, batch_size: int) -> float:
        size, rate = self.usual
        return float(f"{rate * (batch_size / size) ** RULES[self.learning_rate]:.4g}")

    def contains(self, batch_size: int, learning_rate: float, precision: str) -> bool:
        """Return True if these values were shown to reach the target."""
        low, high = self.batch_size
        near = abs(learning_rate / self.rate(batch_size) - 1) <= SAME_RATE
        return low <= batch_size <= high and near and precision in (*self.precisions, "auto")

    def __str__(self) -> str:
        low, high = self.batch_size
        return f"{low} to {high}, learning rate {self.learning_rate}, {' or '.join(self.precisions)}"


def point(command: Command[Any], model: str, backend: str, data: str) -> Overrides:
    """Return the options that compose a recipe for a data set. Style networks have no option for the only one."""
    has_data = "data" in config_files.groups(command.file)
    return Overrides.of({"model": model, "backend": backend} | ({"data": data} if has_data else {}))


def of(command: Command[Any], model: str, data: str, backend: str) -> Range | None:
    """Return the range of a recipe on a data set, or None without measurements.

    ``command`` is ``train`` of the model's task.
    """
    row = config_files.recipe_range(model, backend, data)
    if not row:
        return None
    recipe: Any = compose.compose(command, point(command, model, backend, data))
    if row["learning_rate"] not in RULES:
        message = f"Recipe {model}: range.{data}.learning_rate is {row['learning_rate']!r}"
        raise ZooError(message, f"Use one of: {', '.join(RULES)}")
    low, high = row["batch_size"]
    own = dict(leaves(asdict(recipe))) | bounds.settings(recipe.expect.get(data))
    trusted = backends.load(backend).known.precisions
    return Range(
        batch_size=(int(low), int(high)),
        learning_rate=row["learning_rate"],
        precisions=tuple(each for each in row["precisions"] if each in trusted),
        target=bounds.metrics(recipe.expect.get(data)),
        usual=(own[BATCH], own[RATE]),
        precision=PRECISION if PRECISION in own else FEATURE_PRECISION,
    )
