"""Open the decoder of a language model: with NumPy on a CPU, with the framework on a GPU."""

from zoo.models import compat
from zoo.models.transformer import decoding, lm
from zoo.models.transformer.numpy_decoding import NumpyDecoder
from zoo.worker.training.setup import build_trained_for_texts

STEP_ARGUMENTS = ("vocabulary", "length", "layers", "d_model", "heads", "d_ff", "activation", "norm_first", "tied")


def open_decoder(request):
    """Return a decoder with the weights of the request, which are checked against its model."""
    model = build_trained_for_texts(request)
    arrays = model.get_weights()
    arguments = {name: value for name, value in request.model.args.items() if name in STEP_ARGUMENTS}
    if request.device.device_kind != "cpu":
        return decoding.CachedDecoder(arguments, arrays)
    settings = dict(lm.DEFAULTS, **arguments)
    names = [name for name, _ in compat.named_weights(model)]
    return NumpyDecoder(dict(zip(names, arrays)), settings["heads"], settings["activation"], settings["norm_first"])
