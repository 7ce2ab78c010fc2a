"""What a request can fail by; each becomes an answer with a status of HTTP."""


class RequestError(Exception):
    """A request that gets no answer of a model.

    Args:
        status: of HTTP.
        message: what is wrong and what was received.
        retry_after: seconds after which it may be sent again; None: never as it is.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_after = status, message, retry_after


def busy(message: str) -> RequestError:
    """Return the error of a request for which there is no room now."""
    return RequestError(429, message, retry_after=1)


def unavailable(message: str) -> RequestError:
    """Return the error of a request whose worker is not there or did not answer."""
    return RequestError(503, message, retry_after=1)
