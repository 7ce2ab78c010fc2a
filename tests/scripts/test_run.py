"""scripts/run.py and environment.py: the checkout's own environment, made once; somebody else's is left alone."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import CHECKOUT


def old_python(version: str) -> Path | None:
    """Return a real Python of an old version, or None; what pyenv puts on PATH for a version may start none."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    named = shutil.which(f"python{version}")
    places = [*sorted((pyenv / "versions").glob(f"{version}.*/bin/python")), *([Path(named)] if named else [])]
    return next((path for path in places if not subprocess.run([path, "-c", ""], check=False).returncode), None)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the script needs, with a lock of nothing."""
    root = tmp_path / "checkout"
    (root / "scripts").mkdir(parents=True)
    for name in ("run.py", "environment.py"):
        shutil.copy(CHECKOUT / "scripts" / name, root / "scripts")
    (root / "pyproject.toml").write_text("[project]\n")
    (root / "requirements.lock").write_text(
        "# made for a test\na==1 \\\n    --hash=sha256:00\n"
        "uv==0.1.2 \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\nz==1\n"
    )
    (root / "requirements-dev.lock").write_text("pytest==1\n")
    return root


@pytest.fixture
def script(checkout: Path) -> ModuleType:
    return loaded(checkout / "scripts" / "environment.py")


@pytest.fixture
def starter(checkout: Path) -> ModuleType:
    return loaded(checkout / "scripts" / "run.py")


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"{path.stem}_script", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(script: ModuleType, *argv: str) -> int:
    code: int = script.main(list(argv), lambda: sys.executable, lambda: "no Python", "usage")
    return code


def ready(script: ModuleType) -> None:
    """Make .venv look as if it had been made."""
    Path(script.BIN).mkdir(parents=True)
    Path(script.program("python")).symlink_to(sys.executable)
    script.write_mark(script.fingerprint(script.LOCK))


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
    script.write_mark(script.fingerprint(script.DEV_LOCK))
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
    monkeypatch.setattr(script, "sync", lambda _: synced.append(script.read_mark()))
    monkeypatch.setattr(script, "become", lambda argv: 0)
    assert main(script, "python") == 0
    assert synced == []
    script.write_mark("")
    assert main(script, "python") == 0
    (checkout / "requirements.lock").write_text("other")
    assert main(script, "python") == 0
    assert synced == ["", ""], "while it is being made, the mark must be empty"
    assert script.read_mark() == script.fingerprint(script.LOCK)


def test_the_tools_of_the_tests_come_with_the_first_command_that_needs_them(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready(script)
    synced: list[str] = []
    monkeypatch.setattr(script, "sync", lambda lock: synced.append(Path(lock).name))
    monkeypatch.setattr(script, "become", lambda argv: 0)
    assert [main(script, name) for name in ("zoo", "pytest", "zoo", "ruff", "python")] == [0] * 5
    assert synced == ["requirements-dev.lock"]
    script.write_mark("")
    assert main(script, "zoo") == 0
    Path(script.program("pytest")).touch()
    script.write_mark("")
    assert main(script, "zoo") == 0
    assert synced == ["requirements-dev.lock", "requirements.lock", "requirements-dev.lock"]


@pytest.mark.parametrize(
    ("machine", "version", "refused"),
    [("arm64", "11.6", True), ("arm64", "12.0", False), ("x86_64", "10.13.6", False), ("arm64", "", False)],
)
def test_a_mac_without_wheels_is_told_before_the_installation(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    machine: str, version: str, refused: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(script.platform, "mac_ver", lambda: (version, ("", "", ""), machine))
    monkeypatch.setattr(script.platform, "machine", lambda: machine)
    monkeypatch.setattr(script, "prepare", lambda *_: None)
    monkeypatch.setattr(script, "become", lambda _: 0)
    assert main(script, "zoo") == int(refused)
    assert ("needs macOS 12 or newer, this is 11.6" in capsys.readouterr().err) is refused


def test_a_failure_shows_the_tools_words_and_is_tried_again(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ready(script)
    script.write_mark("")
    failing = [sys.executable, "-c", "print('no such index'); raise SystemExit(2)"]
    monkeypatch.setattr(script, "sync", lambda _: script.call(failing, "the libraries could not be installed"))
    assert main(script, "python") == 1
    words = capsys.readouterr().err
    assert "the libraries could not be installed" in words
    assert "no such index" in words
    assert script.read_mark() == ""


def test_the_lines_that_pin_uv_are_taken_with_their_hashes(script: ModuleType) -> None:
    assert script.locked("uv") == "uv==0.1.2 \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\n"
    with pytest.raises(script.RunError, match="does not pin pip"):
        script.locked("pip")


@pytest.mark.parametrize("lent", [True, False])
def test_the_installer_comes_by_the_pip_that_there_is(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, lent: bool
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(script, "lends_pip", lambda python: lent)
    monkeypatch.setattr(script, "call", lambda command, failure: commands.append(command))
    script.create("base")
    creation, installed = commands
    assert ("--without-pip" in creation) == lent
    inside = script.program("python")
    assert installed[:5] == (
        ["base", "-m", "pip", "--python", inside] if lent else [inside, "-m", "pip", *installed[3:5]]
    )
    assert "--require-hashes" in installed


def test_byte_code_is_made_at_once_only_where_python_would_keep_none(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(script, "call", lambda command, failure: commands.append(command))
    for value in ("", "1"):
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", value)
        script.sync(script.LOCK)
    assert ["--compile-bytecode" in command for command in commands] == [False, False, True, True]


def test_the_real_lock_pins_uv(script: ModuleType) -> None:
    script.LOCK = str(CHECKOUT / "requirements.lock")
    assert script.locked("uv").count("--hash=sha256:") > 1


def test_a_python_that_is_too_old_or_broken_is_not_usable(
    starter: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert starter.usable(sys.executable)
    assert not starter.usable(str(tmp_path / "none"))
    monkeypatch.setattr(starter, "OLDEST", (9, 9))
    assert not starter.usable(sys.executable)
    assert starter.find_python() is None
    assert "Python 9.9 or newer" in starter.missing()


def test_without_a_usable_python_nothing_is_made(script: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert script.main(["python"], lambda: None, lambda: "install one", "usage") == 1
    assert "error: install one" in capsys.readouterr().err
    assert not Path(script.MARK).exists()


OLD = [path for path in map(old_python, ("2.7", "3.6")) if path]


@pytest.mark.parametrize("name", ["run.py", "style_transfer.py"])
def test_what_people_start_first_parses_on_python_2_7(name: str) -> None:
    vermin = str(Path(sys.executable).with_name("vermin"))
    command = [vermin, "--target=2.7-", "--no-tips", "--violations"]
    done = subprocess.run([*command, str(CHECKOUT / "scripts" / name)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("python", OLD, ids=lambda path: path.parent.parent.name)
def test_an_old_python_hands_over_to_a_newer_one(checkout: Path, script: ModuleType, python: Path) -> None:
    ready(script)
    words = [str(checkout / "scripts" / "run.py"), "python", "-c", "import sys; print(sys.version_info >= (3, 11))"]
    variables = os.environ | {"PATH": str(Path(sys.base_prefix) / "bin")}
    done = subprocess.run([str(python), *words], capture_output=True, text=True, check=False, env=variables)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("python", OLD, ids=lambda path: path.parent.parent.name)
def test_an_old_python_alone_says_what_to_install(checkout: Path, tmp_path: Path, python: Path) -> None:
    run = checkout / "scripts" / "run.py"
    run.write_text(run.read_text().replace('"/usr/local/bin",', ""))
    variables = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([str(python), str(run), "zoo"], capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 1
    assert done.stderr.startswith("error: Python 3.11 or newer")
    assert "brew install" in done.stderr
    assert "Traceback" not in done.stderr


STYLE_WORDS = ["--content", "a.png", "every=0", "--steps", "3", "seed=2", "--keep-colors", "min_size=64"]


@pytest.mark.parametrize("python", [*OLD, Path(sys.executable)], ids=lambda path: path.parent.parent.name)
def test_a_style_transfer_goes_on_in_the_environment_with_its_options(tmp_path: Path, python: Path) -> None:
    script = shutil.copy(CHECKOUT / "scripts" / "style_transfer.py", tmp_path)
    (tmp_path / "run.py").write_text("import sys; print(' '.join(sys.argv[1:]))")
    command = [str(python), *(["-S"] if python.name == "python" else []), script]
    done = subprocess.run([*command, *STYLE_WORDS], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"python {script} {' '.join(STYLE_WORDS)}\n"), done.stderr
    done = subprocess.run([*command, "a=1", "--wrong", "b=2"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "unrecognized arguments: --wrong" in done.stderr


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (
            STYLE_WORDS,
            "train model=style_transfer content=a.png steps=3 backend=auto colors=content every=0 seed=2 min_size=64",
        ),
        (
            ["--way", "any", "--content", "a.png", "--style", "b.png", "--strength", "0.5", "weights=nowhere"],
            "infer model=style_transfer/any input=a.png strength=0.5 backend=auto style=b.png weights=nowhere",
        ),
        (
            ["--content", "a.png", "weights=nowhere", "--size", "64"],
            "infer model=style_transfer/fast input=a.png backend=auto size=64 weights=nowhere",
        ),
    ],
)
def test_settings_of_a_style_transfer_may_stand_in_several_places(
    tmp_path: Path, words: list[str], wanted: str
) -> None:
    """It prints the command that it runs, for which the files are not there."""
    command = [sys.executable, str(CHECKOUT / "scripts" / "style_transfer.py"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout.splitlines()[0] == f"python -m zoo {wanted}"
    assert done.returncode == 1
    assert ("nowhere" if "weights=nowhere" in words else "a.png") in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--steps", "0"], ""),
        (["--way", "optimize", "--style", "a.png", "--style", "b.png", "--steps", "0"], ""),
        (["--way", "network", "--steps", "3"], "--steps=3 has no effect with --way network"),
        (["--way", "any", "--features", "a.h5"], "--features=a.h5 has no effect with --way any"),
        (["--way", "network", "--download", "yes"], "--download has no effect with --way network"),
        (["--way", "any", "--download", "no"], "--download no forbids the download"),
        (["--content", "a.png", "--content=b.png"], "--content is given more than once"),
        (["--content", ""], "--content is empty. Give a value, or remove it"),
        (["--style", "a.png", "--style="], "--style is empty. Give a value, or remove it"),
    ],
)
def test_options_of_a_style_transfer_without_effect_are_refused(tmp_path: Path, words: list[str], message: str) -> None:
    command = [sys.executable, str(CHECKOUT / "scripts" / "style_transfer.py"), *words]
    variables = os.environ | {"ZOO_CACHE": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=variables)
    if message:
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
    else:
        assert "steps must be" in done.stderr


def test_two_at_once_wait_for_each_other(checkout: Path, script: ModuleType) -> None:
    ready(script)
    script.write_mark("")
    with script.alone():
        other = subprocess.Popen(
            [sys.executable, "-I", str(checkout / "scripts" / "run.py"), "python", "-c", "print('ran')"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert "waiting for it to finish" in other.stderr.readline()
        script.write_mark(script.fingerprint(script.LOCK))
    out, words = other.communicate(timeout=20)
    assert (out, words) == ("ran\n", "")


def test_without_a_command_it_explains_itself(checkout: Path) -> None:
    assert start(checkout).returncode == 2
    assert "scripts/run.py zoo train" in start(checkout, "--help").stdout


@pytest.mark.network
def test_a_fresh_checkout_gets_everything_in_the_lock(tmp_path: Path) -> None:
    root = tmp_path / "fresh"
    root.mkdir()
    for name in ("pyproject.toml", "requirements.lock", "requirements-dev.lock", "README.md", "LICENSE"):
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
