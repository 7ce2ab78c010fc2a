"""Convolutions, poolings and Gram matrices of large feature maps.

Keras on PyTorch copies every map before and after each convolution and pooling, to put the channels first: at
533 x 400 pixels that took more than half of a step of VGG19. PyTorch itself computes channels that come last as
well, so here it is asked directly. Everywhere else these are the layers of Keras.
"""

from zoo.models import compat

layers = compat.keras.layers
TORCH = compat.MAJOR >= 3 and compat.backend_name() == "torch"
# Places of which a Gram matrix is computed in float32 at a time.
CHUNK = 1 << 15

if not TORCH:
    Convolution, MaxPooling = layers.Conv2D, layers.MaxPooling2D

    def products(a, b):
        """(batch, places, m) and (batch, places, n) -> (batch, m, n): products of channels, summed over places."""
        return compat.ops.pairs(a, b)

else:
    import torch

    class Convolution(layers.Conv2D):
        """``Conv2D``, of odd kernels where it pads, and not dilated."""

        def call(self, inputs):
            if self.padding == "same" and max(self.strides) > 1:
                return super(Convolution, self).call(inputs)
            edges = [edge // 2 if self.padding == "same" else 0 for edge in self.kernel_size]
            kernel = self.kernel.value.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            bias = self.bias.value if self.use_bias else None
            found = torch.nn.functional.conv2d(inputs.permute(0, 3, 1, 2), kernel, bias, self.strides, edges)
            if self.activation is compat.keras.activations.relu:  # in place: maps of large pictures take gigabytes
                return torch.relu_(found).permute(0, 2, 3, 1)
            return self.activation(found.permute(0, 2, 3, 1))

    class MaxPooling(layers.MaxPooling2D):
        """``MaxPooling2D`` without padding."""

        def call(self, inputs):
            if inputs.device.type == "meta":  # asked for the shape alone, which PyTorch does not tell
                return super(MaxPooling, self).call(inputs)
            pooled = torch.nn.functional.max_pool2d(inputs.permute(0, 3, 1, 2), self.pool_size, self.strides)
            return pooled.permute(0, 2, 3, 1)

    class _Products(torch.autograd.Function):
        """In float32 whatever the maps are stored in, piece by piece: bfloat16 rounds such sums by a hundredth."""

        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            ctx.same = a is b
            return torch.stack([_summed(*both) for both in zip(a, b)])

        @staticmethod
        def backward(ctx, slope):
            a, b = ctx.saved_tensors
            if ctx.same:
                return torch.matmul(a, (slope + slope.transpose(1, 2)).to(a.dtype)), None
            return torch.matmul(b, slope.transpose(1, 2).to(b.dtype)), torch.matmul(a, slope.to(a.dtype))

    def _summed(a, b):
        pieces = zip(a.split(CHUNK), b.split(CHUNK))
        return sum(torch.mm(one.t().float(), other.float()) for one, other in pieces)

    def products(a, b):
        """(batch, places, m) and (batch, places, n) -> (batch, m, n) float32: products, summed over places."""
        return _Products.apply(a, b) if a.device.type != "meta" else compat.ops.pairs(a, b)
