"""scripts/link_check.py on made-up stacks, whose wheels are made here."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from scripts.linking import elf, linux, system, wheels
from tests.support import scripts, stack_files
from tests.support.machos import macho
from zoo.cli import catalogue
from zoo.core import download, paths
from zoo.core.errors import ZooError
from zoo.environments import stacks, uv_client

SYSTEM = "/usr/lib/libSystem.B.dylib"
ROW = stack_files.text("""\
  linux-x86_64: {requirements: ["alpha==1.0"], devices: [cpu]}
  macos-arm64: {requirements: ["alpha==1.0"], devices: [cpu, metal], minimum_os: "12.0"}""")
LOCK = "# made up\nalpha==1.0 \\\n    --hash=sha256:00\n"
FACTS = f"\narm64 {SYSTEM}\nlooked at 12.0 26.0\n12.0-26.0 (itself) _malloc\n26.0-26.0 _new\n"
GOOD = macho(libraries=[SYSTEM], imports=[("_malloc", 1)])
BAD = macho(libraries=[SYSTEM], imports=[("_new", 1)])
CONTROL = {"tensorflow-plugins/libmetal_plugin.dylib": macho(libraries=["@rpath/gone.dylib"])}


@pytest.fixture
def link_check() -> ModuleType:
    module: ModuleType = scripts.load("link_check")
    return module


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the only stack there is."""
    folder = tmp_path / "stacks" / "mine"
    folder.mkdir(parents=True)
    (folder / "stack.yaml").write_text(ROW)
    for platform in ("macos-arm64", "linux-x86_64"):
        (folder / f"{platform}.lock").write_text(LOCK)
    monkeypatch.setattr(paths, "STACKS", folder.parent)
    (tmp_path / "facts.txt").write_text(FACTS)
    monkeypatch.setattr(system, "read", lambda read=system.read: read(tmp_path / "facts.txt"))
    return folder


Run = Callable[..., int]


