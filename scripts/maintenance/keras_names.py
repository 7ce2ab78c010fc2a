"""Write which releases of Keras have which modules and names, for `zoo explain`: zoo/explain/keras_names.json.

python scripts/maintenance/keras_names.py [--wheels FOLDER]

The wheels of the last release of each minor version are downloaded with pip and read, never imported. Names that all
releases have are left out. Below "tensorflow.keras", Keras is a part of TensorFlow: from 2.6 to 2.15, both have the
same version, and TensorFlow 2.16 and later have Keras 3.
"""

import argparse
import ast
import itertools
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

RELEASES = (
    "2.0.9", "2.1.6", "2.2.4", "2.2.5", "2.3.1", "2.6.0", "2.7.0", "2.8.0", "2.9.0", "2.10.0", "2.11.0", "2.12.0",
    "2.13.1", "2.14.0", "2.15.0", "3.0.5", "3.1.1", "3.2.1", "3.3.3", "3.4.1", "3.5.0", "3.6.0", "3.7.0", "3.8.0",
    "3.9.2", "3.10.0", "3.11.3", "3.12.4", "3.13.2", "3.14.1", "3.15.1",
)  # fmt: skip
TARGET = Path(__file__).resolve().parent.parent.parent / "zoo" / "explain" / "keras_names.json"
# Where the names of tensorflow.keras are in a wheel, and a folder whose modules have a shorter public name.
OF_TENSORFLOW = ("keras/api/_v2/keras/", "keras/_tf_keras/keras/")
PUBLIC = "keras/api/"
# Folders of tests, and of a copy of the package in some wheels.
LEFT_OUT = ("keras/api/_v1/", "keras/keras/", "keras/integration_test/", "keras/testing_infra/", "keras/distribute/")
Sources = dict[str, ast.Module]


def sources(wheel: Path) -> Sources:
    """Return the syntax tree of each module of a wheel, by its path."""
    with zipfile.ZipFile(wheel) as archive:
        paths = [name for name in archive.namelist() if name.endswith(".py") and not name.endswith("_test.py")]
        kept = (path for path in paths if path.startswith("keras/") and not path.startswith(LEFT_OUT))
        return {path: ast.parse(archive.read(path)) for path in kept}


def names_in(path: str, trees: Sources, seen: frozenset[str] = frozenset()) -> set[str]:
    """Return the names that a module defines or imports, those of its star imports included."""
    names: set[str] = set()
    for node in ast.walk(trees[path]):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for each in node.names:
                if each.name != "*":
                    # In other modules, imports are no names for users.
                    names |= {each.asname or each.name.partition(".")[0]} if path.endswith("__init__.py") else set()
                elif isinstance(node, ast.ImportFrom):
                    target = imported(path, node)
                    for file in {f"{target}.py", f"{target}/__init__.py"} & trees.keys() - seen:
                        names |= names_in(file, trees, seen | {path})
    for child in top_level(trees[path].body):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            names.add(child.name)
        elif isinstance(child, ast.Assign):
            names |= {target.id for target in child.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


def top_level(body: list[ast.stmt]) -> list[ast.stmt]:
    """Return statements, and those inside of their branches."""
    inner = [
        top_level([*getattr(node, "body", ()), *getattr(node, "orelse", ())])
        for node in body
        if isinstance(node, ast.If | ast.Try)
    ]
    return [*body, *itertools.chain.from_iterable(inner)]


def imported(path: str, node: ast.ImportFrom) -> str:
    """Return the path, without suffix, of the module from which a statement imports."""
    module = (node.module or "").replace(".", "/")
    if not node.level:
        return module
    folder = path.rsplit("/", node.level)[0]
    return f"{folder}/{module}" if module else folder


def of_release(wheel: Path) -> set[str]:
    """Return "MODULE" and "MODULE:NAME" of everything in a release."""
    trees, rows = sources(wheel), set[str]()
    for path in trees:
        names = names_in(path, trees)
        plain = path.removesuffix(".py").removesuffix("/__init__")
        for prefix in OF_TENSORFLOW:
            if f"{plain}/".startswith(prefix):
                plain = f"tensorflow/keras/{plain[len(prefix) :]}".rstrip("/")
        if plain.startswith(PUBLIC):
            plain = f"keras/{plain[len(PUBLIC) :]}"
        module = plain.replace("/", ".")
        rows |= {module, *(f"{module}:{name}" for name in names if not module.startswith("keras.src."))}
    return rows


def spans(releases: list[bool], labels: list[str]) -> str:
    """Return ranges such as ``2.0-2.12 3.0``; an open end means the newest release."""
    ranges = []
    for present, group in itertools.groupby(range(len(releases)), lambda place: releases[place]):
        places = list(group)
        if present:
            first, last = labels[places[0]], labels[places[-1]]
            ranges.append(first if first == last else f"{first}-{'' if places[-1] == len(labels) - 1 else last}")
    return " ".join(ranges)


def main(arguments: list[str] | None = None) -> int:
    """Download what is missing, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", help="folder for the wheels; those in it are used")
    folder = Path(parser.parse_args(arguments).wheels or tempfile.mkdtemp())
    for release in RELEASES:
        if not list(folder.glob(f"[kK]eras-{release}-*.whl")):
            options = ["--no-deps", "--no-binary", ":none:", "--ignore-requires-python", "-q", "-d", str(folder)]
            subprocess.run([sys.executable, "-m", "pip", "download", f"keras=={release}", *options], check=True)
    every = [of_release(next(folder.glob(f"[kK]eras-{release}-*.whl"))) for release in RELEASES]
    labels = [release if release.startswith("2.2.") else release.rpartition(".")[0] for release in RELEASES]
    table: dict[str, dict[str, str]] = {}
    for row in sorted(set.union(*every)):
        module, _, name = row.partition(":")
        begin = labels.index("2.6") if module.startswith("tensorflow") else 0
        releases = [row in each for each in every][begin:]
        if not all(releases):
            table.setdefault(module, {})[name] = spans(releases, labels[begin:])
    lines = (f"{json.dumps(module)}: {json.dumps(names, sort_keys=True)}" for module, names in table.items())
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{TARGET}: {len(table):,} modules, {sum(map(len, table.values())):,} names, {TARGET.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
