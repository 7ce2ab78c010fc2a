"""Compose the page about a run, or a comparison of runs: a single file without scripts, usable offline."""

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zoo.reports.html import Html, folded, join, tag
from zoo.reports.sections import benchmarks, comparison, provenance, results
from zoo.reports.units import seconds
from zoo.runs.untrusted import Untrusted, read_record

STYLE = Path(__file__).with_name("page.css")
GENERATOR = "zoo report"
FOLDED = ("device", "machine", "stack", "evidence", "files")
Part = tuple[str, str, Html | None]  # anchor, title, body


@dataclass(frozen=True)
class ReportedRun:
    folder: Path
    record: Untrusted
    name: str


def page(folders: list[Path]) -> str:
    names = _names(folders)
    runs = [ReportedRun(folder, read_record(folder), names[folder]) for folder in folders]
    if len(runs) > 1:
        labels = comparison.labels([(run.name, run.record) for run in runs])
        return _several([replace(run, name=label) for run, label in zip(runs, labels, strict=True)])
    [run] = runs
    verb, backend = run.record.text("verb"), run.record.text("backend")
    model = run.record.text("model") or run.record.text("bench") or verb
    title = f"{model} on {backend}" if backend else model or run.name
    return framed(title, _subtitle(run), _parts(run, ""), f"zoo {verb} · {run.name}")


def framed(
    title: str, subtitle: Html | None, parts: Iterable[Part], kicker: str = GENERATOR,
    runs: Sequence[ReportedRun] = (),
) -> str:  # fmt: skip
    """Return a page with a section for each part that has a body, followed by all sections of several ``runs``."""
    shown = [part for part in parts if part[2]]
    listed = [(f"run-{number}", run.name, None) for number, run in enumerate(runs, 1)]
    rows = [tag("li", tag("a", name, href=f"#{anchor}")) for anchor, name, _ in [*shown, *listed]]
    contents = tag("nav", tag("ul", rows), aria_label="On this page")
    header = tag("header", tag("p", kicker, class_="kicker"), tag("h1", title), subtitle, contents)
    sections = [section(2, *part) for part in shown]
    sections += [_whole_run(anchor, run) for (anchor, _, _), run in zip(listed, runs, strict=True)]
    # The page begins with a link to the sections.
    skip = tag("a", "Skip to the results", href="#main", class_="skip")
    about = ". This page is a single file without scripts and external resources."
    footer = tag("footer", tag("p", "Written by ", tag("code", "python -m zoo report"), about))
    return document(title, join([skip, header, tag("main", sections, id="main"), footer]))


def _names(folders: list[Path]) -> dict[Path, str]:
    names: dict[Path, str] = {}
    left, count = set(folders), 1
    while left:
        ends = {folder: str(Path(*folder.parts[-count:])) for folder in left}
        times = Counter(ends.values())
        names |= {folder: end for folder, end in ends.items() if times[end] == 1}
        left, count = left - set(names), count + 1
    return names


def document(title: str, body: Html) -> str:
    """Return a complete page with this body, without external resources or scripts."""
    style = STYLE.read_text(encoding="utf-8")
    seal = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    # Block all resources and scripts, whatever the run folder contains.
    policy = f"default-src 'none'; style-src 'sha256-{seal}'; img-src data:; base-uri 'none'; form-action 'none'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content=GENERATOR),
        tag("title", f"{title} - zoo"),
        tag("style", Html(style)),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', body), lang='en')}\n"


def _several(runs: list[ReportedRun]) -> str:
    pairs = [(run.name, run.record) for run in runs]
    folders = [(run.name, run.folder) for run in runs]
    parts = [
        ("figures", "Metrics", comparison.figures(pairs)),
        ("remarks", "Comparability", comparison.remarks(pairs)),
        ("bench", "Benchmarks", benchmarks.compared(folders)),
        ("curves", "Learning curves", comparison.curves(folders)),
        ("time", "Phase timings", comparison.time(pairs)),
        ("differences", "Different settings", comparison.differences(pairs)),
    ]
    return framed(f"{len(runs)} runs compared", None, parts, runs=runs)


def _whole_run(anchor: str, run: ReportedRun) -> Html:
    parts = [section(3, *part) for part in _parts(run, f"{anchor}-") if part[2]]
    head = tag("h2", run.name, id=f"{anchor}-title")
    return tag("section", head, _subtitle(run), parts, id=anchor, aria_labelledby=f"{anchor}-title", class_="run")


def _parts(run: ReportedRun, prefix: str) -> Iterator[Part]:
    record, folder = run.record, run.folder
    makers: list[tuple[str, str, Callable[[], Html | None]]] = [
        ("result", "Results", lambda: join([results.headline(record), results.log_end(record, folder)])),
        ("bench", "Benchmark", lambda: benchmarks.section(record, folder)),
        ("curves", "Learning curves", lambda: results.curves(folder)),
        ("pictures", "Images", lambda: results.pictures(folder)),
        ("text", "Text", lambda: results.texts(folder)),
        ("confusion", results.errors_title(folder), lambda: results.confusion(folder)),
        ("predictions", "Predictions", lambda: results.predictions(folder)),
        ("time", "Phase timings", lambda: results.time(record)),
        ("device", "Device", lambda: provenance.device(record)),
        ("machine", "Machine", lambda: provenance.machine(record)),
        ("stack", "Software versions", lambda: provenance.stack(record)),
        ("evidence", "Evidence", lambda: provenance.recorded(record)),
        ("data", "Data", lambda: provenance.data_set(record)),
        ("again", "Command line", lambda: provenance.again(record)),
        ("files", "Files", lambda: provenance.files(record, folder)),
    ]
    for name, title, make in makers:
        body = make()
        yield prefix + name, title, folded("Show", body) if body and name in FOLDED else body


def section(level: int, anchor: str, title: str, body: Html | None) -> Html:
    heading = tag(f"h{level}", title, id=f"{anchor}-title")
    return tag("section", heading, body, id=anchor, aria_labelledby=f"{anchor}-title")


def _subtitle(run: ReportedRun) -> Html:
    record = run.record
    said = [
        record.text("data", "name"), record.text("stack", "name"), record.text("device", "description"),
        record.text("started")[:16].replace("T", " "), seconds(record.number("seconds")),
    ]  # fmt: skip
    words = " · ".join(word for word in said if word)
    outcome, grade = provenance.badge(record.text("exit")), provenance.badge(provenance.grade(record))
    return tag("p", outcome, " ", grade, " ", words, class_="subtitle")
