"""The command line: what it answers, how fast, and that it never shows a traceback for a wrong word."""

import errno
import importlib.metadata
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import CHECKOUT
from zoo import api
from zoo.cli import parser
from zoo.cli.main import main
from zoo.core.errors import INTERRUPTED, ZooError
from zoo.environments import interpreters, machine
from zoo.execution import event_display


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trian"], "did you mean 'train'?"),
        (["env"], "ACTION"),
        (["env", "lst"], "did you mean 'list'?"),
        (["list", "modles"], "did you mean 'models'?"),
        (["train", "--cfg", "jbo"], "choice for --cfg called 'jbo'"),
        (["train", "--unheard"], "--unheard"),
        (["help", "trainr"], "did you mean 'trainer'?"),
        (["explain", "nowhere.log"], "nowhere.log"),
        (["explain", "-", "--backend", "metl"], "did you mean 'metal'?"),
        (["env", "remove"], "--all"),
        (["env", "create", "tf-9"], "tf-2.19"),
        (["train", "stack=tf-9"], "did you mean"),
        (["serve", "model=nope"], "There is no model called 'nope'"),
    ],
)
def test_wrong_words_are_told_with_the_right_ones(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1
    shown = capsys.readouterr().err
    assert words in shown
    assert "OpenVINO" not in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("verb", ["infer", "evaluate", "export", "serve", "train"])
def test_a_path_that_exists_is_named_by_its_content(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pointer = tmp_path / "digits, all"
    pointer.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert main([verb, f"model={pointer}"]) == 1
    shown = " ".join(capsys.readouterr().err.split())
    assert "is a pointer to a file that git-lfs did not fetch" in shown
    assert "lfs pull" in shown
    assert "no model called" not in shown


@pytest.mark.parametrize("arguments", [["--help"], ["train", "--help"], ["infer", "--help"], ["env", "--help"]])
def test_every_verb_has_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 0
    assert "usage:" in capsys.readouterr().out


# Of each topic a name that a line of its help begins with.
HELP = {
    "model": "mnist_conv5", "backend": "plaidml", "data": "text_lines", "preset": "smoke",
    "trainer": "trainer.on_oom", "output": "output.root", "train": "tensorboard", "infer": "batch_size",
    "serve": "max_queue", "bench": "bench=matmul",
}  # fmt: skip


EXAMPLES = [re.split(" {2,}", line.strip())[0].split()[3:] for line in parser.examples("zoo").splitlines()[1:]]
# Those whose settings can be composed without a run.
COMPOSED = [words for words in EXAMPLES if words[0] in ("train", "infer", "bench") and "run=last" not in words]


@pytest.mark.parametrize("words", COMPOSED, ids=" ".join)
def test_every_example_names_settings_that_exist(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    words = [word.split(",")[0] if "-m" in words else word for word in words if word != "-m"]
    assert main([*words, "--cfg", "job"]) == 0
    assert not capsys.readouterr().err


@pytest.mark.parametrize("topic", HELP)
def test_every_group_has_help(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", topic]) == 0
    assert f"\n  {HELP[topic]} " in capsys.readouterr().out


def test_list_as_json_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)
    assert {"mnist", "mnist_dense", "mnist_conv5", "mnist_fast"} <= {row["model"] for row in tables["models"]}
    assert {"tf-2.21", "plaidml-0.7", "tf-1.8"} <= {row["stack"] for row in tables["stacks"]}


@pytest.mark.timing
def test_metal_is_refused_here_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    if sys.platform == "darwin":
        pytest.skip("a Mac may have what it needs")
    began = time.monotonic()
    assert main(["train", "model=mnist", "backend=metal"]) == 1
    assert time.monotonic() - began < 10
    shown = capsys.readouterr().err
    assert "needs macOS" in shown
    assert "This machine:" in shown
    assert "backend=cpu" in shown


@pytest.mark.timing
@pytest.mark.parametrize(("arguments", "limit_s"), [(["--help"], 2), (["list"], 5)])
def test_it_answers_at_once(arguments: list[str], limit_s: float) -> None:
    """It takes a tenth of that. The fastest of a few: a busy machine is no fault of the command line."""
    times = []
    for _ in range(4):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "zoo", *arguments], capture_output=True, check=True)
        times.append(time.perf_counter() - began)
    assert min(times) < limit_s


@pytest.mark.parametrize(
    "words",
    ["train model=mnist_dense", "train --dry-run", "infer run=last", "bench", "report", "runs list", "attach last"],
)
def test_a_working_folder_that_was_deleted_is_said(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(words.split()) == 1
    assert "The folder in which this command started has been deleted" in capsys.readouterr().err


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "zoo", "list"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.wait()


@pytest.mark.parametrize("words", [["list", "models"], ["cache", "list"], ["explain", "-"]])
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_bug(words: list[str], closed: str, tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-m", "zoo", *words])
    answer = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert answer.returncode == (1 if words[0] == "explain" else 0), answer.stderr
    assert "Traceback" not in answer.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_the_stream_cannot_encode_is_escaped(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)
    record = {"verb": "infer", "model": "maus \xe9", "backend": "cpu", "exit": "completed", "started": "2026-11-21"}
    (folder / "run.json").write_text(json.dumps(record))
    variables = os.environ | {
        "LC_ALL": "C", "PYTHONIOENCODING": "ascii:strict", "PYTHONUTF8": "0", "PYTHONPATH": str(CHECKOUT),
    }  # fmt: skip
    answer = subprocess.run(
        [sys.executable, "-m", "zoo", "runs", "list"], capture_output=True, text=True, env=variables, cwd=tmp_path
    )
    assert answer.returncode == 0, answer.stderr
    assert "maus \\xe9" in answer.stdout


@pytest.mark.parametrize("kind", ["device", "pipe", "folder"])
def test_explain_reads_files_only(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    name = {"device": "/dev/zero", "pipe": str(tmp_path / "pipe"), "folder": str(tmp_path)}[kind]
    assert main(["explain", name]) == 1
    assert name in capsys.readouterr().err


def test_explain_names_an_empty_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty.log").write_text("\n")
    assert main(["explain", str(tmp_path / "empty.log")]) == 1
    assert "empty.log is empty" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["cache", "env"])
def test_an_empty_cache_is_named(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path))
    assert main([what, "remove", "--all"]) == 0
    assert "There is nothing to remove" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["cache", "env", "kernel"])
def test_a_name_next_to_all_removes_nothing(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([what, "remove", "torch", "--all"]) == 1
    assert "--all removes more than 'torch'" in capsys.readouterr().err


def test_explain_reads_the_end_of_a_huge_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "huge.log"
    with log.open("wb") as stream:
        stream.truncate(10 << 30)
        stream.seek(0, os.SEEK_END)
        stream.write(b"\nImportError: libGL.so.1: cannot open shared object file: No such file or directory\n")
    assert main(["explain", str(log)]) == 0
    shown = capsys.readouterr()
    assert "only its end is searched" in shown.err
    assert "libGL" in shown.out


def test_explain_refuses_an_endless_stream() -> None:
    command = [sys.executable, "-m", "zoo", "explain", "-"]
    with open("/dev/zero", "rb") as zeros:
        answer = subprocess.run(command, stdin=zeros, capture_output=True, text=True)
    assert answer.returncode == 1
    assert "longer than 64 MB" in answer.stderr


def test_more_settings_than_anybody_writes_are_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.process_time()
    assert main(["train", "model=mnist", *(f"trainer.epochs={number}" for number in range(20_000))]) == 1
    assert "20,001 settings, more than 1,000" in capsys.readouterr().err
    assert time.process_time() - began < 5


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a device that is always full")
def test_output_that_goes_nowhere_is_told() -> None:
    for words in (["list"], ["train", "--help"], ["--help"]):
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-m", "zoo", *words]
            answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert answer.returncode == 1
        assert (
            answer.stderr
            == "error: Cannot write: No space left on device (where the output goes)\nFree some space there.\n"
        )


def test_a_full_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from zoo.environments import store

    def full(*_arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(store, "ensure", full)
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "cache"))
    assert main(["train", "data=digits", f"output.root={tmp_path / 'runs'}"]) == 1
    shown = capsys.readouterr().err
    assert "No space left" in shown
    assert "output.root" in shown
    (folder,) = (tmp_path / "runs").iterdir()
    assert json.loads((folder / "run.json").read_text())["exit"] == "failed"


def test_a_limit_on_the_size_of_files_is_told(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (pretending / "fake.lock").write_text("#" * (2 << 20))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        assert main(["train", "data=digits"]) == 1
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (folder,) = (pretending / "runs").iterdir()
    said = f"error: Cannot write the run folder {folder}: File too large\nRaise the limit on file sizes (ulimit -f)"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("path", ["x" * 5000, "~nobody-of-this-name/x", "a\0b"])
@pytest.mark.parametrize("words", [["train", "resume={}"], ["infer", "run={}", "input=x"], ["attach", "{}"]])
def test_a_path_that_no_system_has_is_no_bug(words: list[str], path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([word.format(path) for word in words]) == 1
    assert len(capsys.readouterr().err) < 500


def test_without_a_verb_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("usage: python -m zoo")
    assert not shown.err


def test_a_word_after_the_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version", "extra"]) == 1
    shown = capsys.readouterr()
    assert (shown.out, "unrecognized arguments: extra" in shown.err) == ("", True)


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert (ended.value.code, capsys.readouterr().out) == (0, f"{importlib.metadata.version('keras-gpu-zoo')}\n")


@pytest.mark.parametrize(
    ("outcome", "code", "said"),
    [
        (0, 0, ""),
        (INTERRUPTED, 130, ""),
        (ZooError("Wrong", "Mend it."), 1, "error: Wrong\nMend it.\n"),
        (ZooError("Stopped", "", INTERRUPTED), 130, "error: Stopped\n"),
        (KeyboardInterrupt(), 130, "\nInterrupted.\n"),
        (OSError(errno.EDQUOT, "Quota exceeded", "a"), 1, "error: Cannot write: Quota exceeded (a)\nFree some space"),
        (OSError(errno.EFBIG, "Too large", "a", None, "b"), 1, "error: Cannot write: Too large (b)\nRaise the limit"),
        (OSError(errno.EIO, "Broken"), 3, "error: This is a bug in zoo: OSError"),
    ],
)
def test_how_a_command_ends_is_its_exit_code(
    outcome: object, code: int, said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path,
) -> None:  # fmt: skip
    def run(_parsed: object) -> object:
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(parser, "parse", lambda _: SimpleNamespace(run=run))
    assert main(["train"]) == code
    assert capsys.readouterr().err.startswith(said)
    assert len(list(tmp_path.iterdir())) == (code == 3)


def test_an_interrupted_training_ends_with_130(pretending: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["train", "data=digits", "--json"]) == 0

    def press_ctrl_c(*_: object) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "an epoch"

    monkeypatch.setattr(event_display, "epoch_line", press_ctrl_c)
    monkeypatch.setenv("FAKE_WORKER", "slow")
    assert main(["train", "data=digits", "--json"]) == 130


@pytest.mark.parametrize(("words", "said"), [
    ("predict run=last", "Use `infer`"),
    ("fit model=mnist", "Use `train`"),
    ("train --model mnist", "Settings have no dashes: model=mnist"),
    ("train --dryrun data=digits", "There is no option --dryrun; did you mean '--dry-run'?"),
    ("train data=zoo", "; for files of your own, data=KIND data.root=zoo"),
    ("train --trainer.epochs=3 data=digits", "Settings have no dashes: trainer.epochs=3"),
    ("train epochs=5 data=digits", "there is no key 'epochs'; did you mean 'trainer.epochs'?"),
    ("train lr=0.1", "did you mean 'trainer.learning_rate'?"),
    ("train model=mnist_dense expect.digits=2", "'expect.digits': the recipe has no expected result of this name\n"),
    ("train model=resnet50", "architectures of Keras are model=keras/NAME"),
    ("train model=mnist --config-dir conf", "--config-dir conf has no effect without +GROUP=NAME"),
    ("train -m --dry-run data=digits seed=1,x", "seed must be a whole number, got 'x'"),
    ("train model=mnist +experiment=mine", "Add --config-dir DIR, a folder with experiment/mine.yaml"),
    ("train model=mnist backend=gpu", "no GPU of this machine can be used"),
])  # fmt: skip
def test_words_of_other_programs_get_the_right_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, words: str, said: str
) -> None:
    here = machine.from_capture(CHECKOUT / "tests" / "machines" / "linux_cpu.txt")
    monkeypatch.setattr(machine, "probe", lambda: here)
    assert main(words.split()) == 1
    assert said in capsys.readouterr().err


def test_the_ways_of_hydra(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "experiment").mkdir()
    text = "# @package _global_\ndefaults:\n  - override /model: mnist_dense\ntrainer: {epochs: 7, batch_size: 9}\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(text)
    words = ["train", "data=digits", "backend=cpu", "+experiment=mine", "++trainer.batch_size=5", "-c", "job"]
    words.append("--resolve")
    for where in (["--config-dir", str(tmp_path)], [f"hydra.searchpath=[file://{tmp_path}]"]):
        assert main([*words, *where]) == 0
        shown = capsys.readouterr().out
        assert "name: mnist_dense" in shown
        assert "epochs: 7  # experiment" in shown
        assert "batch_size: 5  # user" in shown


# Each list is twice the one before it.
BOMB = "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 13))])


@pytest.mark.parametrize(("text", "said"), [
    ("defaults: 3\n", "contains no settings"),
    ("- 1\n", "contains no settings"),
    ("a: &a [*a]\n", "contains itself"),
    ("defaults: [/etc/passwd]\n", "defaults cannot include '/etc/passwd'\nWrite GROUP: NAME"),
    ("defaults: [_self_, data: digits, nonsense/zzz]\n", "defaults cannot include 'nonsense/zzz'"),
    (BOMB, "has more than 10,000 values\nRemove aliases"),
    ("trainer: {epochs: '${oc.env:HOME}'}\n", "trainer.epochs must be a whole number"),
])  # fmt: skip
def test_a_malformed_experiment_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(text)
    assert main(["train", "data=digits", "-c", "job", "--config-dir", str(tmp_path), "+experiment=mine"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--cfg", "job", "--json"], "--json has no effect with --cfg"),
        (["--cfg", "job", "--dry-run"], "--dry-run has no effect with --cfg"),
        (["--dry-run", "--prepare"], "--dry-run has no effect with --prepare"),
        (["--dry-run", "--json"], "--json has no effect with --dry-run"),
        (["--config-dir", "a", "--config-dir=b"], "The option --config-dir is given twice"),
        (["-m", "output.name=a,b", "--dry-run"], "-m does not sweep texts: output.name=a,b"),
    ],
)
def test_no_option_or_value_is_ignored(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data=digits", *words]) == 1
    assert message in capsys.readouterr().err


def test_a_quoted_comma_is_part_of_a_text_in_a_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data=digits", "-m", "seed=1,2", "output.name='a,b'", "--cfg", "job"]) == 1
    assert "texts" not in capsys.readouterr().err


@pytest.mark.parametrize("words", [["report", "loop"], ["infer", "run=loop", "input=x.png"], ["train", "resume=loop"]])
def test_a_loop_of_links_is_no_bug(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("other")
    Path("other").symlink_to("loop")
    assert main(words) == 1
    assert "Symlink loop" in capsys.readouterr().err


def test_the_log_of_a_bug_has_no_secrets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object) -> None:
        raise AttributeError("mlflow=http://me:hunter2@host")

    monkeypatch.setattr(parser, "parse", fails)
    monkeypatch.setattr(sys, "argv", ["zoo", "serve", "token=s3cr3t", "mlflow=http://me:hunter2@host"])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["serve"]) == 3
    (log,) = tmp_path.glob("zoo-bug-*.log")
    for text in (log.read_text(), capsys.readouterr().err):
        assert "hunter2" not in text
        assert "s3cr3t" not in text
    assert "http://***@host" in log.read_text()


def test_resolve_needs_cfg(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data=digits", "--resolve"]) == 1
    assert "--resolve has no effect without --cfg" in capsys.readouterr().err


def test_a_sweep_can_be_planned(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-m", "data=digits", "model=mnist", "backend=cpu", "seed=4,5", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "2 runs, one after the other; the plan of the first:" in shown
    assert "seed=4" in shown
    assert not list(pretending.glob("runs/*"))


def test_the_plan_of_a_sweep_names_its_folder(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["data=digits", "model=mnist", "seed=4,5", "output.root=other", "output.name=sw"]
    assert main(["train", "-m", *words, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "other/sw/001" in shown
    assert f"To run it: python -m zoo train -m {' '.join(words)}" in " ".join(shown.replace("\\", "").split())


def test_a_plan_refuses_what_the_run_refuses(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data=digits", "model=mnist", "launcher.jobs=4", "--dry-run"]) == 1
    assert "launcher.jobs=4 has no effect on one run" in capsys.readouterr().err
    assert main(["train", "data=digits", "model=mnist", "output.name=a\nb", "--dry-run"]) == 1
    assert r"output.name must be a plain folder name, got 'a\nb'" in capsys.readouterr().err


def test_a_python_without_the_libraries_is_named(tmp_path: Path) -> None:
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT)}
    python = [sys.executable, "-S", "-m", "zoo"]
    how = {"capture_output": True, "text": True, "env": variables, "cwd": tmp_path}
    answer = subprocess.run([*python, "train", "data=digits"], **how)
    assert answer.returncode == 1
    assert "which this program needs" in answer.stderr
    assert "bug in zoo" not in answer.stderr
    program = "import zoo.api\nzoo.api.train(model='mnist')"
    answer = subprocess.run([*python[:2], "-c", program], **how)
    assert "ZooError" in answer.stderr.splitlines()[-2]
    assert "which this program needs" in answer.stderr


@pytest.mark.old
@pytest.mark.parametrize("version", ["3.6", "3.9"])
def test_an_old_python_is_named(tmp_path: Path, version: str) -> None:
    python = interpreters.find(version)
    if python is None:
        pytest.skip(f"Python {version} is not installed here")
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(CHECKOUT)}
    how = {"capture_output": True, "text": True, "env": variables, "cwd": tmp_path}
    answer = subprocess.run([str(python.path), "-B", "-m", "zoo", "list"], **how)
    assert answer.stderr.startswith(f"error: zoo needs Python 3.11 or newer, this is {version}.")
    assert answer.stderr.count("\n") == 1


def test_a_python_that_lacks_a_library_of_later_use_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The environments of some stacks have yaml, which is loaded first, and not platformdirs."""
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    monkeypatch.delenv("ZOO_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ZooError, match="lacks platformdirs, which this program needs"):
        api.train(model="mnist")
