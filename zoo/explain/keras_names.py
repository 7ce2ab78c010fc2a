"""Which releases of Keras have a module or name, from ``keras_names.json`` (scripts/maintenance/keras_names.py)."""

import functools
import json
import re

from zoo.core import paths

# Packages under which the modules of tensorflow.keras are installed.
_OF_TENSORFLOW = re.compile(r"^(keras\.api\._v2\.keras|keras\._tf_keras\.keras)\b")
_OLD = "keras==2.2.4 'tensorflow<2' (with Python 3.7)"


def releases(values: dict[str, str]) -> dict[str, str]:
    """Return the ``releases`` with what a message misses, as a sentence, and ``packages`` to install, if known.

    Args:
        values: ``module``, or ``name`` or ``attr`` and its module ``from`` or ``owner``.
    """
    name = values.get("name", values.get("attr", ""))
    module = values.get("module", values.get("from", values.get("owner", "keras.backend")))
    module = _OF_TENSORFLOW.sub("tensorflow.keras", module)
    spans = _table().get(module, {}).get(name)
    if spans is None:
        return {}
    is_part = module.startswith("tensorflow.")
    words = ", and ".join(_words(span, is_part) for span in spans.split())
    newest = spans.split()[-1].rpartition("-")[2]  # empty if it is in the newest release
    packages = f"keras=={newest}.*" if newest else "--upgrade keras tensorflow"
    if newest.startswith("2."):  # Keras 2.6 to 2.15 belong to these releases of TensorFlow
        packages = _OLD if newest[:3] in ("2.0", "2.2", "2.3") or newest == "2.1" else f"tensorflow=={newest}.*"
    return {"releases": f"It is in {'TensorFlow' if is_part else 'Keras'} {words}.", "packages": packages}


def _words(span: str, is_part: bool) -> str:
    """Return a range such as ``2.0-2.12`` in words; Keras 3 is a part of TensorFlow from 2.16 on."""
    first, several, last = span.partition("-")
    if is_part and first.startswith("3"):
        return "2.16 and later (with Keras 3)" if first == "3.0" else f"with Keras {first}{several}{last}"
    return f"{first} and later" if several and not last else f"{first} to {last}" if several else first


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    text = (paths.PACKAGE / "explain" / "keras_names.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, str]] = json.loads(text)
    return table
