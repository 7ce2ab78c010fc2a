"""Export formats, as declared in the sources of the worker's exporters."""

import ast
import functools
import re

from zoo.config.setting import one_of
from zoo.core.paths import PACKAGE, worker_modules

QUANTIZATIONS = ("none", "float16", "dynamic", "int8")
_DECLARED = re.compile(r"^QUANTIZATIONS = (\(.*?\))$", re.MULTILINE)


@functools.cache
def formats() -> dict[str, tuple[str, ...]]:
    """Return the quantizations of every export format, parsed from the exporters' sources."""
    folder = PACKAGE / "worker" / "exporters"
    sources = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in worker_modules("exporters")}
    declared = {name: _DECLARED.search(text) for name, text in sources.items()}
    return {name: ast.literal_eval(match[1]) for name, match in declared.items() if match}


def problems(key: str, names: list[str], quantize: str = "none") -> list[str | None]:
    known = formats()
    return [one_of(key, name, known) or _quantization_problem(name, quantize) for name in names]


def _quantization_problem(name: str, quantize: str) -> str | None:
    known = formats()
    if quantize in known[name]:
        return None
    others = ", ".join(each for each in known if quantize in known[each])
    return f"{name} takes quantize={'|'.join(known[name])}; {quantize} is for {others}"


def training_problems(names: list[str]) -> list[str | None]:
    """Return the problems of the formats that a training itself saves its model in."""
    own = [name for name in worker_modules("exporters") if name not in formats()]
    elsewhere = "trainer.export cannot be {0}, which the stack of a training does not write: use output.export=[{0}]"
    return [elsewhere.format(name) if name in formats() else one_of("trainer.export", name, own) for name in names]
