"""Completion of command lines."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import CHECKOUT
from zoo.cli import completion
from zoo.cli.main import main


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tr"], {"train"}),
        (["env", "cr"], {"create"}),
        (["list", "mod"], {"models"}),
        (["train", "--cf"], {"--cfg"}),
        (["train", "--cfg", ""], {"job"}),
        (["train", "mod"], {"model="}),
        (["train", "launcher=s"], {"launcher=slurm", "launcher=ssh"}),
        (["train", "data=digits", "trainer.epoch"], {"trainer.epochs="}),
        (["train", "data.strict=t"], {"data.strict=true"}),
        (["tune", "model=mnist_d"], {"model=mnist_dense"}),
        (["bench", "bench=mat"], {"bench=matmul"}),
        (["export", "format=h"], {"format=hub"}),
        (["nothing", "x"], set()),
    ],
)
def test_a_word_is_completed(words: list[str], expected: set[str]) -> None:
    assert expected <= set(completion.candidates(words))


def test_the_keys_are_those_of_the_model() -> None:
    keys = completion.candidates(["train", "model=transformer/lm", "data."])
    assert "data.tokenizer=" in keys
    assert "data.tokenizer=" not in completion.candidates(["train", "model=mnist", "data."])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_one(shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = tmp_path / "script"
    script.write_text(capsys.readouterr().out)
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed here")
    assert subprocess.run([program, "-n", str(script)], check=False).returncode == 0


def test_bash_completes_a_value_behind_its_equal_sign(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed here")
    assert main(["completion", "bash"]) == 0
    line = f"{sys.executable} -m zoo train launcher=sl"
    script = f"""{capsys.readouterr().out}
COMP_WORDS=({sys.executable} -m zoo train launcher = sl); COMP_CWORD=6; COMP_LINE='{line}'; COMP_POINT={len(line)}
_zoo_python; echo "${{COMPREPLY[@]}}"
"""
    done = subprocess.run([bash, "-c", script], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["slurm"]
