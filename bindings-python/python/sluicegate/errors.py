"""The exceptions: one base, and one class per kind of error, the same kinds in every language."""

from __future__ import annotations

__all__ = [
    "ClosedError",
    "ConnectionFailedError",
    "InvalidArgumentError",
    "InvalidRuleError",
    "ResponseTimeoutError",
    "ServerError",
    "SluicegateError",
    "UnknownRuleError",
    "WrongTypeError",
]


class SluicegateError(Exception):
    """Whatever a limiter raises. A denial is not an error: it is a `Decision`.

    `retryable` says whether the same call may succeed later without any change by the caller. After a
    timeout the first call may have been charged, so a retry can charge twice.

    `key` holds the names, in Redis, of the keys that a `ServerError` is about, else `None`. The message has them
    not: they hold what clients are known by, and messages are logged.
    """

    def __init__(self, message: str, *, retryable: bool = False, key: str | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.key = key


class InvalidRuleError(SluicegateError, ValueError):
    """A rule, or a file of rules, is not valid."""


class UnknownRuleError(SluicegateError, LookupError):
    """No rule has the name that was asked for."""


class InvalidArgumentError(SluicegateError, ValueError):
    """A key, cost, resource, option or URL is not acceptable."""


class WrongTypeError(InvalidArgumentError, TypeError):
    """An argument has the wrong type. The message names the argument, what it has to be, and what it is."""


class ConnectionFailedError(SluicegateError):
    """The server cannot be reached, or the connection broke."""


class ResponseTimeoutError(SluicegateError):
    """The server did not answer in time. Whether the cost was charged is not known."""


class ServerError(SluicegateError):
    """The server answered with an error."""


class ClosedError(SluicegateError):
    """The limiter was closed."""
