"""Measure the memory of this process and of the machine."""

import os
import sys


def peak_bytes() -> "int | None":
    """Return the largest resident size so far in bytes, or None if the system does not report it (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def total_bytes() -> "int | None":
    """Return the memory of the machine in bytes, or None if the system does not report it."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def available_bytes() -> "int | None":
    """Return the memory of the machine in bytes or, if less, the limit of this process's container."""
    total = total_bytes()
    return total if total is None else min(total, _container_limit() or total)


def _container_limit() -> "int | None":
    try:
        with open("/sys/fs/cgroup/memory.max") as limit:
            return int(limit.read())
    except (OSError, ValueError):  # no such file on other systems; "max" without a limit
        return None
