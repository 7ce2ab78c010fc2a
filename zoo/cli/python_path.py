"""Give the zoo's own libraries precedence over ``PYTHONPATH``, which belongs to other projects."""

import os
import sys

from zoo.core import paths


def put_last() -> None:
    """Move the folders of ``PYTHONPATH`` to the end of the search path, for this process and its children.

    They are not removed, because some systems provide libraries that way. The folder of the zoo stays first.
    """
    given = [os.path.abspath(entry) for entry in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if entry]
    if str(paths.PACKAGE.parent) in given:
        os.environ["PYTHONPATH"] = str(paths.PACKAGE.parent)
    late = [entry for entry in sys.path if entry in given and entry != str(paths.PACKAGE.parent)]
    sys.path[:] = [entry for entry in sys.path if entry not in late] + late
