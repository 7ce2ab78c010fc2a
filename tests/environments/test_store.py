"""Environments: built once, checked, refused when damaged, and nothing half-made.

The package index is a folder made here, or a server on this machine, so no network is needed.
"""

import dataclasses
import functools
import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.support import real_stacks
from tests.support.tiny_stack import PLATFORM, PYTHON, wheel, write_lock
from zoo.cli.main import main
from zoo.core import paths
from zoo.core.errors import MissingInterpreterError, NoLockError, UnreachableIndexError, ZooError
from zoo.environments import interpreters, stacks, store, uv_client


def well(_stack: stacks.Stack, _python: Path) -> None:
    return None


def run(python: Path, code: str) -> str:
    return subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def left() -> list[str]:
    """What lies in the folder of environments, lock files aside."""
    root = store.environments_dir()
    return sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []


def test_an_environment_is_built_once_and_then_found(stack: stacks.Stack, capsys: pytest.CaptureFixture[str]) -> None:
    built = store.ensure(stack, PLATFORM, well)
    assert built.build_s > 0
    assert built.versions == {"Tiny": "1.0"}
    assert built.python_version.startswith(PYTHON)
    assert built.lock_sha256 == hashlib.sha256(built.lock.read_bytes()).hexdigest()
    assert run(built.python, "import tiny.deep; print(tiny.deep.ANSWER)") == "42"
    assert list(built.folder.glob("lib/*/site-packages/tiny/__pycache__/deep.*.pyc")), "not byte-compiled"
    assert "Building the environment of small" in capsys.readouterr().err
    again = store.ensure(stack, PLATFORM, lambda *_: pytest.fail("checked again"))
    assert again == dataclasses.replace(built, build_s=0.0)
    assert capsys.readouterr().err == ""
    assert left() == [built.folder.name]


def test_another_lock_is_another_environment(stack: stacks.Stack, tmp_path: Path) -> None:
    first = store.ensure(stack, PLATFORM, well)
    with (stack.folder / f"{PLATFORM}.lock").open("a") as lock:
        lock.write("# one more line\n")
    second = store.ensure(stack, PLATFORM, well)
    assert first.folder != second.folder
    assert first.folder.is_dir()


def test_another_version_of_python_is_another_environment(stack: stacks.Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    first = store.ensure(stack, PLATFORM, well)
    result = uv_client.ensure_interpreter(stack.python, PLATFORM.partition("-")[2])
    newer = result._replace(version=f"{PYTHON}.99")  # the same file, after an upgrade of the system
    monkeypatch.setattr(uv_client, "ensure_interpreter", lambda *_: newer)
    assert store.ensure(stack, PLATFORM, well).folder != first.folder


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("lib/python*/site-packages/tiny/deep.py", "files are missing from its site-packages/tiny"),
        ("lib/python*/site-packages/tiny", "site-packages/tiny is missing"),
        ("bin/python", "its Python"),
        ("zoo-environment.json", "never finished"),
        ("lib", "is missing"),
    ],
)
def test_a_damaged_environment_is_built_again(
    stack: stacks.Stack, capsys: pytest.CaptureFixture[str], damage: str, words: str
) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    (path,) = folder.glob(damage)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    capsys.readouterr()
    again = store.ensure(stack, PLATFORM, well)
    assert again.build_s > 0
    assert words in capsys.readouterr().err
    assert run(again.python, "import tiny.deep; print(tiny.deep.ANSWER)") == "42"
    assert store.ensure(stack, PLATFORM, well).build_s == 0


@pytest.mark.parametrize("size", [None, 3])
def test_a_file_that_is_lost_deep_inside_is_seen_and_mended(
    stack: stacks.Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int | None
) -> None:
    write_lock(stack.folder, wheel(tmp_path / "index", "1.0", modules=1))
    folder = store.ensure(stack, PLATFORM, well).folder
    (path,) = folder.glob("lib/python*/site-packages/tiny/inner/slow_0.py")
    path.unlink() if size is None else os.truncate(path, size)
    assert store.ensure(stack, PLATFORM, well).build_s == 0, "not looked at on every start"
    lost = "a file of its packages is missing or truncated: tiny/inner/slow_0.py"
    assert [row.state for row in store.list_environments()] == [store.damage(folder)] == [lost]
    monkeypatch.setattr(stacks, "load", lambda name: stack)
    monkeypatch.setattr(store, "health_check", well)
    assert main(["env", "create", "small"]) == 0
    assert [row.state for row in store.list_environments()] == ["ready"]


