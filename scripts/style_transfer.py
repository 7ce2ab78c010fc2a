#!/usr/bin/env python3
"""Paint a picture in the style of another.

    python3 scripts/style_transfer.py
    python3 scripts/style_transfer.py --content me.jpg --style painting.jpg --output out.png

Needs nothing but Python: the first start makes the zoo's environment, as scripts/run.py does. Everything that
`python -m zoo train model=style_transfer` can be told may follow as KEY=VALUE.
"""

from __future__ import annotations

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main(argv: list[str]) -> int:
    """Turn the options into settings of the zoo and hand over to it; its exit code is ours."""
    options = parser().parse_args(argv)
    command = [sys.executable, os.path.join(HERE, "run.py"), "zoo", *settings(options)]
    if _inside():
        command = [sys.executable, "-m", "zoo", *settings(options)]
        path = [os.path.dirname(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        os.environ["PYTHONPATH"] = os.pathsep.join(path)
    if os.name != "nt":
        os.execv(command[0], command)  # noqa: S606
    import subprocess

    return subprocess.call(command)


def parser() -> argparse.ArgumentParser:
    """The options; what stands behind them is told by `python -m zoo help style`."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--content", metavar="FILE", help="the photo; without it, one that comes with scikit-learn")
    made.add_argument("--style", metavar="FILE", action="append", help="the painting; give it again for several")
    made.add_argument("--output", metavar="FILE", help="where the picture goes; its suffix tells the format")
    made.add_argument("--size", type=int, metavar="PIXELS", help="longer side of the picture (512)")
    made.add_argument("--steps", type=int, metavar="N", help="steps at that size (30); smaller sizes get more")
    made.add_argument("--keep-colours", action="store_true", help="take the strokes of the painting, not its colours")
    made.add_argument("--features", metavar="FILE", help="weights of VGG19, VGG16 or SqueezeNet: better than none")
    made.add_argument("--backend", default="auto", help="what computes: auto, cpu, metal, mps, plaidml, ...")
    made.add_argument("more", nargs="*", metavar="KEY=VALUE", help="any other setting of the zoo")
    return made


def settings(options: argparse.Namespace) -> list[str]:
    """The zoo's words for the options."""
    told = ["train", "model=style_transfer", "backend=" + options.backend]
    for key, value in (
        ("content", options.content),
        ("save", options.output),
        ("size", options.size),
        ("steps", options.steps),
        ("feature_weights", options.features),
    ):
        if value is not None:
            told.append(f"{key}={value}")
    styles = options.style or []
    if len(styles) == 1:
        told.append("style=" + styles[0])
    elif styles:
        quoted = ["'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'" for name in styles]
        told.append("styles=[" + ",".join(quoted) + "]")
    if options.keep_colours:
        told.append("colors=content")
    return [*told, *options.more]


def _inside() -> bool:
    """Whether this Python has what the zoo needs already."""
    import importlib.util

    needed = ("hydra", "PIL", "rich", "uv")
    return sys.version_info >= (3, 11) and all(importlib.util.find_spec(name) for name in needed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
