"""`zoo run`: a script keeps its words, terminal, input, signals and exit status, and is explained where it fails."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.support import CHECKOUT, SUPPORT
from zoo.cli.commands import run
from zoo.core.errors import ZooError

HOST = [sys.executable, str(SUPPORT / "stand_in_run.py")]


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """Those of the commands: the checkout is importable, and the cache and the home are empty."""
    own = {"PYTHONPATH": str(CHECKOUT), "ZOO_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}
    return {**os.environ, **own}


def zoo_run(variables: dict[str, str], *words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*HOST, *words], env=variables, capture_output=True, text=True, timeout=60, check=False, **options
    )


@pytest.mark.parametrize(
    ("given", "settings", "packages", "script"),
    [
        ([], {}, [], []),
        (["a.py", "--with", "x", "backend=cpu"], {}, [], ["a.py", "--with", "x", "backend=cpu"]),
        (["backend=cpu", "stack=torch", "a.py"], {"backend": "cpu", "stack": "torch"}, [], ["a.py"]),
        (["--with", "pandas", "stack=torch", "--with=six==1", "-m", "m", "-x"],
         {"stack": "torch"}, ["pandas", "six==1"], ["-m", "m", "-x"]),
        (["-c", "x=1"], {}, [], ["-c", "x=1"]),
        (["-", "stack=torch"], {}, [], ["-", "stack=torch"]),
        (["--", "--help"], {}, [], ["--help"]),
        (["-u", "-X", "dev", "a.py"], {}, [], ["-u", "-X", "dev", "a.py"]),
    ],
)  # fmt: skip
def test_words_before_the_script_are_ours_and_all_others_its_own(
    given: list[str], settings: dict[str, str], packages: list[str], script: list[str]
) -> None:
    assert run.take_apart(given) == run.Words(settings, packages, [], script)


@pytest.mark.parametrize(
    "given", [["--wiht", "x"], ["stak=torch"], ["--with"], ["no_such.py"], ["-u", "no_such.py"], ["backend.probes=1"]]
)
def test_a_wrong_word_is_refused(given: list[str]) -> None:
    with pytest.raises(ZooError):
        run.script_of(run.take_apart(given).script)


def test_a_script_gets_its_words_its_input_and_the_users_variables(tmp_path: Path, variables: dict[str, str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os, sys\n"
        "names = 'API_KEY KERAS_BACKEND CUDA_VISIBLE_DEVICES PYTHONNOUSERSITE HOME'.split()\n"
        "print(sys.argv[1:], sys.stdin.read(), [os.environ.get(name) for name in names])\n"
        "from zoo import models; print(models.__name__)\n"
        "sys.exit(7)\n"
    )
    own = variables | {"API_KEY": "secret", "KERAS_BACKEND": "theano"}
    answer = zoo_run(own, "stack=tf-2.21", str(script), "--with", "a b", "stack=x", input="input")
    assert answer.returncode == 7
    values = ["secret", "tensorflow", "-1", "1", str(tmp_path)]
    assert answer.stdout == f"{['--with', 'a b', 'stack=x']} input {values}\nzoo.models\n"
    assert answer.stderr.splitlines() == [
        "asked for None tf-2.21 [] True",
        "Removed or replaced, because they would change the stack: KERAS_BACKEND, PYTHONPATH",
    ]


def test_packages_come_from_options_files_and_inline_metadata(tmp_path: Path, variables: dict[str, str]) -> None:
    script, listed = tmp_path / "script.py", tmp_path / "requirements.txt"
    script.write_text('# /// script\n# requires-python = ">=3.8"\n# dependencies = ["six", "rich<99"]\n# ///\n')
    listed.write_text("# a comment\npandas==2.0  # the old one\n-r more.txt\n")
    (tmp_path / "more.txt").write_text("seaborn\n")
    answer = zoo_run(variables, "--with", "numba", "--requirements", str(listed), "-u", str(script))
    assert answer.returncode == 0, answer.stderr
    assert "asked for None None ['numba', 'pandas==2.0', 'seaborn', 'six', 'rich<99'] True" in answer.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# /// script\n# dependencies = [\n# ///\n", "cannot be read"),
        ("# /// script\n# dependencies = 3\n# ///\n", "is not a list of strings: 3"),
        ('# /// script\n# dependencies = ["a b"]\n# ///\n', "'a b' is not the name of a package"),
        ('# /// script\n# dependencies = ["a @ https://x/a.whl"]\n# ///\n', "is an address"),
        ('# /// script\n# requires-python = "<3"\n# ///\n', "asks for Python <3; stack"),
        ("# /// script\n# a = 1\n# ///\n\n# /// script\n# a = 1\n# ///\n", "2 blocks of inline metadata"),
    ],
)
def test_metadata_that_cannot_be_followed_is_refused(
    tmp_path: Path, variables: dict[str, str], text: str, words: str
) -> None:
    script = tmp_path / "script.py"
    script.write_text(text)
    answer = zoo_run(variables, str(script))
    assert (answer.returncode, "Traceback" in answer.stderr) == (1, False)
    assert words in answer.stderr


def test_a_module_code_and_standard_input_are_run(variables: dict[str, str]) -> None:
    assert zoo_run(variables, "-c", "import sys; print(sys.argv)", "-c").stdout == "['-c', '-c']\n"
    assert "usage: " in zoo_run(variables, "-m", "json.tool", "--help").stdout
    assert zoo_run(variables, "-", "x", input="import sys; print(sys.argv)").stdout == "['-', 'x']\n"
    assert zoo_run(variables, input="print(6 * 7)").stdout == "42\n"


@pytest.mark.parametrize(
    ("code", "status", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", 137, "was killed by SIGKILL (often by the system, out of memory)"),
        ("import os; os.abort()", 134, "the script was killed by SIGABRT"),
        ("import no_such", 1, "or add its package: python -m zoo run --with no-such"),
        ("raise ImportError(\"No module named 'keras.layers.merge'\")", 1, "It is in Keras 2.0 to 2.8"),
        ("raise ImportError('libcudart.so.9.0: cannot open shared object file: No such file')", 1, "known issues in"),
    ],
)  # fmt: skip
def test_a_failure_is_explained_below_the_untouched_traceback(
    variables: dict[str, str], code: str, status: int, words: str
) -> None:
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).stderr
    answer = zoo_run(variables, "-c", code)
    assert answer.returncode == status
    _, traceback, after = answer.stderr.partition(plain) if plain else ("", "", answer.stderr)
    assert traceback == plain, answer.stderr
    assert words in after


@pytest.mark.parametrize("code", ["1 / 0", "import sys; sys.exit(3)", "import os, signal; os.kill(os.getpid(), 15)"])
def test_nothing_is_said_where_nothing_is_known(variables: dict[str, str], code: str) -> None:
    assert "zoo:" not in zoo_run(variables, "-c", code).stderr


WAITS = """
import time
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("heard")
    raise
