"""zoo.runs.context: settings that have no effect are refused where the user set them."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from zoo.core.errors import ZooError
from zoo.environments import machine, selection
from zoo.runs import context
from zoo.runs.records import RunRecord
from zoo.tasks import discovery


def of(**set_by: str) -> context.RunContext[Any]:
    rows = {key.replace("__", "."): layer for key, layer in set_by.items()}
    composed = cast(Any, SimpleNamespace(set_by=rows, overrides="the overrides", settings="the settings"))
    choice, here = cast(selection.Selection, None), cast(machine.Machine, None)
    record = RunRecord(exit="completed")
    return context.RunContext(discovery.command("train", "classify"), composed, choice, here, record=record)


def test_only_what_the_user_set_is_refused() -> None:
    run = of(trainer__patience="user", trainer__epochs="recipe", seed="user")
    run.refuse_needless("here", "trainer.epochs", "trainer.best_by")
    with pytest.raises(ZooError) as caught:
        run.refuse_needless("here", "trainer.epochs", "trainer.patience")
    assert (caught.value.message, caught.value.remedy) == (
        "trainer.patience has no effect here", "Remove trainer.patience=.",
    )  # fmt: skip
    with pytest.raises(ZooError, match=r"^trainer\.patience, seed have no effect here\nRemove trainer\.p"):
        run.refuse_needless("here", "trainer.patience", "seed")


def test_settings_for_validation_need_items() -> None:
    run = of(trainer__patience="user")
    run.refuse_without_validation(1, "texts")
    with pytest.raises(ZooError, match=r"trainer\.patience has no effect without texts for validation"):
        run.refuse_without_validation(0, "texts")
    of(trainer__best_by="recipe").refuse_without_validation(0, "texts")


def test_a_context_offers_its_command_settings_and_result() -> None:
    run = of()
    assert (run.verb, run.settings, run.overrides) == ("train", "the settings", "the overrides")
    assert run.result.exit == "completed"
