"""Bundle what all parts of a training share: request, events, stop and phases."""

import contextlib
import time

from zoo.worker import distributed, exporters


class Run:
    """One training.

    Args:
        request: its ``train`` part holds the settings, ``run_dir`` the run folder.
        events: where to report.
        stop: when asked to, training ends after the step in hand.
        phases: seconds by phase, filled in.

    Attributes:
        group: the processes that share the batches; this one alone, mostly.

    Raises:
        UserError: the model cannot be saved in a format of ``train.export``.
    """

    def __init__(self, request, events, stop, phases):
        self.request, self.events, self.stop, self.phases = request, events, stop, phases
        self.settings, self.folder = request.train, request.run_dir
        self.group = distributed.current()
        self._began = time.monotonic()
        # A format that cannot be written is refused here, not after hours of training.
        self.exporters = exporters.wanted(self.settings.export)

    def is_out_of_time(self):
        """Whether it has gone on for ``train.max_minutes``, without features, which each resumption computes anew."""
        minutes = self.settings.max_minutes
        return bool(minutes) and time.monotonic() - self._began - self.spent("features_s") >= 60 * minutes

    def add(self, phase, seconds):
        """Count seconds to a phase."""
        self.phases[phase] = self.phases.get(phase, 0.0) + seconds

    def spent(self, *phases):
        """Seconds of some phases so far."""
        return sum(self.phases.get(phase, 0.0) for phase in phases)

    @contextlib.contextmanager
    def timed(self, phase):
        """Count what happens inside to a phase."""
        began = time.monotonic()
        yield
        self.add(phase, time.monotonic() - began)

    def warn(self, message):
        """Report what the user should know."""
        self.events.emit("warning", message=message)

    def was_interrupted(self):
        """Whether the user, and not a limit in the settings, ended it."""
        return self.stop.asked and self.stop.reason != "max_minutes"

    def outcome(self, metrics):
        """The fields of the ``done`` event."""
        return {"metrics": metrics, "stopped": self.stop.reason if self.stop.asked else None}
