"""Run the ``predict.py`` of an export on files, in a process without access to the zoo."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from zoo.worker.errors import UserError
from zoo.worker.exporting import card

SECONDS = 600
# Runs only this code: nothing is imported from the folder.
_RUN = """
import json, sys
import numpy as np
code, files = json.load(sys.stdin)
names = {"__name__": "predict", "__file__": "predict.py"}
exec(compile(code, "predict.py", "exec"), names)
np.savez(sys.argv[1], *[names["predict"](each) for each in files])
"""


def answers(folder, files):
    """Return the results of the function ``predict`` of ``predict.py`` for each file or text."""
    with open(os.path.join(folder, card.PROGRAM), encoding="utf-8") as text:
        code = text.read()
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "answers.npz")
        # Isolated: without the user's packages and PYTHONPATH.
        process = subprocess.run(
            [sys.executable, "-I", "-B", "-c", _RUN, out], cwd=folder, input=json.dumps([code, files]).encode(),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS,
        )  # fmt: skip
        if process.returncode:
            said = process.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"]
            raise UserError("its predict.py fails (exit %d): %s" % (process.returncode, said[-1]))
        with np.load(out, allow_pickle=False) as stored:
            return [stored[name] for name in stored.files]
