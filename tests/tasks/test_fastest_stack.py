"""Which stack trains where the user names none and a processor computes."""

import dataclasses

import pytest

from zoo.config.overrides import Overrides
from zoo.environments import machine
from zoo.tasks import discovery


def stack_of(platform: str, *words: str) -> str | None:
    """The stack that the defaults of `train` name on a machine without a GPU; None where they name none."""
    system, _, processor = platform.partition("-")
    here = dataclasses.replace(machine.probe(), os=system, arch=processor, gpus=[])
    command = discovery.command_of("train", Overrides.parse(words))
    overrides = Overrides.parse(words)
    return (command.add_defaults(overrides, here) if command.add_defaults else overrides).get("stack")


TEXTS = ("model=transformer/classifier", "data=text_lines")


@pytest.mark.parametrize(
    ("words", "stack"),
    [
        (("model=mobilenet", "backend=cpu"), "torch"),
        (("model=mobilenet_v2", "model.alpha=0.5"), "torch"),
        (("model=mobilenet", "model.alpha=0.25"), None),
        (("model=mobilenet", "model.alpha=wide"), None),
        (("model=mnist", "data=digits"), None),
        (TEXTS, "torch"),
        (("model=transformer/lm", "backend=auto"), "torch"),
        (("model=style_transfer",), "torch"),
        ((*TEXTS, "stack=tf-2.12"), "tf-2.12"),
        ((*TEXTS, "backend=jax"), None),
        ((*TEXTS, "backend.python=/usr/bin/python3"), None),
    ],
)
def test_the_stack_that_trains_fastest_is_named(words: tuple[str, ...], stack: str | None) -> None:
    assert stack_of("linux-x86_64", *words) == stack


def test_where_nothing_was_measured_the_order_of_the_backend_holds() -> None:
    assert stack_of("macos-arm64", *TEXTS, "backend=cpu") is None
    assert stack_of("macos-arm64", "model=style_transfer", "backend=cpu") == "torch"
