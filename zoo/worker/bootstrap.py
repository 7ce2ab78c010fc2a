"""Make ``zoo`` importable in a stack's interpreter; run by path, with ``runpy.run_path``.

The folder that holds the package may be full of the host's packages, and is never put on the path.
"""

import os
import sys
import types

if "zoo" not in sys.modules:
    package = types.ModuleType("zoo")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    sys.modules["zoo"] = package
