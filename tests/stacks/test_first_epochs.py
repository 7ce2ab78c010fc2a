"""The golden losses that `certify` holds against every backend are those of the zoo as it is."""

import json
from pathlib import Path

import pytest

from tests.support import trainings
from zoo.certification import samples, steps

pytestmark = [pytest.mark.stacks("torch"), pytest.mark.slow]

GOLDEN = json.loads(steps.FIRST_EPOCHS.read_text(encoding="utf-8"))["losses"]


@pytest.mark.parametrize("model", GOLDEN)
def test_the_first_epoch_has_the_golden_losses(root: Path, model: str) -> None:
    settings = steps.first_epoch_settings(model, samples.draw(root / "samples"))
    folder = trainings.train(root, *trainings.ready("torch"), *settings)
    epoch = trainings.history(folder)[0]
    golden = GOLDEN[model]
    for name in ("loss", "val_loss"):
        assert float(epoch[name]) == pytest.approx(golden[name], rel=golden["tolerance"])
