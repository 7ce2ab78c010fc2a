"""`zoo env`: list, build and remove environments."""

import argparse

from zoo.cli import storage_table
from zoo.cli.parser import Verbs, add_actions, add_json, add_verb
from zoo.core import console, paths
from zoo.core.errors import ZooError


def add_parser(verbs: "Verbs") -> None:
    actions = add_actions(add_verb(verbs, "env", None, "list, build and remove environments"))
    listing = add_verb(actions, "list", run, "list environments, their size and state")
    listing.add_argument("--verify", action="store_true", help="compare every file with the hash in its wheel")
    add_json(listing)
    create = add_verb(actions, "create", _create, "build the environment of a stack now")
    create.add_argument("stack", nargs="+", help="name of a stack; `python -m zoo list stacks` lists them")
    remove = add_verb(actions, "remove", _remove, "remove environments; the next run builds them again")
    remove.add_argument("stack", nargs="*", help="name of a stack or of the folder of an environment")
    remove.add_argument("--all", action="store_true", help="remove all environments")


def run(parsed: argparse.Namespace) -> int:
    from zoo.environments import store

    rows = store.list_environments(verify="every" if parsed.verify else "")

    def cells(row: store.EnvironmentInfo) -> dict[str, str]:
        size = f"{row.size_bytes / 1e6:,.0f} MB"
        return {"stack": row.stack, "state": row.state, "size": size, "last used": row.last_used,
                "folder": str(row.folder)}  # fmt: skip

    nothing = f"No environment is built yet. Their folder is {paths.cache_dir() / 'envs'}"
    storage_table.show("environments", rows, parsed.json, cells, nothing)
    return 1 if parsed.verify and any(row.state != "ready" for row in rows) else 0


def _create(parsed: argparse.Namespace) -> int:
    from zoo.environments import machine, stacks, store

    platform = machine.probe().platform
    for stack in [stacks.load(name) for name in parsed.stack]:
        environment = store.ensure(stack, platform, thorough=True)
        state = f"built in {environment.build_s:.0f} s" if environment.build_s else "already built"
        console.say(f"{stack.name}: {state}")
        console.output(environment.python)
    return 0


def _remove(parsed: argparse.Namespace) -> int:
    from zoo.environments import store

    unnamed = ZooError("No environment is named", "Name stacks, or use --all; `python -m zoo env list` lists them.")
    return storage_table.remove(parsed.stack, store.remove, unnamed, parsed.all)
