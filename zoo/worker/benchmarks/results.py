"""Write the results of a benchmark."""

import os

from zoo.worker.files import save_json


def save_rows(request, rows, events):
    """Write ``rows.json``; return the number of rows and of those with an error, as metrics."""
    path = os.path.join(request.run_dir, "rows.json")
    save_json(path, rows)
    events.emit("artifact", kind="rows", path=path)
    return {"rows": len(rows), "failed": sum(bool(row.get("error")) for row in rows)}
