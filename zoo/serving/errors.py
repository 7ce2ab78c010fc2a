"""Errors of requests; each becomes a response with an HTTP status."""


class RequestError(Exception):
    """A request that fails.

    Args:
        status: HTTP status.
        message: what is wrong, with the value received.
        retry_after: seconds until the client should retry; None means never.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


def busy(message: str) -> RequestError:
    return RequestError(429, message, retry_after=1)


def unavailable(message: str) -> RequestError:
    """Return the error for a missing or unresponsive worker."""
    return RequestError(503, message, retry_after=1)
