"""A served model: the request that starts its worker, and what the worker reports."""

from dataclasses import dataclass, field

from zoo.config.schemas.common import Settings
from zoo.protocol.request import Request
from zoo.runs.context import RunContext
from zoo.runs.records import Json


@dataclass
class Model:
    """A model that the server serves.

    Attributes:
        context: settings, backend and stack; its folder is the worker's folder.
        request: request that starts the worker.
        proof: device and versions that the worker reports; empty before it starts.
    """

    name: str
    context: RunContext[Settings]
    request: Request
    proof: Json = field(default_factory=dict)
