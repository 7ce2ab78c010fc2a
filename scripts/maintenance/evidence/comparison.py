"""How two machines differ, from their archives of evidence."""

from scripts.maintenance.evidence.intake import Evidence
from zoo.certification.results import StepResult

# Ratios nearer to one than this are the noise of a measurement.
NOISE = 0.1


def differences(one: Evidence, other: Evidence) -> list[list[str]]:
    """Return rows for :data:`COLUMNS`: what both have and where they differ, steps that only one has included."""
    rows = [["machine", one.state.machine, other.state.machine, ""]] if one.state.machine != other.state.machine else []
    for name in ("platform", "commit", "mode", "power"):
        values = str(getattr(one.state, name)), str(getattr(other.state, name))
        rows += [[name, *values, ""]] if values[0] != values[1] else []
    for stack in sorted(one.locks.keys() | other.locks.keys()):
        locks = one.locks.get(stack, "none"), other.locks.get(stack, "none")
        rows += [[f"lock of {stack}", locks[0][:12], locks[1][:12], ""]] if locks[0] != locks[1] else []
    return [*rows, *_step_rows(one, other)]


COLUMNS = ["what", "first", "second", "second/first"]


def _step_rows(one: Evidence, other: Evidence) -> list[list[str]]:
    first, second = ({_key(row): row for row in each.state.steps} for each in (one, other))
    rows = []
    for key in dict.fromkeys([*first, *second]):
        left, right = first.get(key), second.get(key)
        if left is None or right is None:
            rows.append([key, left.state if left else "not there", right.state if right else "not there", ""])
            continue
        if left.state != right.state:
            rows.append([key, _outcome(left), _outcome(right), ""])
        rows += _figure_rows(key, left, right)
    return rows


def _key(row: StepResult) -> str:
    return f"{row.backend} with {row.stack}, {row.step}"


def _outcome(row: StepResult) -> str:
    return f"{row.state}: {row.problem.splitlines()[0][:80]}" if row.problem else row.state


def _figure_rows(key: str, left: StepResult, right: StepResult) -> list[list[str]]:
    rows = []
    for name in sorted(left.figures.keys() & right.figures.keys()):
        one, other = left.figures[name], right.figures[name]
        ratio = other / one if one else (1.0 if other == one else float("inf"))
        if abs(ratio - 1) > NOISE:
            rows.append([f"{key}: {name}", f"{one:.4g}", f"{other:.4g}", f"{ratio:.3g}"])
    return rows
