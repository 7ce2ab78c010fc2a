"""PyTorch: torch.distributed, with gloo between CPUs and NCCL between CUDA devices."""

import datetime
import functools
import os
import sys

import torch
from torch import distributed

# Time to connect: processes may need very different times to import the framework.
CONNECT = datetime.timedelta(minutes=5)
# Time for a sum: the host or the group detects a lost process much earlier.
PATIENCE = datetime.timedelta(days=1)


class Engine:
    outputs = None
    leave = staticmethod(lambda: None)

    def __init__(self, group):
        self._group, self._device = group, os.environ.get("KERAS_TORCH_DEVICE", "cpu")
        if group.settings.host == "127.0.0.1":
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
        host, _, port = group.addresses[0].rpartition(":")
        connect = functools.partial(distributed.TCPStore, host, int(port), timeout=CONNECT, wait_for_workers=False)
        backend = "nccl" if self._device.startswith("cuda") else "gloo"
        store = connect(is_master=group.rank == 0)
        distributed.init_process_group(backend, store=store, rank=group.rank, world_size=group.size, timeout=PATIENCE)
        self.describe = "torch.distributed %s" % backend
        self._store = connect(is_master=False)  # a request that waits blocks its connection
        self.put, self.delete = self._store.set, self._store.delete_key

    def get(self, key, patience_ms):
        self._store.wait([key], datetime.timedelta(milliseconds=patience_ms))
        return self._store.get(key)

    def total(self, array):
        device = "cuda" if self._device.startswith("cuda") else "cpu"
        return self.sum(torch.tensor(array, device=device)).cpu().numpy()

    def prepare_keras(self):
        from zoo.models.compat import torch_maps
        from zoo.worker.distributed import keras_parts

        keras_parts.install(self._group, self)
        torch_maps.normalize_by(_normalization(self._group, self.sum))

    def sum(self, tensor):
        """Sum a tensor over all processes, in place if it is on the device where the processes communicate."""
        self._group.summed += tensor.numel() * tensor.element_size()
        there = tensor.cpu() if tensor.device.type == "mps" else tensor.contiguous()  # gloo needs CPU memory
        distributed.all_reduce(there)
        return there.to(tensor.device)

    def ones_like_batch(self, x, total):
        """Return ones in the whole batch's shape and the share's memory layout, which determines random draws."""
        order = sorted(range(x.dim()), key=lambda axis: (-x.stride(axis), axis))
        shape = (total, *x.shape[1:])
        return torch.empty_permuted(shape, order, dtype=x.dtype, device=x.device).fill_(1.0)


def _normalization(group, add_up):
    """Return a function for :func:`zoo.models.compat.torch_maps.normalize_by`; ``add_up`` sums over all processes.

    It makes about as many passes over the feature maps as in a single process. Between the passes, processes sum the
    statistics (forward) and two sums of gradients for each channel (backward).
    """
    from zoo.worker.distributed import keras_parts

    class Normalize(torch.autograd.Function):
        """Return gradients of gamma and beta for this process's loss, and of the maps for the loss over all items."""

        @staticmethod
        def forward(ctx, maps, gamma, beta, epsilon):
            # Given statistics determine the type of the results; they are not used.
            given = torch.zeros(2, maps.shape[1], dtype=torch.promote_types(maps.dtype, torch.float32))
            own = torch.batch_norm_update_stats(maps, *given, 0.0)
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
