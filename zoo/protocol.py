"""Define what the host and the worker agree on: version, events, kinds of errors and the parts of a request.

Both sides import this file, so it uses the standard library only and parses on Python 3.6.
"""

from typing import Any, Dict, List

PROTOCOL = 1

# The worker writes one of these as a line of JSON, with the fields that belong to it.
EVENTS = (
    "start",
    "ready",
    "step",
    "batch",
    "stage",
    "epoch",
    "artifact",
    "text",
    "resume",
    "warning",
    "error",
    "done",
)

# Types of the worker's errors, as the field ``type`` of an ``error`` event names them.
USER_ERROR, OUT_OF_MEMORY, WRONG_NUMBERS = "UserError", "OutOfMemoryError", "ProbeError"
# One of the processes of a training is gone, or stands still.
GROUP_BROKEN = "GroupError"
# Those whose message is meant for the user: it is shown without the end of the log.
ERROR_KINDS = (USER_ERROR, OUT_OF_MEMORY, WRONG_NUMBERS, GROUP_BROKEN, "FloatingPointError")

# The device and the stack are probed, and no job runs.
PROBE = "probe"
VERBS = (PROBE, "train", "infer", "evaluate", "bench", "export")

_TEXT, _PART = (str,), (dict,)
# Every part that a request may have, with the types that its value may have.
PARTS: Dict[str, Any] = {
    "protocol": (int,),
    "verb": _TEXT,
    "job": _TEXT,
    "run_dir": _TEXT,
    "run_id": _TEXT,
    "stack": _PART,
    "device": _PART,
    "probes": (bool, list),
    "tensorboard": (bool,),
    "distributed": (dict, type(None)),
    "model": _PART,
    "weights": (str, type(None)),
    "data": _PART,
    "pieces": (list,),
    "train": _PART,
    "fine_tune": (dict, type(None)),
    "freeze": _PART,
    "infer": _PART,
    "stream": _PART,
    "serve": _PART,
    "features": _PART,
    "restyle": _PART,
    "style": _PART,
    "bench": _PART,
    "export": _PART,
}
ALWAYS = ("verb", "stack", "device")
OF_A_JOB = ("job", "run_dir")
# What the parts that every request has consist of.
FIELDS = {"stack": ("framework", "keras"), "device": ("backend", "framework", "promise", "id")}


def check_request(request: Any) -> List[str]:
    """Say what is wrong with a request.

    Args:
        request: what was read from ``request.json``.

    Returns:
        One sentence a problem; empty where a worker can begin with it.
    """
    if not isinstance(request, dict):
        return ["a request is an object, not %s" % type(request).__name__]
    if request.get("protocol") != PROTOCOL:
        return ["this worker speaks protocol %d, the request %r" % (PROTOCOL, request.get("protocol"))]
    needed = ALWAYS if request.get("verb") == PROBE else ALWAYS + OF_A_JOB
    problems = ["%s is missing" % name for name in needed if name not in request]
    for name, value in sorted(request.items()):
        problems += _check_part(name, value)
    return problems


def _check_part(name: str, value: Any) -> List[str]:
    if name not in PARTS:
        return ["%r is no part of a request" % name]
    if not isinstance(value, PARTS[name]):
        return ["%s is of type %s" % (name, type(value).__name__)]
    if name == "verb" and value not in VERBS:
        return ["verb is %r, known are %s" % (value, ", ".join(VERBS))]
    if name == "job" and not value.isidentifier():
        return ["job is %r, which is not the name of a job" % value]
    return ["%s.%s is missing" % (name, field) for field in FIELDS.get(name, ()) if field not in value]
