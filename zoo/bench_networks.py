"""Every classifier of the zoo on one stack: compiling, warming up and running apart, against known answers."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from zoo import bench_table, config, paths
from zoo.bench_kinds import NetworksConfig
from zoo.bench_table import Row
from zoo.errors import unknown
from zoo.line import open_folder, prepare, raise_if_failed, recorded, request_of, work
from zoo.results import Run
from zoo.settings import TrainConfig

COLUMNS = (
    "network", "mode", "batch_size", "build_s", "compile_s", "warm_s", "median_ms", "q1_ms", "q3_ms", "p95_ms",
    "count", "items_per_s", "gflop_per_item", "gflop_per_s", "share_of_peak", "peak_memory_bytes", "largest_error",
    "correct",
)  # fmt: skip
# What the networks for handwritten digits are built for; the others know their own pictures.
DIGITS = {"input_shape": [28, 28, 1], "classes": 10}


def bench(overrides: list[str]) -> Run:
    """Time as told.

    Raises:
        ZooError: nothing could be timed; what one network could not do is a row of the results.
    """
    line = prepare("bench", overrides, "networks")
    settings = line.settings
    assert isinstance(settings, NetworksConfig)  # noqa: S101  (composed for this verb)
    networks = [_network(name) for name in _names(settings)]
    open_folder(line, ["bench", settings.bench, line.choice.backend.name])
    with recorded(line):
        line.record["bench"] = settings.bench
        request = request_of(line, {"name": settings.bench}, "networks")
        outcome = work(line, request | {"bench": dataclasses.asdict(settings) | {"networks": networks}})
        raise_if_failed(line, outcome)
        rows = bench_table.of_worker(line)
        bench_table.write(line.folder, COLUMNS, rows)
        line.record["told"] = list(sentences(rows, line.record["metrics"].get("peak_gflop_per_s")))
    return Run(line.folder, line.record)


def _names(settings: NetworksConfig) -> list[str]:
    """The networks to time.

    Raises:
        ZooError: one of them is no classifier.
    """
    known = [name for name in config.options("model") if config.task_of(name) == config.USUAL_TASK]
    for name in settings.networks:
        if name not in known:
            raise unknown("classifier", name, known)
    return settings.networks or known


def _network(name: str) -> dict[str, Any]:
    """Name, arguments and known answers of a network."""
    settings = config.compose("train", [f"model={name}"])
    assert isinstance(settings, TrainConfig)  # noqa: S101  (composed for training)
    arguments = {key: value for key, value in settings.model.items() if key not in ("name", "about", "task")}
    if "input_size" not in arguments:
        arguments |= DIGITS
    return {"name": name, "args": arguments, "golden": _golden(name, arguments)}


def _golden(name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """What the network is known to say; None where nobody wrote that down, or in a wheel, which has no assets."""
    key = f"{name}_{arguments['alpha']}" if "alpha" in arguments else name
    path = paths.ROOT / "assets" / "golden" / f"{key}.json"
    if not path.is_file():
        return None
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return known if all(arguments.get(name) == value for name, value in known["args"].items()) else None


def sentences(rows: list[Row], peak: float | None) -> Iterator[str]:
    """A line a row, and what became of the answers."""
    for row in rows:
        what = f"{row['network']}, {row['mode']}, batch {row['batch_size']}"
        if row.get("error"):
            yield f"{what}: {row['error']}"
        else:
            share = f", {_short(100 * row['share_of_peak'])} % of the peak" if row.get("share_of_peak") else ""
            times = f"{_short(row['median_ms'])} ms ({_short(row['q1_ms'])} to {_short(row['q3_ms'])})"
            rates = f"{_short(row['items_per_s'])} items/s, {_short(row['gflop_per_s'])} GFLOP/s"
            yield f"{what}: {times}, {rates}{share}; {_verdict(row)}"
    if peak:
        yield f"Peak: {peak:.4g} GFLOP/s in a product of square matrices of the same run"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _verdict(row: Row) -> str:
    if row.get("correct") is None:
        return "answers untested"
    return f"{'PASS' if row['correct'] else 'FAIL'}, largest error {row['largest_error']:.2g}"
