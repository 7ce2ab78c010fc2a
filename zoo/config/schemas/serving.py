"""Settings of ``serve``: those of the server, and which of them belong to which model."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from zoo.config import model_files
from zoo.config.overrides import Overrides, all_at_once
from zoo.config.ranges import problems, within
from zoo.core.errors import ZooError, unknown

AUTO, NONE = "auto", "none"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
BEGINS_MODEL = ("run", "model")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class ServeConfig:
    """Settings of a server.

    Attributes:
        host: address to listen on; other computers reach it only if it is not 127.0.0.1.
        port: TCP port; 0 takes a free one.
        token: what requests must bear; auto: none on 127.0.0.1, a random one elsewhere; none is refused elsewhere.
        hosts: further names, with commas between, by which browsers may call the server.
        max_batch: items that a worker gets at a time at most.
        max_wait_ms: how long the first item of a batch waits for others while the worker is idle.
        max_queue: items of a model that may wait; more are answered with 429.
        max_body_mb: largest body of a request.
        max_pending_mb: bodies that are in memory at a time; more are answered with 429.
        max_megapixels: largest picture, before it is made smaller.
        max_characters: longest text.
        max_streams: texts that a language model writes at a time; more are answered with 429.
        timeout_s: a request that has no answer by then gets an error.
        hang_s: a worker that needs longer for a batch is killed and started again.
        decoders: processes that decode pictures.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str = AUTO
    hosts: str = ""
    max_batch: int = 64
    max_wait_ms: float = 0.0
    max_queue: int = 256
    max_body_mb: float = 32.0
    max_pending_mb: float = 256.0
    max_megapixels: float = 25.0
    max_characters: int = 20_000
    max_streams: int = 8
    timeout_s: float = 60.0
    hang_s: float = 60.0
    decoders: int = 2

    @property
    def is_loopback(self) -> bool:
        """Return whether only this computer reaches the server."""
        return self.host in LOOPBACK or bool(re.fullmatch(r"127\.\d+\.\d+\.\d+", self.host))

    def problems(self) -> list[str]:
        """Return everything out of range, one sentence each."""
        return problems([
            within("port", self.port, 0, 65_535),
            within("max_batch", self.max_batch, 1, 1024),
            within("max_wait_ms", self.max_wait_ms, 0.0, 10_000.0),
            within("max_queue", self.max_queue, 1, 100_000),
            within("max_body_mb", self.max_body_mb, 0.001, 1000.0),
            within("max_pending_mb", self.max_pending_mb, self.max_body_mb, 100_000.0),
            within("max_megapixels", self.max_megapixels, 0.001, 89.0),
            within("max_characters", self.max_characters, 1, 10_000_000),
            within("max_streams", self.max_streams, 1, 64),
            within("timeout_s", self.timeout_s, 0.1, 86_400.0),
            within("hang_s", self.hang_s, 0.1, 86_400.0),
            within("decoders", self.decoders, 1, 64),
            self._token_problem(),
        ])  # fmt: skip

    def _token_problem(self) -> str | None:
        if self.token == NONE and not self.is_loopback:
            return f"token=none is for 127.0.0.1 only: anybody who reaches {self.host} could use the models"
        if not re.fullmatch(r"[\x21-\x7e]{1,256}", self.token):
            return "token must be of 1 to 256 ASCII characters without blanks"
        return None


def take_apart(words: list[str]) -> tuple[ServeConfig, list[Overrides]]:
    """Tell the settings of the server from those of its models, which begin with ``run=`` or ``model=`` each.

    The file of a model of one's own, ``model=FILE.py``, belongs to the ``run=`` before it.

    Args:
        words: ``key=value`` as on the command line.

    Returns:
        The settings of the server, wherever they stand; and for each model its own, as for ``infer``.
    """
    kinds = {field.name: type(field.default) for field in dataclasses.fields(ServeConfig)}
    values: dict[str, Any] = {}
    wrong: list[str] = []
    models: list[list[str]] = []
    for text in words:
        key, is_setting, value = text.partition("=")
        if not is_setting:
            raise ZooError(f"{text!r} is no setting", "Settings are written as KEY=VALUE.")
        if key in kinds:
            _take(key, value, kinds[key], values, wrong)
        elif key in BEGINS_MODEL and not model_files.is_named(value):
            models.append([text])
        elif models:
            models[-1].append(text)
        else:
            raise unknown("setting of the server", key, [*kinds, *BEGINS_MODEL])
    settings = ServeConfig(**values)
    if wrong or settings.problems():
        raise all_at_once([*wrong, *settings.problems()])
    if not models:
        raise ZooError(
            "No model is named", "Give run=RUN_FOLDER, run=last, or model=NAME with weights=; several too."
        )
    return settings, [Overrides.parse(each) for each in models]


def _take(key: str, text: str, kind: type, values: dict[str, Any], wrong: list[str]) -> None:
    try:
        values[key] = kind(text)
    except ValueError:
        words = "a whole number" if kind is int else "a number"
        wrong.append(f"{key} must be {words}, got {text!r}")
