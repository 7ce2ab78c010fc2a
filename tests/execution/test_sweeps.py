"""Sweeps: every element once, whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support import CHECKOUT, real_stacks
from zoo.cli.main import main
from zoo.config import hydra_words
from zoo.config.overrides import Overrides
from zoo.core.errors import ZooError
from zoo.execution import launchers
from zoo.execution.launchers import slurm, ssh
from zoo.execution.sweeps import attempts, drive, record, table
from zoo.execution.sweeps.record import Element, Sweep
from zoo.protocol.variables import WATCH_HOST
from zoo.runs import event_log, lock

FAST = ["model=mnist_dense", "data=digits", "backend=cpu", "backend.probes=false", "trainer.epochs=2"]


class Job:
    """A job of an engine that pretends: it ends when it is asked whether it runs."""

    def __init__(self, ticket: str, status: int | BaseException = 0) -> None:
        self.ticket, self.place, self.status, self.ended = ticket, "node1", status, ""

    def is_running(self) -> bool:
        if isinstance(self.status, BaseException) and not self.ended:
            raise self.status
        return False

    def interrupt(self) -> None:
        self.ended = "interrupted"

    def kill(self) -> None:
        self.ended = "killed"

    def wait(self) -> int:
        return 0 if isinstance(self.status, BaseException) else self.status


class Engine:
    """An engine that pretends; each command ends as ``does`` says, given its name and how often it was begun."""

    jobs: int | None = None

    def __init__(self, sweep: Sweep, does: Any) -> None:
        self.places, self._sweep, self._does = ["node1"], sweep, does
        self.begun: list[str] = []
        self.left: dict[str, Job] = {}

    def submit(self, command: Any, place: str | None = None) -> Job:
        self.begun.append(command.name)
        if command.name.startswith("prepare"):
            return Job("0")
        status = self._does(command.name, self.begun.count(command.name))
        if status == 0:
            finish(self._sweep, command.name)
        elif isinstance(status, int) and status != 1:
            finish(self._sweep, command.name, "failed")
        return Job(f"{command.name}-{len(self.begun)}", status)

    def find(self, ticket: str) -> Job | None:
        return self.left.get(ticket)


def finish(sweep: Sweep, name: str, how: str = "completed") -> None:
    folder = sweep.folder / name
    folder.mkdir(exist_ok=True)
    content = {"format": 1, "verb": "train", "exit": how, "metrics": {"test_accuracy": 0.5}, "seconds": 1.0}
    (folder / "run.json").write_text(json.dumps(content))


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweep:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(drive, "POLL_S", 0.0)
    return created("train", ["data=digits", "seed=1,2,3", "output.name=s", "launcher=slurm"])


def created(verb: str, words: list[str]) -> Sweep:
    overrides = Overrides.parse(words)
    return record.create(verb, overrides, record.elements_of(record.separate(overrides)[1]))


def run(sweep: Sweep, engine: Engine, retries: int = 2) -> drive.Progress:
    return drive.drive(sweep, engine, "slurm", retries, lambda _: None)


def test_a_sweep_is_written_and_read_as_it_was(sweep: Sweep) -> None:
    assert record.load(sweep.folder) == sweep
    assert [each.name for each in sweep.elements] == ["001", "002", "003"]
    assert sweep.elements[1] == Element("002", ["data=digits", "seed=2"], ["seed=2"])
    assert sweep.launcher == ["launcher=slurm"]


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"verb": 1}', '{"format": 1, "verb": "train", "started": "", "launcher": [], "elements": '
                '[{"name": "../x", "words": [], "chosen": []}]}'],
)  # fmt: skip
def test_a_damaged_sweep_is_refused(sweep: Sweep, content: str) -> None:
    (sweep.folder / record.RECORD).write_text(content)
    with pytest.raises(ZooError):
        record.load(sweep.folder)


def test_every_element_runs_once_after_its_environment(sweep: Sweep) -> None:
    engine = Engine(sweep, lambda *_: 0)
    run(sweep, engine)
    assert engine.begun == ["prepare-1-1", "001", "002", "003"]
    assert not sweep.missing()
    assert sweep.places() == dict.fromkeys(["001", "002", "003"], "node1")


def test_an_element_that_fails_is_tried_again_as_often_as_the_settings_say(sweep: Sweep) -> None:
    engine = Engine(sweep, lambda name, number: 9 if name == "002" and number < 3 else 0)
    progress = run(sweep, engine)
    assert engine.begun.count("002") == 3
    assert progress.failures["002"] == 2
    assert not sweep.missing()


def test_a_canceled_job_is_not_started_again(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    engine = Engine(sweep, lambda name, _: launchers.CANCELED if name == "002" else 0)
    progress = run(sweep, engine)
    assert engine.begun.count("002") == 1
    assert "002: the job was canceled and is not started again" in capsys.readouterr().err
    assert [row[2] for row in table.rows(sweep, progress)] == ["completed", "canceled", "completed"]


@pytest.mark.parametrize(("state", "status"), [("CANCELLED", launchers.CANCELED), ("NODE_FAIL", slurm.LOST)])
def test_slurm_says_whether_a_job_was_canceled(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, state: str, status: int
) -> None:
    (pretending / "bin").mkdir()
    for name, answer in (("squeue", ""), ("scontrol", f"echo JobId=7 JobName=zoo JobState={state} Reason=None")):
        (pretending / "bin" / name).write_text(f"#!/bin/sh\n{answer}\n")
        (pretending / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(pretending / "bin"), prepend=os.pathsep)
    monkeypatch.setattr(slurm, "RESULT_S", 0.0)
    paths = SimpleNamespace(result_pickle=pretending / "none")
    assert slurm.SlurmJob(slurm.Queue(), SimpleNamespace(job_id="7", paths=paths)).wait() == status


def test_an_element_that_keeps_failing_does_not_stop_the_others(sweep: Sweep) -> None:
    engine = Engine(sweep, lambda name, _: 9 if name == "001" else 0)
    run(sweep, engine, retries=1)
    assert engine.begun.count("001") == 2
    assert [each.name for each in sweep.missing()] == ["001"]


def test_settings_that_were_refused_before_anything_began_are_not_tried_again(sweep: Sweep) -> None:
    engine = Engine(sweep, lambda name, _: 1 if name == "001" else 0)
    run(sweep, engine)
    assert engine.begun.count("001") == 1


def test_what_is_complete_is_not_run_again(sweep: Sweep) -> None:
    finish(sweep, "002")
    finish(sweep, "003", "interrupted")
    engine = Engine(sweep, lambda *_: 0)
    run(sweep, engine)
    assert engine.begun == ["prepare-1-1", "001", "003"]


def test_a_job_that_an_earlier_process_left_is_followed_and_not_submitted_again(sweep: Sweep) -> None:
    sweep.note(sweep.elements[0], launcher="slurm", ticket="77")
    engine = Engine(sweep, lambda *_: 0)
    engine.left["77"] = Job("77")
    finish(sweep, "001", "running")

    def ends(*_: object) -> None:
        finish(sweep, "001")

    drive.drive(sweep, engine, "slurm", 0, ends)
    assert "001" not in engine.begun[:2]


def test_a_run_that_is_still_being_written_is_waited_for(sweep: Sweep) -> None:
    finish(sweep, "001", "running")
    handle = lock.take(sweep.folder / "001", ["x"])
    looks: list[int] = []

    def released(_: object) -> None:
        looks.append(1)
        if len(looks) == 3:
            finish(sweep, "001")
            lock.release(handle)

    engine = Engine(sweep, lambda *_: 0)
    drive.drive(sweep, engine, "slurm", 0, released)
    assert "001" not in engine.begun


def test_ctrl_c_cancels_what_waits_and_stops_what_runs(sweep: Sweep) -> None:
    jobs: list[Job] = []
    engine = Engine(sweep, lambda name, _: KeyboardInterrupt() if name == "003" else 0)
    submit = engine.submit

    def remembered(command: Any, place: str | None = None) -> Job:
        jobs.append(submit(command, place))
        return jobs[-1]

    engine.submit = remembered  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run(sweep, engine)
    assert jobs[-1].ended == "interrupted"


def test_an_environment_that_cannot_be_built_stops_the_sweep_with_its_words(sweep: Sweep) -> None:
    class Broken(Engine):
        def submit(self, command: Any, place: str | None = None) -> Job:
            command.log.parent.mkdir(exist_ok=True)
            command.log.write_text("noise\nerror: no network\nConnect.\n")
            return Job("1", 1)

    with pytest.raises(ZooError, match="on node1: no network"):
        run(sweep, Broken(sweep, None))


def test_other_verbs_begin_each_attempt_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = created("infer", ["run=x", "batch_size=1,2", "output.name=s"])
    element = sweep.elements[0]
    assert "output.name=001" in attempts.settings(sweep, element)
    finish(sweep, "001", "failed")
    assert "output.name=001_2" in attempts.settings(sweep, element)
    (sweep.folder / "001_2").mkdir()  # killed before it had written anything
    assert "output.name=001_3" in attempts.settings(sweep, element)
    finish(sweep, "001_3")
    assert sweep.is_complete(element)


def test_environments_are_prepared_once_for_each_kind() -> None:
    elements = [Element(str(seed), [f"stack={stack}", f"seed={seed}"]) for seed in (1, 2) for stack in ("a", "b")]
    wanted = attempts.preparations("train", elements)
    assert sorted(words[1] for words in wanted) == ["stack=a", "stack=b"]
    assert all(words[-1] == "--prepare" for words in wanted)


# -- the command line, with a worker that pretends


def test_a_sweep_goes_on_with_what_is_missing_and_is_compared(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAKE_WORKER", "killed")
    words = ["train", "-m", "data=digits", "seed=1,2", "output.name=s", "launcher.retries=1"]
    assert main(words) == 1
    folder = pretending / "runs" / "s"
    runs = [json.loads((folder / name / "run.json").read_text()) for name in ("001", "002")]
    assert [len(run["interruptions"]) for run in runs] == [1, 1]
    monkeypatch.setenv("FAKE_WORKER", "ok")
    assert main(["train", f"resume={folder}"]) == 0
    assert main(["train", f"resume={folder}"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("completed") == 4
    runs = [json.loads((folder / name / "run.json").read_text()) for name in ("001", "002")]
    assert [run["exit"] for run in runs] == ["completed", "completed"]
    assert [len(run["interruptions"]) for run in runs] == [2, 2]
    assert main(["report", str(folder)]) == 0
    assert "2 runs compared" in (folder / "report.html").read_text()


@pytest.mark.parametrize("words", ["-m resume=r seed=1,2", "-m --dry-run resume=r seed=1", "resume=r launcher=ssh"])
def test_a_new_sweep_resumes_no_run(pretending: Path, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "data=digits", *words.split()]) == 1
    assert "continues one run on this machine" in capsys.readouterr().err
    assert not (pretending / "runs").exists()


def test_a_sweep_keeps_its_settings(pretending: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "-m", "data=digits", "seed=1,2", "output.name=s"]) == 0
    assert main(["train", "resume=runs/s", "seed=3"]) == 1
    assert "Cannot resume this sweep" in capsys.readouterr().err
    assert main(["infer", "resume=runs/s"]) == 1
    assert "a sweep of `train`" in capsys.readouterr().err


def test_what_a_strangers_sweep_names_outside_of_it_has_to_be_given_again(
    pretending: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "-m", "data=digits", "seed=1,2", "output.name=s"]) == 0
    path = pretending / "runs" / "s" / record.RECORD
    content = json.loads(path.read_text())
    content["elements"][0]["words"].append("backend.python=/tmp/evil")
    content["launcher"] = ["launcher=ssh", "launcher.options=[-oProxyCommand=evil]"]
    path.write_text(json.dumps(content))
    assert main(["train", "resume=runs/s"]) == 1
    assert "Give again what you trust" in capsys.readouterr().err
    content["elements"][0]["words"].pop()
    path.write_text(json.dumps(content))
    assert main(["train", "resume=runs/s"]) == 0
    assert "Not taken from the sweep's record: launcher.options" in capsys.readouterr().err


def test_mistakes_in_any_element_come_before_anything_is_done(
    pretending: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "-m", "data=digits", "trainer.epochs=1,-2"]) == 1
    assert "trainer.epochs" in capsys.readouterr().err
    assert main(["train", "-m", "data=digits", "seed=1,2", "launcher=slrum"]) == 1
    assert "did you mean 'slurm'" in capsys.readouterr().err
    assert not (pretending / "runs").exists()


def test_resume_auto_begins_goes_on_and_leaves_alone(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "data=digits", "output.name=r", "resume=auto"]
    monkeypatch.setenv("FAKE_WORKER", "killed")
    assert main(words) == 1
    monkeypatch.setenv("FAKE_WORKER", "ok")
    assert main(words) == 0
    before = (pretending / "runs" / "r" / "run.json").read_bytes()
    assert main(words) == 0
    assert "is complete" in capsys.readouterr().err
    assert (pretending / "runs" / "r" / "run.json").read_bytes() == before
    assert main(["train", "data=digits", "resume=auto"]) == 1
    assert "output.name" in capsys.readouterr().err


def test_resume_auto_takes_a_folder_in_which_nothing_began_for_new(pretending: Path) -> None:
    folder = pretending / "runs" / "r"
    folder.mkdir(parents=True)
    for name in (".lock", "config.yaml", ".run.json.4711.part"):  # of a host killed while it wrote its first record
        (folder / name).write_text("")
    assert main(["train", "data=digits", "output.name=r", "resume=auto"]) == 0
    (pretending / "runs" / "mine").mkdir()
    (pretending / "runs" / "mine" / "notes.txt").write_text("mine")
    assert main(["train", "data=digits", "output.name=mine", "resume=auto"]) == 1
    assert (pretending / "runs" / "mine" / "notes.txt").read_text() == "mine"


# -- words of others


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("hydra/launcher=submitit_slurm", "launcher=slurm"),
        ("hydra/launcher=joblib", "launcher=local"),
        ("+hydra.launcher.partition=gpu", "launcher.partition=gpu"),
        ("hydra.launcher.timeout_min=60", "launcher.minutes=60"),
        ("hydra.sweep.dir=out", "output.root=out"),
        ("seed=1", "seed=1"),
    ],
)
def test_words_of_hydra_are_understood(given: str, meant: str) -> None:
    assert hydra_words.translated(given) == meant


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("hydra/launcher=dask", "launcher=ssh"),
        ("hydra/sweeper=optuna", "zoo tune"),
        ("hydra.job.chdir=true", "help launcher"),
    ],
)
def test_other_words_of_hydra_are_answered(given: str, words: str) -> None:
    with pytest.raises(ZooError) as error:
        hydra_words.translated(given)
    assert words in str(error.value)


def test_hosts_are_read_from_names_and_from_a_file(tmp_path: Path) -> None:
    assert [host.name for host in ssh.read_hosts(["mac1", "me@mac2"])] == ["mac1", "me@mac2"]
    file = tmp_path / "macs.txt"
    file.write_text("# the row\nmac1 jobs=2\n\nmac2 python='/opt/my zoo/bin/python'\n")
    first, second = ssh.read_hosts([str(file)])
    assert (first.jobs, second.python) == (2, "/opt/my zoo/bin/python")


@pytest.mark.parametrize(
    "entries", [[], ["-oProxyCommand=evil"], ["mac jobs=0"], ["mac speed=9"], ["a", "a"], ["a 'b"], ["''"]]
)
def test_hosts_that_cannot_be_meant_are_refused(entries: list[str]) -> None:
    with pytest.raises(ZooError):
        ssh.read_hosts(entries)


def test_lines_of_a_file_of_hosts_are_not_shown(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# mine\nmac\nroot:secret:20000\nsecret='\n")
    with pytest.raises(ZooError, match="line 4 of ") as caught:
        ssh.read_hosts([str(tmp_path / "hosts")])
    assert "secret" not in str(caught.value)


def test_without_its_library_an_engine_says_how_to_get_it(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library, name in (("submitit", "slurm"), ("ray", "ray")):
        monkeypatch.setitem(sys.modules, library, None)
        assert main(["train", "data=digits", f"launcher={name}", f"output.name={name}"]) == 1
        assert f"[{name}]" in capsys.readouterr().err
    assert not list((pretending / "runs").iterdir())


def test_a_sweep_that_no_engine_takes_leaves_no_folder(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert main(["train", "-m", "data=digits", "seed=1,2,3", "launcher=slurm"]) == 1
    assert "Slurm is not available" in capsys.readouterr().err
    assert not list((pretending / "runs").iterdir())


def test_a_host_that_cannot_be_reached_is_named(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (pretending / "bin").mkdir()
    (pretending / "bin" / "ssh").write_text(
        "#!/bin/sh\ntest -e there && echo 'No route to host' >&2 && exit 255\ntouch there\n"
    )
    (pretending / "bin" / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(pretending / "bin"), prepend=os.pathsep)
    words = ["launcher=ssh", "launcher.hosts=[mac1]", "launcher.retries=0", "output.name=far"]
    assert main(["train", "-m", "data=digits", "seed=1,2", *words]) == 1
    assert "mac1 cannot be reached: No route to host" in capsys.readouterr().err


# -- real processes


def test_a_command_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    child = (
        "import time; from zoo.core import processes; processes.end_with_starter(); "
        "print('up', flush=True); time.sleep(60)"
    )
    parent = (
        "import sys, time; from pathlib import Path; from zoo.execution.launchers import Command, commands\n"
        f"command = Command('x', [sys.executable, '-c', {child!r}], Path.cwd(), Path({str(tmp_path / 'log')!r}))\n"
        "job = commands.start(command)\n"
        "print(job.ticket, flush=True); time.sleep(60)"
    )
    variables = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    starter = subprocess.Popen([sys.executable, "-c", parent], stdout=subprocess.PIPE, text=True, env=variables)
    assert starter.stdout is not None
    pid = int(starter.stdout.readline())
    wait_for(lambda: (tmp_path / "log").read_text() == "up\n")
    starter.kill()
    starter.wait()
    starter.stdout.close()
    wait_for(lambda: not is_alive(pid))
    assert WATCH_HOST not in os.environ


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(happens: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.stacks("tf-1.8")
def test_a_sweep_that_is_killed_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    real_stacks.environment("tf-1.8")
    variables = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    zoo = [sys.executable, "-m", "zoo", "train"]
    words = [*FAST, "stack=tf-1.8", "output.name=s", "launcher.jobs=2"]
    begun = subprocess.Popen([*zoo, "-m", *words, "seed=1,2,3"], cwd=tmp_path, env=variables, stderr=subprocess.DEVNULL)
    folder = tmp_path / "runs" / "s"
    wait_for(lambda: any(folder.glob("00?/events.jsonl")))
    begun.send_signal(signal.SIGKILL)
    begun.wait()
    assert subprocess.run([*zoo, f"resume={folder}"], cwd=tmp_path, env=variables, check=False).returncode == 0
    runs = [json.loads((folder / name / "run.json").read_text()) for name in ("001", "002", "003")]
    assert [run["exit"] for run in runs] == ["completed"] * 3
    assert {path.name for path in folder.glob("0*")} == {"001", "002", "003"}


# -- the table


def running(sweep: Sweep, *names: str) -> drive.Progress:
    progress = drive.Progress(running={name: Job(name) for name in names})
    progress.waiting.extend(each for each in sweep.elements if each.name not in names)
    return progress


def test_the_table_reads_again_only_what_changed(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs that wait, are complete, or stand still, nothing is read twice; of events what was added."""
    for name in ("001", "002"):
        finish(sweep, name)
    finish(sweep, "003", "running")
    log = sweep.folder / "003" / "events.jsonl"
    log.write_text("".join(json.dumps({"event": "epoch", "epoch": epoch, "epochs": 9}) + "\n" for epoch in (1, 2)))
    handle, known, reads = lock.take(sweep.folder / "003", ["x"]), table.Followed(sweep), []
    run_of, parse = Sweep.run_of, event_log.parse
    monkeypatch.setattr(Sweep, "run_of", lambda self, each: reads.append(each.name) or run_of(self, each))
    monkeypatch.setattr(event_log, "parse", lambda line: reads.append("event") or parse(line))
    progress = running(sweep, "002", "003")
    assert table.rows(sweep, progress, known)[2][4] == "epoch 2/9"
    assert reads == ["001", "002", "003", "event", "event"]
    reads.clear()
    for _ in range(3):
        table.rows(sweep, progress, known)
    assert not reads
    with log.open("a") as out:
        out.write(json.dumps({"event": "epoch", "epoch": 3, "epochs": 9}) + '\n{"event": "ep')
    assert table.rows(sweep, progress, known)[2][4] == "epoch 3/9"
    assert reads == ["event"]
    lock.release(handle)
    finish(sweep, "003")
    assert table.rows(sweep, progress, known)[2][2] == "completed"
    assert reads == ["event", "003"]


