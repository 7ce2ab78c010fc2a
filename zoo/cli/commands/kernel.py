"""`zoo kernel`: install, list and remove Jupyter kernels of stacks."""

import argparse

from zoo.cli import stack_choice, storage_table
from zoo.cli.parser import Verbs, add_actions, add_json, add_verb
from zoo.core import console
from zoo.core.errors import ZooError


def add_parser(verbs: "Verbs") -> None:
    actions = add_actions(add_verb(verbs, "kernel", None, "install, list and remove Jupyter kernels that are stacks"))
    install = add_verb(actions, "install", _install, "register a stack as a kernel of your Jupyter")
    install.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="backend=NAME, stack=NAME")
    install.add_argument("--with", action="append", default=[], dest="packages", metavar="PACKAGE",
                         help="a package to install in addition to the stack's; may be repeated")  # fmt: skip
    install.add_argument("--requirements", action="append", default=[], metavar="FILE", help="packages, one per line")
    install.add_argument("--name", help="name of the kernel (default: zoo- and the stack)")
    add_json(add_verb(actions, "list", run, "list the kernels that were installed here, and their state"))
    remove = add_verb(actions, "remove", _remove, "remove kernels; their environments stay")
    remove.add_argument("name", nargs="*", help="as `python -m zoo kernel list` shows it")
    remove.add_argument("--all", action="store_true", help="remove all kernels that were installed here")


def run(parsed: argparse.Namespace) -> int:
    from zoo.execution import kernels

    def cells(row: kernels.Kernel) -> dict[str, str]:
        return {"name": row.name, "stack": row.stack, "state": row.state, "folder": str(row.folder)}

    nothing = "No kernel is installed yet: python -m zoo kernel install"
    storage_table.show("kernels", kernels.installed(), parsed.json, cells, nothing)
    return 0


def _install(parsed: argparse.Namespace) -> int:
    from zoo.execution import kernels

    settings = dict(stack_choice.setting(word) for word in parsed.overrides)
    if parsed.name:
        kernels.check_name(parsed.name)
    added = stack_choice.requested([kernels.PACKAGE, *parsed.packages], parsed.requirements)
    stack = stack_choice.prepare(settings, added)
    folder = kernels.install(stack, parsed.name)
    console.say(f"Installed the kernel {folder.name}; Jupyter lists it now")
    console.output(folder)
    return 0


def _remove(parsed: argparse.Namespace) -> int:
    from zoo.execution import kernels

    unnamed = ZooError("No kernel is named", "Name kernels, or use --all; `python -m zoo kernel list` lists them.")
    return storage_table.remove(parsed.name, kernels.remove, unnamed, parsed.all)
