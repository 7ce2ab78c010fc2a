"""TensorFlow: collective operations in the cluster that MultiWorkerMirroredStrategy opens.

The model is not placed by the strategy. ``fit`` of Keras 3 does not work under it, and it would weight shares of
different sizes incorrectly.
"""

import os

import numpy as np

from zoo.worker.distributed import BaseEngine

# All operations run among the same processes.
GROUP_KEY = 1


class Engine(BaseEngine):
    describe = "TensorFlow collective operations, MultiWorkerMirroredStrategy's cluster"

    def __init__(self, group):
        self._group, self._keys, self._bytes = group, 0, {}

    def start(self):
        import tensorflow
        from tensorflow.python.eager import context

        os.environ.pop("TF_CONFIG", None)
        workers = ["%s:%d" % (row["host"], row["port"]) for row in self._group.rows]
        resolver = tensorflow.distribute.cluster_resolver.SimpleClusterResolver(
            tensorflow.train.ClusterSpec({"worker": workers}),
            task_type="worker",
            task_id=self._group.rank,
            rpc_layer="grpc",
        )
        # This also opens the coordination service.
        self._strategy = tensorflow.distribute.MultiWorkerMirroredStrategy(resolver)
        service, self._tensorflow = context.context(), tensorflow
        self.put, self.delete = service.set_config_key_value, service.delete_config_key_value
        self._get = service.get_config_key_value

    def prepare_keras(self):
        tensorflow = self._tensorflow
        self.dense, self.split = tensorflow.convert_to_tensor, tensorflow.split
        self._sum_figures = tensorflow.function(self.sum)
        self._patch_keras()

    @property
    def bytes_per_step(self):
        """Bytes summed by the operations that were traced for the current share of a batch, including metrics."""
        return self._bytes.get(self._group.present, 0)

    def sum(self, tensor):
        """Sum a tensor over all processes, which must run the same operations in the same order."""
        self._keys += 1
        size = int(np.prod(tensor.shape)) * tensor.dtype.size
        place = self._group.present
        self._bytes[place] = self._bytes.get(place, 0) + size
        return self._tensorflow.raw_ops.CollectiveReduceV2(
            input=tensor,
            group_size=self._group.size,
            group_key=GROUP_KEY,
            instance_key=self._keys,
            ordering_token=[],
            merge_op="Add",
            final_op="Id",
            communication_hint="ring",
        )

    def sum_figures(self, values):
        return self._sum_figures(self._tensorflow.constant(values, "float64")).numpy()

    def ones_like_batch(self, x, total):
        return self._tensorflow.ones([total, *x.shape[1:]], x.dtype)
