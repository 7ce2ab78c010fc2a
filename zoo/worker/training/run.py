"""Bundle the data that all parts of a training run share: request, events, stop and phases."""

import time

import numpy as np

from zoo.models import compat
from zoo.worker import distributed, exporters
from zoo.worker.phases import timed

BUCKETS = 30


class Run:
    """One training run; adds seconds to ``phases``. ``group`` has the processes that share the batches."""

    def __init__(self, request, events, stop, phases):
        self.request, self.events, self.stop, self.phases = request, events, stop, phases
        self.settings, self.folder = request.train, request.run_dir
        self.target = request.model.target if request.model else None
        self.group = distributed.current()
        self._began = time.monotonic()
        # Reject formats that cannot be written now, not after hours of training.
        self.exporters = exporters.wanted(self.settings.export)

    def is_out_of_time(self):
        """Return whether ``max_minutes`` are over; excludes features, which each resumed run computes again."""
        minutes = self.settings.max_minutes
        return bool(minutes) and time.monotonic() - self._began - self.spent("features_s") >= 60 * minutes

    def add(self, phase, seconds):
        self.phases[phase] = self.phases.get(phase, 0.0) + seconds

    def spent(self, *phases):
        return sum(self.phases.get(phase, 0.0) for phase in phases)

    def timed(self, phase):
        """Add the duration of the block to a phase."""
        return timed(self.phases, phase)

    def warn(self, message):
        self.events.emit("warning", message=message)

    def report_network(self, model):
        if self.request.tensorboard:
            try:
                self.events.emit("network", layers=compat.connected_layers(model))
            except Exception as error:  # layers of other libraries may lack attributes
                self.warn("TensorBoard cannot show the graph of this network: %s" % error)

    def report_weights(self, model, epoch):
        """Report a histogram of each weight, of its finite values only."""
        if not self.request.tensorboard_histograms:
            return
        for (name, _), array in zip(compat.named_weights(model), model.get_weights()):
            values = np.asarray(array, np.float64)
            values = values[np.isfinite(values)]
            low, high = (values.min(), values.max()) if len(values) else (0.0, 0.0)
            counts = np.histogram(values, BUCKETS if low < high else 1, (low, high))[0].tolist()
            figures = [low, high, len(values), values.sum(), np.square(values).sum()]
            self.events.emit("histogram", epoch=epoch, weight=name, figures=figures, counts=counts)

    def was_interrupted(self):
        """Return whether the user, not a limit in the settings, stopped the run."""
        return self.stop.asked and self.stop.reason != "max_minutes"

    def outcome(self, metrics):
        return {"metrics": metrics, "stopped": self.stop.reason if self.stop.asked else None}
