"""Errors of requests; each becomes an answer with an HTTP status."""


class RequestError(Exception):
    """A request that the model cannot answer.

    Args:
        status: of HTTP.
        message: what is wrong, with the value received.
        retry_after: seconds after which to send it again; None means never.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


def busy(message: str) -> RequestError:
    return RequestError(429, message, retry_after=1)


def unavailable(message: str) -> RequestError:
    """Return the error for a missing or unresponsive worker."""
    return RequestError(503, message, retry_after=1)
