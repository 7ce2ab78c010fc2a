"""Write and read checkpoints, so that little is lost if a process is killed.

A checkpoint is ``checkpoints/NUMBER.npz``, plain arrays without pickle, and ``NUMBER.json``, its sha256 and the rest
of the state. The JSON file is written last, to mark a complete checkpoint. Any loop can use :class:`Checkpoints`;
``zoo.worker.training.checkpointing`` uses it for ``loop.fit``.
"""

import hashlib
import io
import json
import os
import shutil
import zipfile

import numpy as np

from zoo.worker.errors import UserError
from zoo.worker.files import remove, save_bytes

FOLDER = "checkpoints"
FORMAT = 1
DAMAGE = (OSError, ValueError, KeyError, TypeError, EOFError, MemoryError, RecursionError, zipfile.BadZipFile)


class Checkpoints:
    """The checkpoints of one run.

    Args:
        keep: number of checkpoints to keep, the newest.
        reserve_bytes: disk space to leave free.
        run_id: id of the run, written to checkpoints; those of another run are rejected.
    """

    def __init__(self, folder, keep=2, reserve_bytes=0, run_id=""):
        self._folder, self._run_id = os.path.join(folder, FOLDER), run_id
        self._keep, self._reserve = max(1, keep), reserve_bytes

    def save(self, number, arrays, state):
        """Write one checkpoint, then remove surplus ones; on OSError the old ones are unchanged.

        Args:
            number: number of the step; the highest is the newest.
            arrays: name -> array, of any plain type.
            state: the rest, as JSON types.
        """
        os.makedirs(self._folder, exist_ok=True)
        content = io.BytesIO()
        np.savez(content, **{name.replace("/", "."): value for name, value in arrays.items()})
        data = content.getvalue()
        free = shutil.disk_usage(self._folder).free
        if free - len(data) < self._reserve:
            raise OSError("%d MB are free, of which %d MB must stay free" % (free >> 20, self._reserve >> 20))
        name = "%010d" % number
        save_bytes(os.path.join(self._folder, name + ".npz"), data)
        about = {"format": FORMAT, "number": number, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        about.update(state=state, run_id=self._run_id)
        content = json.dumps(about, sort_keys=True, indent=1, default=lambda value: value.item())
        save_bytes(os.path.join(self._folder, name + ".json"), content.encode("utf-8"))
        self._remove_surplus(number)

    def _remove_surplus(self, newest):
        """Remove all but the newest few, and checkpoints of later steps, which a rollback made obsolete."""
        numbers = self.numbers()
        kept = [number for number in numbers if number <= newest][-self._keep :]
        for number in set(numbers) - set(kept):
            for kind in (".json", ".npz"):
                remove(os.path.join(self._folder, "%010d%s" % (number, kind)))

    def numbers(self):
        """Return the steps of all checkpoints, damaged ones included, oldest first."""
        names = os.listdir(self._folder) if os.path.isdir(self._folder) else []
        return sorted(int(name[:-5]) for name in names if name.endswith(".json") and name[:-5].isdigit())

    def load(self, warn):
        """Return (arrays, state) of the newest valid checkpoint, or None; UserError if it belongs to another run.

        ``warn`` is called with a sentence for every damaged one that is skipped.
        """
        for number in reversed(self.numbers()):
            path = os.path.join(self._folder, "%010d" % number)
            try:
                arrays, about = read(path)
                state = about["state"]
            except DAMAGE as error:
                warn("The checkpoint %s.npz is damaged (%s); using the previous one" % (path, error))
                continue
            run_id = about.get("run_id")
            if run_id != self._run_id:
                words = "the checkpoint %s.npz belongs to another run (run_id %s; this run is %s): restore this run's"
                words += " checkpoints, or start a new run"
                raise UserError(words % (path, run_id or "unknown", self._run_id or "unknown"))
            return arrays, state
        return None


def resumed(request):
    """Return the result of :meth:`Checkpoints.load` for the resumed run of a request, or None."""
    if not request.resume:
        return None
    return Checkpoints(request.run_dir, run_id=request.run_id).load(lambda _: None)


def read(path):
    """Read the arrays and the JSON of one checkpoint, a path without suffix; damage raises one of ``DAMAGE``."""
    with open(path + ".json", "rb") as source:
        about = json.loads(source.read().decode("utf-8"))
    if about["format"] != FORMAT:
        raise ValueError("its format is %r, not %d" % (about["format"], FORMAT))
    with open(path + ".npz", "rb") as source:
        data = source.read()
    if hashlib.sha256(data).hexdigest() != about["sha256"]:
        raise ValueError("its %d bytes do not match their checksum" % len(data))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise ValueError("it is compressed, so its unpacked size is unknown")
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        return {name.replace(".", "/"): stored[name] for name in stored.files}, about
