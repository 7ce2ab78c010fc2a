"""scripts/lock.py: how locks are made, and how drift is output."""

import os
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support import rings, scripts
from zoo.core.errors import ZooError
from zoo.environments import stacks, uv_client


@pytest.fixture
def lock() -> ModuleType:
    module: ModuleType = scripts.load("lock")
    return module


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str], str]]:
    """Arguments, extra variables and requirements of each call of a uv that resolves everything to one line."""
    seen: list[tuple[list[str], dict[str, str], str]] = []

    def run(arguments: list[str], extra: dict[str, str]) -> uv_client.CompletedCommand:
        wanted = next(Path(argument) for argument in arguments if argument.endswith((".in", "pyproject.toml")))
        seen.append((arguments, extra, wanted.read_text()))
        text = "six==1.16.0 \\\n    --hash=sha256:00\n"
        if "--constraints" in arguments:
            fixed = Path(arguments[arguments.index("--constraints") + 1]).read_text()
            if "==1.14.0" in fixed:
                return uv_client.CompletedCommand(1, ["error: there is no version of six==1.14.0"])
            text = text.replace("six==1.16.0", fixed.strip())
        Path(arguments[arguments.index("-o") + 1]).write_text(text)
        return uv_client.CompletedCommand(0, [])

    monkeypatch.setattr(uv_client, "run", run)
    return seen


