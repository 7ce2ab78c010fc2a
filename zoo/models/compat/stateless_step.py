"""Keras's optimizer step on JAX and MLX, without the overhead of ``train_on_batch``.

Keras resets its metrics before each step and assigns every variable after it, one operation each. For small networks
this takes longer than the step. Here, the compiled step resets metrics, and variables get their values directly.
"""

import numpy as np

from zoo.models.compat.version import backend_name, keras


class Step:
    """Takes optimizer steps that return the metrics ``names``; ``batch`` is an example: x, y, optionally weights."""

    def __init__(self, model, names, batch):
        # As in Keras: the variables of optimizer and metrics must exist before the step is compiled.
        model._symbolic_build(data_batch=(*batch, *[None] * (3 - len(batch))))
        parts = model.trainable_variables, model.non_trainable_variables, model.optimizer.variables
        self._variables = [list(variables) for variables in parts]

        def step(state, batch):
            zeros = [keras.ops.zeros(each.shape, each.dtype) for each in model.metrics_variables]
            logs, state = model.train_step((*state, zeros), batch)
            return [logs[name] for name in ("loss", *names)], [list(values) for values in state[:3]]

        self._step = (_compiled_by_jax if backend_name() == "jax" else _compiled_by_mlx)(step, self._variables)

    def take(self, *batch):
        """Take one step on x, y and optionally weights of items; return the loss and the metrics."""
        state = [[each.value for each in variables] for variables in self._variables]
        figures, state = self._step(state, list(batch))
        for variables, values in zip(self._variables, state):
            for variable, value in zip(variables, values):
                variable._value = value
        return [np.asarray(each) for each in figures]


def _compiled_by_jax(step, variables):
    import jax

    distribution = keras.distribution.distribution()
    if distribution is None:
        return jax.jit(step, donate_argnums=0)
    places = [[each.value.sharding for each in part] for part in variables]
    shared = jax.jit(step, donate_argnums=0, out_shardings=(None, places))

    def whole(array):
        """Return the global array of the batch, to which this process contributes its share."""
        layout = distribution.get_data_layout(array.shape).backend_layout
        return jax.make_array_from_process_local_data(layout, array)

    return lambda state, batch: shared(state, [whole(each) for each in batch])


def _compiled_by_mlx(step, _variables):
    import mlx.core as mx

    compiled = mx.compile(step)

    def run(state, batch):
        results = compiled(state, [keras.ops.convert_to_tensor(each) for each in batch])
        mx.eval(results)
        return results

    return run
