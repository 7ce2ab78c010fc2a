"""`certify` as on Macs that nobody has at hand: the rehearsal of tests/environments, with every kind of failure."""

import zipfile
from pathlib import Path

import pytest

from scripts.maintenance.evidence import intake
from tests.environments.test_rehearsal import Mac
from zoo.certification.results import FAILED, PASSED, SKIPPED, Certification

pytestmark = pytest.mark.slow


@pytest.fixture
def m1(tmp_path: Path) -> Mac:
    return Mac("m1", "arm64", tmp_path)


def certified(mac: Mac, worker: str = "ok", *words: str) -> tuple[Certification, str]:
    """Certify with a worker that pretends; return what the archive holds, and all that was printed."""
    code, shown = mac.zoo("certify", "--quick", "backend=metal", *words, worker=worker)
    assert code == 1, shown
    (archive,) = mac.folder.glob("evidence-apple-m1-8gb-*.zip")
    with zipfile.ZipFile(archive) as file:
        content = "".join(file.read(name).decode() for name in file.namelist())
    assert "Été à la mer" not in content
    assert str(mac.folder.resolve()) not in content
    return intake.read(archive).state, shown


def states(state: Certification) -> dict[str, str]:
    return {row.step: row.state for row in state.steps}


def test_a_whole_quick_certification(m1: Mac) -> None:
    """The losses of the worker that pretends are no golden ones: wrong numbers, as a fused kernel would make them."""
    state, shown = certified(m1)
    assert [(place.backend, place.stack, place.device_kind) for place in state.places] == [("metal", "tf-2.19", "gpu")]
    ended = states(state)
    for name in ("environment", "device", "train mnist_dense", "golden", "matmul", "resume", "device again"):
        assert ended[name] == PASSED, shown
    for name in ("first epoch of mnist_dense", "first epoch of mobilenet"):
        assert ended[name] == FAILED
    assert "the losses differ from the golden values" in shown
    assert "left)" in shown


@pytest.mark.parametrize(
    ("worker", "issue"), [("plugin", "metal-tf220-pywrap"), ("wrong", "metal-fused-dense-relu-wrong")]
)
def test_a_device_that_does_not_work_is_explained_and_nothing_more_is_tried(m1: Mac, worker: str, issue: str) -> None:
    state, _ = certified(m1, worker)
    device = next(row for row in state.steps if row.step == "device")
    assert (device.state, device.issues[:1]) == (FAILED, [issue])
    assert {row.state for row in state.steps[2:]} == {SKIPPED}
    (page,) = m1.folder.glob("evidence-*.html")
    assert issue in page.read_text(encoding="utf-8")


def test_a_mac_without_memory_fails_in_the_trainings_only(m1: Mac) -> None:
    state, _ = certified(m1, "starved")
    ended = states(state)
    assert ended["train mnist_dense"] == FAILED
    assert "no memory left" in next(row for row in state.steps if row.step == "train mnist_dense").problem
    assert (ended["device"], ended["golden"], ended["matmul"]) == (PASSED, PASSED, PASSED)


def test_a_laptop_on_battery_is_told_and_certified_all_the_same(m1: Mac) -> None:
    tool = Path(m1.variables["PATH"].split(":")[0]) / "pmset"
    tool.write_text("#!/bin/sh\nprintf \"Now drawing from 'Battery Power'\\n -x (id=1)\\t81%%; discharging;\\n\"\n")
    tool.chmod(0o755)
    state, shown = certified(m1, "plugin", "--on-battery")
    assert "This machine is on battery, charged to 81 %" in shown
    assert state.power == "on battery, charged to 81 %"


def test_every_backend_of_a_mac_is_planned(tmp_path: Path) -> None:
    code, shown = Mac("m4", "arm64", tmp_path).zoo("certify", "--list", "--quick")
    assert code == 0
    titles = [line.split(",")[0].strip() for line in shown.splitlines() if ", about " in line]
    assert titles[0] == "mps with torch"
    assert {"metal with tf-2.19", "jax with jax-mps", "cpu with tf-2.21"} <= set(titles)


def test_a_mac_on_which_nothing_works_is_told_why(tmp_path: Path) -> None:
    code, shown = Mac("m1_macos_11", "arm64", tmp_path).zoo("certify", "--quick")
    assert code == 1
    assert "Traceback" not in shown
    assert "No backend works on this machine" in shown
