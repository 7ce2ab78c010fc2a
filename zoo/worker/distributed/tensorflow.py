"""TensorFlow: MultiWorkerMirroredStrategy connects the processes and sums over them.

The model is not placed by the strategy. ``fit`` of Keras 3 does not work under it, and it would weight shares of
different sizes incorrectly.
"""

import json
import os

import tensorflow
from tensorflow.python.eager import context as eager


class Engine:
    describe = "TensorFlow collective operations, MultiWorkerMirroredStrategy's cluster"
    outputs = None
    leave = staticmethod(lambda: None)

    def __init__(self, group):
        self._group = group
        task = {"type": "worker", "index": group.rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": group.addresses}, "task": task})
        # This also opens the coordination service.
        self._strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
        service, self._total = eager.context(), tensorflow.function(self.sum)
        self.put, self.delete = service.set_config_key_value, service.delete_config_key_value
        self.get = service.get_config_key_value

    def total(self, array):
        return self._total(tensorflow.constant(array)).numpy()

    def prepare_keras(self):
        from zoo.worker.distributed import keras_parts

        keras_parts.install(self._group, self)

    def sum(self, tensor):
        """Sum a tensor over all processes, which must run the same operations in the same order."""
        self._group.summed += tensor.shape.num_elements() * tensor.dtype.size  # when TensorFlow traces a step
        context = tensorflow.distribute.get_replica_context
        return self._strategy.run(lambda: context().all_reduce("SUM", tensorflow.identity(tensor)))

    def ones_like_batch(self, x, total):
        return tensorflow.ones([total, *x.shape[1:]], x.dtype)
