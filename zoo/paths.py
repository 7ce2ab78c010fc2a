"""Where the zoo finds its own files and keeps what it builds."""

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent

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
