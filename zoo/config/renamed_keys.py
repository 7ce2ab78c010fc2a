"""Old names of settings: they keep working, and one line says the new name."""

import functools
from typing import Any

from zoo.core import console

RENAMED = {
    "augment.colour": "augment.color",
    "beside": "compare_to",
    "colours": "colors",
    "data.normalise": "data.normalize",
    "data.tokeniser": "data.tokenizer",
    "fine_tune.freeze_normalisation": "fine_tune.freeze_normalization",
    "model.edge": "model.kernel_size",
    "most_s": "max_s",
    "smallest": "min_size",
    "strength.roughness": "strength.total_variation",
    "trainer.final": "trainer.final_lr_ratio",
}


def rename_override(text: str) -> str:
    """Return an override such as ``colours=content`` with the present name of its key, and say so if it differs."""
    key, equals, value = text.partition("=")
    if not equals or key not in RENAMED:
        return text
    _announce(key)
    return f"{RENAMED[key]}={value}"


def rename_settings(settings: dict[str, Any], announce: bool = True) -> dict[str, Any]:
    """Return nested settings with the present names of their keys.

    Args:
        settings: as a configuration file or ``config`` in an older ``run.json`` holds them; left as it is.
        announce: say which names are old.
    """
    return _renamed(settings, "", announce)


def _renamed(tree: dict[str, Any], prefix: str, announce: bool) -> dict[str, Any]:
    result = {}
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if key in RENAMED:
            name = RENAMED[key].removeprefix(prefix)
            if announce:
                _announce(key)
        result[name] = _renamed(value, f"{key}.", announce) if isinstance(value, dict) else value
    return result


@functools.cache
def _announce(key: str) -> None:
    console.say(f"The setting {key} is now called {RENAMED[key]}")