@pytest.fixture
def run(link_check: ModuleType, stack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command with these files in the wheels of the stack, and these in those of the controls."""

    def of(files: Mapping[str, bytes], control: Mapping[str, bytes] = CONTROL, *arguments: str) -> int:
        def unpack(lock: Path, triple: str, python: str, variables: Any, folder: Path, sources: Path) -> list:
            assert (triple, len(variables["MACOSX_DEPLOYMENT_TARGET"])) == ("aarch64-apple-darwin", 4)
            laid = files if lock.is_relative_to(stack) else control
            if lock.is_relative_to(stack):
                laid = {**laid, "alpha-1.0.dist-info/METADATA": b"Name: alpha\nVersion: 1.0\n\n"}
            for name, data in laid.items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            return []

        monkeypatch.setattr(wheels, "unpack", unpack)
        code: int = link_check.main([*arguments, "--cache", str(tmp_path / "cache")])
        return code

    return of


def test_a_lock_that_loads_gets_evidence_with_its_hash(
    run: Run, stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run({"alpha/mod.so": GOOD}) == 0
    said = capsys.readouterr().out
    assert "| mine | macos-arm64 | 12.0 | 1 | 1 | 1 | 2 | 0 | 0 | loads |" in said
    assert "| mine | macos-arm64 | 26.0 |" in said
    assert said.count("control: ") == 2
    rows = json.loads((stack / "linked.json").read_text())
    assert set(rows) == {"macos-arm64"}
    (evidence,) = stacks.load("mine").evidence
    assert (evidence.grade, evidence.platform, evidence.device) == ("linked", "macos-arm64", "cpu, metal")
    assert "on macOS 12.0 and 26.0: 1 packages, 1 Mach-O files, 1 bound symbols; " in evidence.what
    assert "0 of 2 on 12.0, 0 of 2 on 26.0; nothing was run" in evidence.what
    assert evidence.source.startswith("python scripts/link_check.py mine, 20")
    (row,) = catalogue.stack_rows()
    assert row["evidence"] == f"linked: {evidence.what} (macos-arm64)"
    assert evidence.what.startswith("nothing that its files need")


def test_evidence_of_another_lock_is_shown_as_such(run: Run, stack: Path) -> None:
    assert run({"alpha/mod.so": GOOD}) == 0
    (stack / "macos-arm64.lock").write_text(LOCK.replace("1.0", "1.1"))
    (evidence,) = stacks.load("mine").evidence
    assert evidence.grade == "linked (stale)"
    assert catalogue.stack_rows()[0]["evidence"].startswith("linked (stale): ")
    (stack / "macos-arm64.lock").unlink()
    assert stacks.load("mine").evidence[0].grade == "linked (stale)"


def test_a_lock_that_does_not_load_loses_its_evidence(
    run: Run, stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run({"alpha/mod.so": GOOD}) == 0
    assert run({"alpha/mod.so": BAD}, CONTROL, "mine") == 1
    said = capsys.readouterr().out
    assert f"    alpha/mod.so: symbol not found: _new in {SYSTEM} of macOS 12.0" in said
    assert "1 locks do not load" in said
    assert not (stack / "linked.json").exists()
    assert stacks.load("mine").evidence == []


def test_a_control_that_passes_ends_the_run(
    run: Run, stack: Path, capsys: pytest.CaptureFixture[str], link_check: ModuleType
) -> None:
    assert run({"alpha/mod.so": GOOD}, {"tensorflow-plugins/libmetal_plugin.dylib": GOOD}) == link_check.UNSOUND == 2
    assert "TensorFlow 2.21.0, tensorflow-metal 1.2.0 does not load on any Mac" in capsys.readouterr().err
    assert not (stack / "linked.json").exists()


def test_metadata_that_do_not_fit_are_a_problem(run: Run, stack: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = b"Name: alpha\nVersion: 1.0\nRequires-Python: <3.11\nRequires-Dist: beta\n\n"
    assert run({"alpha/mod.so": GOOD, "beta-1.dist-info/METADATA": bad.replace(b"alpha", b"beta")}) == 1
    said = capsys.readouterr().out
    assert "    beta: needs Python <3.11" in said
    assert "    beta: version 1.0, the lock has None" in said


def test_harmless_problems_are_excused_with_a_reason(link_check: ModuleType) -> None:
    problems, excused = link_check.sort_out(
        [
            ("torch/_dl.cpython-310-darwin.so", "built for x86_64"),
            ("torch/_dl.cpython-310-darwin.so", "code signature: missing"),
            ("other/_dl.so", "built for x86_64"),
        ]
    )
    assert problems == [
        ("torch/_dl.cpython-310-darwin.so", "code signature: missing"),
        ("other/_dl.so", "built for x86_64"),
    ]
    assert excused == [f"torch/_dl.cpython-310-darwin.so: built for x86_64 ({link_check.HARMLESS[1].reason})"]


def test_an_unknown_stack_is_refused(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run({}, CONTROL, "other") != 0
    assert "There is no stack called 'other'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[]", "expected keys and values"),
        ('{"macos-x86_64": {}}', "macos-x86_64.lock_sha256: missing"),
        ('{"macos-arm64": {"device": "cpu"}}', "macos-arm64.lock_sha256: missing"),
        ('{"macos-arm64": 3}', "macos-arm64: expected keys and values, got 3"),
        ("{", "cannot be read"),
    ],
)
def test_a_malformed_file_of_evidence_is_named(stack: Path, text: str, part: str) -> None:
    (stack / "linked.json").write_text(text)
    with pytest.raises(ZooError) as caught:
        stacks.load("mine")
    assert part in str(caught.value)
    assert "linked.json" in str(caught.value)


# -- wheels


PYLOCK = """
[[packages]]
name = "alpha"
version = "1.0"
wheels = [{{ url = "https://host/alpha-1.0-py3-none-any.whl", hashes = {{ sha256 = "00" }} }}]

[[packages]]
name = "old-one"
version = "2.0"
{sdist}
"""
TWO = LOCK + "old-one==2.0 \\\n    --hash=sha256:11\n"


@pytest.fixture
def unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[list, str, dict]]:
    """Unpack a lock of two packages with a made-up uv; the answer has what the second call of uv was given."""

    def of(sdist: str) -> tuple[list, str, dict]:
        given: dict[str, Any] = {}

        def run(arguments: list[str], extra: Mapping[str, str]) -> uv_client.CompletedCommand:
            if arguments[1] == "compile":
                Path(arguments[arguments.index("-o") + 1]).write_text(PYLOCK.format(sdist=sdist))
            else:
                given.update(arguments=arguments, extra=extra, text=Path(arguments[-1]).read_text())
            return uv_client.CompletedCommand(0, [])

        monkeypatch.setattr(uv_client, "run", run)
        monkeypatch.setattr(download, "fetch", lambda name, urls, sha256, folder, size: folder / name)
        lock = tmp_path / "a.lock"
        lock.write_text(TWO)
        rows = wheels.unpack(lock, "triple", "3.8", {"MACOSX_DEPLOYMENT_TARGET": "12.0"}, tmp_path / "e-1.0", tmp_path)
        return rows, given["text"], given

    return of


def test_wheels_are_unpacked_with_their_hashes_and_sources_are_only_downloaded(
    unpacked: Callable, tmp_path: Path
) -> None:
    sources, text, given = unpacked('sdist = { url = "https://host/old-one-2.0.tar.gz", hashes = { sha256 = "11" } }')
    assert sources == [wheels.Source("old-one", "2.0", tmp_path / "old-one-2.0.tar.gz")]
    assert text == LOCK.rstrip()
    assert {"--require-hashes", "--only-binary", "triple", "3.8"} <= set(given["arguments"])
    assert given["extra"] == {"MACOSX_DEPLOYMENT_TARGET": "12.0"}


@pytest.mark.parametrize(
    ("sdist", "part"),
    [
        ("", "old-one 2.0 has neither a wheel for this platform nor sources"),
        ('sdist = { url = "https://host/a.tar.gz", hashes = { sha256 = "22" } }', "are not those of the lock"),
    ],
)
def test_what_cannot_be_had_with_its_hash_is_refused(unpacked: Callable, sdist: str, part: str) -> None:
    with pytest.raises(ZooError, match=part):
        unpacked(sdist)


def test_what_uv_cannot_do_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = uv_client.CompletedCommand(1, ["error: hash mismatch"])
    monkeypatch.setattr(uv_client, "run", lambda arguments, extra: failed)
    (tmp_path / "a.lock").write_text(LOCK)
    with pytest.raises(ZooError, match="differs from the one in the lock"):
        wheels.unpack(tmp_path / "a.lock", "triple", "3.8", {}, tmp_path / "e", tmp_path)


CUDA = stack_files.text("""\
  linux-x86_64: {requirements: ["alpha==1.0"], devices: [cuda], minimum_compute: "8.0", maximum_compute: "9.0"}""")


@pytest.mark.parametrize(("code", "status"), [([80, 90], 0), ([90], 1)])
def test_a_lock_with_cuda_must_have_code_for_the_gpus_that_it_promises(
    link_check: ModuleType, stack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], code: list[int], status: int,
) -> None:  # fmt: skip
    (stack / "stack.yaml").write_text(CUDA)
    image = elf.Image("x86_64", needed=["libc.so.6"], versions={"libc.so.6": ["GLIBC_2.28"]}, cubins=code)
    wheel = linux.Wheel("alpha", "manylinux_2_28_x86_64.whl", {"alpha/mod.so": image})
    monkeypatch.setattr(linux, "wheels", lambda lock, triple, python, cache: iter([wheel]))
    assert link_check.main(["--cache", str(tmp_path / "cache")]) == status
    said = capsys.readouterr().out
    assert "control" not in said  # those are for macOS
    if status:
        assert "alpha/mod.so: no code for compute capability 8.0, 8.9" in said
        assert not (stack / "linked.json").exists()
    else:
        row = json.loads((stack / "linked.json").read_text())["linux-x86_64"]
        assert row["device"] == "cuda"
        assert "glibc 2.28" in row["what"]
        assert "Blackwell (RTX 50) (12.0): 1 none" in row["what"]
