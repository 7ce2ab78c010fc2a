"""JAX: one program over all processes, with sharded batches and replicated weights; gloo connects CPUs.

Normalization, dropout and gradients thus cover the whole batch without changes to Keras. All processes need equal
shares.
"""

import functools
import weakref

import jax
import numpy as np
from jax._src import distributed  # its store is not public
from jax.experimental import multihost_utils


class Engine:
    describe = "jax.distributed"
    leave = staticmethod(jax.distributed.shutdown)  # waits for all processes

    def __init__(self, group):
        self._predicting = weakref.WeakKeyDictionary()
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.config.update("jax_enable_preemption_service", False)  # it would replace the SIGTERM handler
        jax.distributed.initialize(group.addresses[0], group.size, group.rank, cluster_detection_method="deactivate")
        store = distributed.global_state.client
        self.put, self.delete, self.get = store.key_value_set, store.key_value_delete, store.blocking_key_value_get
        group.multiple = group.size
        # All processes give equal values to ``jax.device_put``. It would compare each of them between the processes:
        # several exchanges per step, and a deadlock if only one process creates a variable, as in saving.
        multihost_utils.assert_equal = lambda *_, **__: None

    def total(self, array):
        return multihost_utils.broadcast_one_to_all(array, is_source=True)  # a sum, to which all contribute

    def prepare_keras(self):
        import keras

        keras.distribution.set_distribution(keras.distribution.DataParallel(auto_shard_dataset=False))

    def outputs(self, model, x):
        """Predict only in this process, because a shared program would have to start in all processes."""
        if model not in self._predicting:
            self._predicting[model] = jax.jit(functools.partial(model.stateless_call, training=False))
        own = [[np.asarray(each.value.addressable_data(0)) for each in variables]
               for variables in (model.trainable_variables, model.non_trainable_variables)]  # fmt: skip
        return self._predicting[model](*own, x)[0]
