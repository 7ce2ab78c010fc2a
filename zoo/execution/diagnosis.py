"""Diagnose a worker that did not finish: exit status, end of the log, known issues."""

import signal
import textwrap
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.execution.worker_process import Outcome
from zoo.explain import known_issues
from zoo.protocol.events import ERROR_KINDS, GROUP_BROKEN, OUT_OF_MEMORY

# Number of lines at the end of the log that report an uncaught C++ exception.
CPP_ERROR_LINES = 3


def log_tail(folder: Path, lines: int = 20) -> str:
    path = folder / "worker.log"
    if not path.is_file():
        return ""
    with path.open("rb") as source:
        source.seek(max(0, path.stat().st_size - 65_536))
        text = source.read().decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-lines:])


def ran_out_of_memory(outcome: Outcome, folder: Path) -> bool:
    """Return True if a worker ran out of memory: it reported so, was killed by the system, or aborted in C++."""
    if outcome.done or outcome.interrupted or outcome.silent_s:
        return False
    if outcome.error:
        return outcome.error.type == OUT_OF_MEMORY
    return outcome.returncode == -signal.SIGKILL or (
        outcome.returncode < 0 and "bad_alloc" in log_tail(folder, CPP_ERROR_LINES)
    )


def failure(outcome: Outcome, folder: Path, backend: str) -> ZooError:
    """Return the error of a worker that did not finish, with the end of its log and matching known issues."""
    tail, log = log_tail(folder), folder / "worker.log"
    # Connection errors in the log are a consequence of the ended process.
    text = "" if outcome.failed_with(GROUP_BROKEN) else tail
    findings = [finding for finding in known_issues.explain(text, backend) if finding.effect != "harmless"]
    rendered = [known_issues.render(findings)] if findings else []
    of_probes = {row.get("issue") for row in (outcome.start and outcome.start.probes) or []}
    rendered += [
        f"{issue.id}: {issue.cause}\n  what to do: {issue.remedy} {issue.command}\n  source: {issue.source}"
        for issue in known_issues.issues()
        if issue.id in of_probes
    ]
    known = "".join(f"{text}\n" for text in rendered)
    ending = _ending(outcome, folder)
    if outcome.failed_with(*ERROR_KINDS):
        return ZooError(ending, f"{known}The unfinished run and its log are in {folder}.")
    return ZooError(ending, f"{known}The end of {log}:\n{textwrap.indent(tail, '  | ')}")


def _ending(outcome: Outcome, folder: Path) -> str:
    if outcome.error:
        return f"The worker stopped: {outcome.error.message}"
    if outcome.silent_s:
        return (
            f"The worker did not respond for {outcome.silent_s / 60:.1f} minutes and was ended. Its device or"
            " driver hangs, or a step takes longer than trainer.hang_minutes allows"
        )
    if outcome.returncode < 0:
        name = signal.Signals(-outcome.returncode).name
        often = "often by the system, out of memory" if name == "SIGKILL" else "out of memory"
        why = f" ({often}: try a smaller batch)" if ran_out_of_memory(outcome, folder) else ""
        return f"The worker was killed by {name}{why}"
    return f"{outcome.process} ended with status {outcome.returncode} without an error message".capitalize()
