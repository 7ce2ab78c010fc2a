"""The tables of `zoo list`: models, backends, stacks, recipes, references and trained weights."""

from zoo.config import arguments, config_files, references
from zoo.environments import backends as all_backends
from zoo.environments import stacks
from zoo.tasks import recipe_status
from zoo.weights import zoo_networks

Rows = list[dict[str, str]]


def models() -> Rows:
    rows = []
    for name in config_files.options("model"):
        settings = arguments.plain(arguments.row_of(name))
        rest = {key: value for key, value in settings.items() if key not in ("name", "about")}
        shown = ", ".join(f"{key}={value}" for key, value in rest.items())
        rows.append({"model": name, "what": str(settings.get("about", "")), "settings": shown})
    return rows


def backends() -> Rows:
    known = stacks.names()
    return [
        {"backend": row.name, "what": row.about if row.runnable else f"not runnable: {row.about}",
         "stacks, best first": " ".join(name if name in known else f"({name})" for name in row.stacks),
         "needs": row.needs}
        for row in all_backends.load_all()
    ]  # fmt: skip


def stack_rows() -> Rows:
    rows = []
    for stack in stacks.load_all():
        known = sorted(stack.platforms.items())
        platforms = [f"{name} (stand-in)" if row.stand_in_for else name for name, row in known]
        evidence = [f"{row.grade}: {row.what} ({row.platform})" for row in stack.evidence]
        rows.append(
            {"stack": stack.name, "what": stack.about, "Python": stack.python, "locked as of": stack.exclude_newer,
             "platforms": ", ".join(platforms), "evidence": "; ".join(evidence) or "resolved only"}
        )  # fmt: skip
    return rows


def recipes() -> Rows:
    """Return a row per model with the grade, newest versions and date of its validation on each backend."""
    trains = [row for row in all_backends.load_all() if row.trains]
    return [
        {"model": model}
        | {each.name: recipe_status.status(model, each, recipe_status.rows_of(model, each)).words for each in trains}
        for model in recipe_status.trained_models()
    ]


def weights() -> Rows:
    rows = []
    for network in zoo_networks.load_all():
        card = network.card
        known = [(metric, *pair) for metric, each in card.figures.items() for pair in each.items()]
        figures = [f"{metric} {value:.4f} on {stack}" for metric, stack, value in known]
        rows.append(
            {"model": card.model, "weights": network.source + (" (weights=zoo)" if card.default else ""),
             "what": card.about, "data": card.data.about, "size": f"{network.bytes / 1000:,.0f} KB",
             "figures": ", ".join(figures)}
        )  # fmt: skip
    return rows


TABLES = {
    "models": models, "backends": backends, "stacks": stack_rows, "recipes": recipes,
    "references": references.rows, "weights": weights,
}  # fmt: skip


def names(table: str) -> list[str]:
    """Return the names in a table's rows, without reading the evidence of recipes."""
    if table == "recipes":
        return recipe_status.trained_models()
    return list(dict.fromkeys(next(iter(row.values())) for row in TABLES[table]()))
