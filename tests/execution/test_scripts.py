"""zoo.execution.scripts: a script of the user's runs like plain Python, and its failure is explained."""

import contextlib
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.environments import store
from zoo.execution import scripts


class Stack:
    """A stack whose Python is the tests'."""

    label = "slate-1"
    choice = SimpleNamespace(backend=SimpleNamespace(name="mlx"))

    def __init__(self, folder: Path, dropped: list[str]) -> None:
        self.environment = SimpleNamespace(python=Path(sys.executable), folder=folder)
        self._dropped = dropped

    def variables(self) -> tuple[dict[str, str], list[str]]:
        return {"PATH": "/usr/bin:/bin", "OF_STACK": "yes"}, self._dropped


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run code in the stack; return the exit status and what is written to standard error."""
    monkeypatch.setattr(store, "in_use", lambda _environment: contextlib.nullcontext())
    monkeypatch.setattr(scripts, "unusual_keras_settings", dict)

    def call(code: str, *words: str, dropped: tuple[str, ...] = ()) -> tuple[int, str]:
        path = tmp_path / "script.py"
        path.write_text(code)
        stack: Any = Stack(tmp_path, list(dropped))
        return scripts.run(stack, [str(path), *words]), capfd.readouterr().err

    return call


def test_arguments_output_and_status_are_those_of_the_script(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = f"import os, sys\nopen({str(out)!r}, 'w').write(' '.join(sys.argv[1:]) + os.environ['OF_STACK'])\n"
    assert run(code + "sys.stderr.write('said\\n')\nsys.exit(3)\n", "a", "-b") == (3, "said\n")
    assert out.read_text() == "a -byes"
    assert run("") == (0, "")


def test_variables_that_would_change_the_stack_are_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "unusual_keras_settings", lambda: {"floatx": "float16"})
    _, said = run("", dropped=("PYTHONPATH", "KERAS_BACKEND"))
    assert "Removed or replaced, because they would change the stack: PYTHONPATH, KERAS_BACKEND" in said
    assert "keras.json in your home folder sets floatx to 'float16'" in said


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import nowhere_to_be", "zoo: stack slate-1 has no module nowhere_to_be: choose a stack that has it, or add "
         "its package: python -m zoo run --with nowhere-to-be"),
        ("raise ModuleNotFoundError(\"No module named 'cv2'\")", "zoo run --with opencv-python-headless"),
        ("raise ValueError('float64 is not supported on the GPU')", "zoo: known issues in the output of the script:"),
    ],
)  # fmt: skip
def test_a_failure_is_explained(run: Run, code: str, words: str) -> None:
    status, said = run(code)
    assert status == 1
    assert words in said


def test_a_script_that_goes_well_or_fails_for_itself_is_not_explained(run: Run) -> None:
    for code in ("print('No module named x', file=__import__('sys').stderr)", "raise ValueError('own')"):
        assert "zoo:" not in run(code)[1]
    assert "zoo:" not in run("import sys; sys.stderr.write(\"ModuleNotFoundError: No module named 'x'\\n\")")[1]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGKILL, "zoo: the script was killed by SIGKILL (often by the system, out of memory)\n"),
        (signal.SIGABRT, "zoo: the script was killed by SIGABRT\n"),
        (signal.SIGTERM, ""),
        (signal.SIGPIPE, ""),
    ],
)
def test_a_signal_that_nobody_sent_on_purpose_is_named(run: Run, number: int, words: str) -> None:
    status, said = run(f"import os, signal\nsignal.signal({int(number)}, 0) if {int(number)} != 9 else 0\n"
                       f"os.kill(os.getpid(), {int(number)})")  # fmt: skip
    assert (status, said) == (128 + number, words)


def test_signals_reach_the_script(run: Run) -> None:
    code = "import os, signal, sys, time\n"
    code += "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))\nos.kill(os.getppid(), signal.SIGUSR1)\n"
    assert run(code + "time.sleep(20)")[0] == 7


def test_a_python_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "in_use", lambda _environment: contextlib.nullcontext())
    stack: Any = Stack(tmp_path, [])
    stack.environment.python = tmp_path / "none"
    with pytest.raises(Exception, match=r"Cannot start .*none: No such file or directory"):
        scripts.run(stack, ["-c", "0"])
