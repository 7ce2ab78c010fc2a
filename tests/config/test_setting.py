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


@dataclass
class Conditional:
    """Settings of which some need another one."""

    switch: bool = setting.setting(False)
    words: list[str] = setting.setting([])
    kind: str | None = setting.setting(None)
    a: int = setting.setting(1, needs="switch")
    b: int = setting.setting(1, needs="kind=x|y")
    c: int = setting.setting(1, needs="kind!=x")
    d: int = setting.setting(1, needs="words=x")
    e: int = setting.setting(1, needs="words and switch")
    f: int = setting.setting(1, needs="elsewhere=3")


@pytest.mark.parametrize(
    ("changed", "without_effect"),
    [
        ({"switch": True, "words": ["x"], "kind": "y"}, ""),
        ({"switch": False, "words": ["x"], "kind": "y"}, "ae"),
        ({"switch": True, "words": ["z"], "kind": "y"}, "d"),
        ({"switch": True, "words": [], "kind": "y"}, "de"),
        ({"switch": True, "words": ["x", "z"], "kind": "x"}, "c"),
        ({"switch": True, "words": ["x"], "kind": None}, "b"),
    ],
)
def test_settings_without_effect_are_those_whose_conditions_are_not_met(
    changed: dict[str, object], without_effect: str
) -> None:
    settings = Conditional(a=2, b=2, c=2, d=2, e=2, f=2, **changed)  # type: ignore[arg-type]
    assert "".join(sorted(setting.needless(settings, "abcdef"))) == without_effect
    assert setting.needless(settings, "") == {}


def test_defaults_and_empty_values_are_never_without_effect() -> None:
    assert setting.needless(Conditional(), "abcdef") == {}
    assert list(setting.needless(Conditional(), "ac", defaults=True)) == ["a"]
    assert setting.needless(Conditional(a=0), "a", defaults=True) == {}


@pytest.mark.parametrize(
    ("key", "changed", "words"),
    [
        ("a", {}, "a has no effect with switch=false: remove it, or set switch"),
        ("b", {}, "b has no effect with kind=null: remove it, or set kind=x or y"),
        ("c", {"kind": "x"}, "c has no effect with kind=x: remove it"),
        ("d", {"words": ["p", "q"]}, "d has no effect with words=p,q: remove it, or set words=x"),
        ("d", {}, "d has no effect with words=[]: remove it, or set words=x"),
    ],
)
def test_what_has_no_effect_is_explained(key: str, changed: dict[str, object], words: str) -> None:
    settings = Conditional(**{key: 2} | changed)  # type: ignore[arg-type]
    assert setting.needless(settings, key) == {key: words}


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ({}, ""), ({"at_least": 1}, ""), ({"at_most": 1}, ""),
        ({"at_least": 0.5, "at_most": 1000}, "from 0.5 to 1,000"),
        ({"at_least": 2, "at_most": 3, "or_zero": True}, "0 or from 2 to 3"),
    ],
)  # fmt: skip
def test_a_range_in_words(declaration: dict[str, float], words: str) -> None:
    assert setting.Setting(1, **declaration).range() == words  # type: ignore[arg-type]


def test_values_without_a_number_or_a_range_are_not_checked() -> None:
    row = setting.Setting(1, at_least=2, at_most=3)
    assert row.problems("x", None) == row.problems("x", True) == row.problems("x", "a") == []
    assert row.problems("x", (2, 3)) == []
    assert row.problems("x", 1) == ["x must be from 2 to 3, got 1"]
    assert setting.Setting(1, at_least=2).problems("x", 1) == []


def test_choices_may_be_computed_and_explained() -> None:
    row = setting.Setting("a", choices=lambda: ["alpha", "beta"], otherwise=". Not {}!")
    assert row.valid == ["alpha", "beta"]
    assert row.problems("data.name", "alpha") == []
    assert row.problems("data.name", "alpa") == [
        "data must be one of alpha, beta, got 'alpa'; did you mean 'alpha'?. Not alpa!"
    ]


@pytest.mark.parametrize(
    ("declaration", "resumable"),
    [({}, False), ({"adjustable": True}, True), ({"affects": Affects.CHANCE}, False),
     ({"affects": Affects.SPEED}, True), ({"affects": Affects.PLACE}, True), ({"affects": Affects.OUTWARD}, True)],
)  # fmt: skip
def test_what_does_not_affect_the_result_can_change_in_a_resumed_run(
    declaration: dict[str, object], resumable: bool
) -> None:
    assert setting.Setting(1, **declaration).is_resumable is resumable  # type: ignore[arg-type]


def test_a_key_inside_a_table_has_the_declaration_of_the_table() -> None:
    @dataclass
    class Tabled:
        table: dict[str, int] = setting.setting({}, "a table")

    assert setting.of(Tabled, "table.a.b").meaning == "a table"
    assert setting.of(Tabled, "other.a") is setting.UNDECLARED
    first, second = Tabled(), Tabled()
    first.table["a"] = 1
    assert second.table == {}


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
