"""zoo.execution.execution: what a worker is asked for, and what is recorded of its answer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zoo.config.schemas.common import Settings
from zoo.config.schemas.image_classification import TrainConfig
from zoo.core.errors import ZooError
from zoo.execution import execution, process_group
from zoo.execution.launchers import Command
from zoo.execution.worker_process import Outcome
from zoo.protocol.events import DeviceProof, DoneEvent, ErrorEvent, StartEvent
from zoo.protocol.request import DistributedPart
from zoo.runs.records import RunRecord


def environment(**versions: str) -> Any:
    return SimpleNamespace(versions=versions, folder=Path("/envs/slate-1"))


@pytest.mark.parametrize(
    ("imported", "refused"),
    [
        ({"keras": "3.1"}, False),
        ({"torch": "2.1+cpu"}, False),
        ({"Typing_Extensions": "4"}, False),
        ({"unknown": "9"}, False),
        ({"keras": "3.2"}, True),
        ({"torch": "2.2+cu12"}, True),
        ({"typing_extensions": "5"}, True),
    ],
)
def test_libraries_are_those_of_the_lock(imported: dict[str, str], refused: bool) -> None:
    built = environment(keras="3.1", torch="2.1+cu12", **{"typing-extensions": "4"})
    if not refused:
        execution._refuse_other_versions(built, imported)
        return
    with pytest.raises(
        ZooError, match=r"The environment slate-1 was changed: .* was imported, but its lock has"
    ) as caught:
        execution._refuse_other_versions(built, imported)
    assert caught.value.remedy == "Build it again: python -m zoo env remove slate-1"


def context(settings: Settings, cores: int = 10, **more: Any) -> Any:
    here, choice = SimpleNamespace(cores=cores), SimpleNamespace(backend=SimpleNamespace(name="cpu"))
    known = {"settings": settings, "machine": here, "choice": choice, "record": RunRecord(), "previous": RunRecord()}
    return SimpleNamespace(**known | more)


def training(launcher: str = "local", **distributed: Any) -> TrainConfig:
    settings = TrainConfig()
    settings.launcher.name = launcher
    for name, value in distributed.items():
        setattr(settings.distributed, name, value)
    return settings


@pytest.mark.parametrize(
    ("distributed", "threads", "host"),
    [
        ({"processes": 3}, 3, "127.0.0.1"),
        ({"processes": 20}, 1, "127.0.0.1"),
        ({"processes": 3, "threads": 7}, 7, "127.0.0.1"),
        ({"processes": 5, "nodes": 2, "launcher": "ssh"}, 3, None),
    ],
)
def test_processes_share_the_cores_of_their_machine(
    distributed: dict[str, Any], threads: int, host: str | None
) -> None:
    meeting = execution._meeting(context(training(**distributed)))
    assert meeting is not None
    assert (meeting.processes, meeting.threads, meeting.host) == (distributed["processes"], threads, host)
    assert meeting.nodes == distributed.get("nodes", 1)


def test_one_process_needs_no_meeting_and_other_machines_need_a_launcher() -> None:
    assert execution._meeting(context(training())) is None
    assert execution._meeting(context(Settings())) is None
    with pytest.raises(ZooError, match=r"distributed\.nodes=2 needs other machines, but launcher is local"):
        execution._meeting(context(training(processes=2, nodes=2)))


DEVICE = DeviceProof(name="CPU:0", device_kind="cpu", proof="matmul")


def recorded(outcome: Outcome, **previous: Any) -> RunRecord:
    run = context(Settings(), previous=RunRecord.from_json(previous))
    run.record.phases = {"environment_s": 1.0}
    execution._record(run, environment(keras="3.1", numpy="2"), outcome)
    record: RunRecord = run.record
    return record


def test_a_finished_worker_is_recorded() -> None:
    start = StartEvent(versions={"keras": "3.2"}, device=DEVICE, probes=[{"ok": True}], processes={"engine": "x"})
    done = DoneEvent(metrics={"loss": 0.5}, phases={"train_s": 1.23456}, processes={"rows": 2}, peak_memory_bytes=7)
    record = recorded(Outcome(start=start, done=done), phases={"train_s": 2.0, "save_s": 9.0})
    assert (record.exit, record.metrics, record.peak_memory_bytes) == ("completed", {"loss": 0.5}, 7)
    assert record.versions == {"keras": "3.2", "numpy": "2"}
    assert record.phases == {"environment_s": 1.0, "train_s": 3.2346}
    assert (record.probes, record.processes) == ([{"ok": True}], {"engine": "x", "rows": 2})
    assert record.device is not None
    assert record.device["name"] == "CPU:0"
    assert record.get("stopped") is None


@pytest.mark.parametrize(
    ("outcome", "exit_state", "stopped"),
    [
        (Outcome(), "failed", None),
        (Outcome(interrupted=True), "interrupted", None),
        (Outcome(done=DoneEvent(metrics={}, phases={}, stopped="interrupted")), "interrupted", "interrupted"),
        (Outcome(done=DoneEvent(metrics={}, phases={}, stopped="max_minutes")), "completed", "max_minutes"),
        (Outcome(done=DoneEvent(metrics={}, phases={}), interrupted=True), "interrupted", None),
    ],
)
def test_how_a_worker_ended_is_recorded(outcome: Outcome, exit_state: str, stopped: str | None) -> None:
    record = recorded(outcome)
    assert (record.exit, record.get("stopped"), record.device, record.probes) == (exit_state, stopped, None, None)
    assert record.versions == {"keras": "3.1", "numpy": "2"}


def test_a_model_has_the_arguments_of_its_settings_and_of_the_data(tmp_path: Path) -> None:
    row = {"name": "m", "about": "x", "units": 3, "target": {"kind": "number", "scale": 2.0}, "saved": "/m.keras"}
    part = execution.requested_model(row, tmp_path, {"classes": 2})
    assert (part.name, part.saved, part.target and part.target.scale) == ("m", "/m.keras", 2.0)
    assert {"units": 3, "classes": 2}.items() <= part.args.items()
    assert "about" not in part.args
    part = execution.requested_model({"name": "m", "args": {"a": 1}}, tmp_path)
    assert (part.args, part.target, part.file) == ({"a": 1}, None, None)


def test_a_damaged_environment_is_named_unless_the_worker_said_what_was_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution.store, "damage", lambda _folder: "numpy/x.py is missing")
    run = context(Settings(), folder=tmp_path)
    run.record.stack = {"environment": "/envs/slate-1"}
    for finished in (Outcome(done=DoneEvent(metrics={}, phases={})), Outcome(interrupted=True)):
        execution.raise_if_failed(run, finished)
    with pytest.raises(ZooError) as caught:
        execution.raise_if_failed(run, Outcome(returncode=1))
    assert caught.value.message.startswith(
        "The environment /envs/slate-1 is damaged: numpy/x.py is missing. The worker"
    )
    assert caught.value.remedy.startswith(
        "Remove it, and the next run builds it again: python -m zoo env remove slate-1"
    )
    with pytest.raises(ZooError) as caught:
        execution.raise_if_failed(run, Outcome(error=ErrorEvent(type="UserError", message="no data")))
    assert caught.value.message == "The worker stopped: no data"


class Elsewhere:
    """An executor that keeps what is submitted."""

    places = ("a", "b")

    def __init__(self) -> None:
        self.submitted: list[tuple[Command, str]] = []

    def submit(self, command: Command, place: str) -> Any:
        self.submitted.append((command, place))
        return SimpleNamespace(is_running=lambda: False, wait=lambda: 0)


@pytest.mark.parametrize(
    ("processes", "nodes", "expected"),
    [(3, 1, ["here"] * 3), (4, 2, ["here", "here", "a", "a"]), (5, 3, ["here", "here", "a", "a", "b"]),
     (4, 4, ["here", "a", "b", "a"])],
)  # fmt: skip
def test_processes_are_placed_by_their_rank(tmp_path: Path, processes: int, nodes: int, expected: list[str]) -> None:
    here: list[dict[str, str]] = []
    launcher: Any = SimpleNamespace(start=lambda command, env, cwd, stdin, lock: here.append(env))
    other: Any = Elsewhere()
    starter = process_group.Starter(launcher, ["w"], {"A": "1"}, tmp_path, None, other if nodes > 1 else None)
    meeting = DistributedPart(processes=processes, threads=2, host=None, port=None, join_s=1.0, nodes=nodes, id="x")
    places = []
    for rank in range(processes):
        before = len(here)
        starter.start(rank, meeting, stdin=False)
        places.append("here" if len(here) > before else other.submitted[-1][1])
    assert places == expected
    assert [env["ZOO_RANK"] for env in here] == [str(rank) for rank in range(len(here))]
    assert {env["OMP_NUM_THREADS"] for env in here} == {"2"}
    words = [command.words[1:] for command, _ in other.submitted]
    ranks = range(len(here), processes)
    assert words == [["-P", "-m", "zoo.execution.member", str(tmp_path), str(rank), "2"] for rank in ranks]
