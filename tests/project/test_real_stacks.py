"""The rule by which tests on real stacks are skipped: only what a machine may lack skips, and in CI not even that."""

import re
from pathlib import Path

import pytest

from tests.support import CHECKOUT, real_stacks
from zoo.config.overrides import Overrides
from zoo.core.errors import MissingInterpreterError, NoLockError, UnreachableIndexError, ZooError
from zoo.environments import machine, stacks, store, uv_client
from zoo.tasks import registry


def ended(monkeypatch: pytest.MonkeyPatch, error: Exception, required: frozenset[str] = frozenset()) -> BaseException:
    """What asking for an environment ends with where building it ends with an error."""

    def ensure(*_: object) -> None:
        raise error

    monkeypatch.setattr(store, "ensure", ensure)
    monkeypatch.setattr(real_stacks, "_required", required)
    with pytest.raises(BaseException) as caught:  # noqa: PT011  (skips and failures are no Exception)
        real_stacks.environment("tf-1.8")
    return caught.value


@pytest.mark.parametrize("kind", [NoLockError, MissingInterpreterError, UnreachableIndexError])
def test_what_a_machine_may_lack_skips_unless_the_stack_is_required(
    monkeypatch: pytest.MonkeyPatch, kind: type[ZooError]
) -> None:
    assert isinstance(ended(monkeypatch, kind("not here")), pytest.skip.Exception)
    assert isinstance(ended(monkeypatch, kind("not here"), frozenset({"jax"})), pytest.skip.Exception)
    failure = ended(monkeypatch, kind("not here"), frozenset({"tf-1.8"}))
    assert isinstance(failure, pytest.fail.Exception)
    assert "tf-1.8 may not be skipped here: not here" in str(failure)


@pytest.mark.parametrize(
    "words",
    [
        "The libraries of stack tf-1.8 were installed, but do not work: Python said no lock",
        "torch==2.13.0+cpu has a hash mismatch",
        "the package index could not be reached",
    ],
)
def test_any_other_error_is_a_failure_whatever_its_words(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    assert type(ended(monkeypatch, ZooError(words))) is ZooError


def test_a_stack_for_a_gpu_alone_is_skipped() -> None:
    (platform,) = stacks.load("tf-2.21-cuda").platforms
    if machine.probe().platform != platform:
        pytest.skip("no stack here is for a GPU alone")
    with pytest.raises(pytest.skip.Exception, match="and nothing else"):
        real_stacks.environment("tf-2.21-cuda")


@pytest.mark.parametrize(
    ("option", "variables", "required"),
    [
        (None, {}, set()),
        (None, {"CI": "false"}, set()),
        ("tf-2.21,torch", {}, {"tf-2.21", "torch"}),
        ("tf-2.21", {"CI": "true"}, {"tf-2.21"}),
        ("", {"CI": "true"}, set()),
    ],
)
def test_the_option_names_the_stacks_and_outranks_ci(
    option: str | None, variables: dict[str, str], required: set[str]
) -> None:
    assert real_stacks.required(option, variables) == required


def test_a_name_that_is_no_stack_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match="no stack is called tf-9"):
        real_stacks.required("tf-2.21,tf-9", {})


def test_in_ci_no_stack_is_skipped_that_can_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(real_stacks.interpreters, "find", lambda *_: None)
    always = real_stacks.buildable("linux-x86_64")
    assert {"tf-2.21", "torch", "torch-2.2", "jax", "openvino"} <= always
    assert not {"tf-1.8", "tf-2.21-cuda", "torch-cuda", "torch-1.12"} & always
    monkeypatch.setattr(real_stacks.interpreters, "find", lambda *_: "a Python")
    assert "tf-1.8" in real_stacks.buildable("linux-x86_64")
    assert real_stacks.buildable("macos-arm64") == set()


@pytest.mark.parametrize(
    ("words", "unreachable"),
    [
        ("error: Failed to fetch: https://index/six", True),
        ("there is no version of torch==2.13.0+cpu", True),
        ("Failed to download six: No space left on device (os error 28)", False),
        ("Hash mismatch for six", False),
        ("No solution found", False),
    ],
)
def test_an_index_out_of_reach_is_told_from_other_failures(words: str, unreachable: bool) -> None:
    assert uv_client.is_unreachable(uv_client.CompletedCommand(1, [words])) == unreachable


def test_an_explained_build_failure_keeps_its_kind(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ensure(*_: object) -> None:
        raise UnreachableIndexError("zsh: illegal hardware instruction", "Try again.")

    monkeypatch.setattr(store, "ensure", ensure)
    with pytest.raises(UnreachableIndexError) as caught:
        registry.dispatch("train", Overrides.parse(["model=mnist", "backend=cpu", "data=digits"]))
    assert caught.value.remedy.endswith("Try again.")
    assert caught.value.remedy != "Try again."


def test_tests_find_the_python_of_a_stack_in_one_place_only() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (CHECKOUT / "tests").rglob("test_*.py")}
    # Those that test the store itself, on stacks of their own.
    own = {"test_store.py", "test_additions.py", "test_interrupted_builds.py", "test_real_stacks.py"}
    assert sorted(name for name, text in texts.items() if re.search(r"store\.ensure\(", text) and name not in own) == []
