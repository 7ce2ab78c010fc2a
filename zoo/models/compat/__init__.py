"""The differences between Keras versions, from 2.1 inside TensorFlow 1.8 to the current Keras 3.

Builders receive this package as the argument ``compat``. ``version`` imports Keras; ``tensors`` has the operations
for custom layers. ``random_state`` and ``training_state`` save and restore the state of training.
"""

# ruff: noqa: F401, I001

from zoo.models.compat.gradients import value_and_grad
from zoo.models.compat.layers import (
    TrainableConstant, as_list, connected_layers, dropout, dtype_of, initial_deviations, initializer, is_keras_tensor,
    lambda_layer, named_layers, named_weights, prepare_for_foreign_code, registered, relu6, source_inputs,
    spatial_mean, static_shape,
)  # fmt: skip
from zoo.models.compat.optimizers import optimizer, set_learning_rate
from zoo.models.compat.training import (
    batch_norm_names, compile_classifier, compile_mse, compile_terms, forget_compiled, freeze, outputs, predict, seed,
    share_with, train_classifier, train_mse, train_terms, weighted_cross_entropy,
)  # fmt: skip
from zoo.models.compat.version import (
    MAJOR, backend_name, dtype_policy, full_precision, keras, native_suffix, save, set_precision, stack, version,
)  # fmt: skip
