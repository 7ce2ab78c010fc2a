"""The kinds of served models: modules of this package, with modules of the same name in ``zoo.worker.serving``.

Each defines a class ``Kind``, a :class:`zoo.serving.served.Served`. New modules are found automatically.
"""

import importlib
import pkgutil
import re
from pathlib import Path

from zoo.config.overrides import Overrides
from zoo.config.schemas.serving import NAME, ServeConfig
from zoo.core.errors import ZooError
from zoo.serving.served import Served
from zoo.tasks import discovery, registry, trained_run


def opened(overrides: Overrides, folder: Path, limits: ServeConfig, taken: set[str]) -> Served:
    """Open a model to serve, with the settings of ``infer``.

    Args:
        overrides: settings of the model; ``name=`` is its name in URLs.
        taken: names of other models.
    """
    name, given = overrides.get("name"), overrides.without("name")
    overrides = trained_run.with_name(given)
    name = _free_name(name, overrides, taken)
    overrides = registry.expand("infer", overrides)
    modules = [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
    kinds = {module.Kind.task: module.Kind for module in modules}
    task = discovery.task_of("infer", overrides)
    if task not in kinds:
        raise ZooError(f"Models of task {task!r} cannot be served", f"These can: {', '.join(kinds)}.")
    place = folder / name
    place.mkdir()
    served: Served = kinds[task](name, overrides, place, limits)
    for each in given:
        if each.key.lstrip("+").partition(".")[0] not in served.used:
            raise ZooError(f"{each.text} has no effect on a server", "Remove it.")
    return served


def _free_name(name: str | None, overrides: Overrides, taken: set[str]) -> str:
    if name is not None:
        if not NAME.fullmatch(name) or name in taken:
            problem = "is the name of another model" if name in taken else "cannot be part of a URL"
            raise ZooError(f"name={name} {problem}", "Use letters, digits and . _ -, each name once.")
        return name
    value = overrides.get("run") or next(iter(overrides)).text.partition("=")[2]
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(value).name).strip("-.")[:48] or "model"
    numbers = (f"{base}-{number}" for number in range(2, 1000))
    return base if base not in taken else next(each for each in numbers if each not in taken)
