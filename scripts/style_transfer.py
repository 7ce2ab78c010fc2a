#!/usr/bin/env python3
"""Render a photo in the style of a painting.

    python3 scripts/style_transfer.py
    python3 scripts/style_transfer.py --content me.jpg --style painting.jpg --output out.png

There are three ways. `--way network` uses a network that was trained for one painting, the zoo's own unless
weights=NETWORK follows; it is the default without a painting. `--way any` uses networks that restyle after any
painting in one pass; it is the default with a painting if they are available or may be downloaded (3.3 MB).
`--way optimize` optimizes the image itself: slower, and closer to the painting. It is the default with --steps,
--features, and settings that only it has.

Needs only Python: the first start creates the zoo's environment, as scripts/run.py does. All settings of
`python -m zoo infer model=style_transfer/fast`, `infer model=style_transfer/any` or `train model=style_transfer` may
follow as KEY=VALUE.
"""

# This file must parse on Python 2.7, from which scripts/run.py goes on with a newer one.
import argparse
import os
import re
import sys

WAYS = ("network", "any", "optimize")
HERE = os.path.dirname(os.path.abspath(__file__))


def main(argv):
    # type: (list[str]) -> int
    """Convert the options to settings, run the zoo and return its exit code."""
    options = parse(argv)
    command = [sys.executable, os.path.join(HERE, "run.py"), "python", os.path.abspath(__file__)] + argv
    if _inside():
        words = settings(options)
        command = [sys.executable, "-m", "zoo"] + words
        shown = re.sub("(?<=://)[^ /@]+@", "***@", "python -m zoo " + " ".join(words))  # no passwords of addresses
        print(shown.encode("utf-8", "backslashreplace").decode("utf-8"))
        sys.stdout.flush()
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
    names = [word.partition("=")[0] for word in argv if word.startswith("--")]
    twice = sorted(name for name in set(names) - {"--style"} if names.count(name) > 1)
    if twice:
        command.error("%s is given more than once. Give it once" % twice[0])
    for name in ("content", "style", "output", "features", "backend"):
        value = getattr(options, name)
        if "" in (value if isinstance(value, list) else [value]):
            command.error("--%s is empty. Give a value, or remove it" % name)
    return options


def parser():
    # type: () -> argparse.ArgumentParser
    """Create the command line; `python -m zoo help style` describes the settings behind the options."""
    command = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("--way", choices=WAYS, help="how; by default any with a painting, else network")
    command.add_argument("--content", metavar="FILE", help="the photo; by default one that comes with scikit-learn")
    command.add_argument("--style", metavar="FILE", action="append", help="the painting; repeat the option for several")
    command.add_argument("--output", metavar="FILE", help="file to write; its suffix chooses the format")
    command.add_argument("--strength", type=float, metavar="SHARE", help="1 is the style, 0 the photo")
    command.add_argument("--size", type=int, metavar="PIXELS", help="long side of the image (optimize: 512)")
    command.add_argument(
        "--steps", type=int, metavar="N", help="optimize: steps at this size (30); smaller sizes take more"
    )
    command.add_argument(
        "--keep-colors",
        "--keep-colours",
        dest="keep_colors",
        action="store_true",
        help="transfer the strokes of the painting, not its colors",
    )
    command.add_argument(
        "--features", metavar="FILE", help="optimize: weights of VGG19, VGG16 or SqueezeNet, or the word random"
    )
    command.add_argument(
        "--download",
        choices=("ask", "yes", "no"),
        default="ask",
        help="whether to download published networks that are missing; by default a question in a terminal",
    )
    command.add_argument("--backend", default="auto", help="auto, cpu, metal, mps, plaidml, ...")
    command.add_argument("more", nargs="*", metavar="KEY=VALUE", help="any other setting of the zoo")
    return command


def settings(options):
    # type: (argparse.Namespace) -> list[str]
    """Return the settings for the options."""
    way = options.way or _likeliest(options)
    _refuse_needless(options, way)
    words = ["backend=" + options.backend] + _pairs(
        ("save", options.output), ("size", options.size), ("colors", "content" if options.keep_colors else None)
    )
    styles = options.style or []
    if len(styles) == 1:
        words.append("style=" + styles[0])
    elif styles:
        quoted = ["'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'" for name in styles]
        words.append("styles=[" + ",".join(quoted) + "]")
    return _OF_WAY[way](options) + words + list(options.more)


def _refuse_needless(options, way):
    # type: (argparse.Namespace, str) -> None
    """Exit with a message for options that have no effect on a way, or forbid what it needs."""
    given = _pairs(("--steps", options.steps), ("--features", options.features))
    if given and way != "optimize":
        parser().error("%s has no effect with --way %s. Use --way optimize, or remove it" % (given[0], way))
    if way == "network" and options.download != "ask":
        parser().error("--download has no effect with --way network, which downloads nothing. Remove it")
    if way == "any" and options.download == "no":
        sys.path.insert(0, os.path.dirname(HERE))
        from zoo.weights import style_any

        if not style_any.is_downloaded():
            parser().error("--way any needs networks that are not here, and --download no forbids the download")


