"""Write the results of a benchmark."""

import os

from zoo.worker.files import save_json


def save_rows(request, rows, events):
    path = os.path.join(request.run_dir, "rows.json")
    save_json(path, rows)
    events.emit("artifact", kind="rows", path=path)
