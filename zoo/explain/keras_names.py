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
    newest = spans.split()[-1].rpartition("-")[2]  # empty if it is in the newest release
    several = len(spans.split()) > 1 and not name  # a module that came back has other contents
    packages = f"keras=={newest}.*" if newest else "--upgrade keras tensorflow"
    if newest.startswith("2."):  # Keras 2.6 to 2.15 belong to these releases of TensorFlow
        packages = _OLD if newest[:3] in ("2.0", "2.2", "2.3") or newest == "2.1" else f"tensorflow=={newest}.*"
    words = (re.sub("-$", " and later", span).replace("-", " to ") for span in spans.split())
    known = {"releases": f"It is in Keras {', and '.join(words)}." + " Old programs need the older ones." * several}
    return known | ({} if several else {"packages": packages})


@functools.cache
def _table() -> dict[str, dict[str, str]]:
    text = (paths.PACKAGE / "explain" / "keras_names.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, str]] = json.loads(text)
    return table
