"""Settings of ``serve``, for the server and for each model."""

import dataclasses
import re
from dataclasses import dataclass
from typing import Any

from zoo.config import model_files
from zoo.config.overrides import Overrides, all_at_once
from zoo.config.setting import problems as setting_problems
from zoo.config.setting import setting
from zoo.core.errors import ZooError, unknown

AUTO, NONE = "auto", "none"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
BEGINS_MODEL = ("run", "model")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class ServeConfig:
    host: str = setting("127.0.0.1", "address to listen on; 127.0.0.1 accepts this computer only")
    port: int = setting(8000, "TCP port; 0 takes a free one", at_least=0, at_most=65_535)
    token: str = setting(
        AUTO, "token that requests need; auto: none on 127.0.0.1, a random one elsewhere; none is for 127.0.0.1 only"
    )
    hosts: str = setting("", "additional host names of the server, separated by commas")
    max_batch: int = setting(64, "largest number of items in a batch", at_least=1, at_most=1024)
    max_wait_ms: float = setting(
        0.0, "how long the first item of a batch waits for more while the worker is idle", at_least=0, at_most=10_000
    )
    max_queue: int = setting(
        256, "items of a model that may wait; further requests get status 429", at_least=1, at_most=100_000
    )
    max_body_mb: float = setting(32.0, "largest body of a request", at_least=0.001, at_most=1000)
    max_pending_mb: float = setting(
        256.0, "total size of request bodies in memory; more requests get status 429", at_least=0.001, at_most=100_000
    )
    max_megapixels: float = setting(25.0, "largest image, before it is scaled down", at_least=0.001, at_most=89)
    max_characters: int = setting(20_000, "longest text", at_least=1, at_most=10_000_000)
    max_streams: int = setting(
        8, "texts that a language model generates at a time; further requests get status 429", at_least=1, at_most=64
    )
    timeout_s: float = setting(
        60.0, "seconds until a request without an answer gets an error", at_least=0.1, at_most=86_400
    )
    hang_s: float = setting(60.0, "restart a worker that needs longer for a batch", at_least=0.1, at_most=86_400)
    decoders: int = setting(2, "processes that decode images", at_least=1, at_most=64)

    @property
    def is_loopback(self) -> bool:
        """Return True if the server can be reached from this computer only."""
        return self.host in LOOPBACK or bool(re.fullmatch(r"127\.\d+\.\d+\.\d+", self.host))

    def checks(self) -> list[str | None]:
        less = f"max_pending_mb must be at least max_body_mb, {self.max_body_mb:g}, got {self.max_pending_mb!r}"
        empty = None if self.host.strip() else f"host must be an address such as 127.0.0.1, got {self.host!r}"
        odd = next((name for name in self.hosts.split(",") if re.search(r"[^\w.:\[\]-]", name.strip())), None)
        names = odd and f"hosts must be names such as box.local, separated by commas, got {odd!r}"
        return [self._token_problem(), empty, names, less if self.max_pending_mb < self.max_body_mb else None]

    def _token_problem(self) -> str | None:
        if self.token == NONE and not self.is_loopback:
            return f"token=none is for 127.0.0.1 only: anybody who reaches {self.host} could use the models"
        if not re.fullmatch(r"[\x21-\x7e]{1,256}", self.token):
            return "token must have 1 to 256 ASCII characters and no spaces"
        return None


def take_apart(words: list[str]) -> tuple[ServeConfig, list[Overrides]]:
    """Split ``key=value`` words into settings of the server and of each model.

    ``run=`` or ``model=`` starts the settings of a model, except that ``model=FILE.py`` belongs to the preceding
    ``run=``. Settings of the server may be at any position.
    """
    kinds: dict[str, type] = {field.name: type(field.default) for field in dataclasses.fields(ServeConfig)}
    values: dict[str, Any] = {}
    wrong: list[str] = []
    models: list[list[str]] = []
    for text in words:
        key, is_setting, value = text.partition("=")
        if not is_setting:
            raise ZooError(f"{text!r} is not a setting", "Settings are written as KEY=VALUE.")
        if key in kinds:
            try:
                values[key] = kinds[key](value)
            except ValueError:
                number = "a whole number" if kinds[key] is int else "a number"
                wrong.append(f"{key} must be {number}, got {value!r}")
        elif key in BEGINS_MODEL and not (models and model_files.is_named(value)):
            models.append([text])
        elif models:
            models[-1].append(text)
        else:
            raise unknown("setting of the server", key, [*kinds, *BEGINS_MODEL])
    settings = ServeConfig(**values)
    wrong += setting_problems(settings)
    if wrong:
        raise all_at_once(wrong)
    if not models:
        raise ZooError("No model is named", "Give run=RUN_FOLDER, run=last, or model=NAME with weights=; several too.")
    return settings, [Overrides.parse(each) for each in models]
