"""Mix the styles of paintings, for the network that accepts any style."""

import numpy as np

from zoo.models import compat, saved_weights
from zoo.models.style_transfer import any as network
from zoo.worker import weights
from zoo.worker.resample import resize


class Painter:
    """Gives the transformer a mix of the styles of paintings and, if requested, of the photo's own style.

    Args:
        model: the transformer, from :func:`zoo.models.style_transfer.any.build`, with its kernels loaded.
        settings: ``paintings``, paths of arrays uint8 (256, 256, 3); ``shares`` of each, which sum to 1.
            ``strength``: 1 is the paintings' style, 0 the photo's own (Ghiasi et al. 2017, section 3.4).
    """

    def __init__(self, model, path, settings):
        self._model, self._strength = model, settings.strength
        norms = [stage.name + "_norm" for stage in network.stages() if stage.norm == "instance"]
        weights.load_part(model, path, own=norms)
        self._arrays = saved_weights.read(path)
        self._predictor = network.build_predictor(compat)
        weights.load_part(self._predictor, path, own=())
        seen = [self._style(np.load(name, allow_pickle=False)) for name in settings.paintings]
        self._wanted = np.tensordot(np.asarray(settings.shares, np.float32), seen, axes=1)
        network.apply_style(compat, model, self._arrays, self._wanted)

    def look_at(self, photo):
        """Mix in the style of a photo, uint8 (rows, columns, 3), unless the strength is 1."""
        if self._strength == 1:
            return
        edge = network.PAINTING
        step = max(1, min(photo.shape[:2]) // (2 * edge))  # avoids float32 for a photo of 100 megapixels
        own = self._style(resize(np.asarray(photo[::step, ::step], np.float32), edge, edge))
        network.apply_style(compat, self._model, self._arrays, own + self._strength * (self._wanted - own))

    def _style(self, painting):
        return compat.predict(self._predictor, np.asarray(painting, np.float32)[None] / 255)[0]
