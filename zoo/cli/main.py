"""Run one command line. Errors are caught only here."""

import errno
import os
import re
import sys

from zoo.cli import parser, python_path
from zoo.core import console, processes, uses
from zoo.core.errors import INTERRUPTED, ZooError, not_installed
from zoo.core.files import FULL, room

BUG = 3
CHECK_PATHS = "Check the paths in the command."


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return 0, 1 (an error that the user can fix), 3 (a bug in zoo) or 130 (Ctrl-C)."""
    if arguments is None:
        python_path.put_last()
        processes.end_with_starter()
    for word in sys.argv[1:] if arguments is None else arguments:
        console.expect_path(word)
    try:
        parsed = parser.parse(arguments)
        code: int = parsed.run(parsed)
        return code
    except ZooError as error:
        console.fail(error.message, error.remedy)
        return error.exit_code
    except KeyboardInterrupt:
        console.say("\nInterrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output is gone (`| head`); Python would report it again when closing the stream.
        sys.stderr.close()
        return 1
    except Exception as error:
        known = _system_error(error)
        if known is None:
            return _bug(error)
        console.fail(known.message, known.remedy)
        return known.exit_code


def _system_error(error: Exception) -> ZooError | None:
    """Describe a system error that any command can raise, such as a full disk; return None for other errors."""
    if isinstance(error, OSError) and error.errno in FULL:
        place = error.filename2 or error.filename or "where the output goes"
        return ZooError(f"Cannot write: {error.strerror} ({place})", f"{room(error)} there.")
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return ZooError(f"The name of a file or folder is too long: {str(error.filename)[:60]}...", CHECK_PATHS)
    if isinstance(error, FileNotFoundError) and not error.filename and _is_cwd_gone():
        return ZooError("The folder in which this command started has been deleted", "Change to another one: cd ~")
    if isinstance(error, ModuleNotFoundError):
        return not_installed(error)
    is_value = isinstance(error, RuntimeError | ValueError)
    of_path = is_value and re.search("home directory|Symlink loop|null byte", str(error))
    looped = isinstance(error, OSError) and error.errno == errno.ELOOP
    return ZooError(f"A path cannot be read: {error}", CHECK_PATHS) if of_path or looped else None


def _is_cwd_gone() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _bug(error: Exception) -> int:
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="zoo-bug-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write(f"{[*map(uses.without_secrets, sys.argv)]}\n{sys.version}\n")
        log.write(console.without_passwords("".join(traceback.format_exception(error))))
    console.fail(f"This is a bug in zoo: {type(error).__name__}: {error}", f"Please report it and attach {log.name}")
    return BUG
