"""Write files atomically, so that readers never see incomplete files."""

import contextlib
import json
import os

import numpy as np


@contextlib.contextmanager
def atomic_write(path, durable=True):
    """Open a binary file that replaces ``path`` once everything is written; if writing fails, the old file remains.

    With ``durable``, file and folder are synced, so that a power cut leaves the old or the new file.
    """
    aside = path + ".part"
    try:
        with open(aside, "wb") as out:
            yield out
            out.flush()
            if durable:
                os.fsync(out.fileno())
        os.replace(aside, path)
    except BaseException:
        remove(aside)
        raise
    if durable:
        handle = os.open(os.path.dirname(path) or ".", os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove(path):
    if os.path.exists(path):
        os.remove(path)


def save_arrays(path, arrays):
    """Write arrays by name as ``.npz``."""
    with atomic_write(path) as out:
        np.savez(out, **arrays)


def save_bytes(path, content):
    with atomic_write(path) as out:
        out.write(content)


def save_json(path, content):
    save_bytes(path, json.dumps(content).encode("utf-8"))
