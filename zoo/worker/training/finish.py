"""End a training: evaluate the best weights once, and save them."""

from zoo.worker import exporters


def evaluate_best(model, checkpointer, run, evaluate=dict):
    """Give the model its best weights back and evaluate it, unless the user stopped the training.

    Args:
        model: the trained model.
        checkpointer: has the best weights and their figures.
        run: a :class:`zoo.worker.training.run.Run`.
        evaluate: returns the figures of what was set aside.

    Returns:
        The figures of the whole training.
    """
    checkpointer.restore_best()
    metrics = dict(checkpointer.best or {}, parameters=int(model.count_params()))
    if not run.was_interrupted():
        with run.timed("evaluate_s"):
            metrics.update(evaluate())
    return metrics


def save(model, run, metrics):
    """Save the model, in one process only, and return the fields of the ``done`` event."""
    if run.group.rank == 0:
        exporters.save(model, run.folder, run.events, run.exporters)
    return run.outcome(metrics)
