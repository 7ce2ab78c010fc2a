"""PyTorch's builds without CUDA: found beside the index or on PyTorch's own, else missed in plain words."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from zoo.core.errors import ZooError
from zoo.environments import build, interpreters, package_index, stacks, uv_client

MISSING = uv_client.CompletedCommand(
    1,
    ["error: No solution found", "  cause: Because there is no version of torch==2.13.0+cpu and you require it"],
)
UNREACHABLE = uv_client.CompletedCommand(1, ["error: Request failed after 3 retries", "  cause: dns error"])


@pytest.fixture
def plan(tmp_path: Path) -> build.Plan:
    stack = stacks.load("torch")
    lock = stacks.lock_file(stack, "linux-x86_64")
    python = interpreters.Interpreter(path=tmp_path / "python", version="3.11.7", arch="x86_64")
    return build.Plan(stack, "linux-x86_64", lock, "00", python, tmp_path, lambda *_: None)


def answering(monkeypatch: pytest.MonkeyPatch, *answers: uv_client.CompletedCommand) -> list[list[str]]:
    calls: list[list[str]] = []
    rest = list(answers)

    def run(arguments: list[str], *_: Any, **__: Any) -> uv_client.CompletedCommand:
        calls.append(arguments)
        return rest.pop(0)

    monkeypatch.setattr(uv_client, "run", run)
    return calls


def test_pytorchs_own_index_is_asked_second(plan: build.Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = answering(monkeypatch, MISSING, uv_client.CompletedCommand(0, []))
    build._install(plan, tmp_path, lambda _: None)
    assert "--torch-backend" not in calls[0]
    assert calls[1][calls[1].index("--torch-backend") + 1] == "cpu"


def test_a_build_that_is_found_asks_nobody_else(
    plan: build.Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = answering(monkeypatch, uv_client.CompletedCommand(0, []))
    build._install(plan, tmp_path, lambda _: None)
    assert len(calls) == 1


def test_a_build_that_is_nowhere_is_missed_in_plain_words(
    plan: build.Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    answering(monkeypatch, MISSING, UNREACHABLE, UNREACHABLE)
    with pytest.raises(
        ZooError, match=r"torch==2\.13\.0\+cpu, PyTorch's build without CUDA, was not found on"
    ) as error:
        build._install(plan, tmp_path, lambda _: None)
    assert "UV_FIND_LINKS" in error.value.remedy
    assert "dns error" in error.value.message


def test_a_wheel_that_left_the_index_names_the_command_that_locks_again(
    plan: build.Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pin = "keras-nightly==3.16.0.dev2026102704"
    words = f"  cause: Because there is no version of {pin} and you require {pin}, we can conclude that"
    answering(monkeypatch, uv_client.CompletedCommand(1, ["error: No solution found", words]))
    plan = dataclasses.replace(plan, stack=stacks.load("mlx"))
    with pytest.raises(ZooError, match=r"keras-nightly==3\.16\.0\.dev2026102704 is no longer on the") as error:
        build._install(plan, tmp_path, lambda _: None)
    assert error.value.remedy.endswith("python scripts/lock.py mlx")


def test_cuda_comes_only_where_it_is_asked_for() -> None:
    """By accident it would be several gigabytes for a machine without such a GPU."""
    for stack in stacks.load_all():
        if "linux-x86_64" in stack.platforms:
            pins = stacks.pins(stacks.lock_file(stack, "linux-x86_64"))
            brought = [name for name in pins if name.startswith(("nvidia", "cuda", "triton"))]
            row = stack.platforms["linux-x86_64"]
            # The registry has no build of old PyTorch without CUDA; a stand-in is chosen by name only.
            stands_in = stack.framework == "torch" and bool(row.stand_in_for)
            assert bool(brought) == ("cuda" in row.devices or stands_in), stack.name
            if stack.framework == "torch" and not brought:
                assert pins["torch"].endswith("+cpu")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("error: Failed to fetch: ... invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"),
        ("error: Failed to fetch: ... dns error", "UV_DEFAULT_INDEX"),
        ("No solution found: Because jaxlib has no wheels with a matching platform tag", "Choose another stack"),
        ("No solution found: Because keras<3 depends on numpy<1", "Change the requirements"),
    ],
)
def test_what_made_uv_fail_is_told_apart(words: str, said: str) -> None:
    assert said in uv_client.reason(uv_client.CompletedCommand(1, [words]))[1]


def test_a_mirror_in_the_settings_of_pip_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings, seen = tmp_path / "pip.conf", tmp_path / "seen"
    settings.write_text("[global]\nindex-url = https://mirror.example/simple\n")
    program = tmp_path / "uv"
    program.write_text(f'#!/bin/sh\necho "$UV_DEFAULT_INDEX" > {seen}\n')
    program.chmod(0o755)
    for name in package_index.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_CONFIG_FILE", str(settings))
    monkeypatch.setattr(uv_client, "command", lambda: str(program))
    assert uv_client.run(["pip", "list"]).code == 0
    assert seen.read_text().strip() == "https://mirror.example/simple"
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://own.example/simple")
    uv_client.run(["pip", "list"])
    assert seen.read_text().strip() == "https://own.example/simple"
