"""Execute commands on a list of hosts, with the installed and configured OpenSSH.

A command monitors its standard input and stops cleanly when it is closed, which also happens when the connection or
this process ends.
"""

import contextlib
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from zoo.config.schemas.launching import LauncherSettings
from zoo.core.errors import ZooError
from zoo.core.paths import user_path
from zoo.execution.launchers import Command, Executor, Job, commands
from zoo.protocol.variables import WATCH_HOST

# Disable prompts, and detect a lost host within a minute.
OPTIONS = ["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "ServerAliveInterval=15",
           "-o", "ServerAliveCountMax=3"]  # fmt: skip
# OpenSSH's exit status for a failed connection.
UNREACHABLE = 255
# Seconds before an unreachable host is tried again.
REST_S = 60.0


@dataclass
class Host:
    """A host of the list.

    Attributes:
        name: name of the host for ssh.
        jobs: number of simultaneous commands.
        python: interpreter on the host; None means the same path as on this machine.
        running: commands that run on the host.
        rests_until: end of the pause after a failed connection, in monotonic seconds.
    """

    name: str
    jobs: int = 1
    python: str | None = None
    running: list["SshJob"] = field(default_factory=list)
    rests_until: float = 0.0

    def is_free(self) -> bool:
        self.running = [job for job in self.running if job.is_running()]
        return len(self.running) < self.jobs


class SshJob(subprocess.Popen[bytes]):
    """A command on another host, as the local process of ssh."""

    def __init__(self, host: Host, words: list[str], log: IO[bytes]) -> None:
        super().__init__(words, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
        self._host, self.ticket, self.place = host, f"{host.name} {self.pid}", host.name

    def is_running(self) -> bool:
        return self.poll() is None

    def interrupt(self) -> None:
        """Close the standard input, which the command treats like SIGTERM."""
        if self.stdin:
            with contextlib.suppress(BrokenPipeError):
                self.stdin.close()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the command; return its exit status, or 255 if the connection failed."""
        status = super().wait(timeout)
        self.interrupt()
        if status == UNREACHABLE:
            self._host.rests_until = time.monotonic() + REST_S
        return status


class SshExecutor(Executor):
    def __init__(self, hosts: list[Host], settings: LauncherSettings) -> None:
        self._hosts, self._settings = hosts, settings
        room = sum(host.jobs for host in hosts)
        self.jobs = min(room, settings.jobs or room)
        self.places = [host.name for host in hosts]

    def submit(self, command: Command, place: str | None = None) -> Job:
        """Start a command on the named host, or on a free host, preferably one without recent connection errors."""
        now, hosts = time.monotonic(), [each for each in self._hosts if place in (None, each.name)]
        host = min(hosts, key=lambda host: (not host.is_free(), host.rests_until > now, len(host.running)))
        remote = shlex.join(["sh", "-c", _script(command, host.python or self._settings.python)])
        words = ["ssh", *OPTIONS, *self._settings.options, host.name, remote]
        try:
            with commands.open_log(command.log) as log:
                job = SshJob(host, words, log)
        except OSError as error:
            raise ZooError(f"Cannot start ssh: {error.strerror or error}", "Install OpenSSH.") from error
        host.running.append(job)
        return job


def _script(command: Command, python: str | None) -> str:
    words = [python or command.words[0], *command.words[1:]]
    variables = {**command.variables, WATCH_HOST: "0"}
    pairs = [f"{name}={value}" for name, value in variables.items()]
    return f"cd {shlex.quote(str(command.folder))} && exec {shlex.join(['env', *pairs, *words])}"


def read_hosts(entries: list[str]) -> list[Host]:
    """Read a list of hosts: names, or the path of a file with a host per line."""
    if len(entries) == 1 and user_path(entries[0]).is_file():
        text = user_path(entries[0]).read_text(encoding="utf-8", errors="replace")
        lines = enumerate((line.partition("#")[0].strip() for line in text.splitlines()), 1)
        hosts = [_host(line, f"line {number} of {entries[0]}") for number, line in lines if line]
    else:
        hosts = [_host(entry, repr(entry)) for entry in entries if entry]
    if not hosts:
        raise ZooError("launcher=ssh has no hosts", "Give launcher.hosts=[mac1,mac2] or launcher.hosts=FILE.")
    twice = {host.name for host in hosts if [each.name for each in hosts].count(host.name) > 1}
    if twice:
        raise ZooError(f"launcher.hosts names {min(twice)} twice", f"Write: {min(twice)} jobs=2, in a file of hosts.")
    return hosts


def _host(entry: str, shown: str) -> Host:
    try:
        name, *rest = shlex.split(entry)
    except ValueError:  # a quotation mark without its counterpart, or nothing
        name, rest = "", []
    settings = dict(word.partition("=")[::2] for word in rest)
    jobs = settings.pop("jobs", "1")
    python = settings.pop("python", None)
    if settings or not re.fullmatch(r"[1-9]\d{0,3}", jobs) or not re.fullmatch(r"[\w.@:%\[\]][\w.@:%\[\]-]*", name):
        raise ZooError(f"Cannot read {shown} as a host", "Write: NAME, or NAME jobs=2 python=PATH")
    return Host(name, int(jobs), python)


@contextlib.contextmanager
def opened(settings: LauncherSettings, folder: Path) -> Iterator[SshExecutor]:
    if shutil.which("ssh") is None:
        raise ZooError("launcher=ssh needs the program ssh", "Install OpenSSH: apt install openssh-client")
    hosts = read_hosts(settings.hosts)
    try:
        yield SshExecutor(hosts, settings)
    finally:
        for job in [job for host in hosts for job in host.running]:
            job.interrupt()
