"""PyTorch: torch.distributed, with gloo between CPUs and NCCL between CUDA devices."""

import datetime
import os
import sys
import threading

import numpy as np

from zoo.worker.distributed import BaseEngine

# Time to connect: processes may need very different times to import the framework.
CONNECT = datetime.timedelta(minutes=5)
# Time for a sum: the host or the group detects a lost process much earlier.
PATIENCE = datetime.timedelta(days=1)


class Engine(BaseEngine):
    def __init__(self, group):
        self._group, self.bytes_per_step = group, 0

    def start(self):
        import torch
        from torch import distributed

        group = self._group
        on_cuda = os.environ.get("KERAS_TORCH_DEVICE", "cpu").startswith("cuda")
        if group.settings.host == "127.0.0.1":
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
        self._address = (group.hosts[0], group.rows[0]["port"])
        self._local, self._torch, self._distributed, self._on_cuda = threading.local(), torch, distributed, on_cuda
        self._local.store = self._connected(group.rank == 0)
        backend = "nccl" if on_cuda else "gloo"
        distributed.init_process_group(
            backend, store=self._local.store, rank=group.rank, world_size=group.size, timeout=PATIENCE
        )
        self.describe = "torch.distributed %s" % backend

    def _connected(self, is_master):
        host, port = self._address
        return self._distributed.TCPStore(host, port, is_master=is_master, timeout=CONNECT, wait_for_workers=False)

    @property
    def _store(self):
        """Return this thread's own connection, because a thread that waits blocks its connection."""
        if not hasattr(self._local, "store"):
            self._local.store = self._connected(False)
        return self._local.store

    def put(self, key, text):
        self._store.set(key, text)

    def get(self, key, patience_s):
        self._store.wait([key], datetime.timedelta(seconds=patience_s))
        return self._store.get(key).decode("utf-8")

    def delete(self, key):
        self._store.delete_key(key)

    def prepare_keras(self):
        from zoo.models.compat import torch_maps
        from zoo.worker.distributed import torch_normalization

        self.split = self._torch.split
        self._patch_keras()
        torch_maps.normalize_by(torch_normalization.of_all(self._group, self.sum))

    def enter(self):
        self.bytes_per_step = 0

    def sum(self, tensor):
        """Sum a tensor over all processes, in place if it is on the device where the processes communicate."""
        self.bytes_per_step += tensor.numel() * tensor.element_size()
        if tensor.device.type == "mps":  # gloo supports only CPU memory
            there = tensor.cpu()
            self._distributed.all_reduce(there)
            return there.to(tensor.device)
        tensor = tensor.contiguous()
        self._distributed.all_reduce(tensor)
        return tensor

    def sum_figures(self, values):
        tensor = self._torch.from_numpy(np.array(values, np.float64))
        return self.sum(tensor.cuda() if self._on_cuda else tensor).cpu().numpy()

    def ones_like_batch(self, x, total):
        """Return ones in the whole batch's shape and the share's memory layout, which determines random draws."""
        order = sorted(range(x.dim()), key=lambda axis: (-x.stride(axis), axis))
        shape = (total, *x.shape[1:])
        return self._torch.empty_permuted(shape, order, dtype=x.dtype, device=x.device).fill_(1.0)
