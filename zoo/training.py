"""Training a classifier of pictures: data, split, worker, curves, and the recipe's promise."""

import dataclasses
from typing import Any

from zoo import config, data, progress, records, references, runner
from zoo.line import Line, open_folder, prepare, raise_if_failed, recorded, refuse_untrainable, request_of, work
from zoo.results import Run
from zoo.settings import DataSettings, TrainConfig


def train(overrides: list[str]) -> Run:
    """Train as told.

    Args:
        overrides: as on the command line, ``group=option`` and ``key=value``.

    Raises:
        ZooError: anything that stops the run, with what to do about it; the run folder then holds its record.
    """
    line = prepare("train", overrides, "classify")
    settings = line.settings
    assert isinstance(settings, TrainConfig)  # noqa: S101  (composed for this verb)
    refuse_untrainable(line)
    settings, arrays, why_data = _data(line, settings)
    open_folder(line, [str(settings.model["name"]), line.choice.backend.name])
    with recorded(line):
        indices = data.split(
            arrays.counts["train"], settings.data.validation, settings.seed, settings.data.train_limit
        )
        data.save_split(line.folder / "split.npz", *indices)
        line.record["data"] = _data_record(arrays, settings, why_data, [len(part) for part in indices])
        outcome = work(line, _train_request(line, settings, arrays))
        _keep_training(line, outcome)
        _judge(line, settings)
        if line.reference:
            compared = references.comparison(line.reference.published or [], line.record)
            line.record["reference"] = {"name": line.reference.name, "compared": compared}
    return Run(line.folder, line.record)


def _data(line: Line, settings: TrainConfig) -> tuple[TrainConfig, data.Prepared, str]:
    """Resolve ``data=auto``, compose again for what it resolved to, and prepare the arrays."""
    why = ""
    if settings.data.name == "auto":
        name, why = data.resolve("auto", settings.data.root)
        line.overrides = [*(text for text in line.overrides if not text.startswith("data=")), f"data={name}"]
        composed, line.text = config.compose_with_text("train", line.overrides)
        assert isinstance(composed, TrainConfig)  # noqa: S101  (composed for this verb)
        line.settings = settings = composed
        (progress.say if name == "mnist" else progress.warn)(f"data=auto: {why}")
    return settings, prepared(settings.data), why


def prepared(settings: DataSettings) -> data.Prepared:
    """Lay out the arrays that the settings name."""
    row = data.load_row(settings.name)
    told = {key: value for key, value in dataclasses.asdict(settings).items() if hasattr(row, key)}
    return data.prepare(dataclasses.replace(row, **told))


def _train_request(line: Line, settings: TrainConfig, prepared: data.Prepared) -> dict[str, Any]:
    request = request_of(line, settings.model, "train")
    request["model"]["args"] |= {"input_shape": list(prepared.input_shape), "classes": prepared.classes}
    files = {name: str(getattr(prepared, name)) for name in ("x_train", "y_train", "x_test", "y_test")}
    rest = {
        "split": str(line.folder / "split.npz"),
        "classes": prepared.classes,
        "test_limit": settings.data.test_limit,
    }
    return request | {
        "train": dataclasses.asdict(settings.trainer) | {"seed": settings.seed},
        "data": files | rest,
        "weights": None,
    }


def _data_record(prepared: data.Prepared, settings: TrainConfig, why: str, sizes: list[int]) -> dict[str, Any]:
    test = min(prepared.counts["test"], settings.data.test_limit or prepared.counts["test"])
    return {
        "name": prepared.name,
        "reason": why,
        "sha256": prepared.sha256,
        "published": prepared.published,
        "source": prepared.source,
        "licence": prepared.licence,
        "class_names": prepared.class_names,
        "input_shape": list(prepared.input_shape),
        "train_items": sizes[0],
        "validation_items": sizes[1],
        "test_items": test,
        "split_seed": settings.seed,
    }


def _keep_training(line: Line, outcome: runner.Outcome) -> None:
    """Write history and curves; say why where the worker did not finish."""
    if outcome.epochs:
        records.write_history(line.folder / "history.csv", outcome.epochs)
        from zoo import report

        told = line.record
        title = f"{told['model']} on {told['backend']} ({told['stack']['name']}), {told['data']['name']}"
        report.curves(records.read_history(line.folder), title, line.folder / "curves.png")
    raise_if_failed(line, outcome)


def _judge(line: Line, settings: TrainConfig) -> None:
    """Hold the result against what the recipe expects of this data set."""
    expected = settings.expect.get(line.record["data"]["name"], {})
    part_only = settings.preset != "full" or settings.data.train_limit or settings.data.test_limit
    if part_only or not expected or line.record["exit"] != "completed":
        return
    line.record["expected"] = {
        name: {"at_least": least, "met": line.record["metrics"][name] >= least} for name, least in expected.items()
    }
