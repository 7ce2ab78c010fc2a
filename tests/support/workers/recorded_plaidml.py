"""The worker, with a record of Keras's calls of PlaidML: `python recorded_plaidml.py REQUEST`, in stack plaidml-0.7.

Each function of `plaidml/keras/backend.py` that is called is appended once to the file that OPERATIONS names.
"""

import os
import runpy
import sys
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BACKEND = os.path.join("plaidml", "keras", "backend.py")
KNOWN = set()


def add(frame, event, argument):
    """Write a function that is new; called by Python at each call."""
    code = frame.f_code
    if event != "call" or code.co_name in KNOWN or not code.co_filename.endswith(BACKEND):
        return
    KNOWN.add(code.co_name)
    if not code.co_name.startswith(("_", "<")):
        with open(os.environ["OPERATIONS"], "a", encoding="utf-8") as stream:
            stream.write(code.co_name + "\n")


threading.setprofile(add)
sys.setprofile(add)
sys.argv[0] = os.path.join(ROOT, "zoo", "worker", "__main__.py")
runpy.run_path(sys.argv[0], run_name="__main__")
