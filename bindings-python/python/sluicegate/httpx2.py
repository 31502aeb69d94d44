"""Transports of httpx2 that pace outgoing calls, and obey the provider's `Retry-After`."""

from __future__ import annotations

from ._routes.needed import needed

with needed("httpx2", "httpx2"):
    # Python 3.10 has no httpx2.
    import httpx2  # type: ignore[import-not-found, unused-ignore]

from . import functions
from ._httpx import AsyncTransport, BlockingTransport

__all__ = ["AsyncRateLimitTransport", "RateLimitTransport", "RateLimited"]


class RateLimited(functions.RateLimited, httpx2.TransportError):  # type: ignore[misc, unused-ignore]
    """A call is not sent, since it would have to wait for too long. `decision` says why."""


class RateLimitTransport(BlockingTransport, httpx2.BaseTransport):  # type: ignore[misc, unused-ignore]
    """Paces the calls of a `Client`, as `sluicegate.httpx.RateLimitTransport` does."""

    _denied = RateLimited
    _make = httpx2.HTTPTransport


class AsyncRateLimitTransport(AsyncTransport, httpx2.AsyncBaseTransport):  # type: ignore[misc, unused-ignore]
    """The same for `AsyncClient`, with an `AsyncRateLimiter`."""

    _denied = RateLimited
    _make = httpx2.AsyncHTTPTransport
