"""Write TensorBoard event files of a training run with the stack's own writer."""

import math
import os

from zoo.worker import devices
from zoo.worker.errors import UserError

FOLDER = "tensorboard"


class TensorBoardEmitter:
    """Forwards events, and writes the metrics of every epoch to ``tensorboard`` in the run folder."""

    def __init__(self, events, framework, folder):
        self._events = events
        self._write, self.close = _writer(framework, os.path.join(folder, FOLDER))

    def emit(self, event, **fields):
        self._events.emit(event, **fields)
        if event == "epoch":
            known = {name: value for name, value in fields.items() if _is_figure(name, value)}
            self._write(known, int(fields["epoch"]))

    def step(self, **fields):
        self._events.step(**fields)


def _is_figure(name, value):
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and name not in ("epoch", "epochs") and math.isfinite(value)


def _writer(framework, folder):
    """Return a function of metrics and step that writes them, and one that closes the file."""
    if not devices.capabilities(framework)["tensorboard"]:
        raise UserError(
            "tensorboard=true: %s cannot write event files. Remove the setting, or use a stack with TensorFlow, such"
            " as stack=tf-2.21" % framework
        )
    try:
        return {"tensorflow": _of_tensorflow, "torch": _of_torch}[framework](folder)
    except ImportError as error:
        raise UserError(
            "tensorboard=true: this stack cannot write event files (%s). Remove the setting, or use a stack with"
            " TensorFlow, such as stack=tf-2.21, or backend.python= with an environment that can" % error
        ) from error


def _of_tensorflow(folder):
    """Return a writer of event messages for TensorFlow 1 and 2: ``tf.summary.scalar`` of 2.21 needs TensorBoard."""
    import tensorflow as tf

    summary = tf.Summary if hasattr(tf, "Summary") else tf.compat.v1.Summary

    def rows(figures):
        return summary(value=[summary.Value(tag=name, simple_value=value) for name, value in sorted(figures.items())])

    if not hasattr(tf.summary, "create_file_writer"):  # TensorFlow 1
        plain = tf.summary.FileWriter(folder)

        def write_plain(figures, step):
            plain.add_summary(rows(figures), step)
            plain.flush()

        return write_plain, plain.close
    writer = tf.summary.create_file_writer(folder)

    def write(figures, step):
        with writer.as_default(), tf.device("CPU"):
            tf.summary.experimental.write_raw_pb(rows(figures).SerializeToString(), step=step)
        writer.flush()

    return write, writer.close


def _of_torch(folder):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder)

    def write(figures, step):
        for name, value in sorted(figures.items()):
            writer.add_scalar(name, value, step)
        writer.flush()

    return write, writer.close
