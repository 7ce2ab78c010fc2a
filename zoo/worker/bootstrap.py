"""Make ``zoo`` importable in a stack's interpreter; run by path, with ``runpy.run_path``.

The folder of the package may contain the host's packages, so it is never added to the path.
"""

import os
import sys
import types

if "zoo" not in sys.modules:
    package = types.ModuleType("zoo")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    sys.modules["zoo"] = package