def test_runs_that_differ_in_their_seed_have_a_mean_and_the_best_is_marked(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    sweep = created("train", ["data=digits", "seed=1,2", "trainer.batch_size=32,64", f"output.root={tmp_path}"])
    assert table.over_seeds(sweep) == []
    for element, accuracy in zip(sweep.elements, (0.9, 0.5, 0.7, 0.6), strict=True):
        finish(sweep, element.name)
        path = sweep.folder / element.name / "run.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "metrics": {"test_accuracy": accuracy}}))
    assert table.over_seeds(sweep) == [
        ["trainer.batch_size=32", "2", "test_accuracy 0.8000", "0.1414", "best"],
        ["trainer.batch_size=64", "2", "test_accuracy 0.5500", "0.0707", ""],
    ]


def test_a_run_whose_process_was_killed_is_not_shown_as_running(sweep: Sweep) -> None:
    known = table.Followed(sweep)
    finish(sweep, "001", "running")
    handle = lock.take(sweep.folder / "001", ["x"])
    assert table.rows(sweep, running(sweep, "001"), known)[0][2] == "running"
    lock.release(handle)
    assert table.rows(sweep, drive.Progress(), known)[0][2] == "killed"


def test_the_table_is_drawn_at_a_pace_that_a_slow_disk_bears_and_at_the_end(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, drawn = [100.0], []

    def slow(*_: object) -> list[list[str]]:
        now[0] += 2.0
        return []

    monkeypatch.setattr(table, "rows", slow)
    monkeypatch.setattr(table.time, "monotonic", lambda: now[0])
    shown = table.Shown(sweep, drawn.append)
    for _ in range(60):
        shown(running(sweep, "001"))
        now[0] += 0.25
    assert len(drawn) == 1  # 2 s of looking, then 20 s of rest
    shown(drive.Progress())
    assert len(drawn) == 2
