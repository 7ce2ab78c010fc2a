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

    def start(self, device):
        """Open the connections of the framework, after its import and before it computes."""
        import tensorflow

        group = self._group
        threads = group.settings.threads
        tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
        tensorflow.config.threading.set_inter_op_parallelism_threads(threads)
        os.environ.pop("TF_CONFIG", None)
        workers = ["%s:%d" % (row["host"], row["port"]) for row in group.rows]
        distribute = tensorflow.distribute
        resolver = distribute.cluster_resolver.SimpleClusterResolver(
            tensorflow.train.ClusterSpec({"worker": workers}),
            task_type="worker",
            task_id=group.rank,
            rpc_layer="grpc",
        )
        self._strategy = distribute.MultiWorkerMirroredStrategy(resolver)  # also opens the coordination service
        from tensorflow.python.eager import context

        self._tensorflow, service = tensorflow, context.context()
        self.put, self.delete = service.set_config_key_value, service.delete_config_key_value
        self._get = service.get_config_key_value

    def get(self, key, patience_s):
        """Wait for a text in the store and return it."""
        return self._get(key, int(1000 * patience_s))

    def prepare_keras(self):
        """Make Keras compute over all items of a batch."""
        from zoo.worker.distributed import keras_parts

        tensorflow, group, reduce = self._tensorflow, self._group, self._sum

        @tensorflow.custom_gradient
        def sum_through(x):
            """Sum over all processes; the gradient is for the loss over all items."""
            weight = group.weight
            return reduce(x), lambda gradient: reduce(gradient * weight) / weight

        self.sum_through = sum_through
        self._sum_figures = tensorflow.function(lambda values: self._sum(values))
        keras_parts.install(group, self)

    @property
    def bytes_per_step(self):
        """Bytes summed by the operations that were traced for the current share of a batch, including metrics."""
        return self._bytes.get(self._group.present, 0)

    def _sum(self, tensor):
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

    def mean_gradients(self, gradients):
        """Average gradients over the items of the whole batch; None stays None."""
        tensorflow = self._tensorflow
        dense = [None if each is None else tensorflow.convert_to_tensor(each) for each in gradients]
        present = [each for each in dense if each is not None]
        if not present:
            return gradients
        wide = max([tensorflow.float32] + [each.dtype for each in present], key=lambda kind: kind.size)
        flat = tensorflow.concat([tensorflow.reshape(tensorflow.cast(each, wide), [-1]) for each in present], 0)
        sizes = [int(np.prod(each.shape)) for each in present]
        pieces = iter(tensorflow.split(self._sum(flat * self._group.weight), sizes))
        return [
            None if each is None else tensorflow.cast(tensorflow.reshape(next(pieces), each.shape), each.dtype)
            for each in dense
        ]

    def sum_figures(self, values):
        return self._sum_figures(self._tensorflow.constant(values, "float64")).numpy()

    def is_symbolic(self, x):
        """Return whether Keras only infers shapes now."""
        from keras.src.backend.common import stateless_scope

        return stateless_scope.in_stateless_scope() or not self._tensorflow.is_tensor(x)

    def ones_like_batch(self, x, total):
        return self._tensorflow.ones([total, *x.shape[1:]], x.dtype)
