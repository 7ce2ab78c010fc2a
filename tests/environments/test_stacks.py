"""The rows and locks of the stacks, and what is said of malformed ones."""

import datetime
import json
import re
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from tests.support import stack_files
from zoo.core import paths
from zoo.core.errors import ZooError
from zoo.core.files import file_sha256
from zoo.environments import stacks
from zoo.protocol.request import StackPart

LOCKS = [(stack, platform) for stack in stacks.load_all() for platform in stack.platforms]

ROW = stack_files.text(
    '  linux-x86_64: {requirements: ["tensorflow==2.21.0"], devices: [cpu]}',
    env="{KERAS_BACKEND: tensorflow}",
    evidence='\n  - {grade: measured, platform: linux-x86_64, device: cpu, what: "trained", source: "a run"}',
)


def write(root: Path, text: str, name: str = "mine") -> Path:
    folder = root / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "stack.yaml").write_text(text)
    return root


def complaint(root: Path, text: str) -> str:
    with pytest.raises(ZooError) as caught:
        stacks.load("mine", write(root, text))
    return str(caught.value)


def test_a_row_is_read_whole(tmp_path: Path) -> None:
    stack = stacks.load("mine", write(tmp_path, ROW))
    assert (stack.name, stack.framework, stack.python, stack.trains) == ("mine", "tensorflow", "3.12", True)
    assert stack.env == {"KERAS_BACKEND": "tensorflow"}
    assert stack.platforms["linux-x86_64"].devices == ["cpu"]
    assert stack.platforms["linux-x86_64"].stand_in_for is None
    assert stack.evidence[0].grade == "measured"
    assert stack.folder == tmp_path / "mine"
    assert not stack.source_builds
    assert stack.requested == StackPart(framework="tensorflow", keras="keras")


def test_what_the_files_of_a_lock_show_counts_until_the_lock_changes(tmp_path: Path) -> None:
    lock = write(tmp_path, ROW) / "mine" / "linux-x86_64.lock"
    lock.write_text("tensorflow==2.21.0\n")
    row = {"lock_sha256": file_sha256(lock), "device": "cpu", "what": "all names found", "source": "link_check.py"}
    linked = tmp_path / "mine" / stacks.LINKED_FILE
    linked.write_text(json.dumps({"linux-x86_64": row}))
    expected = stacks.Evidence(stacks.LINKED, "linux-x86_64", "cpu", "all names found", "link_check.py")
    assert stacks.load("mine", tmp_path).evidence[1:] == [expected]
    lock.write_text("tensorflow==2.21.1\n")
    assert stacks.load("mine", tmp_path).evidence[1].grade == stacks.LINKED_STALE
    lock.unlink()
    assert stacks.load("mine", tmp_path).evidence[1].grade == stacks.LINKED_STALE
    linked.write_text(json.dumps({"linux-x86_64": {**row, "what": 3}}))
    with pytest.raises(ZooError, match=rf"The file {linked} is malformed:\n.*linux-x86_64\.what: expected text"):
        stacks.load("mine", tmp_path)


def test_an_unknown_stack_names_the_valid_ones_and_the_nearest() -> None:
    with pytest.raises(ZooError, match=r"did you mean 'tf-2\.21'") as caught:
        stacks.load("tf-2.2l")
    assert all(name in caught.value.remedy for name in stacks.names()[:10])
    assert f"and {len(stacks.names()) - 10} more" in caught.value.remedy


def test_all_problems_of_a_row_come_at_once(tmp_path: Path) -> None:
    text = ROW.replace("about:", "abuot:").replace('"3.12"', "3.12").replace("trains: true", "trains: 1")
    words = complaint(tmp_path, text.replace("devices: [cpu]", "devices: cpu").replace("grade: measured, ", ""))
    for part in ("abuot: unknown key; did you mean 'about'?", "about: missing", "python: expected text (in quotes)",
                 "trains: expected true or false, got 1", "platforms.linux-x86_64.devices: expected a list",
                 "evidence.0.grade: missing", "stack.yaml"):  # fmt: skip
        assert part in words


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("evidence:\n", "evidence: no\nwhatever:\n", "evidence: expected a list"),
        ("{KERAS_BACKEND: tensorflow}", "{A: 2}", "env.A: expected text (in quotes), got 2"),
        ("  linux-x86_64: {req", "  linux-x86_64: 3\n  macos-arm64: {req", "platforms.linux-x86_64: expected keys"),
    ],
)
def test_what_is_wrong_with_a_row_is_said(tmp_path: Path, old: str, new: str, part: str) -> None:
    assert old in ROW
    assert part in complaint(tmp_path, ROW.replace(old, new))


