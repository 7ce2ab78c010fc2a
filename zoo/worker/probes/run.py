"""Run the probes before the first step, and stop or warn if they fail.

Some plug-ins compute wrong numbers without an error (https://github.com/keras-team/keras/issues/21668,
https://github.com/pytorch/pytorch/issues/178697). The probes are in ``operations``, which run on the models of
``layers``. An operation that raises an error is only reported: a model that needs it fails too.
"""

import contextlib
import logging
import time
import warnings

from zoo.models import compat
from zoo.worker import devices
from zoo.worker.errors import ProbeError
from zoo.worker.probes import layers
from zoo.worker.probes.operations import PROBES, UntoldError

# Relative to the largest value of the reference. Sums of a few hundred float32 products are off by about 1e-6 of
# it (measured: at most 2e-6 on each stack's CPU); 1e-4 leaves room for other algorithms. GPUs may round the
# factors to 10 bits, as NVIDIA's do by default (TF32), which costs 4e-4. Known faults are off by a tenth of the
# largest value or more.
TOLERANCE = {"cpu": 1e-4, "gpu": 2e-3}

# Known issues that a failed probe indicates, by backend.
NUMBERS = (
    "dense_relu", "convolution", "depthwise", "attention", "argmax", "integers", "wide_integers", "train_step",
    "normalised_step",
)  # fmt: skip
ISSUES = {
    "metal": {
        "dense_relu": "metal-fused-dense-relu-wrong",
        "train_step": "metal-fused-dense-relu-wrong",
        "dropout": "metal-random-repeats",
        "variable": "metal-tf216-gpu-keras2",
    },
    "mps": dict.fromkeys(NUMBERS, "mps-silent-wrong"),
    "plaidml": dict(dict.fromkeys(NUMBERS, "plaidml-opencl-wrong"), normalised_step="plaidml-batch-norm-gradients"),
}


def run(request, place, kind):
    """Run the probes of a request; return one row per probe, see :func:`examine`.

    Args:
        request: with ``probes`` false nothing is computed; ``probed`` rows are returned unchanged.
        place: see :func:`zoo.worker.probes.layers.of`.
        kind: ``"cpu"`` or ``"gpu"``, from the proof of the device.
    """
    device = request.device.replace(device_kind=kind)
    if request.device.device_kind == "gpu" and kind != "gpu":
        return examine(None, device, "the device is not the requested one")
    if request.probed is not None:
        return request.probed
    if not request.probes:
        return examine(None, device, "not requested")
    with _quiet():
        rows = examine(layers.of(place), device)
        # The run's own model must find the framework in its initial state.
        compat.keras.backend.clear_session()
    return rows


def examine(tried, device, why_not=None):
    """Run every probe on the operations of :func:`zoo.worker.probes.layers.of`, or skip all if ``why_not`` is set.

    Returns:
        One dictionary per probe: ``name``, ``ok`` (no error detected), ``tolerance`` and ``seconds``.
        ``largest_error`` is relative to the largest value; it is the number of errors if the tolerance is 0.
        ``skipped`` says why nothing was compared, or None. ``issue`` is the id of the known issue, or None.
    """
    return [_row(probe, tolerance, tried, device, why_not) for probe, tolerance in PROBES]


def _row(probe, tolerance, tried, device, why_not):
    name = probe.__name__
    error, skipped = None, why_not or devices.capabilities(device.framework)["skipped_probes"].get(name)
    tolerance = TOLERANCE[device.device_kind] if tolerance is None else tolerance
    began = time.monotonic()
    if not skipped:
        try:
            error = float(probe(tried, device))
        except UntoldError as reason:
            skipped = str(reason)
        except Exception as failure:
            words = (str(failure).strip().splitlines() or [""])[0][:300]
            skipped = "it failed loudly: %s: %s" % (type(failure).__name__, words)
    ok = error is None or error <= tolerance
    issue = "keras-backend-set-late" if name == "backend" else ISSUES.get(device.backend, {}).get(name)
    return {
        "name": name, "ok": ok, "largest_error": error, "tolerance": tolerance,
        "seconds": round(time.monotonic() - began, 4), "skipped": skipped, "issue": None if ok else issue,
    }  # fmt: skip


def enforce(rows, device, events):
    """Raise ProbeError if a probe failed on a requested GPU; on any other device, warn."""
    failed = [row for row in rows if not row["ok"]]
    if failed:
        message = "wrong numbers on backend %s: %s" % (device.backend, "; ".join(_describe(row) for row in failed))
        if device.device_kind == "gpu":
            raise ProbeError(message)
        events.emit("warning", message=message)
    for row in rows:
        if (row["skipped"] or "").startswith("it failed loudly"):
            events.emit("warning", message="the probe %s has no result: %s" % (row["name"], row["skipped"]))


def _describe(row):
    error, allowed = row["largest_error"], row["tolerance"]
    size = "off by %.2g of the largest value, %g is allowed" % (error, allowed) if allowed else "%d wrong" % error
    known = "known issue " + row["issue"] if row["issue"] else "no known issue"
    return "%s (%s; %s)" % (row["name"], size, known)


@contextlib.contextmanager
def _quiet():
    """Hide framework warnings that do not apply to tiny models, such as too many traces."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