def test_a_marker_that_is_no_json_is_no_marker(stack: stacks.Stack) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    (folder / "zoo-environment.json").write_text('{"stack": ')
    assert store.list_environments()[0].state == "its build was never finished"
    assert store.ensure(stack, PLATFORM, well).build_s > 0


def test_something_installed_into_it_later_is_noticed(stack: stacks.Stack, capsys: pytest.CaptureFixture[str]) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    (next(folder.glob("lib/*/site-packages")) / "other-2.0.dist-info").mkdir()
    assert store.ensure(stack, PLATFORM, well).build_s > 0
    assert "added after the build (site-packages/other-2.0.dist-info)" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["other.pth", "usercustomize.py", "fast.so"])
def test_what_python_would_import_is_noticed(
    stack: stacks.Stack, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    (next(folder.glob("lib/*/site-packages")) / name).write_text("import os\n")
    assert store.ensure(stack, PLATFORM, well).build_s > 0
    assert f"added after the build (site-packages/{name})" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["tiny/deep.py", "tiny/new.py"])
def test_a_replaced_or_added_module_is_found_by_its_hash(
    stack: stacks.Stack, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    assert main(["env", "list", "--verify"]) == 0
    path = next(folder.glob("lib/*/site-packages")) / place
    kept = path.stat() if path.exists() else None
    path.unlink(missing_ok=True)
    path.write_text("ANSWER = 41\n")  # as long as before
    for verify in ("new", "every"):
        (row,) = store.list_environments(verify=verify)
        assert row.state == f"changed: 1 file not from its packages, such as {place}"
    if kept:
        os.utime(path, ns=(kept.st_mtime_ns, kept.st_mtime_ns))
    capsys.readouterr()
    assert main(["env", "list", "--verify", "--json"]) == 1
    assert place in json.loads(capsys.readouterr().out)[0]["state"]


def test_byte_code_and_stray_files_are_no_damage(stack: stacks.Stack) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    (site,) = folder.glob("lib/*/site-packages")
    shutil.rmtree(site / "tiny" / "__pycache__")
    (site / "tiny" / "settings.json").write_text("{}")
    (folder / ".DS_Store").touch()
    assert store.ensure(stack, PLATFORM, well).build_s == 0
    (record,) = site.glob("tiny-*.dist-info/RECORD")
    record.write_text(record.read_text() + "tiny/__pycache__/tiny.cpython-311.pyc,sha256=x,5\n")
    (row,) = store.list_environments(verify="every")
    assert row.state == "ready"


BUILDER = """
import os, sys, time
from pathlib import Path
from zoo.environments import stacks, store
def healthy(stack, python):
    with open(sys.argv[2], "a") as log:
        log.write("built\\n")
    end = time.monotonic() + 60
    while not os.path.exists(sys.argv[2] + ".ends") and time.monotonic() < end:
        time.sleep(0.02)
print(store.ensure(stacks.load("small", Path(sys.argv[1])), sys.argv[3], healthy).folder)
"""


def test_two_processes_at_once_build_once(stack: stacks.Stack, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = [sys.executable, "-c", BUILDER, str(stack.folder.parent), str(log), PLATFORM]
    variables = {**os.environ, "PYTHONPATH": str(paths.PACKAGE.parent)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": variables}
    first = subprocess.Popen(command, **pipes)
    while not log.exists():
        assert first.poll() is None, first.communicate()
        time.sleep(0.02)
    second = subprocess.Popen(command, **pipes)
    assert second.stderr is not None
    said = second.stderr.readline()
    log.with_name("log.ends").touch()
    answers = [process.communicate(timeout=60) for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], answers
    assert log.read_text() == "built\n"
    assert answers[0][0] == answers[1][0]
    assert "Another process is working on the environment of small" in said


def test_a_wrong_hash_is_refused_and_leaves_nothing(stack: stacks.Stack) -> None:
    write_lock(stack.folder, "0" * 64)
    with pytest.raises(ZooError) as caught:
        store.ensure(stack, PLATFORM, well)
    assert "hash mismatch" in caught.value.message
    assert "Output of the installer:" in caught.value.message
    assert "0" * 64 in caught.value.message
    assert left() == []


def test_libraries_that_do_not_work_leave_nothing(stack: stacks.Stack) -> None:
    with pytest.raises(ZooError, match="Illegal instruction"):
        store.ensure(stack, PLATFORM, lambda _stack, _python: "    Illegal instruction")
    assert left() == []
    assert store.ensure(stack, PLATFORM, well).build_s > 0


def test_an_interruption_leaves_nothing(stack: stacks.Stack) -> None:
    def interrupted(_stack: stacks.Stack, _python: Path) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.ensure(stack, PLATFORM, interrupted)
    assert left() == []
    assert store.ensure(stack, PLATFORM, well).build_s > 0


def test_an_interruption_stops_the_installer(stack: stacks.Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    script = paths.cache_dir() / "slow-uv"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\necho $$ > {script}.pid\necho started\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(uv_client, "command", lambda: str(script))

    def interrupt(_line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        uv_client.run(["pip", "sync"], interrupt)
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path(f"{script}.pid").read_text()), 0)


def test_what_a_killed_build_left_is_cleared_away(stack: stacks.Stack) -> None:
    folder = store.ensure(stack, PLATFORM, well).folder
    (folder / "zoo-environment.json").unlink()
    folder.rename(folder.with_name(f".{folder.name}.building"))
    (row,) = store.list_environments()
    assert (row.stack, row.state) == ("small", "its build was never finished")
    assert store.ensure(stack, PLATFORM, well).build_s > 0
    assert left() == [folder.name]


def test_no_network_and_a_cold_cache_is_said(stack: stacks.Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    with pytest.raises(ZooError) as caught:
        store.ensure(stack, PLATFORM, well)
    assert "could not be reached, and uv's cache does not contain all required files" in caught.value.message
    assert "Connect to the network" in caught.value.remedy
    assert left() == []


def test_being_told_to_stay_offline_with_a_cold_cache_is_said(
    stack: stacks.Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(
        UnreachableIndexError, match="could not be reached, and uv's cache does not contain all required files"
    ):
        store.ensure(stack, PLATFORM, well)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_args: object) -> None:
            return

    httpd = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(tmp_path / "index"))
    )
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    yield httpd
    httpd.shutdown()
    httpd.server_close()


def test_no_network_and_a_warm_cache_works(
    stack: stacks.Stack, server: http.server.ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_port}")
    store.ensure(stack, PLATFORM, well)
    server.shutdown()
    server.server_close()
    store.remove(None)
    assert store.ensure(stack, PLATFORM, well).build_s > 0


def test_the_users_mirror_is_used_and_projects_settings_are_not(stack: stacks.Stack) -> None:
    mine = {"UV_INDEX": "a", "PIP_INDEX_URL": "b", "PIP_FIND_LINKS": "c d", "SSL_CERT_FILE": "e", "HTTPS_PROXY": "f"}
    other = {"UV_EXCLUDE_NEWER": "2020-01-01", "VIRTUAL_ENV": "x", "UV_PYTHON": "3.9", "PYTHONPATH": "y"}
    assert uv_client.environment({**mine, **other}) == {
        **mine, "UV_DEFAULT_INDEX": "b", "UV_FIND_LINKS": "c,d",
    }  # fmt: skip
    assert uv_client.environment({**mine, "UV_DEFAULT_INDEX": "own"})["UV_DEFAULT_INDEX"] == "own"


def test_too_little_disk_is_said_before_anything_is_done(stack: stacks.Stack) -> None:
    with pytest.raises(ZooError, match=r"needs about 1000000000 MB; only \d+ MB are free"):
        store.ensure(dataclasses.replace(stack, size_mb=10**9), PLATFORM, well)
    larger = {PLATFORM: dataclasses.replace(stack.platforms[PLATFORM], size_mb=10**8)}
    with pytest.raises(ZooError, match="needs about 100000000 MB"):
        store.ensure(dataclasses.replace(stack, platforms=larger), PLATFORM, well)
    assert left() == []


def test_a_disk_that_fills_up_is_explained() -> None:
    words = uv_client.CompletedCommand(
        2, ["error: Failed to install: tiny", "  Caused by: No space left on device (os error 28)"]
    )
    assert uv_client.reason(words)[0] == "the disk is full"


def test_a_cache_that_cannot_be_written_is_named(
    stack: stacks.Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ZOO_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ZooError, match="Cannot write") as caught:
        store.ensure(stack, PLATFORM, well)
    assert "ZOO_CACHE" in caught.value.remedy


@pytest.mark.parametrize("small_disk", ["100m"], indirect=True)
def test_an_environment_in_a_cache_that_is_read_only_is_used(
    stack: stacks.Stack, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_CACHE", str(small_disk))
    folder = store.ensure(stack, PLATFORM, well).folder
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with store.in_use(store.ensure(stack, PLATFORM, well, thorough=True)):
        assert [row.state for row in store.list_environments()] == ["ready"]
    with pytest.raises(ZooError, match=f"Cannot remove {folder}.*: Read-only file system"):
        store.remove(None)


def test_a_platform_without_a_lock_is_refused(stack: stacks.Stack) -> None:
    with pytest.raises(NoLockError, match=f"does not support plan9-x86_64, only {PLATFORM}"):
        store.ensure(stack, "plan9-x86_64", well)


def test_an_old_python_that_is_missing_names_the_commands(stack: stacks.Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "roots", list)
    with pytest.raises(MissingInterpreterError, match=r"Python 3\.6 for \w+ is needed") as caught:
        store.ensure(dataclasses.replace(stack, python="3.6"), PLATFORM, well)
    assert "pyenv install 3.6.15" in caught.value.remedy
    assert left() == []


def test_a_python_that_cannot_be_downloaded_says_so(stack: stacks.Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreters, "roots", list)
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(paths.cache_dir() / "pythons"))
    with pytest.raises(MissingInterpreterError, match=r"Python 3\.9 for \w+ .* could not be downloaded") as caught:
        store.ensure(dataclasses.replace(stack, python="3.9"), PLATFORM, well)
    assert "uv python install 3.9" in caught.value.remedy


HARMFUL = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "KERAS_MAX_EPOCHS", "CONDA_PREFIX", "TF_USE_LEGACY_KERAS",
           "JAX_ENABLE_X64", "TF_XLA_FLAGS", "PLAIDML_SETTINGS", "ANYTHING_ELSE")  # fmt: skip
PASSED_ON = (
    "CUDA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "LC_ALL",
    "GLIBC_TUNABLES",
    "https_proxy",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "OF_MINE",
)


def test_a_worker_gets_the_variables_of_a_list_and_no_others(
    stack: stacks.Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in HARMFUL + PASSED_ON:
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setenv("ZOO_WORKER_ENV", "OF_MINE, NOT_SET")
    variables = store.child_environment(stack, {"EXTRA": "1", "TF_CPP_MIN_LOG_LEVEL": "0"})
    assert not set(HARMFUL) & set(variables)
    assert {variables[name] for name in PASSED_ON} == {"x"}
    assert variables["KERAS_BACKEND"] == "tensorflow"
    assert variables["GLIBC_TUNABLES"] == "x", "the user's own, not the zoo's"
    assert (variables["EXTRA"], variables["TF_CPP_MIN_LOG_LEVEL"], variables["PYTHONNOUSERSITE"]) == ("1", "0", "1")


def test_a_worker_reads_no_settings_in_the_home_of_the_user(stack: stacks.Stack) -> None:
    variables = store.child_environment(stack)
    for name in ("HOME", "KERAS_HOME"):
        assert Path(variables[name]).is_relative_to(paths.cache_dir())
    assert Path(variables["HOME"]).is_dir()


def test_a_worker_that_fails_its_probe_is_quoted(
    stack: stacks.Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = tmp_path / "worker.py"
    monkeypatch.setattr(paths, "WORKER", worker)
    worker.write_text("import sys, json; json.load(open(sys.argv[1])); sys.exit('undefined symbol: zap')")
    assert "undefined symbol: zap" in (store.health_check(stack, Path(sys.executable)) or "")
    worker.write_text("import sys, json; assert json.load(open(sys.argv[1]))['verb'] == 'probe'")
    assert store.health_check(stack, Path(sys.executable)) is None
    worker.write_text("import time; time.sleep(60)")
    monkeypatch.setattr(store, "HEALTH_S", 0.3)
    assert "did not answer" in (store.health_check(stack, Path(sys.executable)) or "")


def test_environments_are_listed_and_removed(stack: stacks.Stack) -> None:
    assert store.list_environments() == []
    assert store.remove(None) == []
    with pytest.raises(ZooError, match="No environment is stored there"):
        store.remove(["small"])
    folder = store.ensure(stack, PLATFORM, well).folder
    (row,) = store.list_environments()
    assert (row.folder, row.stack, row.state) == (folder, "small", "ready")
    assert row.size_bytes > 1000
    assert row.created[:10] == row.last_used[:10]
    with pytest.raises(ZooError, match="did you mean 'small'"):
        store.remove(["smal"])
    assert folder.is_dir()
    assert store.remove(["small"]) == [folder]
    assert left() == []


def test_an_environment_of_ones_own_is_compared_and_not_changed(stack: stacks.Stack, tmp_path: Path) -> None:
    own = store.ensure(stack, PLATFORM, well)
    copy = tmp_path / "own"
    shutil.copytree(own.folder, copy, symlinks=True)
    environment, notes = store.inspect_own(copy / "bin" / "python", stack)
    assert notes == []
    assert environment.versions == {"Tiny": "1.0"}
    assert environment.python == copy / "bin" / "python"
    assert store.inspect_own(copy, stack) == (environment, notes)
    write_lock(stack.folder, "0" * 64)
    lock = stack.folder / f"{PLATFORM}.lock"
    lock.write_text(lock.read_text().replace("1.0", "1.1") + "numpy==2.0 \\\n    --hash=sha256:00\n")
    _, notes = store.inspect_own(copy, dataclasses.replace(stack, python="3.6"))
    assert [note for note in notes if "Python is" not in note] == [
        "tiny is 1.0; the lock has 1.1",
        "numpy 2.0 is missing",
    ]
    assert f"Python is {own.python_version}; the stack is made for 3.6" in notes


def test_what_is_no_python_is_refused(stack: stacks.Stack, tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="There is no Python at"):
        store.inspect_own(tmp_path / "nothing", stack)
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho not me >&2\nexit 3\n")
    script.chmod(0o755)
    with pytest.raises(ZooError, match="does not work as a Python: not me"):
        store.inspect_own(script, stack)


@pytest.mark.old
@pytest.mark.parametrize("interpreter", interpreters.survey()[0], ids=lambda interpreter: interpreter.version)
def test_every_python_of_this_machine_lists_what_it_holds(
    stack: stacks.Stack, interpreter: interpreters.Interpreter
) -> None:
    environment, notes = store.inspect_own(interpreter.path, stack)
    assert environment.python_version == interpreter.version
    assert "tiny 1.0 is missing" in notes


@pytest.mark.stacks
@pytest.mark.parametrize("name", stacks.names())
def test_the_real_environments_are_built_and_work(name: str) -> None:
    """In the user's own cache: the other tests work in the same environments, and building them takes a while."""
    stack, built = real_stacks.environment(name)
    assert built.python_version.startswith(f"{stack.python}.")
    installed = {canonicalize_name(name): version for name, version in built.versions.items()}
    assert installed == stacks.pins(built.lock)
    assert store.ensure(stack, PLATFORM, lambda *_: "checked twice").build_s == 0
    assert store.inspect_own(built.python, stack)[1] == []
    (size,) = [row.size_bytes / 1e6 for row in store.list_environments() if row.folder == built.folder]
    stated = stack.platforms[PLATFORM].size_mb or stack.size_mb
    assert 0.5 * stated < size < stated, "size_mb should be a little more than it takes"
