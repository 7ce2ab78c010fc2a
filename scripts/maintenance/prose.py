"""Count phrases that read as a translation, British spellings and the length of sentences, for each kind of text.

    python3 scripts/run.py python scripts/maintenance/prose.py [--list KIND]

Kinds: documentation (pages), messages (strings of zoo/ with three or more words) and docstrings (with comments).
--list prints every banned phrase and British spelling with its place, and the longest sentences.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = ("*.md", "docs/**/*.md", "recipes/*.md", "recipes/*/*.md")
NAMED = re.compile(
    r"\b(beside|anew|foretold|told|so called|that of|others|otherwise|meanwhile|of (its|their) own|goes on|go on"
    r"|(in|at) hand|by heart|whoever|thereof|a one|(?<!there )(is|are|was) no (?!longer|more|faster|slower)"
    r"|is none of|for want of|refuses? in words|(called|named) like|what c[ao]me of|no obstacle"
    r"|h[eo]ld [^.]{0,40}against|nothing to say of|to the bit|as they are|all the same|as soon as three|pictures?"
    r"|takes? over|what becomes of|(?<!not )(knows|wants|believes|tells|looks (at|for|up|into))|is to be|are to be"
    r"|so many|comes? of|what follows from|in question|each other's|once more)\b",
    re.IGNORECASE,
)
BRITISH = re.compile(
    r"\b(\w*(colour|favour|neighbour|behaviour|honour)\w*|grey\w*|centred?|centres|licences?|catalogues?|learnt|spelt"
    r"|\w*(label|model|travel|cancel|signal)l(ed|ing)|artefacts?|programmes?|analys(e|ed|es|ing)|whilst|metres?"
    r"|\w*(optim|normal|initial|serial|recogn|quant|summar|organ|minim|maxim|real|token|synchron|visual)is(e|ed|es|ing"
    r"|ation))\b",
    re.IGNORECASE,
)
# Programs and patterns in strings are not messages.
PROGRAM = re.compile(r"^(?:import |function |_zoo_\w+\(\)|let |find \. |\^\\W)", re.MULTILINE)
YAML_PROSE = re.compile(r"^[- ]*(?:title|cause|remedy|about): *(.+(?:\n +(?![\w-]+:)[^- ].*)*)", re.MULTILINE)
# (file, part of the line): phrases that are right where they are.
EXCEPTIONS = (
    ("README.md", "prints why it rejected the others"),  # "the others" as a plain noun
    ("zoo/tasks/image_classification/photo_stream.py", "Callable[[Picture, NDArray"),  # a type
    ("zoo/worker/exporters/coreml.py", 'fileURLWithPath: "picture.png"'),  # a file name, as are the next
    ("zoo/tasks/exporting.py", "texts, pictures or next_token"),  # names of kinds
    ("zoo/worker/jobs/optimize_style.py", "the last complete image is picture.png"),
)
SHOWN = 20


class Text(NamedTuple):
    """A piece of text and where it begins."""

    path: str
    line: int
    text: str


def documentation() -> Iterator[Text]:
    """Yield the paragraphs, items and table cells of the pages, without code."""
    for path in sorted(path for pattern in PAGES for path in ROOT.glob(pattern)):
        source = path.read_text(encoding="utf-8")
        source = re.sub(r"^ *```.*?^ *```", lambda m: "\n" * m[0].count("\n"), source, flags=re.DOTALL | re.MULTILINE)
        source = re.sub(r"`[^`]*`", lambda m: "CODE" + "\n" * m[0].count("\n"), source)
        source = re.sub(r"\]\([^)]*\)|<!--.*?-->|^\|[-| :]+\|$", "]", source, flags=re.MULTILINE)
        start, lines = 1, list[str]()
        for number, line in enumerate([*source.splitlines(), ""], 1):
            if lines and (not line.strip() or re.match(r" *([-|#>]|\d+\.)", line)):
                yield Text(str(path.relative_to(ROOT)), start, "\n".join(lines))
                lines = []
            if line.strip():
                start = start if lines else number
                lines.append(re.sub(r"^ *(?:[-#>]+|\d+\.) |^\| *", "", line).replace("|", ".\t"))


def messages() -> Iterator[Text]:
    """Yield the strings of zoo/ with three or more words, docstrings excepted, and the prose of its YAML files."""
    for path, tree, _ in _modules():
        excepted = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                excepted |= {id(part) for part in node.values}
        for node in ast.walk(tree):
            text = ""
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            if PROGRAM.search(text):
                continue
            if id(node) not in excepted and len(re.findall(r"[A-Za-z]{2,}", text)) >= 3 and " " in text:
                yield Text(path, getattr(node, "lineno", 1), text)
    for file in sorted([*ROOT.glob("zoo/explain/issues/*.yaml"), *ROOT.glob("configs/**/*.yaml")]):
        for match in YAML_PROSE.finditer(file.read_text(encoding="utf-8")):
            line = match.string.count("\n", 0, match.start()) + 1
            yield Text(str(file.relative_to(ROOT)), line, str(yaml.safe_load(f"x: {match[1]}")["x"]))


def docstrings() -> Iterator[Text]:
    """Yield the docstrings and comments of zoo/, without code and the names of attributes and arguments."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for path, tree, source in _modules():
        for node in ast.walk(tree):
            if isinstance(node, documented) and (text := ast.get_docstring(node)):
                text = re.sub(r"``.*?``", lambda m: "CODE" + "\n" * m[0].count("\n"), text, flags=re.DOTALL)
                yield Text(
                    path, node.body[0].lineno, re.sub(r"^( +)[\w, ]+:(?= )", r"\1CODE:", text, flags=re.MULTILINE)
                )
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and "noqa" not in token.string:
                yield Text(path, token.start[0], token.string.lstrip("# "))


