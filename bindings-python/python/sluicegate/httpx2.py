"""Transports of httpx2 that pace outgoing calls, and obey the provider's `Retry-After`."""

from __future__ import annotations

from ._routes.needed import needed

with needed("httpx2", "httpx2"):
    # Python 3.10 has no httpx2.
    import httpx2  # type: ignore[import-not-found, unused-ignore]

from . import functions
from ._httpx import Paced
from ._outgoing import AsyncCalls, BlockingCalls

__all__ = ["AsyncRateLimitTransport", "RateLimitTransport", "RateLimited"]


class RateLimited(functions.RateLimited, httpx2.TransportError):  # type: ignore[misc, unused-ignore]
    """A call is not sent, since it would have to wait for too long. `decision` says why."""


class RateLimitTransport(Paced, httpx2.BaseTransport):  # type: ignore[misc, unused-ignore]
    """Paces the calls of a `Client`, as `sluicegate.httpx.RateLimitTransport` does."""

    _denied = RateLimited
    _make = httpx2.HTTPTransport
    _kind = BlockingCalls

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request when it may be sent."""
        response: httpx2.Response = self._calls.send(self._transport.handle_request, request)
        return response

    def close(self) -> None:
        """Closes the transport inside."""
        self._transport.close()


class AsyncRateLimitTransport(Paced, httpx2.AsyncBaseTransport):  # type: ignore[misc, unused-ignore]
    """The same for `AsyncClient`, with an `AsyncRateLimiter`."""

    _denied = RateLimited
    _make = httpx2.AsyncHTTPTransport
    _kind = AsyncCalls

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request when it may be sent."""
        response: httpx2.Response = await self._calls.send(self._transport.handle_async_request, request)
        return response

    async def aclose(self) -> None:
        """Closes the transport inside."""
        await self._transport.aclose()
