"""How much memory this process takes."""

import sys


def peak_bytes():
    """Largest resident size so far, in bytes, or None where the system does not tell (Windows)."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
