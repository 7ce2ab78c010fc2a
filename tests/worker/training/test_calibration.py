"""Which points a worker times, in what order, and what it reports of those that fail."""

import threading
import time
import types
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import parts
from zoo.protocol.events import PointEvent
from zoo.protocol.request import CalibrationPart


class Clock:
    """Time that passes only where a step or a compilation takes it."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


class Job:
    """A training of four steps an epoch whose items a second follow from batch size and precision."""

    def __init__(
        self, clock: Clock, speed: Callable[[int, str], float], compile_s: float = 0.5, evaluate_s: float = 0.0
    ) -> None:
        self.clock, self.speed, self.compile_s, self.evaluate_s, self.begun = clock, speed, compile_s, evaluate_s, 0

    def run(self, request: Any, events: Any, _stop: Any, _phases: dict[str, float]) -> None:
        self.begun += 1
        size, settings = request.train.batch_size, request.train
        if settings.precision == "auto":
            settings.precision = "float32"
        self.clock.now += self.compile_s
        events.emit("warning", message="nobody sees it")
        for _ in range(100):
            for step in range(1, 5):
                self.clock.now += size / self.speed(size, settings.precision)
                events.step(epoch=1, step=step, items=step * size)
            self.clock.now += self.evaluate_s


@pytest.fixture
def points(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Time the points of a job: (batch size, precision, items a second or problem) of each."""
    from zoo.models import compat
    from zoo.worker.training import calibration

    gains: list[str | None] = ["bfloat16"]
    monkeypatch.setattr(calibration.precision, "lower", lambda _kind: gains[0])
    cleared: list[None] = []
    monkeypatch.setattr(compat.keras.backend, "clear_session", lambda: cleared.append(None), raising=False)
    clock = Clock()
    monkeypatch.setattr(calibration, "time", types.SimpleNamespace(monotonic=clock.monotonic))
    # The guard of a request has a real clock, and would end a test on a busy machine.
    monkeypatch.setattr(calibration.os, "_exit", lambda _status: None)

    def run(
        speed: Callable[[int, str], float], sizes: list[int], precisions: list[str], **options: float
    ) -> list[tuple[Any, ...]]:
        seen: list[PointEvent] = []
        events = types.SimpleNamespace(emit=lambda _name, **fields: seen.append(PointEvent(**fields)))
        asked = CalibrationPart(batch_sizes=sizes, precisions=precisions, seconds=options.pop("seconds", 60.0))
        request = parts.request(train=parts.training(), calibration=asked)
        clock.now = 100.0
        cleared.clear()
        job, stop = Job(clock, speed, **options), types.SimpleNamespace(asked=False)
        calibration.run(job, request, events, stop)
        run.seconds = clock.now - 100.0  # type: ignore[attr-defined]
        assert len(cleared) == job.begun
        begun, done = [each for each in seen if each.seconds is None], [each for each in seen if each.seconds]
        assert len(begun) == len(done) == job.begun
        return [(each.batch_size, each.precision, each.problem or round(each.items_per_s or 0)) for each in done]

    run.gains = gains  # type: ignore[attr-defined]
    return run


def test_larger_batches_are_tried_as_long_as_they_are_faster(points: Any) -> None:
    speeds = {64: 500, 128: 1000, 256: 2000, 512: 1500, 1024: 9000}
    rows = points(lambda size, _: speeds[size], [128, 64, 256, 512, 1024], ["float32"])
    assert rows == [(128, "float32", 1000), (256, "float32", 2000), (512, "float32", 1500)]


def test_smaller_batches_are_tried_where_no_larger_one_is_faster(points: Any) -> None:
    speeds = {32: 3000, 64: 2500, 128: 1000, 256: 900}
    rows = points(lambda size, _: speeds[size], [128, 32, 64, 256], ["float32"])
    assert [row[0] for row in rows] == [128, 256, 64, 32]


def test_sizes_are_tried_in_the_fastest_precision_and_none_is_timed_twice(points: Any) -> None:
    rows = points(lambda size, name: size * (20 if "bfloat16" in name else 10), [4, 8],
                   ["auto", "float32", "mixed_bfloat16"])  # fmt: skip
    assert rows == [(4, "float32", 40), (4, "mixed_bfloat16", 80), (8, "mixed_bfloat16", 160)]


