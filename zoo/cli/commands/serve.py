"""`zoo serve`: serve models over HTTP, with a web page."""

import argparse

from zoo.cli.parser import Verbs, add_verb


def add_parser(verbs: "Verbs") -> None:
    parser = add_verb(verbs, "serve", run, "answer requests with models over HTTP, with a page")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings of the server and of its models")


def run(parsed: argparse.Namespace) -> int:
    from zoo.serving import server

    return server.run(parsed.overrides)
