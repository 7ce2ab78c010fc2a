"""The page about a certification: the results and failures of the steps on each device."""

from zoo.certification import reference
from zoo.certification.results import FAILED, PASSED, Certification, Place, StepResult
from zoo.explain import known_issues
from zoo.reports.html import Child, Html, join, link, pairs, table, tag
from zoo.reports.page import document, section
from zoo.reports.units import seconds

BADGES = {PASSED: "completed", FAILED: "failed"}
# Metrics to highlight: step, name, title, unit.
CARDS = (
    ("device", "device_gflop_per_s", "product of 1024 x 1024", "GFLOP/s"),
    ("train mnist", "test_accuracy", "mnist, test accuracy", ""),
    ("train mnist", "train_s", "mnist, training", "s"),
    ("golden", "largest_error", "furthest from a golden answer", ""),
    ("first epoch of mnist_dense", "off", "first epoch off by", ""),
    ("memory", "peak_bytes", "memory of a worker", "MB"),
)


def page(state: Certification) -> str:
    """Return the page as HTML, without scripts or external resources."""
    said = [state.counts(), f"{state.mode} certification", state.finished or f"begun {state.date}"]
    header = tag(
        "header", tag("p", "zoo certify", class_="kicker"), tag("h1", state.hardware or "unknown hardware"),
        tag("p", " · ".join(said), class_="subtitle"),
    )  # fmt: skip
    kinds = [f"{place.name} ({place.device_kind.upper()})" for place in state.places]
    machine = pairs([
        ("Machine", state.machine), ("Platform", state.platform), ("Power", state.power), ("Zoo", state.commit),
        ("Backends", ", ".join(kinds)), ("Time", seconds(sum(row.seconds for row in state.steps))),
    ])  # fmt: skip
    parts = [("machine", "Machine", machine)]
    parts += [(f"place-{number}", place.name, _place(state, place)) for number, place in enumerate(state.places)]
    parts.append(("speed", "Speed of the machine during certification", _speed(state)))
    sections = [section(2, *part) for part in parts]
    return document(f"Certification of {state.hardware}", join([header, tag("main", sections, id="main")]))


def _place(state: Certification, place: Place) -> Html:
    rows = state.taken(place)
    if not rows:
        return tag("p", "No step has run yet.")
    failures = [tag("div", _failure(row), class_="failure") for row in rows if row.state == FAILED]
    busy = sum(row.busy for row in rows)
    text = f"The machine was busy with other work during {busy} of {len(rows)} steps: their times are too long."
    return join([*failures, _cards(rows), tag("p", text) if busy else None, _table(place, rows)])


def _cards(rows: list[StepResult]) -> Html | None:
    shown = []
    for step, name, title, unit in CARDS:
        value = next((row.figures[name] for row in rows if row.step == step and name in row.figures), None)
        if value is not None:
            figure = f"{value / 1e6:.0f}" if unit == "MB" else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
            shown.append(tag("div", tag("dt", title), tag("dd", f"{figure} {unit}".strip()), class_="card"))
    return tag("dl", shown, class_="cards") if shown else None


def _table(place: Place, rows: list[StepResult]) -> Html:
    cells: list[list[Child]] = []
    for row in rows:
        badge = tag("span", row.state, class_=f"badge {BADGES.get(row.state, 'reported')}")
        lines = [part for text in [*row.words, *filter(None, [row.problem])] for part in (tag("br"), text)][1:]
        cells.append([row.step, badge, f"{row.seconds:.1f}", lines])
    return table(f"Steps on {place.name}", ["Step", "Result", "Seconds", "What came out"], cells, figures=[2])


def _failure(row: StepResult) -> Html:
    known = [issue for issue in known_issues.issues() if issue.id in row.issues]
    explained = [
        tag("li", f"{issue.cause} {issue.remedy} ", tag("code", issue.command) if issue.command else None,
            " Source: ", link(issue.source), f" ({issue.id})")
        for issue in known
    ]  # fmt: skip
    why = tag("ul", explained) if explained else tag("p", "No known issue explains this failure; please report it.")
    remedy = tag("p", row.remedy) if row.remedy else None
    return join([tag("h3", f"{row.step} failed"), tag("p", row.problem), remedy, why])


def _speed(state: Certification) -> Html:
    later = [row.reference_gflop_per_s for row in state.steps if row.reference_gflop_per_s]
    speeds = [state.reference_gflop_per_s, *later]
    share = reference.drift(speeds)
    said = "" if share is None else f" At the end it had {100 * share:.0f} % of its first speed."
    slow = min(speeds) / max(speeds[:3]) if max(speeds) > 0 else 1.0
    if slow < reference.THROTTLED:
        verdict = "It was throttled, or busy with other work."
    elif share is not None and share > reference.FASTER:
        verdict = "It was busy with other work at the beginning: the first speeds are too low."
    else:
        verdict = "The machine kept its speed."
    text = (f"NumPy's product of two 512 x 512 matrices on the processor was timed between the steps: at best "
            f"{max(speeds):.0f}, at worst {min(speeds):.0f} GFLOP/s.{said} {verdict}")  # fmt: skip
    return tag("p", text)