@pytest.mark.parametrize("name", stacks.names())
def test_no_lock_holds_a_pair_that_cannot_work(name: str) -> None:
    for platform in stacks.load(name).platforms:
        pinned = stacks.pins(stacks.lock_file(stacks.load(name), platform))
        if "tensorflow-metal" in pinned:
            tensorflow = pinned.get("tensorflow", pinned.get("tensorflow-macos", ""))
            assert tuple(map(int, tensorflow.split(".")[:2])) < (2, 20)
            assert tuple(map(int, pinned.get("keras", "0.0").split(".")[:2])) < (3, 7)


def test_a_file_that_is_no_yaml_or_no_mapping_is_named(tmp_path: Path) -> None:
    assert "cannot be read" in complaint(tmp_path, "a: [")
    assert "expected keys and values, got [" in complaint(tmp_path, "- a")
    assert str(tmp_path / "mine" / "stack.yaml") in complaint(tmp_path, "")


def test_a_platform_without_a_lock_names_those_it_has() -> None:
    with pytest.raises(ZooError, match="does not support macos-arm64, only linux-x86_64, macos-x86_64"):
        stacks.lock_file(stacks.load("plaidml-0.7"), "macos-arm64")


def test_a_missing_lock_names_the_command_that_makes_it(tmp_path: Path) -> None:
    stack = stacks.load("mine", write(tmp_path, ROW))
    with pytest.raises(ZooError, match=r"lock\.py mine --platform linux-x86_64"):
        stacks.lock_file(stack, "linux-x86_64")


def test_pins_are_read_by_normal_name(tmp_path: Path) -> None:
    lock = tmp_path / "x.lock"
    lock.write_text("# a==1\nNum_Py==1.2 \\\n    --hash=sha256:00\nsix==1.16.0 ; python_version < '4' \\\n")
    assert stacks.pins(lock) == {"num-py": "1.2", "six": "1.16.0"}


def test_every_folder_is_a_stack_that_loads() -> None:
    folders = sorted(folder.name for folder in paths.STACKS.iterdir() if folder.is_dir())
    assert folders == stacks.names() == [stack.name for stack in stacks.load_all()]


def test_no_lock_lies_about_without_its_row() -> None:
    declared = {stack.folder / f"{platform}.lock" for stack, platform in LOCKS}
    assert set(paths.STACKS.glob("*/*.lock")) == declared


@pytest.mark.parametrize(("stack", "platform"), LOCKS, ids=[f"{s.name}-{p}" for s, p in LOCKS])
def test_locks_are_complete(stack: stacks.Stack, platform: str) -> None:
    """Every requirement pinned and hashed, no address, dated as the row says, and all that was asked for is in."""
    text = stacks.lock_file(stack, platform).read_text()
    assert text.splitlines()[0] == f"# {stack.name} for {platform}, Python {stack.python}, as of {stack.exclude_newer}."
    assert f"python scripts/lock.py {stack.name} --platform {platform}" in text.splitlines()[1]
    assert "://" not in text
    assert datetime.date.fromisoformat(stack.exclude_newer) < datetime.date.today()
    entries = re.split(r"\n(?=\S)", "\n".join(text.splitlines()[2:]).strip())
    for entry in entries:
        assert re.match(r"[a-z0-9-]+==[\w.+!]+( ; [^\n]+)? \\\n(    --hash=sha256:[0-9a-f]{64}( \\\n|$))+$", entry), (
            entry
        )
    pinned = stacks.pins(stacks.lock_file(stack, platform))
    for wanted in stack.platforms[platform].requirements:
        name, exact = re.match(r"([\w.-]+)(?:==([\w.+!]+))?", wanted).groups()
        assert canonicalize_name(name) in pinned
        assert exact in (None, pinned[canonicalize_name(name)])
    assert not set(stack.omit) & pinned.keys()


@pytest.mark.parametrize("stack", stacks.load_all(), ids=lambda stack: stack.name)
def test_rows_tell_what_they_stand_on(stack: stacks.Stack) -> None:
    runs_in_ci = any({"cpu", "plaidml"} & set(row.devices) for row in stack.platforms.values())
    assert stack.evidence or not runs_in_ci, "a stack that could be run here and was not is a guess"
    for row in stack.evidence:
        assert len(row.what) > 15, "say what was seen"
        assert len(row.source) > 10, "say who saw it, and when"
        stands_in = stack.platforms[row.platform].stand_in_for is not None
        assert (row.grade == "stand-in") == (stands_in and row.device == "cpu"), row


def test_threads_of_torch_do_not_spin_for_long_beside_other_work() -> None:
    """Of builds for Linux, whose OpenMP is GNU's: 100,000 already costs the same as the default there."""
    linux = [stack for stack in stacks.load_all() if stack.framework == "torch" and "linux-x86_64" in stack.platforms]
    assert {"torch", "torch-2.2", "torch-cuda"} <= {stack.name for stack in linux}
    assert {stack.env["GOMP_SPINCOUNT"] for stack in linux} == {"10000"}