"""


@pytest.mark.parametrize(("number", "status"), [("SIGTERM", 143), ("SIGINT", 130), ("SIGHUP", 129), ("SIGUSR1", 138)])
def test_a_signal_reaches_the_script(variables: dict[str, str], number: str, status: int) -> None:
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    # The tests may themselves run under nohup or in the background, where these are ignored.
    options["preexec_fn"] = lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGHUP, signal.SIGINT)]
    host = subprocess.Popen([*HOST, "-c", WAITS], env=variables, start_new_session=True, **options)
    assert host.stdout is not None
    assert host.stdout.readline() == "ready\n"
    host.send_signal(getattr(signal, number))
    out, err = host.communicate(timeout=30)
    assert host.returncode == status, err
    assert (out, err.count("Traceback")) == (("heard\n", 1) if number == "SIGINT" else ("", 0))


@pytest.fixture
def terminal(variables: dict[str, str]) -> Iterator[Callable[..., pexpect.spawn]]:
    """Start commands on a terminal of their own."""
    opened: list[pexpect.spawn] = []

    def start(*words: str) -> pexpect.spawn:
        opened.append(pexpect.spawn(HOST[0], [*HOST[1:], *words], env=variables, encoding="utf-8", timeout=60))
        return opened[-1]

    yield start
    for each in opened:
        each.close(force=True)


def end(process: pexpect.spawn) -> tuple[int, str]:
    """Return the exit status of a command and what it wrote since."""
    process.expect(pexpect.EOF)
    process.wait()
    return process.exitstatus, process.before


def test_on_a_terminal_every_stream_of_the_script_is_one(terminal: Callable[..., pexpect.spawn]) -> None:
    code = "import os, sys; print([os.isatty(n) for n in (0, 1, 2)]); print(os.get_terminal_size(2), file=sys.stderr)"
    status, screen = end(terminal("-c", code))
    assert status == 0
    assert "[True, True, True]" in screen
    assert "columns=80, lines=24" in screen
    assert "\r\r" not in screen


def test_ctrl_c_reaches_the_script_once_and_leaves_no_traceback_of_ours(
    terminal: Callable[..., pexpect.spawn],
) -> None:
    process = terminal("-c", WAITS)
    process.expect("ready")
    process.sendintr()
    status, screen = end(process)
    assert status == 130
    assert (screen.count("heard"), screen.count("Traceback")) == (1, 1)


def test_a_prompt_answers(terminal: Callable[..., pexpect.spawn]) -> None:
    process = terminal()
    process.expect(">>> ")
    process.sendline("print(6 * 7)")
    process.expect(r"\n42\r?\n")
    process.sendline("exit()")
    assert end(process)[0] == 0


def test_a_child_left_behind_is_not_waited_for(variables: dict[str, str]) -> None:
    code = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(20)'], stdout=-3)"
    began = time.monotonic()
    assert zoo_run(variables, "-c", code).returncode == 0
    assert time.monotonic() - began < 15


def test_settings_of_keras_that_change_numbers_are_named(tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text('{"floatx": "float16", "backend": "theano", "epsilon": 1e-07}')
    answer = zoo_run(variables, "-c", "print(1)")
    assert "keras.json in your home folder sets floatx to 'float16'" in answer.stderr
    assert "theano" not in answer.stderr
