"""Ready settings for machines that people have."""

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import machines
from zoo.config import references
from zoo.config.overrides import Overrides
from zoo.config.schemas import image_classification as schemas
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.environments import backends, stacks
from zoo.tasks import registry

NAMES = references.names()
SEEDS = {"plaidml-rx5700xt", "metal-rx570", "mps-m1pro", "metal-m1", "cuda-gtx750ti"}
TODAY = {"metal-m4", "mps-m4", "intel-amd-macos14", "linux-nvidia", "cpu-only"}
# The machine that each is for, as its own tools describe it.
OWNERS = {
    "plaidml-rx5700xt": "rx_5700_xt",
    "metal-rx570": "rx_570",
    "mps-m1pro": "m1_pro",
    "metal-m1": "m1",
    "cuda-gtx750ti": "gtx_750_ti",
    "metal-m4": "m4",
    "mps-m4": "m4",
    "intel-amd-macos14": "two_gpus_sonoma",
    "linux-nvidia": "linux_nvidia",
    "cpu-only": "linux_cpu",
}


def copy_of(name: str, folder: Path, **changes: object) -> Path:
    row = yaml.safe_load((paths.CONFIGS / "reference" / f"{name}.yaml").read_text(encoding="utf-8"))
    path = folder / "my own, copy.yaml"
    path.write_text(yaml.safe_dump(row | changes, sort_keys=False))
    return path


def refusal(path: Path | str) -> str:
    with pytest.raises(ZooError) as caught:
        references.load(str(path))
    return str(caught.value)


def test_there_is_one_for_each_machine() -> None:
    assert set(NAMES) == SEEDS | TODAY == set(OWNERS)


@pytest.mark.parametrize("name", NAMES)
def test_each_composes_with_the_user_s_own_after_it(name: str) -> None:
    settings = registry.compose_settings(
        "train", references.expand(Overrides.parse([f"reference={name}", "seed=2", "trainer.epochs=3"]))
    )
    assert isinstance(settings, schemas.TrainConfig)
    assert (settings.seed, settings.trainer.epochs) == (2, 3)
    reference = references.load(name)
    assert settings.model["name"] == reference.settings["model"]["name"]
    assert settings.backend.name == reference.settings["backend"]
    assert settings.stack == reference.settings.get("stack")


@pytest.mark.parametrize("name", NAMES)
def test_each_fits_the_machine_that_it_is_for(name: str) -> None:
    reference, owner = references.load(name), machines.load(OWNERS[name])
    assert references.differences(reference, owner) == []
    settings = registry.compose_settings("train", reference.overrides)
    assert settings.stack is None or settings.stack in stacks.names()
    row = {row.name: row for row in backends.load_all()}[settings.backend.name]
    assert row.runnable
    assert row.trains


def test_the_report_s_settings_are_the_report_s() -> None:
    settings = registry.compose_settings("train", references.load("cuda-gtx750ti").overrides)
    assert isinstance(settings, schemas.TrainConfig)
    assert (settings.trainer.epochs, settings.trainer.batch_size, settings.trainer.learning_rate) == (1, 128, 0.01)
    assert settings.data.validation == 0.0
    figures = {entry.metric: entry.figure for entry in references.load("cuda-gtx750ti").published or []}
    assert figures == {"test_accuracy": 0.978, "train_s": 45.898}


def test_a_copy_of_one_s_own_works_too(tmp_path: Path) -> None:
    path = copy_of("metal-m1", tmp_path, settings={"model": "mnist_dense", "backend": "cpu", "seed": 9})
    assert references.load(str(path)).overrides.words == ["model=mnist_dense", "backend=cpu", "seed=9"]
    assert references.expand(Overrides.parse([f"reference={path}", "seed=2"])).words == [
        "model=mnist_dense",
        "backend=cpu",
        "seed=2",
    ]


def test_text_reaches_the_settings_as_it_is_written(tmp_path: Path) -> None:
    data = {"name": "mnist", "root": "a folder, (mine)"}
    path = copy_of("cpu-only", tmp_path, settings={"data": data, "backend": {"name": "cpu", "device": "it's {1}, b"}})
    settings = registry.compose_settings("train", references.load(str(path)).overrides)
    assert settings.backend.device == "it's {1}, b"
    assert isinstance(settings, schemas.TrainConfig)
    assert settings.data.root == "a folder, (mine)"


def test_everything_wrong_in_a_file_is_reported_at_once(tmp_path: Path) -> None:
    path = copy_of(
        "metal-m1",
        tmp_path,
        settings={"data": {"validation": [1]}},
        abuot="x",
        machine={"about": 3},
        published=[{"what": "a"}],
    )
    message = refusal(path)
    for words in (
        str(path), "did you mean 'about'", "machine.about: expected text", "published.0.figure: missing",
        "settings.data.validation must be one value",
    ):  # fmt: skip
        assert words in message


