"""Where the zoo finds its own files and keeps what it builds."""

import contextlib
import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent

# In a checkout configs/ and recipes/ lie beside the package; a wheel carries them inside it.
ROOT = PACKAGE.parent if (PACKAGE.parent / "recipes" / "stacks").is_dir() else PACKAGE
CONFIGS = ROOT / "configs"
RECIPES = ROOT / "recipes"
STACKS = RECIPES / "stacks"
WORKER = PACKAGE / "worker" / "__main__.py"


def cache_dir() -> Path:
    """Folder for environments, data and downloads: ``$ZOO_CACHE``, else the system's user cache folder."""
    chosen = os.environ.get("ZOO_CACHE")
    if chosen:
        return Path(chosen).expanduser().resolve()
    import platformdirs

    return Path(platformdirs.user_cache_dir("zoo", appauthor=False))


def make_cache() -> None:
    """Make the cache folder where it is not there yet, so that only its owner can look into it."""
    folder = cache_dir()
    with contextlib.suppress(OSError):  # told by whoever then cannot write there
        if not folder.exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(mode=0o700)
