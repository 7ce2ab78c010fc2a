"""The start request of a served model's worker, and what it reported."""

from dataclasses import dataclass, field

from zoo.config.schemas.common import Settings
from zoo.protocol.request import Request
from zoo.runs.context import RunContext
from zoo.runs.records import Json


@dataclass
class Model:
    """One model of the server.

    Attributes:
        name: in addresses.
        context: settings, backend and stack; its folder is the worker's.
        request: starts the worker.
        proof: device and versions that the worker proved; empty before its start.
    """

    name: str
    context: RunContext[Settings]
    request: Request
    proof: Json = field(default_factory=dict)
