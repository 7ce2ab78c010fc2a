"""`zoo weights`: inspect and convert weights files."""

import argparse

from zoo.cli.parser import Verbs, add_actions, add_verb
from zoo.core import console
from zoo.core.errors import ZooError
from zoo.core.paths import user_path


def add_parser(verbs: "Verbs") -> None:
    actions = add_actions(add_verb(verbs, "weights", None, "inspect and convert weights files"))
    show = add_verb(actions, "show", run, "list the weights in a file, with their shapes")
    show.add_argument("file", help="a model or weights in any format")
    convert = add_verb(actions, "convert", _convert, "convert a weights file to a different format")
    convert.add_argument("source", metavar="IN", help="the file to read; its content decides the format")
    convert.add_argument(
        "target", metavar="OUT", help="the file to write: .npz, .safetensors, .h5 (Keras 2) or .weights.h5 (Keras 3)"
    )
    convert.add_argument("options", nargs="*", metavar="overwrite=true", help="replace OUT if it exists")
    convert.add_argument(
        "--names", choices=["zoo", "torch"], default="zoo", help="naming scheme for the weights of an encoder"
    )


def run(parsed: argparse.Namespace) -> int:
    from zoo.weights import convert

    console.output(*convert.show(user_path(parsed.file)))
    return 0


def _convert(parsed: argparse.Namespace) -> int:
    from zoo.weights import convert

    source, target = user_path(parsed.source), user_path(parsed.target)
    wrong = set(parsed.options) - {"overwrite=true", "overwrite=false"}
    if wrong:
        raise ZooError(f"{' '.join(sorted(wrong))} has no use here", "Give IN, OUT, and overwrite=true if OUT exists.")
    overwrite = parsed.options[-1:] == ["overwrite=true"]
    console.output(*convert.convert(source, target, parsed.names, overwrite))
    return 0
