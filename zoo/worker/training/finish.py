"""Finish training: evaluate the best weights once, and save them."""

from zoo.worker import endings, exporters
from zoo.worker.training.checkpoint_files import Checkpoints


def evaluate_best(model, checkpointer, run, evaluate=dict):
    """Restore the best weights and evaluate them, unless the user stopped; return the metrics of the whole run.

    ``evaluate`` returns the metrics on the data set aside.
    """
    checkpointer.restore_best()
    metrics = dict(checkpointer.best or {}, parameters=int(model.count_params()))
    if not run.was_interrupted():
        with run.timed("evaluate_s"):
            metrics.update(evaluate())
    return metrics


def save(model, run, metrics):
    """Save the model, unless the run was stopped before it learned anything.

    Such a run starts from the beginning when it is resumed, which the weights of a trained model would prevent.
    """
    learned = metrics.get("best_epoch") or Checkpoints(run.folder).numbers() or not run.stop.asked
    if run.group.rank == 0 and learned:
        exporters.save(model, run.folder, run.events, run.exporters, endings.for_file(model, run.target))
    return run.outcome(metrics)
