"""Write tutorials as Jupyter notebooks next to their pages: text, files to save, and commands.

python3 scripts/run.py python scripts/maintenance/notebooks.py
"""

import argparse
import json
import re
from pathlib import Path

TUTORIALS = Path(__file__).resolve().parent.parent.parent / "docs" / "tutorials"
NAMES = ("mnist", "own-images")
BLOCK = re.compile(r"(?:Save this as `([\w.]+)`:\n\n)?```(python|bash)\n(.*?)```\n", re.DOTALL)
NOTE = """Generated from `{page}`. It needs Jupyter in the environment of zoo. In the folder of zoo, type
`. .venv/bin/activate`, `uv pip install jupyterlab` and `jupyter lab`, and open this file. The first cell changes to
that folder, in which the commands run."""
ROOT = "%cd ../.."


def notebook(page: Path) -> str:
    """Return the notebook of a page as JSON (nbformat 4.5): a cell for each text, file and block of commands."""
    cells = [_cell("markdown", NOTE.format(page=page.name)), _cell("code", ROOT)]
    text, end = page.read_text(encoding="utf-8"), 0
    for block in BLOCK.finditer(text):
        file, language, code = block.groups()
        cells.append(_cell("markdown", text[end : block.start()]))
        first = f"%%writefile {file}" if file else "%%bash" if language == "bash" else ""
        cells.append(_cell("code", f"{first}\n{code}" if first else code))
        end = block.end()
    cells = [cell for cell in [*cells, _cell("markdown", text[end:])] if cell["source"]]
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells, 1)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    book = {"cells": numbered, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _cell(kind: str, text: str) -> dict[str, object]:
    more = dict[str, object](execution_count=None, outputs=[]) if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.strip("\n").splitlines(keepends=True), **more}


def main() -> None:
    """Write the notebooks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    for name in NAMES:
        page = TUTORIALS / f"{name}.md"
        page.with_suffix(".ipynb").write_text(notebook(page), encoding="utf-8")


if __name__ == "__main__":
    main()
