"""scripts/run.py: the checkout's own environment, made once, and left alone when it is somebody else's."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import CHECKOUT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the script needs, with a lock of nothing."""
    root = tmp_path / "checkout"
    (root / "scripts").mkdir(parents=True)
    shutil.copy(CHECKOUT / "scripts" / "run.py", root / "scripts")
    (root / "pyproject.toml").write_text("[project]\n")
    (root / "requirements.lock").write_text(
        "# made for a test\na==1 \\\n    --hash=sha256:00\n"
        "uv==0.1.2 \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\nz==1\n"
    )
    return root


@pytest.fixture
def script(checkout: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_script", checkout / "scripts" / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ready(script: ModuleType) -> None:
    """Make .venv look as if it had been made."""
    Path(script.BIN).mkdir(parents=True)
    Path(script.program("python")).symlink_to(sys.executable)
    script.write_mark(script.fingerprint())


def start(checkout: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(checkout / "scripts" / "run.py"), *argv]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=checkout)


def test_it_is_quiet_and_passes_everything_on_when_nothing_is_to_do(checkout: Path, script: ModuleType) -> None:
    ready(script)
    done = start(
        checkout,
        "python",
        "-c",
        "import os, sys; print(sys.argv[1:], 'PYTHONHOME' in os.environ); sys.exit(7)",
        "a b",
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (7, "['a b'] False", "")


def test_an_unknown_command_is_named(checkout: Path, script: ModuleType) -> None:
    ready(script)
    done = start(checkout, "pytset")
    assert done.returncode == 1
    assert "there is no program 'pytset'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_venv_of_somebody_elses_is_left_alone(checkout: Path, script: ModuleType) -> None:
    Path(script.VENV).mkdir()
    (Path(script.VENV) / "precious").touch()
    done = start(checkout, "python")
    assert done.returncode == 1
    assert "was not made by this script" in done.stderr
    assert (Path(script.VENV) / "precious").exists()


def test_another_lock_or_an_unfinished_build_is_prepared_again(
    checkout: Path, script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(script)
    synced: list[str] = []
    monkeypatch.setattr(script, "sync", lambda: synced.append(script.read_mark()))
    monkeypatch.setattr(script, "usable", lambda python: True)
    monkeypatch.setattr(script, "become", lambda argv: 0)
    assert script.main(["python"]) == 0
    assert synced == []
    script.write_mark("")
    assert script.main(["python"]) == 0
    (checkout / "requirements.lock").write_text("other")
    assert script.main(["python"]) == 0
    assert synced == ["", ""], "while it is being made, the mark must be empty"
    assert script.read_mark() == script.fingerprint()


def test_a_failure_shows_the_tools_words_and_is_tried_again(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ready(script)
    script.write_mark("")
    failing = [sys.executable, "-c", "print('no such index'); raise SystemExit(2)"]
    monkeypatch.setattr(script, "sync", lambda: script.call(failing, "the libraries could not be installed"))
    assert script.main(["python"]) == 1
    words = capsys.readouterr().err
    assert "the libraries could not be installed" in words
    assert "no such index" in words
    assert script.read_mark() == ""


def test_the_lines_that_pin_uv_are_taken_with_their_hashes(script: ModuleType) -> None:
    assert script.locked("uv") == "uv==0.1.2 \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\n"
    with pytest.raises(script.RunError, match="does not pin pip"):
        script.locked("pip")


def test_the_real_lock_pins_uv(script: ModuleType) -> None:
    script.LOCK = str(CHECKOUT / "requirements.lock")
    assert script.locked("uv").count("--hash=sha256:") > 1


def test_a_python_that_is_too_old_or_broken_is_not_usable(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script.usable(sys.executable)
    assert not script.usable(str(tmp_path / "none"))
    monkeypatch.setattr(script, "OLDEST", (9, 9))
    assert not script.usable(sys.executable)
    with pytest.raises(script.RunError, match=r"Python 9\.9 or newer .* is needed"):
        script.find_python()


def test_two_at_once_wait_for_each_other(checkout: Path, script: ModuleType) -> None:
    ready(script)
    script.write_mark("")
    with script.alone():
        other = subprocess.Popen(
            [sys.executable, "-I", str(checkout / "scripts" / "run.py"), "python", "-c", "print('ran')"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert "waiting for it to finish" in other.stderr.readline()
        script.write_mark(script.fingerprint())
    out, words = other.communicate(timeout=20)
    assert (out, words) == ("ran\n", "")


def test_without_a_command_it_explains_itself(checkout: Path) -> None:
    assert start(checkout).returncode == 2
    assert "scripts/run.py zoo train" in start(checkout, "--help").stdout


@pytest.mark.network
def test_a_fresh_checkout_gets_everything_in_the_lock(tmp_path: Path) -> None:
    root = tmp_path / "fresh"
    root.mkdir()
    for name in ("pyproject.toml", "requirements.lock", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, root) if (CHECKOUT / name).exists() else (root / name).touch()
    for name in ("zoo", "configs", "recipes", "scripts", "assets"):
        shutil.copytree(CHECKOUT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    first = start(root, "zoo", "--help")
    if first.returncode and ("error sending request" in first.stderr or "Failed to establish" in first.stderr):
        pytest.skip(f"the package index cannot be reached: {first.stderr.splitlines()[-1]}")
    assert first.returncode == 0, first.stderr
    assert "train" in first.stdout
    place = start(root, "python", "-c", "import zoo; print(zoo.__file__)").stdout.strip()
    assert os.path.realpath(place) == os.path.realpath(root / "zoo" / "__init__.py")
    assert start(root, "ruff", "--version").returncode == 0