def _likeliest(options):
    # type: (argparse.Namespace) -> str
    """Return the way for a command without --way, after printing it, its reason and an alternative."""
    sys.path.insert(0, os.path.dirname(HERE))
    from zoo.core import console

    way, reason, alternative = _choice(options)
    console.say("Way: %s, because %s. %s" % (way, reason, alternative))
    return way


def _choice(options):
    # type: (argparse.Namespace) -> tuple[str, str, str]
    keys = {word.split("=")[0].lstrip("+") for word in options.more}
    painting = options.style or keys & {"style", "styles"}
    given = [name for name in ("steps", "features") if getattr(options, name) is not None]
    only = ["--" + name for name in given] or sorted(_only_optimized(keys))
    if only:
        return "optimize", "only this way has " + only[0], "Without it, --way network takes seconds"
    if "run" in keys or (not painting and "weights" in keys):
        return "network", "%s= names a network" % ("run" if "run" in keys else "weights"), _STYLE_REMEDY
    if painting and "weights" in keys:
        return "any", "weights= gives its networks", "--way optimize takes minutes"
    if painting:
        return _with_painting(options)
    if os.path.isdir(os.path.join(os.path.dirname(HERE), "assets", "weights", "style_transfer", "fast")):
        return "network", "no --style is given", _STYLE_REMEDY
    return "optimize", "no network is bundled", _STYLE_REMEDY


_STYLE_REMEDY = "--style FILE uses your painting; --way any and --way optimize use a bundled one"


def _only_optimized(keys):
    # type: (set[str]) -> set[str]
    """Return the settings that no network has."""
    from zoo.config import setting
    from zoo.config.schemas.style_network import RestyleConfig
    from zoo.config.schemas.style_transfer import StyleConfig

    return keys & set(setting.by_key(StyleConfig)) - set(setting.by_key(RestyleConfig))


def _with_painting(options):
    # type: (argparse.Namespace) -> tuple[str, str, str]
    """Choose for a painting: one pass if the networks are available or may be downloaded, else optimization."""
    from zoo.core import console
    from zoo.core.errors import ZooError
    from zoo.weights import style_any

    if not style_any.is_downloaded():
        what = "Download the networks that restyle after any painting (3.3 MB, Apache-2.0)"
        options.download = "yes" if console.allows(what, options.download) else "no"
        try:
            if options.download == "yes":
                style_any.published()
        except ZooError as error:
            console.warn(error.message + "\n" + error.remedy)
    if style_any.is_downloaded():
        return "any", "its networks are available", "--way optimize takes longer and comes closer to the painting"
    return "optimize", "the networks of --way any are missing", "--download yes gets them (3.3 MB) and takes seconds"


def _network(options):
    # type: (argparse.Namespace) -> list[str]
    weights = [] if any(word.startswith(("weights=", "run=")) for word in options.more) else ["weights=zoo"]
    return ["infer", "model=style_transfer/fast"] + weights + _one_pass(options)


def _any(options):
    # type: (argparse.Namespace) -> list[str]
    style = [] if options.style else ["style=" + os.path.join(os.path.dirname(HERE), "assets", "style_waves.jpg")]
    return ["infer", "model=style_transfer/any"] + style + _one_pass(options)


def _one_pass(options):
    # type: (argparse.Namespace) -> list[str]
    return _pairs(("input", options.content or _photo()), ("strength", options.strength))


def _optimized(options):
    # type: (argparse.Namespace) -> list[str]
    random = options.features == "random"
    return ["train", "model=style_transfer"] + _pairs(
        ("content", options.content),
        ("steps", options.steps),
        ("features", "random" if random else None),
        ("feature_weights", None if random else options.features),
        ("strength.style", options.strength),
        ("download", None if options.features or options.download == "ask" else options.download),
    )


_OF_WAY = {"network": _network, "any": _any, "optimize": _optimized}


def _pairs(*rows):
    # type: (*tuple[str, object]) -> list[str]
    return ["%s=%s" % (key, value) for key, value in rows if value is not None]


def _photo():
    # type: () -> str
    """Return a photo that comes with scikit-learn."""
    import importlib.util  # novm

    package = importlib.util.find_spec("sklearn")  # novm
    assert package is not None  # noqa: S101  (one of the zoo's own requirements)
    assert package.origin is not None  # noqa: S101
    return os.path.join(os.path.dirname(package.origin), "datasets", "images", "china.jpg")


def _inside():
    # type: () -> bool
    """Return whether this Python has the packages that the zoo needs."""
    if sys.version_info < (3, 11):
        return False
    import importlib.util  # novm

    needed = ("hydra", "PIL", "rich", "sklearn", "uv")
    return all(importlib.util.find_spec(name) for name in needed)  # novm


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