def _modules() -> Iterator[tuple[str, ast.Module, str]]:
    for path in sorted(ROOT.glob("zoo/**/*.py")):
        source = path.read_text(encoding="utf-8")
        yield str(path.relative_to(ROOT)), ast.parse(source), source


KINDS = {"documentation": documentation, "messages": messages, "docstrings": docstrings}


def violations(texts: list[Text]) -> list[str]:
    """Return PATH:LINE: PHRASE for every banned phrase and British spelling."""
    places = []
    for text in texts:
        for pattern in (NAMED, BRITISH):
            for match in pattern.finditer(text.text.replace("\n", " ")):
                line = text.text.splitlines()[text.text.count("\n", 0, match.start())]
                if not any(text.path == path and part in line for path, part in EXCEPTIONS):
                    number = text.line + text.text.count("\n", 0, match.start())
                    places.append(f"{text.path}:{number}: {match[0]}: {line.strip()[:90]}")
    return places


def sentences(texts: list[Text]) -> list[tuple[int, str]]:
    """Return the number of words and the place of each sentence of at least three words, outside of tables."""
    lengths = []
    for text in texts:
        for sentence in re.split(r"(?<=[.!?])\s+|\n\n", text.text):
            words = re.findall(r"[A-Za-z0-9][\w'./%-]*", sentence)
            if len(words) >= 3 and "\t" not in text.text:
                lengths.append((len(words), f"{text.path}:{text.line}: {' '.join(sentence.split())[:100]}"))
    return lengths


def main(arguments: list[str]) -> int:
    """Print a table, or the places of one kind."""
    if arguments[:1] == ["--list"] and arguments[1:] and arguments[1] in KINDS:
        texts = list(KINDS[arguments[1]]())
        print("\n".join(violations(texts)))
        print("\n".join(f"{words} words: {place}" for words, place in sorted(sentences(texts))[-SHOWN:]))
        return 0
    if arguments:
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    print("| kind | banned phrases and British spellings | sentences | mean words | over 25 words | longest |")
    print("|---|---|---|---|---|---|")
    for name, kind in KINDS.items():
        texts = list(kind())
        lengths = [words for words, _ in sentences(texts)]
        mean, many = sum(lengths) / len(lengths), sum(words > 25 for words in lengths)
        print(f"| {name} | {len(violations(texts))} | {len(lengths)} | {mean:.1f} | {many} | {max(lengths)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