def test_a_precision_that_the_device_emulates_is_not_tried_unless_it_is_set(points: Any) -> None:
    points.gains[0] = None
    assert [row[1] for row in points(lambda *_: 80, [4], ["float32", "mixed_bfloat16"])] == ["float32"]
    assert len(points(lambda *_: 80, [4], ["mixed_bfloat16", "float32"])) == 2


@pytest.mark.parametrize(
    ("error", "problem"),
    [(MemoryError(), "out of memory"), (ValueError("no such kernel"), "ValueError: no such kernel")],
)
def test_a_point_that_fails_is_reported_and_ends_the_way(points: Any, error: Exception, problem: str) -> None:
    def speed(size: int, _: str) -> float:
        if size >= 16:
            raise error
        return 10.0 * size

    assert points(speed, [8, 4, 16, 32], ["float32"]) == [
        (8, "float32", 80), (16, "float32", problem), (4, "float32", 40)]  # fmt: skip


def test_a_point_that_begins_with_too_little_time_is_left_out(points: Any) -> None:
    # Each point takes half a second to compile and, at ten steps a second, 0.7 s for the steps.
    # The time begins after the first step.
    speed, sizes = (lambda size, _: 10.0 * size), [1, 2, 4, 8, 16]
    for seconds, count in ((10.0, 5), (5.0, 4), (3.0, 3), (1.7, 2), (1.0, 1)):
        assert len(points(speed, sizes, ["float32"], seconds=seconds)) == count


@pytest.mark.parametrize(("step_s", "steps"), [(0.125, 5), (0.25, 3), (1.0, 2), (2.0, 1)])
def test_few_steps_are_enough_where_they_are_slow(points: Any, step_s: float, steps: int) -> None:
    points(lambda *_: 8 / step_s, [8], ["float32"], compile_s=1.0)
    assert points.seconds == pytest.approx(1.0 + (1 + steps) * step_s)  # the first of an epoch is not timed


def test_settings_that_cannot_be_trained_fail_as_the_training_would(points: Any) -> None:
    def speed(_size: int, precision: str) -> float:
        raise ValueError(f"{precision} needs another device")

    with pytest.raises(ValueError, match="float32 needs another device"):
        points(speed, [8], ["float32", "mixed_bfloat16"])


def test_evaluations_are_no_part_of_a_step(points: Any) -> None:
    assert points(lambda *_: 40.0, [8], ["float32"], evaluate_s=3.0) == [(8, "float32", 40)]


def test_the_first_step_is_not_counted_and_a_slow_one_after_it_is_timed(points: Any) -> None:
    assert points(lambda *_: 0.1, [8, 16], ["float32"], seconds=5.0, compile_s=1000.0) == [(8, "float32", 0)]


def test_the_process_ends_in_time_whatever_it_does(keras: types.ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from zoo.worker.training import calibration

    ended: list[float] = []
    monkeypatch.setattr(calibration.os, "_exit", lambda _status: ended.append(time.monotonic()))
    monkeypatch.setattr(calibration.compat.keras.backend, "clear_session", lambda: None, raising=False)

    def compile_for_long(_request: Any, events: Any, *_: Any) -> None:
        time.sleep(0.5)
        events.step(step=1, items=8)
        until = time.monotonic() + 5
        while not ended and time.monotonic() < until:
            time.sleep(0.01)

    asked = CalibrationPart(batch_sizes=[8], precisions=["float32"], seconds=0.2)
    request, began = parts.request(train=parts.training(), calibration=asked), time.monotonic()
    events, stop = types.SimpleNamespace(emit=lambda *_, **__: None), types.SimpleNamespace(asked=False)
    assert calibration.run(types.SimpleNamespace(run=compile_for_long), request, events, stop) == {"metrics": {}}
    assert [when - began >= 0.7 for when in ended] == [True]
    request.calibration.seconds = 600.0
    calibration.run(types.SimpleNamespace(run=compile_for_long), request, events, stop)
    assert not [each for each in threading.enumerate() if isinstance(each, threading.Timer) and each.is_alive()
                and not each.finished.is_set()]  # fmt: skip
