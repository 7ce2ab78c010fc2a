"""Settings are declared once, and what is derived from a declaration agrees with it."""

import ast
import re
from dataclasses import dataclass

import pytest

from zoo.config import declared, setting
from zoo.config.schemas.common import FaultTolerance
from zoo.config.schemas.style_network import StyleTrainer
from zoo.config.setting import Affects
from zoo.core import paths


@dataclass
class Inner:
    """Nested settings."""

    name: str = setting.setting("a", "which", choices=("a", "b"))
    sizes: list[int] = setting.setting([1], "sizes", at_least=1, at_most=2000, filled=True)


@dataclass
class Outer:
    """Settings with what does not fit together."""

    share: float = setting.setting(0.5, "share", at_least=0, at_most=1)
    edge: int = setting.setting(0, "edge", at_least=16, at_most=32, or_zero=True)

    def checks(self) -> list[str | None]:
        return [None, "they do not fit"]


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        (Inner(), []),
        (Inner(name="c", sizes=[0, 1, 3000]), ["x must be one of a, b, got 'c'",
                                               "x.sizes must be from 1 to 2,000, got 0",
                                               "x.sizes must be from 1 to 2,000, got 3000"]),
        (Inner(sizes=[]), ["x.sizes needs at least one value"]),
        (Outer(), ["they do not fit"]),
        (Outer(share=float("nan"), edge=8), ["x.share must be from 0 to 1, got nan",
                                             "x.edge must be 0 or from 16 to 32, got 8", "they do not fit"]),
    ],
)  # fmt: skip
def test_problems_are_derived_from_the_declarations(settings: object, wrong: list[str]) -> None:
    assert setting.problems(settings, "x.") == wrong


def test_a_setting_like_another_differs_in_its_default_alone() -> None:
    first, second = (setting.by_key(schema)["checkpoint_minutes"] for schema in (FaultTolerance, StyleTrainer))
    assert (first.default, second.default) == (10.0, 1.0)
    assert (first.meaning, first.at_most, first.affects) == (second.meaning, second.at_most, second.affects)


def test_a_key_of_a_group_has_one_meaning_range_and_effect_in_all_tasks() -> None:
    for key, rows in declared.everywhere().items():
        if "." in key:
            assert len({row.meaning for row in rows}) == 1, key
            assert len({(row.at_least, row.at_most, row.affects, row.literal) for row in rows}) == 1, key


def test_the_worker_has_no_defaults_of_its_own() -> None:
    """Settings of a training come with every request; a default in the worker would hide a missing one."""
    result = {}
    for path in paths.WORKER.parent.rglob("*.py"):
        for name, default in re.findall(r"settings\.get\(\"(\w+)\", ([\d.]+)\)", path.read_text(encoding="utf-8")):
            result[name] = (
                {row.default for row in declared.everywhere().get(f"trainer.{name}", [])},
                ast.literal_eval(default),
            )
    assert not {name: pair for name, pair in result.items() if pair[0] and pair[1] not in pair[0]}
    assert not {"disk_reserve_gb", "checkpoint_minutes", "keep_checkpoints"} & result.keys()


def test_what_settings_affect() -> None:
    """What may be resumed, believed and shown: a setting that is added here by mistake would do harm."""
    rows = declared.everywhere()
    outward = {key for key in rows if declared.is_outward(key)}
    assert outward == {
        "backend.python", "mlflow", "save", "overwrite", "output.folder",
        "launcher.address", "launcher.hosts", "launcher.python", "launcher.options",
    }  # fmt: skip
    places = {key for key in rows if declared.is_private(key)} - outward
    assert places == {
        "data.root",
        "data.images",
        "output.root",
        "output.name",
        "launcher.partition",
        "distributed.port",
    }
    assert declared.keys_with("adjustable") == ["data.images", "data.root", "trainer.batch_size", "trainer.epochs"]
    assert set(declared.keys_with("names_stack")) == {"stack", "backend.python", "trainer.jit", "trainer.export"}
    assert declared.word_keys() == {"launcher.hosts", "launcher.options"}
    assert {key for key, row in rows.items() if row[0].affects is Affects.CHANCE} == {"seed"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [("seed=4", "seed=4"), ("data.root=/home/me/x", "data.root=DATA"),
     ("backend.python=/usr/bin/python", "backend.python=PYTHON"),
     ("output.root=/home/me", None), ("mlflow=http://host", None), ("launcher.hosts=[a,b]", None)],
)  # fmt: skip
def test_overrides_in_evidence_tell_nothing_of_the_machine(text: str, shown: str | None) -> None:
    assert declared.public(text) == shown