def test_wrong_settings_of_a_reference_are_reported_at_once_when_they_are_composed(tmp_path: Path) -> None:
    settings = {"model": "mnits", "backend": "cpu", "trainer": {"epochs": "many", "batchsize": 3}}
    path = copy_of("metal-m1", tmp_path, settings=settings)
    with pytest.raises(ZooError) as caught:
        registry.compose_settings("train", references.load(str(path)).overrides)
    for words in ("did you mean 'mnist'", "trainer.epochs must be a whole number", "'trainer.batchsize'"):
        assert words in caught.value.message


@pytest.mark.parametrize("text", ["- a list", "about: [", "about: x"])
def test_a_file_that_is_none_is_told(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    assert "mine.yaml" in refusal(path)


@pytest.mark.parametrize(
    ("name", "words"),
    [("metal-m3", "did you mean 'metal-m4'"), ("nowhere/mine.yaml", "There is no file"), ("", "no reference called")],
)
def test_an_unknown_one_names_the_valid_ones(name: str, words: str) -> None:
    message = refusal(name)
    assert words in message
    assert "cuda-gtx750ti" in message


def test_a_reference_stands_on_no_other(tmp_path: Path) -> None:
    assert "cannot use another one" in refusal(copy_of("cpu-only", tmp_path, settings={"reference": "metal-m1"}))


def test_without_a_reference_nothing_changes() -> None:
    given = ["model=mnist", "trainer.epochs=2"]
    assert references.expand(Overrides.parse(given)).words == given
    assert references.chosen(Overrides.parse(given)) is None


def test_a_preset_or_data_set_of_the_user_s_outranks_the_reference() -> None:
    smoke = registry.compose_settings(
        "train", references.expand(Overrides.parse(["reference=metal-m1", "preset=smoke"]))
    )
    assert isinstance(smoke, schemas.TrainConfig)
    assert (smoke.trainer.epochs, smoke.trainer.batch_size) == (1, 32)
    digits = registry.compose_settings(
        "train", references.expand(Overrides.parse(["reference=cuda-gtx750ti", "data=digits"]))
    )
    assert isinstance(digits, schemas.TrainConfig)
    assert digits.trainer.epochs == 8
    assert digits.trainer.learning_rate == 0.01


def test_another_backend_takes_its_own_stack_and_another_model_its_own_arguments() -> None:
    given = references.expand(Overrides.parse(["reference=metal-m1", "backend=auto", "model=mnist"])).words
    assert not [text for text in given if text.startswith(("stack=", "model.units"))]
    kept = references.expand(Overrides.parse(["reference=metal-m1", "backend=metal"])).words
    assert "stack=tf-2.19" in kept


@pytest.mark.parametrize(
    ("name", "machine", "words"),
    [
        ("metal-m1", "linux_cpu", "the system is Linux, not macOS"),
        ("metal-m1", "m1_pro", "not Apple M1"),
        ("metal-m1", "m4", "not Apple M1"),
        ("linux-nvidia", "linux_cpu", "the GPU is none, not one of NVIDIA"),
        ("metal-rx570", "rx_5700_xt", "not Radeon RX 570"),
    ],
)
def test_another_machine_is_told_what_it_would_need(name: str, machine: str, words: str) -> None:
    reference, here = references.load(name), machines.load(machine)
    assert words in "; ".join(references.differences(reference, here))
    lines = "\n".join(references.remarks(reference, here))
    assert reference.machine.about in lines
    assert "backend=auto" in lines


def finished(data: str = "mnist", preset: str = "full", limit: int | None = None) -> dict[str, Any]:
    """A record as far as it is compared."""
    settings = {"preset": preset, "data": {"train_limit": limit, "test_limit": None}}
    figures = {"metrics": {"test_accuracy": 0.9812}, "phases": {"train_s": 30.0}}
    return figures | {"config": settings, "data": {"name": data}}


def test_a_run_is_set_beside_what_was_published() -> None:
    lines = references.comparison(references.load("cuda-gtx750ti").published or [], finished())
    assert len(lines) == 2
    assert "0.978" in lines[0]
    assert "0.9812" in lines[0]


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("mps-m1pro", finished()),
        ("metal-m1", finished()),
        ("cuda-gtx750ti", finished(data="digits")),
        ("cuda-gtx750ti", finished(preset="smoke")),
        ("cuda-gtx750ti", finished(limit=1000)),
    ],
)
def test_what_is_not_the_same_work_is_not_compared(name: str, record: dict[str, Any]) -> None:
    assert references.comparison(references.load(name).published or [], record) == []


def test_listing_them_composes_nothing() -> None:
    code = "import sys; from zoo.config import references; print(len(references.rows()), 'hydra' in sys.modules)"
    import subprocess

    answer = subprocess.run([sys.executable, "-c", code], cwd=paths.ROOT, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [str(len(NAMES)), "False"]
