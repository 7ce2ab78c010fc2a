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
    "text_column": "data.text_column",
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
    result = dict(settings)
    for old, present in RENAMED.items():
        group, _, name = old.rpartition(".")
        table = result.get(group) if group else result
        if not isinstance(table, dict) or name not in table:
            continue
        if present.count(".") == old.count("."):
            result = _put(result, group, {_name(present) if each == name else each: table[each] for each in table})
        else:
            home = present.rpartition(".")[0]
            result = {key: value for key, value in result.items() if key != name}
            result = _put(result, home, {**(result.get(home) or {}), _name(present): table[name]})
        if announce:
            _announce(old)
    return result


def _name(key: str) -> str:
    return key.rpartition(".")[2]


def _put(settings: dict[str, Any], group: str, table: dict[str, Any]) -> dict[str, Any]:
    return {**settings, group: table} if group else table


@functools.cache
def _announce(key: str) -> None:
    console.say(f"The setting {key} is now called {RENAMED[key]}")
