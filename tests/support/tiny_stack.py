"""A stack of one tiny package, and the package index that serves it."""

import base64
import hashlib
import platform
import sys
import zipfile
from pathlib import Path

from tests.support import stack_files
from zoo.environments.platforms import architecture

SYSTEM = {"darwin": "macos"}.get(sys.platform, sys.platform)
PLATFORM = f"{SYSTEM}-{architecture(platform.machine())}"
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
ROW = stack_files.text(
    f'  {PLATFORM}: {{requirements: ["tiny==1.0"], devices: [cpu], minimum_os: "10.13"}}',
    about="one small package",
    python=PYTHON,
    trains="false",
    size_mb=1,
    env='{KERAS_BACKEND: tensorflow, TF_CPP_MIN_LOG_LEVEL: "2"}',
)


def wheel(folder: Path, version: str, modules: int = 0, name: str = "tiny", requires: tuple[str, ...] = ()) -> str:
    """Write a wheel of one module, and some that take long to compile, into an index folder; return its sha256."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {text}\n" for text in requires)
    head = f"Metadata-Version: 2.1\nName: {name.title()}\nVersion: {version}\n{needs}"
    files = {
        f"{name}/__init__.py": f"__version__ = {version!r}\n",
        f"{name}/deep.py": "ANSWER = 42\n",
        f"{info}/METADATA": f"{head}\nWords: none\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files |= {f"{name}/inner/slow_{number}.py": "def f():\n    return 1\n\n" * 400 for number in range(modules)}
    rows = []
    path = folder / name / f"{name}-{version}-py3-none-any.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            rows.append(f"{name},sha256={digest},{len(text)}")
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]))
    link = '<a href="{0}" data-upload-time="2026-01-01T00:00:00Z">{0}</a>'
    links = "".join(link.format(each.name) for each in sorted(path.parent.glob("*.whl")))
    (path.parent / "index.html").write_text(f"<!DOCTYPE html><html><body>{links}</body></html>")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_lock(folder: Path, sha256: str) -> None:
    (folder / f"{PLATFORM}.lock").write_text(f"tiny==1.0 \\\n    --hash=sha256:{sha256}\n")
