"""Become a process of a training run on another machine: python -m zoo.execution.member FOLDER RANK THREADS

The environment of the run's stack is built first if it is missing on this machine.
"""

import os
import sys
from pathlib import Path

from zoo.core import console
from zoo.core.errors import ZooError
from zoo.environments import machine, stacks, store
from zoo.execution.process_group import thread_variables
from zoo.protocol.variables import RANK, WATCH_HOST
from zoo.runs.records import RunRecord


def main(words: list[str]) -> None:
    """Replace this process with a worker; ``words`` are the shared run folder, the rank and the number of threads."""
    folder, rank, threads = Path(words[0]), words[1], int(words[2])
    try:
        record = RunRecord.from_untrusted(folder)
        stack = stacks.load(str(record.stack["name"]))
        environment = store.ensure(stack, machine.probe().platform)
    except ZooError as error:
        console.say(f"Process {rank} cannot start on {os.uname().nodename}: {error.message} {error.remedy}")
        sys.exit(1)
    variables = {**store.child_environment(stack), **thread_variables(threads), RANK: rank}
    if WATCH_HOST in os.environ:
        variables[WATCH_HOST] = os.environ[WATCH_HOST]
    command = store.worker_command(environment.python, folder / "request.json")
    os.chdir(folder)
    os.execve(command[0], command, variables)  # noqa: S606  (the program is the environment's own)


if __name__ == "__main__":
    main(sys.argv[1:])
