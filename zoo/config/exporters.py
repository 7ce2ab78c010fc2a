"""Export formats, as declared in the sources of the worker's exporters."""

import ast
import functools
import re
from collections.abc import Sequence

from zoo.config.setting import one_of
from zoo.core.paths import PACKAGE, worker_modules

QUANTIZATIONS = ("none", "float16", "dynamic", "int8")


@functools.cache
def formats(inside: bool = False) -> dict[str, tuple[str, ...]]:
    """Return the quantizations of export formats, in general or with the preprocessing inside, from the sources."""
    folder = PACKAGE / "worker" / "exporters"
    sources = {name: (folder / f"{name}.py").read_text(encoding="utf-8") for name in worker_modules("exporters")}
    key = "INSIDE" if inside else "QUANTIZATIONS"
    rows = {name: re.search(rf"^{key} = (\(.*?\))", text, re.MULTILINE) for name, text in sources.items()}
    return {name: ast.literal_eval(match[1]) for name, match in rows.items() if match}


def problems(key: str, names: list[str], quantize: Sequence[str] = ("none",), inside: bool = False) -> list[str | None]:
    """Return the problems of formats and quantizations: each format needs a quantization, and vice versa."""
    known, where = formats(inside), "with preprocessing=inside, " if inside else ""
    possible = [each for each in QUANTIZATIONS if any(each in row for row in known.values())]
    unknown = [one_of(f"{where}quantize", each, possible) for each in quantize]
    unknown += [one_of(where + key, name, known) for name in names]
    if any(unknown):
        return unknown
    takers = {each: [name for name in known if each in known[name]] for each in quantize}
    without = [name for name in names if not set(quantize) & set(known[name])]
    idle = [each for each, fit in takers.items() if names and not without and not set(fit) & set(names)]
    listed = "; ".join(f"{each} is for {', '.join(fit)}" for each, fit in takers.items())
    problem = [f"{name} takes quantize={'|'.join(known[name])}; {listed}" for name in without]
    return [*problem, *(f"quantize={each} has no effect: it is for {', '.join(takers[each])}" for each in idle)]


def training_problems(names: list[str]) -> list[str | None]:
    own = [name for name in worker_modules("exporters") if name not in formats()]
    elsewhere = "trainer.export cannot be {0}, because training stacks cannot write it: use output.export=[{0}]"
    return [elsewhere.format(name) if name in formats() else one_of("trainer.export", name, own) for name in names]
