"""Convolution, pooling and Gram matrices of large feature maps.

Keras on PyTorch copies every map before and after each convolution and pooling, to put the channels first. At 533 x
400 pixels this took more than half of a step of VGG19. PyTorch can also compute maps with channels last, so these
layers call it directly. On all other backends they are Keras's own.
"""

from zoo.models import compat
from zoo.models.compat import tensors

layers = compat.keras.layers
# Number of positions whose Gram matrix is computed in float32 at a time. On the GPUs of M1 and M2, sums of 32,767 or
# more products may read past their operands (https://github.com/pytorch/pytorch/issues/195163).
CHUNK = 1 << 14

if not tensors.TORCH:
    Convolution, MaxPooling, channel_products = layers.Conv2D, layers.MaxPooling2D, tensors.channel_products

else:
    import torch

    class Convolution(layers.Conv2D):
        """``Conv2D`` without dilation; with padding, kernels must have odd sizes."""

        def call(self, inputs):
            if self.padding == "same" and max(self.strides) > 1:
                return super(Convolution, self).call(inputs)
            padding = [size // 2 if self.padding == "same" else 0 for size in self.kernel_size]
            kernel = self.kernel.value.permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            bias = self.bias.value if self.use_bias else None
            maps = torch.nn.functional.conv2d(inputs.permute(0, 3, 1, 2), kernel, bias, self.strides, padding)
            if self.activation is compat.keras.activations.relu:  # In place: maps of large images take gigabytes.
                return torch.relu_(maps).permute(0, 2, 3, 1)
            return self.activation(maps.permute(0, 2, 3, 1))

    class MaxPooling(layers.MaxPooling2D):
        """``MaxPooling2D`` without padding."""

        def call(self, inputs):
            if inputs.device.type == "meta":  # Keras infers the shape; PyTorch cannot.
                return super(MaxPooling, self).call(inputs)
            pooled = torch.nn.functional.max_pool2d(inputs.permute(0, 3, 1, 2), self.pool_size, self.strides)
            return pooled.permute(0, 2, 3, 1)

    class _ChannelProducts(torch.autograd.Function):
        """Products in float32 for maps of any dtype, because sums in bfloat16 have errors of about 1 %."""

        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            ctx.same = a is b
            return torch.stack([_sum_of_chunks(*pair) for pair in zip(a, b)])

        @staticmethod
        def backward(ctx, gradient):
            a, b = ctx.saved_tensors
            if ctx.same:
                return torch.matmul(a, (gradient + gradient.transpose(1, 2)).to(a.dtype)), None
            return torch.matmul(b, gradient.transpose(1, 2).to(b.dtype)), torch.matmul(a, gradient.to(a.dtype))

    def _sum_of_chunks(a, b):
        chunks = zip(a.split(CHUNK), b.split(CHUNK))
        return sum(torch.mm(one.t().float(), other.float()) for one, other in chunks)

    def channel_products(a, b):
        """Multiply (batch, positions, m) with (batch, positions, n), summed over positions: (batch, m, n) float32."""
        return _ChannelProducts.apply(a, b) if a.device.type != "meta" else tensors.channel_products(a, b)
