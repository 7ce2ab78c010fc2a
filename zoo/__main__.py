"""``python -m zoo``."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036
    message = "error: zoo needs Python 3.11 or newer, this is %d.%d. In its checkout: python3 scripts/run.py zoo"
    sys.exit(message % sys.version_info[:2])

# A file in the current folder, such as random.py, must not replace a library.
if __name__ == "__main__" and sys.path[0] != os.path.dirname(os.path.dirname(__file__)):
    sys.path.append(sys.path.pop(0))

try:
    from zoo.cli.main import main
except KeyboardInterrupt:
    sys.exit(130)


def leave(code: int) -> None:
    """Exit immediately, because unloading modules takes Python a tenth of a second.

    Nothing is lost: files are closed where they are written, and threads that outlive a command are daemons.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has left (`| head`)
        code = code or 1
    except OSError as error:
        code = code or 1
        sys.stderr.write(f"error: Cannot write the output: {error.strerror}\n")
    if not sys.stderr.closed:
        sys.stderr.flush()
    os._exit(code)


def run() -> None:
    """Run this process's command line to the end; this is the installed command ``zoo``."""
    # A closed stream (`>&-`) leaves its number to the next file, which would get the output.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
            if sys.stderr is not None:
                sys.stderr.write(f"WARNING: {name} is closed\n")
    # In an ASCII locale, a name may contain other letters.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    leave(main())


if __name__ == "__main__":
    run()
