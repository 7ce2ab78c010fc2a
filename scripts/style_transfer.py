#!/usr/bin/env python3
"""Render a picture in the style of another.

    python3 scripts/style_transfer.py
    python3 scripts/style_transfer.py --content me.jpg --style painting.jpg --output out.png

Needs only Python: the first start creates the zoo's environment, as scripts/run.py does. All settings of
`python -m zoo train model=style_transfer` may follow as KEY=VALUE.
"""

# This file must parse on Python 2.7, from which scripts/run.py goes on with a newer one.
import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main(argv):
    # type: (list[str]) -> int
    """Convert the options to settings, run the zoo and return its exit code."""
    options = parse(argv)
    command = [sys.executable, os.path.join(HERE, "run.py"), "zoo"] + settings(options)
    if _inside():
        command = [sys.executable, "-m", "zoo"] + settings(options)
        path = [os.path.dirname(HERE)] + [text for text in [os.environ.get("PYTHONPATH")] if text]
        os.environ["PYTHONPATH"] = os.pathsep.join(path)
    if os.name != "nt":
        os.execv(command[0], command)  # noqa: S606
    import subprocess

    return subprocess.call(command)


def parse(argv):
    # type: (list[str]) -> argparse.Namespace
    """Parse the command line. Settings may stand on both sides of options, which plain argparse does not accept."""
    command = parser()
    options, rest = command.parse_known_args(argv)
    wrong = [word for word in rest if word.startswith("-")]
    if wrong:
        command.error("unrecognized arguments: %s" % " ".join(wrong))
    options.more += rest
    return options


def parser():
    # type: () -> argparse.ArgumentParser
    """Create the command line; `python -m zoo help style` describes the settings behind the options."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--content", metavar="FILE", help="the photo; by default one that comes with scikit-learn")
    command.add_argument(
        "--style", metavar="FILE", action="append", help="the painting; repeat the option for several"
    )
    command.add_argument("--output", metavar="FILE", help="file to write; its suffix chooses the format")
    command.add_argument("--size", type=int, metavar="PIXELS", help="long side of the picture (512)")
    command.add_argument("--steps", type=int, metavar="N", help="steps at this size (30); smaller sizes take more")
    command.add_argument(
        "--keep-colors",
        "--keep-colours",
        dest="keep_colors",
        action="store_true",
        help="transfer the strokes of the painting, not its colors",
    )
    command.add_argument(
        "--features", metavar="FILE", help="weights of VGG19, VGG16 or SqueezeNet, for better results"
    )
    command.add_argument("--backend", default="auto", help="auto, cpu, metal, mps, plaidml, ...")
    command.add_argument("more", nargs="*", metavar="KEY=VALUE", help="any other setting of the zoo")
    return command


def settings(options):
    # type: (argparse.Namespace) -> list[str]
    """Return the settings for the options."""
    words = ["train", "model=style_transfer", "backend=" + options.backend]
    for key, value in (
        ("content", options.content),
        ("save", options.output),
        ("size", options.size),
        ("steps", options.steps),
        ("feature_weights", options.features),
    ):
        if value is not None:
            words.append("%s=%s" % (key, value))
    styles = options.style or []
    if len(styles) == 1:
        words.append("style=" + styles[0])
    elif styles:
        quoted = ["'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'" for name in styles]
        words.append("styles=[" + ",".join(quoted) + "]")
    if options.keep_colors:
        words.append("colors=content")
    return words + list(options.more)


def _inside():
    # type: () -> bool
    """Return whether this Python has the packages that the zoo needs."""
    if sys.version_info < (3, 11):
        return False
    import importlib.util  # novm

    needed = ("hydra", "PIL", "rich", "uv")
    return all(importlib.util.find_spec(name) for name in needed)  # novm


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
