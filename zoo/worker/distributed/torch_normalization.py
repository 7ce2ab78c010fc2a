"""Batch normalization with the statistics of all processes, for PyTorch on CPUs.

It makes about as many passes over the feature maps as in a single process. Between the passes, processes sum the
statistics (forward) and two sums of gradients for each channel (backward).
"""

import torch

from zoo.worker.distributed import keras_parts


def of_all(group, add_up):
    """Return a function for :func:`zoo.models.compat.torch_maps.normalize_by`; ``add_up`` sums over all processes."""

    class Normalize(torch.autograd.Function):
        """Return gradients of gamma and beta for this process's loss, and of the maps for the loss over all items."""

        @staticmethod
        def forward(ctx, maps, gamma, beta, epsilon):
            own = torch.batch_norm_update_stats(maps, None, None, 0.0)
            mean, variance = keras_parts.moments_of_all(group, add_up, *own)
            ctx.save_for_backward(maps, gamma, mean, variance)
            ctx.epsilon, ctx.weight, ctx.total = epsilon, group.weight, group.present[1]
            normalized = torch.nn.functional.batch_norm(maps, mean, variance, gamma, beta, False, 0.0, epsilon)
            ctx.mark_non_differentiable(mean, variance)
            return normalized, mean, variance

        @staticmethod
        def backward(ctx, gradient, _mean, _variance):
            maps, gamma, mean, variance = ctx.saved_tensors
            gradient = gradient.contiguous(memory_format=torch.channels_last)
            _, of_gamma, of_beta = torch.ops.aten.native_batch_norm_backward(
                gradient, maps, gamma, mean, variance, None, None, False, ctx.epsilon, [False, True, True]
            )
            count = ctx.total * maps.shape[2] * maps.shape[3]
            means = add_up(torch.stack([of_beta, of_gamma]) * ctx.weight) / (ctx.weight * count)
            narrow = torch.rsqrt(variance + ctx.epsilon)
            scale = narrow if gamma is None else narrow * gamma
            # scale * (gradient - means[0] - means[1] * (maps - mean) * narrow), in two passes.
            slope = -scale * means[1] * narrow
            level = -slope * mean - scale * means[0]
            scale, slope, level = (each.reshape(1, -1, 1, 1) for each in (scale, slope, level))
            of_maps = torch.addcmul(level, maps, slope).addcmul_(gradient, scale).to(maps.dtype)
            _, has_gamma, has_beta, _ = ctx.needs_input_grad
            return of_maps, of_gamma if has_gamma else None, of_beta if has_beta else None, None

    return Normalize.apply
