"""zoo.execution.launchers.ssh: commands go to hosts that are free and can be reached."""

from pathlib import Path
from typing import IO, Any

import pytest

from zoo.config.schemas.launching import LauncherSettings
from zoo.execution.launchers import Command, ssh


class Job:
    """A command on a host, which runs until a test says otherwise."""

    def __init__(self, host: ssh.Host, words: list[str], _log: IO[bytes]) -> None:
        self.host, self.words, self.running = host, words, True

    def is_running(self) -> bool:
        return self.running


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    clock = [1000.0]
    monkeypatch.setattr(ssh.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(ssh, "SshJob", Job)
    return clock


def command(folder: Path) -> Command:
    return Command("a", ["/here/python", "-m", "zoo", "a b"], folder / "it's", folder / "log", {"A": "1"})


def submitted(executor: ssh.SshExecutor, folder: Path, place: str | None = None) -> Any:
    return executor.submit(command(folder), place)


def test_a_command_takes_the_free_host_with_the_fewest(clock: list[float], tmp_path: Path) -> None:
    hosts = [ssh.Host("a", 2), ssh.Host("b", 1)]
    executor = ssh.SshExecutor(hosts, LauncherSettings())
    assert (executor.jobs, executor.places) == (3, ["a", "b"])
    jobs = [submitted(executor, tmp_path) for _ in range(3)]
    assert [job.host.name for job in jobs] == ["a", "b", "a"]
    jobs[0].running = False
    assert submitted(executor, tmp_path).host.name == "a"
    jobs[1].running = False
    assert submitted(executor, tmp_path).host.name == "b"
    assert submitted(executor, tmp_path, "b").host.name == "b"


def test_a_host_that_could_not_be_reached_rests(clock: list[float], tmp_path: Path) -> None:
    hosts = [ssh.Host("a", 2), ssh.Host("b", 2)]
    executor = ssh.SshExecutor(hosts, LauncherSettings())
    hosts[0].rests_until = 1000.5
    assert submitted(executor, tmp_path).host.name == "b"
    assert submitted(executor, tmp_path).host.name == "b"
    assert submitted(executor, tmp_path).host.name == "a"  # the only one that is free
    clock[0] = 1000.5
    assert submitted(executor, tmp_path, "a").host.name == "a"


@pytest.mark.parametrize(("jobs", "expected"), [(None, 3), (2, 2), (9, 3)])
def test_no_more_commands_run_than_hosts_and_settings_allow(jobs: int | None, expected: int) -> None:
    executor = ssh.SshExecutor([ssh.Host("a", 2), ssh.Host("b")], LauncherSettings(jobs=jobs))
    assert executor.jobs == expected


@pytest.mark.parametrize(("host", "settings", "python"), [(None, None, "/here/python"), (None, "/set", "/set"),
                                                          ("/host", "/set", "/host")])  # fmt: skip
def test_the_words_of_ssh(
    clock: list[float], tmp_path: Path, host: str | None, settings: str | None, python: str
) -> None:
    wanted = LauncherSettings(python=settings, options=["-p", "2222"])
    executor = ssh.SshExecutor([ssh.Host("a", python=host)], wanted)
    words = submitted(executor, tmp_path).words
    assert words[0] == "ssh"
    assert words[len(ssh.OPTIONS) + 1 : -1] == ["-p", "2222", "a"]
    script = f"cd '{tmp_path}/it'\"'\"'s' && exec env A=1 ZOO_WATCH_HOST=0 {python} -m zoo 'a b'"
    assert ssh._script(command(tmp_path), host or settings) == script
    assert words[-1].startswith("sh -c ")


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("a", ssh.Host("a")), ("me@a.example.org jobs=12 python='/b c/python'",
                               ssh.Host("me@a.example.org", 12, "/b c/python")),
        ("[::1]", ssh.Host("[::1]")),
    ],
)  # fmt: skip
def test_a_host_may_have_jobs_and_an_interpreter(entry: str, expected: ssh.Host) -> None:
    assert ssh.read_hosts([entry]) == [expected]
