"""Draw what a command prints as a terminal, an SVG file that is readable on light and dark pages.

    python3 scripts/run.py python scripts/maintenance/terminal.py FILE.svg python -m zoo train model=mnist data=digits

Runs the command for real. Long runs of epochs are shortened to the first and the last two.
"""

import argparse
import html
import re
import subprocess
import sys
from pathlib import Path

WIDTH, ROW, LETTER, EDGE, FONT = 114, 20, 8.0, 18, 13.3
BACKGROUND, TEXT, DIM, GREEN, BLUE = "#0f1720", "#e6edf3", "#9aa7b4", "#7ee787", "#79c0ff"
EPOCH = re.compile(r"epoch +\d+/\d+ ")
SHOWN = 2


def shortened(lines: list[str]) -> list[str]:
    """Keep the first and last epochs, and cut long lines."""
    epochs = [number for number, line in enumerate(lines) if EPOCH.match(line)]
    gone = set(epochs[SHOWN:-SHOWN])
    kept = [
        "..." if number == min(gone, default=-1) else line
        for number, line in enumerate(lines)
        if number not in gone or number == min(gone)
    ]
    return [line if len(line) <= WIDTH else line[: WIDTH - 3] + "..." for line in kept]


def drawn(command: str, lines: list[str]) -> str:
    """Return the terminal as SVG: the command, then its output."""
    rows = [(f"$ {command}", GREEN), *((line, color(line)) for line in shortened(lines))]
    width, height = round(WIDTH * LETTER + 2 * EDGE), (len(rows) + 1) * ROW + 2 * EDGE
    texts = [
        f'<text x="{EDGE}" y="{(number + 2) * ROW + EDGE // 2}" fill="{fill}" xml:space="preserve" '
        f'textLength="{round(len(line) * LETTER)}">{html.escape(line)}</text>'
        for number, (line, fill) in enumerate(rows)
        if line
    ]
    lights = [
        f'<circle cx="{EDGE + 18 * number}" cy="{EDGE}" r="5.5" fill="{fill}"/>'
        for number, fill in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{FONT}">'
    )
    frame = f'<rect width="{width}" height="{height}" rx="10" fill="{BACKGROUND}" stroke="#57606a"/>'
    title = f"<title>{html.escape(command)}</title>"
    return "\n".join([head, title, frame, *lights, *texts, "</svg>", ""])


def color(line: str) -> str:
    """Return the color of a line of output."""
    if line.startswith(("Device:", "Backend")):
        return BLUE
    if ": reached" in line or "test accuracy" in line:
        return GREEN
    return DIM if line.startswith((" ", "...")) else TEXT


def main(arguments: list[str]) -> int:
    """Run a command and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE.svg")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND")
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("give a command to run")
    program, *words = options.command
    command = [sys.executable, *words] if program == "python" else options.command
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = done.stdout.replace(f"{Path.cwd()}/", "")
    if done.returncode == 0:
        options.file.write_text(drawn(" ".join(options.command), output.splitlines()), encoding="utf-8")
    else:
        sys.stderr.write(done.stdout)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
