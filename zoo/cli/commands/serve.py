"""`zoo serve`: serve models over HTTP, with a web page."""

import argparse

from zoo.cli.parser import Verbs, add_verb

EXAMPLES = """\
settings of the server: host=127.0.0.1 port=8000 token=auto, and limits: `python -m zoo help serve` lists them.
run= or model= begins a model; what follows up to the next belongs to it, as for `infer`; name=NAME is its address.

  python -m zoo serve run=last
  python -m zoo serve model=mobilenet weights=imagenet precision=bfloat16 run=runs/digits name=digits port=8080
"""


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "serve", run, "answer requests with models over HTTP, with a page", epilog=EXAMPLES)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the server and of its models")


def run(parsed: argparse.Namespace) -> int:
    from zoo.serving import server

    return server.run(parsed.overrides)
