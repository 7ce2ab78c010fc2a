"""Write the results of a benchmark."""

import os

from zoo.worker.files import save_json


def save_rows(request, rows, events):
    """Write ``rows.json`` into the run folder and announce it."""
    path = os.path.join(request.run_dir, "rows.json")
    save_json(path, rows)
    events.emit("artifact", kind="rows", path=path)
