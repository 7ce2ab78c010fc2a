"""Time the zoo's networks on one stack (compilation, warm-up and execution separately) and check known outputs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zoo.config import compose, config_files, model_files
from zoo.config.overrides import Overrides
from zoo.config.schemas import style_network
from zoo.config.schemas.benchmarks import NetworksConfig
from zoo.config.schemas.common import Arguments
from zoo.config.tasks import Command, Task
from zoo.core import paths
from zoo.core.errors import require_known
from zoo.execution.execution import requested_model
from zoo.protocol.request import ModelPart, NetworkPart, NetworksBench
from zoo.runs.context import create_context
from zoo.runs.lifecycle import recorded_run
from zoo.runs.result import Run
from zoo.tasks import discovery
from zoo.tasks.benchmarks import results
from zoo.tasks.benchmarks.results import Row

COLUMNS = (
    "network", "mode", "batch_size", "build_s", "compile_s", "warm_s", "median_ms", "q1_ms", "q3_ms", "p95_ms",
    "count", "items_per_s", "gflop_per_item", "gflop_per_s", "share_of_peak", "peak_memory_bytes", "largest_error",
    "correct",
)  # fmt: skip


def bench(overrides: Overrides) -> Run:
    context = create_context(BENCH, overrides)
    settings = context.settings
    for name in settings.networks:
        if not model_files.is_named(name) and not model_files.is_application(name):
            require_known("network", [name], known())
    usual = [name for name in known() if config_files.task_of(name) == config_files.DEFAULT_TASK]
    names = settings.networks or usual
    with recorded_run(context, ["bench", settings.bench, context.choice.backend.name]):
        context.record.bench = settings.bench
        part = NetworksBench(
            networks=[network(name, context.folder) for name in names], modes=settings.modes,
            batch_sizes=settings.batch_sizes, warm=settings.warm, count=settings.count, max_s=settings.max_s,
        )  # fmt: skip
        rows = results.timed(context, "bench_networks", part)
        results.write(context.folder, COLUMNS, rows)
        context.record.summary = list(sentences(rows, context.record.metrics.get("peak_gflop_per_s")))
    return context.result


def known() -> list[str]:
    """List the models that are a single network and can be built from their settings alone."""
    tasks = discovery.tasks()
    names = [name for name in config_files.options("model") if name != style_network.ANY]  # published as two networks
    return [name for name in names if tasks[config_files.task_of(name)].network_arguments]


def network(name: str, folder: Path) -> NetworkPart:
    """Return a network's name, builder and known outputs; a user's model file is copied into the folder."""
    task = discovery.task(config_files.task_of(name))
    settings: Any = compose.compose(task.commands[0], Overrides.of({"model": name}))
    arguments = config_files.model_arguments(settings.model)
    if "input_size" not in arguments:
        arguments |= task.network_arguments or {}
    if "file" in settings.model:
        model = requested_model(settings.model | {"args": arguments}, folder)
        return NetworkPart(name=model.name, model=model, golden=None)
    return NetworkPart(name=name, model=ModelPart(name=name, args=arguments), golden=_golden(name, arguments))


def _golden(name: str, arguments: Arguments) -> dict[str, Any] | None:
    """Return the known outputs of the network, or None: many networks have none, and a wheel has no assets."""
    key = f"{name}_{arguments['alpha']}" if "alpha" in arguments else name
    path = paths.ROOT / "assets" / "golden" / f"{key}.json"
    if not path.is_file():
        return None
    answers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return answers if all(arguments.get(name) == value for name, value in answers["args"].items()) else None


def sentences(rows: list[Row], peak: float | None) -> Iterator[str]:
    """Yield a line per row, with the result of its check."""
    for row in rows:
        what = f"{row['network']}, {row['mode']}, batch {row['batch_size']}"
        if row.get("error"):
            yield f"{what}: {row['error']}"
        else:
            share = f", {short(100 * row['share_of_peak'])} % of the peak" if row.get("share_of_peak") else ""
            times = f"{short(row['median_ms'])} ms ({short(row['q1_ms'])} to {short(row['q3_ms'])})"
            rates = f"{short(row['items_per_s'])} items/s, {short(row['gflop_per_s'])} GFLOP/s"
            yield f"{what}: {times}, {rates}{share}; {verdict(row)}"
    if peak:
        yield f"Peak: {peak:.4g} GFLOP/s, measured with a product of square matrices in the same run"


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def verdict(row: Row) -> str:
    if row.get("correct") is None:
        error = row.get("largest_error")
        return "outputs not checked" if error is None else f"largest error {error:.2g}"
    return f"{'PASS' if row['correct'] else 'FAIL'}, largest error {row['largest_error']:.2g}"


BENCH = Command("bench", "networks", "bench_networks", NetworksConfig, bench)
TASK = Task("networks", (BENCH,), needs_model=False)
