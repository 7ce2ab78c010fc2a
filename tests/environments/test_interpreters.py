"""Finding Pythons by looking where tools put them, in made-up trees."""

import stat
import sys
from pathlib import Path

import pytest

from zoo.environments import interpreters


def python(path: Path, answer: str, code: int = 0) -> Path:
    """A program that answers like a Python that is asked for its version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{answer}'\necho 'what went wrong' >&2\nexit {code}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    return [tmp_path / "versions/*/bin", tmp_path / "conda/bin"]


def test_the_newest_of_a_version_is_found(tmp_path: Path, places: list[Path]) -> None:
    for version in ("3.8.9", "3.8.18", "3.9.1"):
        python(tmp_path / f"versions/{version}/bin/python{version[:3]}", f"cpython {version} x86_64")
    interpreter = interpreters.find("3.8", "x86_64", places)
    assert interpreter == ("3.8.18", tmp_path / "versions/3.8.18/bin/python3.8", "x86_64")
    assert interpreters.find("3.8.9", "x86_64", places) == (
        "3.8.9", tmp_path / "versions/3.8.9/bin/python3.8", "x86_64"
    )  # fmt: skip
    assert interpreters.find("3.10", None, places) is None


def test_version_3_1_is_not_3_10(tmp_path: Path, places: list[Path]) -> None:
    python(tmp_path / "conda/bin/python3.1", "cpython 3.10.1 x86_64")
    assert interpreters.find("3.1", None, places) is None


def test_processor_families_are_told_apart(tmp_path: Path, places: list[Path]) -> None:
    python(tmp_path / "versions/a/bin/python3.8", "cpython 3.8.1 x86_64")
    python(tmp_path / "versions/b/bin/python3.8", "cpython 3.8.2 aarch64")
    assert interpreters.find("3.8", "arm64", places).version == "3.8.2"
    assert interpreters.find("3.8", "x86_64", places).version == "3.8.1"


def test_broken_ones_are_passed_over_and_remembered_with_their_reason(tmp_path: Path, places: list[Path]) -> None:
    python(tmp_path / "versions/3.8.9/bin/python3.8", "", code=127)
    python(tmp_path / "versions/3.8.8/bin/python3.8", "pypy 3.8.8 x86_64")
    python(tmp_path / "versions/3.8.7/bin/python3.8", "hello")
    python(tmp_path / "versions/3.8.6/bin/python3.8", "cpython 3.8.6 ppc64le")
    not_executable = tmp_path / "versions/3.8.5/bin/python3.8"
    not_executable.parent.mkdir(parents=True)
    not_executable.write_text("")
    good = python(tmp_path / "versions/3.8.1/bin/python3.8", "cpython 3.8.1 x86_64")
    working, broken = interpreters.survey(places)
    assert [item.path for item in working] == [good]
    reasons = {item.path.parent.parent.name: item.reason for item in broken}
    assert reasons["3.8.9"] == "exit status 127: what went wrong"
    assert "pypy" in reasons["3.8.8"]
    assert "answered 'hello'" in reasons["3.8.7"]
    assert "ppc64le" in reasons["3.8.6"]
    assert "denied" in reasons["3.8.5"].lower()
    assert interpreters.find("3.8", None, places).path == good


def test_a_python_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "PROBE_S", 0.2)
    path = tmp_path / "bin/python3.8"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\nexec sleep 20\n")
    path.chmod(0o755)
    assert interpreters.survey([path.parent])[1] == [(path, "did not answer within 0.2 s")]


def test_shims_environments_and_look_alikes_are_never_run(tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    for name in ("shims/python3.8", "venv/bin/python3.8", "bin/python3.8-config", "bin/python3.13t", "bin/python3"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch {trap}\n")
        path.chmod(0o755)
    (tmp_path / "venv/pyvenv.cfg").touch()
    places = [tmp_path / "shims", tmp_path / "venv/bin", tmp_path / "bin"]
    assert interpreters.survey(places) == ([], [])
    assert interpreters.find("3.8", None, places) is None
    assert not trap.exists()


def test_one_python_reached_by_several_links_is_listed_once(tmp_path: Path) -> None:
    real = python(tmp_path / "real/bin/python3.8", "cpython 3.8.1 x86_64")
    link = tmp_path / "opt/bin/python3.8"
    link.parent.mkdir(parents=True)
    link.symlink_to(real)
    (tmp_path / "opt/bin/python3.9").symlink_to(tmp_path / "nowhere")
    working, broken = interpreters.survey([link.parent, real.parent])
    assert [item.path for item in working] == [link]
    assert [item.path.name for item in broken] == ["python3.9"]


def test_conda_environments_are_read_from_its_own_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python(tmp_path / "far/away/bin/python3.6", "cpython 3.6.15 x86_64")
    listed = tmp_path / ".conda/environments.txt"
    listed.parent.mkdir()
    listed.write_text(f"{tmp_path}/far/away\n\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    places = [place for place in interpreters.roots() if str(place).startswith(str(tmp_path))]
    assert interpreters.find("3.6", None, places).path == tmp_path / "far/away/bin/python3.6"


def test_the_python_below_this_one_is_found() -> None:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    interpreter = interpreters.find(version)
    assert interpreter is not None
    assert interpreter.version.startswith(f"{version}.")
    assert interpreter in interpreters.survey()[0]


def test_python_variables_do_not_reach_the_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    assert interpreters.find(f"{sys.version_info.major}.{sys.version_info.minor}") is not None


def test_the_commands_that_get_a_python_fit_its_age() -> None:
    assert "pyenv install 3.6.15" in interpreters.how_to_get("3.6")
    assert "uv python" not in interpreters.how_to_get("3.7")
    assert "uv python install 3.8" in interpreters.how_to_get("3.8")
    assert interpreters.is_downloadable("3.10")
    assert not interpreters.is_downloadable("3.7")
