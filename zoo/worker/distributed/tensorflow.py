"""TensorFlow: collective operations in the cluster that MultiWorkerMirroredStrategy opens.

The model is not placed by the strategy. ``fit`` of Keras 3 does not work under it, and it would weight shares of
different sizes incorrectly.
"""

import json
import os

import tensorflow
from tensorflow.python.eager import context


class Engine:
    describe = "TensorFlow collective operations, MultiWorkerMirroredStrategy's cluster"
    outputs = None
    leave = staticmethod(lambda: None)

    def __init__(self, group):
        self._group, self._keys = group, 0
        task = {"type": "worker", "index": group.rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": group.addresses}, "task": task})
        # This also opens the coordination service.
        self._strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
        service, self._total = context.context(), tensorflow.function(self.sum)
        self.put, self.delete = service.set_config_key_value, service.delete_config_key_value
        self.get = service.get_config_key_value

    def total(self, array):
        return self._total(tensorflow.constant(array)).numpy()

    def prepare_keras(self):
        from zoo.worker.distributed import keras_parts

        keras_parts.install(self._group, self)

    def sum(self, tensor):
        """Sum a tensor over all processes, which must run the same operations in the same order."""
        self._keys += 1
        self._group.summed += tensor.shape.num_elements() * tensor.dtype.size  # when TensorFlow traces a step
        return tensorflow.raw_ops.CollectiveReduceV2(
            input=tensor,
            group_size=self._group.size,
            group_key=1,  # all operations run among the same processes
            instance_key=self._keys,
            ordering_token=[],
            merge_op="Add",
            final_op="Id",
            communication_hint="ring",
        )

    def ones_like_batch(self, x, total):
        return tensorflow.ones([total, *x.shape[1:]], x.dtype)