@pytest.fixture
def job(lock: ModuleType, calls: list, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The only lock there is, of six alone; it is not yet made."""
    only = lock.Job(tmp_path / "a.lock", "# heading\n", ["-"], ["six"], {})
    monkeypatch.setattr(lock, "ROOT", tmp_path)
    monkeypatch.setattr(lock, "jobs", lambda *_: [only])
    return only


def after(arguments: list[str], option: str) -> str:
    return arguments[arguments.index(option) + 1]


def test_a_macos_lock_is_resolved_for_its_time_python_and_oldest_system(lock: ModuleType, calls: list) -> None:
    text = lock.resolve(lock.stack_job(stacks.load("plaidml-0.7"), "macos-x86_64"))
    (arguments, extra, wanted) = calls[0]
    assert after(arguments, "--exclude-newer") == "2021-03-01T23:59:59Z"
    assert after(arguments, "--python-version") == "3.8"
    assert after(arguments, "--python-platform") == "x86_64-apple-darwin"
    assert after(arguments, "--only-binary") == ":all:"
    assert after(arguments, "--no-emit-package") == "enum34"
    assert "--generate-hashes" in arguments
    assert extra == {"MACOSX_DEPLOYMENT_TARGET": "10.14"}
    assert wanted.splitlines() == stacks.load("plaidml-0.7").platforms["macos-x86_64"].requirements
    assert text.splitlines()[0] == "# plaidml-0.7 for macos-x86_64, Python 3.8, as of 2021-03-01."
    assert text.endswith("six==1.16.0 \\\n    --hash=sha256:00\n")


def test_source_packages_are_only_built_where_the_row_allows_it(lock: ModuleType, calls: list) -> None:
    lock.resolve(lock.stack_job(stacks.load("tf-1.8"), "linux-x86_64"))
    (arguments, extra, _) = calls[0]
    assert "--only-binary" not in arguments
    assert extra == {}


def test_the_hosts_lock_keeps_its_date_until_it_is_moved(lock: ModuleType, calls: list, tmp_path: Path) -> None:
    lock.HOST_LOCK = tmp_path / "requirements.lock"
    lock.HOST_LOCK.write_text("# This checkout's own environment, Python 3.11 and newer, as of 2026-01-02.\n")
    first, second = lock.host_jobs(None)
    lock.resolve(first)
    assert any(word.endswith(":build") for word in first.arguments)
    assert any(word.endswith(":dev") for word in second.arguments)
    assert any(limit.startswith("scipy<1.16 ; sys_platform == 'darwin'") for limit in first.constraints)
    assert after(calls[0][0], "--exclude-newer") == "2026-01-02T23:59:59Z"
    assert "--universal" in calls[0][0]
    assert "as of 2026-03-04." in lock.resolve(next(lock.host_jobs("2026-03-04")))


def test_drift_is_printed_line_by_line_and_fails(
    lock: ModuleType, job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lock.main(["--check"]) == 1
    assert not job.lock.exists()
    assert lock.main([]) == 0
    assert lock.main(["--check"]) == 0
    resolved = job.lock.read_text()
    for altered in (resolved.replace("1.16.0", "1.14.0"), resolved.replace(":00", ":01")):
        job.lock.write_text(altered)
        capsys.readouterr()
        assert lock.main(["--check"]) == 1
        assert "DRIFTED: a.lock" in capsys.readouterr().out
        assert job.lock.read_text() == altered


def test_a_release_that_the_index_lists_late_is_told_and_the_lock_holds(
    lock: ModuleType, job: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    lock.main([])
    job.lock.write_text(job.lock.read_text().replace("1.16.0", "1.15.0"))
    capsys.readouterr()
    assert lock.main(["--check"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("holds, though the index lists other releases of its time now: a.lock\n")
    assert "-six==1.15.0 \\\n+six==1.16.0 \\" in out
    assert "1.15.0" in job.lock.read_text()


def test_every_lock_of_the_project_has_its_job(lock: ModuleType) -> None:
    locks = {job.lock for job in lock.jobs([], None, None)}
    assert locks == {*stacks.paths.STACKS.glob("*/*.lock"), lock.HOST_LOCK, lock.DEV_LOCK}
    assert {job.lock.stem for job in lock.jobs([], "macos-arm64", None)} == {"macos-arm64"}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["tf-2.2l"], "did you mean 'tf-2.21'"),
        (["plaidml-0.7", "--platform", "macos-arm64"], "Stack plaidml-0.7 has no platform 'macos-arm64'"),
        (["host", "--date", "soon"], "--date must be like 2026-01-31, received 'soon'"),
    ],
)
def test_errors_are_words(lock: ModuleType, capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    assert lock.main(argv) == 1
    assert words in capsys.readouterr().err


def test_what_cannot_be_resolved_is_said_in_uvs_words(
    lock: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["error: No solution found when resolving dependencies", "  cause: Because six<1 and six>2"]
    monkeypatch.setattr(uv_client, "run", lambda *_args, **_names: uv_client.CompletedCommand(1, said))
    before = stacks.lock_file(stacks.load("tf-1.8"), "linux-x86_64").read_text()
    assert lock.main(["tf-1.8"]) == 1
    assert "Because six<1 and six>2" in capsys.readouterr().err
    assert stacks.lock_file(stacks.load("tf-1.8"), "linux-x86_64").read_text() == before


def test_the_tools_of_the_tests_are_in_a_lock_of_their_own_with_the_same_versions(lock: ModuleType) -> None:
    # The markers may differ: more packages may need one of them.
    program, tools = [{line.split()[0] for line in lock.pinned(path)} for path in (lock.HOST_LOCK, lock.DEV_LOCK)]
    assert program < tools
    assert not {"pytest", "mypy", "selenium"} & stacks.pins(lock.HOST_LOCK).keys()
    assert {"pytest", "mypy", "selenium"} <= stacks.pins(lock.DEV_LOCK).keys()


@pytest.mark.parametrize("name", ["HOST_LOCK", "DEV_LOCK"])
def test_the_hosts_locks_are_hashed_and_without_addresses(lock: ModuleType, name: str) -> None:
    path = getattr(lock, name)
    text = path.read_text()
    assert "://" not in text
    assert {"hydra-core", "uv", "hatchling", "editables"} <= stacks.pins(path).keys()
    for line in text.splitlines()[2:]:
        assert line.startswith("    --hash=sha256:") or line.endswith("\\"), line


@pytest.mark.network
def test_a_lock_comes_out_the_same_when_resolved_afresh(lock: ModuleType) -> None:
    try:
        assert lock.drift(lock.stack_job(stacks.load("plaidml-0.7"), "macos-x86_64")) == ([], True)
    except ZooError as error:
        if "could not be reached" not in error.message:
            raise
        pytest.skip(f"the package index cannot be reached: {error.message.splitlines()[0]}")


@pytest.mark.network
def test_every_lock_holds_when_resolved_afresh(lock: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of a stack was withdrawn, and its versions still answer its requirements as of its date."""
    has_wheels = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS")
    # PyTorch's CPU build for Linux lies on an index of its own, which not every machine can reach.
    names = [name for name in stacks.names() if has_wheels or name != "torch"]
    code = lock.main(["--check", *names])
    output = capsys.readouterr()
    if code and any(sign in (output.out + output.err).lower() for sign in uv_client.NETWORK):
        pytest.skip("the package index cannot be reached")
    assert code == 0, output.out + output.err
    assert output.out.count(".lock\n") >= len(names)


def test_stacks_of_keras_3_can_be_locked_with_a_nightly_build(lock: ModuleType) -> None:
    (torch,) = lock.jobs(["torch"], "linux-x86_64", None, True)
    assert torch.requirements == ["torch==2.13.0+cpu", "keras-nightly"]
    assert after(torch.arguments, "--no-emit-package") == "keras"
    (openvino,) = lock.jobs(["openvino"], "linux-x86_64", None, True)
    assert {"openvino==2026.4.1", "keras-openvino", "keras-nightly"} <= set(openvino.requirements)
    locks = [job.lock.parent.name for job in lock.jobs([], "linux-x86_64", None, True)]
    assert tuple(locks) == rings.NIGHTLY == tuple(lock.NIGHTLY)
    with pytest.raises(ZooError, match=r"tf-1\.8 has no nightly Keras"):
        list(lock.jobs(["tf-1.8"], None, None, True))
