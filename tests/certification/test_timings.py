"""What the benchmarks of a certification ask of a place."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from zoo.certification import timings
from zoo.certification.results import WHOLE, Place
from zoo.certification.work import Work
from zoo.environments import store


@pytest.mark.parametrize(
    ("versions", "asked"),
    [
        ({"keras": "3.15.1", "tensorflow": "2.21.0"}, "precisions=[float32,bfloat16]"),
        ({"keras": "2.12.0", "tensorflow-macos": "2.12.0"}, "precisions=[float32]"),
        ({"keras": "2.2.4", "plaidml": "0.7.0"}, "precisions=[float32]"),
        ({"tensorflow": "1.8.0"}, "precisions=[float32]"),
    ],
)
def test_the_encoder_is_timed_in_what_its_keras_has(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, versions: dict[str, str], asked: str
) -> None:
    taken: list[str] = []

    def bench(_work: Work, *settings: str) -> Any:
        taken.extend(settings)
        raise KeyboardInterrupt

    ready: Any = store.ensure
    built = dataclasses.replace(ready(None, ""), versions=versions)
    monkeypatch.setattr(store, "ensure", lambda _stack, _platform: built)
    monkeypatch.setattr(timings, "bench", bench)
    place = Place("metal", "tf-2.12", "gpu", "tensorflow", trains=True)
    with pytest.raises(KeyboardInterrupt):
        timings.encoder(Work(place, WHOLE, pretending, pretending, None))
    assert asked in taken


@pytest.mark.parametrize(("kind", "largest"), [("gpu", True), ("cpu", False)])
def test_processors_are_spared_training_steps_of_the_largest_network(
    pretending: Path, monkeypatch: pytest.MonkeyPatch, kind: str, largest: bool
) -> None:
    taken: list[str] = []

    def bench(_work: Work, _name: str, *settings: str) -> Any:
        taken.extend(settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(timings, "bench", bench)
    place = Place("plaidml", "plaidml-0.7", kind, "plaidml", trains=True)
    with pytest.raises(KeyboardInterrupt):
        timings.networks(Work(place, WHOLE, pretending, pretending, None))
    assert ("mobilenet" in taken[0]) == largest
