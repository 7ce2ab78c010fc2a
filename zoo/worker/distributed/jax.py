"""JAX: one program over all processes, with sharded batches and replicated weights; gloo connects CPUs.

Normalization, dropout and gradients thus cover the whole batch without changes to Keras. All processes need equal
shares.
"""

import weakref

import numpy as np

from zoo.worker.distributed import BaseEngine


class Engine(BaseEngine):
    needs_equal_shares = True
    describe = "jax.distributed"

    def __init__(self, group):
        self._group, self._predicting = group, weakref.WeakKeyDictionary()

    def start(self):
        import jax
        from jax._src import distributed  # its store is not public
        from jax.experimental import multihost_utils

        group = self._group
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.config.update("jax_enable_preemption_service", False)  # it would replace the SIGTERM handler
        address = "%s:%d" % (group.hosts[0], group.rows[0]["port"])
        jax.distributed.initialize(address, group.size, group.rank, cluster_detection_method="deactivate")
        self._jax, self._gathered, store = jax, multihost_utils.process_allgather, distributed.global_state.client
        self.put, self.delete, self._get = store.key_value_set, store.key_value_delete, store.blocking_key_value_get
        # All processes give equal values to ``jax.device_put``. It would compare each of them between the processes:
        # several exchanges per step, and a deadlock if only one process creates a variable, as in saving.
        multihost_utils.assert_equal = lambda *_, **__: None

    def leave(self):
        """Leave the coordination service, which waits for all processes."""
        self._jax.distributed.shutdown()

    def sum_figures(self, values):
        return self._gathered(np.array(values, np.float32)).sum(axis=0)

    def prepare_keras(self):
        import keras

        keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))

    @property
    def bytes_per_step(self):
        """Bytes of the gradients, which XLA sums; statistics of normalization are not included."""
        return sum(each.value.nbytes for each in self._group.model.trainable_variables)

    def outputs(self, model, x):
        """Predict only in this process, because a shared program would have to start in all processes."""
        if model not in self._predicting:
            self._predicting[model] = self._jax.jit(
                lambda weights, others, x: model.stateless_call(weights, others, x, training=False)[0]
            )
        own = [[np.asarray(each.value.addressable_data(0)) for each in variables]
               for variables in (model.trainable_variables, model.non_trainable_variables)]  # fmt: skip
        given = self._predicting[model](own[0], own[1], x)
        return [np.asarray(each) for each in (given if isinstance(given, (list, tuple)) else [given])]
