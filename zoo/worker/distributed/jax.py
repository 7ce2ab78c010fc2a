"""JAX: one program over all processes. Batches are sharded, weights are replicated, and XLA does the rest.

So normalization, dropout and gradients are of the whole batch without more ado, and every process takes as many items
as the others. Between CPUs it uses gloo.
"""

import weakref

import numpy as np


class Engine:
    """Adds up over all processes.

    Args:
        group: the :class:`zoo.worker.distributed.group.Group`.
    """

    needs_equal_shares = True
    describe = "jax.distributed"

    def __init__(self, group):
        self._group, self._predicting = group, weakref.WeakKeyDictionary()
        self._trained = None

    def start(self, device):
        """Open the connections of the framework; after it was told its platform, before it computes."""
        import jax

        group = self._group
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM away from `Stop`
        address = "%s:%d" % (group.hosts[0], group.rows[0]["port"])
        jax.distributed.initialize(address, group.size, group.rank, cluster_detection_method="deactivate")
        from jax._src import distributed  # its store has no public name
        from jax.experimental import multihost_utils

        self._jax, self._client, self._gathered = (
            jax,
            distributed.global_state.client,
            multihost_utils.process_allgather,
        )
        self.put, self.delete = self._client.key_value_set, self._client.key_value_delete

    def get(self, key, patience_s):
        """Return a text from the store; wait until it is there."""
        return self._client.blocking_key_value_get(key, int(1000 * patience_s))

    def leave(self):
        """Leave the coordination service, which waits for all processes."""
        self._jax.distributed.shutdown()

    def sum_figures(self, values):
        """Add up some numbers, (n,)."""
        return self._gathered(np.array(values, np.float32)).sum(axis=0)

    def prepare_keras(self):
        """Shard batches and replicate weights from now on."""
        import keras

        keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))
        self._replicate_without_asking()

    def _replicate_without_asking(self):
        """Let a value that all processes have become one of all of them where it is.

        ``jax.device_put`` has all processes compare it first: several exchanges a step, for the learning rate and
        every metric, and no end where one process alone creates a variable, as in saving.
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

    def enter(self):
        """Begin a step."""

    @property
    def bytes_per_step(self):
        """Bytes of the gradients, which XLA adds up; statistics of normalization come on top."""
        if self._trained is None:
            return 0
        return sum(each.value.nbytes for each in self._trained.trainable_variables)

    def watch(self, model):
        """Take note of the model that is trained."""
        self._trained = model

    def outputs(self, model, x):
        """Predict in this process alone: a program over all of them would have to be begun by all of them."""
        if model not in self._predicting:
            self._predicting[model] = self._jax.jit(
                lambda weights, others, x: model.stateless_call(weights, others, x, training=False)[0]
            )
        own = [[np.asarray(each.value.addressable_data(0)) for each in variables]
               for variables in (model.trainable_variables, model.non_trainable_variables)]  # fmt: skip
        given = self._predicting[model](own[0], own[1], x)
        return [np.asarray(each) for each in (given if isinstance(given, (list, tuple)) else [given])]
