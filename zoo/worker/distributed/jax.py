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
        self._trained = None

    def start(self, device):
        """Open the connections of the framework, after its platform is set and before it computes."""
        import jax

        group = self._group
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.config.update("jax_enable_preemption_service", False)  # it would replace the SIGTERM handler
        address = "%s:%d" % (group.hosts[0], group.rows[0]["port"])
        jax.distributed.initialize(address, group.size, group.rank, cluster_detection_method="deactivate")
        from jax._src import distributed  # its store is not public
        from jax.experimental import multihost_utils

        self._jax, self._client, self._gathered = (
            jax,
            distributed.global_state.client,
            multihost_utils.process_allgather,
        )
        self.put, self.delete = self._client.key_value_set, self._client.key_value_delete

    def get(self, key, patience_s):
        """Wait for a text in the store and return it."""
        return self._client.blocking_key_value_get(key, int(1000 * patience_s))

    def leave(self):
        """Leave the coordination service, which waits for all processes."""
        self._jax.distributed.shutdown()

    def sum_figures(self, values):
        return self._gathered(np.array(values, np.float32)).sum(axis=0)

    def prepare_keras(self):
        import keras

        keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
        self._replicate_without_asking()

    def _replicate_without_asking(self):
        """Replicate values that all processes have without communication.

        ``jax.device_put`` first compares each value between all processes. This costs several exchanges per step,
        and a deadlock occurs if only one process creates a variable, as in saving.
        """
        from keras.src.backend.jax import distribution_lib

        jax, original = self._jax, distribution_lib.distribute_tensor

        def distribute_tensor(tensor, layout):
            sharding = getattr(layout, "backend_layout", layout)
            is_local = not isinstance(tensor, jax.core.Tracer) and getattr(tensor, "is_fully_addressable", True)
            if not is_local or not sharding.is_fully_replicated:
                return original(tensor, layout)
            here = np.asarray(tensor)
            return jax.make_array_from_callback(here.shape, sharding, lambda index: here[index])

        distribution_lib.distribute_tensor = distribute_tensor

    @property
    def bytes_per_step(self):
        """Bytes of the gradients, which XLA sums; statistics of normalization are not included."""
        if self._trained is None:
            return 0
        return sum(each.value.nbytes for each in self._trained.trainable_variables)

    def watch(self, model):
        self._trained = model

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
