"""Draw the badges of the first page as SVG files under assets, from facts of pyproject.toml: no address is needed.

python3 scripts/run.py python scripts/maintenance/badges.py
"""

import argparse
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LETTER, EDGE, HEIGHT = 6.2, 8, 20


def badges() -> dict[str, str]:
    """Return the SVG of each badge by the name of its file."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    systems = [row.rpartition(" :: ")[2] for row in project["classifiers"] if row.startswith("Operating")]
    facts = {
        "python": re.sub(r">=(.*)", r"\1 or newer", project["requires-python"]),
        "license": project["license"],
        "systems": ", ".join(systems).replace("MacOS", "macOS"),
        "release": f"{project['version']}, not published yet",
    }
    return {f"badge_{name}.svg": drawn(name, words) for name, words in facts.items()}


def drawn(name: str, words: str) -> str:
    """Return a badge: a name on gray, and words on blue."""
    left, right = (round(len(text) * LETTER + 2 * EDGE) for text in (name, words))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{HEIGHT}" role="img" '
        f'font-family="Verdana, DejaVu Sans, sans-serif" font-size="11"><title>{name}: {words}</title>'
        f'<rect width="{left + right}" height="{HEIGHT}" rx="3" fill="#0b57a4"/>'
        f'<path d="M3 0h{left - 3}v{HEIGHT}h-{left - 3}a3 3 0 0 1-3-3v-{HEIGHT - 6}a3 3 0 0 1 3-3z" fill="#474f58"/>'
        f'<g fill="#fff"><text x="{EDGE}" y="14" textLength="{left - 2 * EDGE}">{name}</text>'
        f'<text x="{left + EDGE}" y="14" textLength="{right - 2 * EDGE}">{words}</text></g></svg>\n'
    )


def main() -> None:
    """Write the badges."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    for file, content in badges().items():
        (ROOT / "assets" / file).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
