"""Transports of httpx that pace outgoing calls, and obey the provider's `Retry-After`."""

from __future__ import annotations

from ._routes.needed import needed

with needed("httpx", "httpx"):
    import httpx

from . import functions
from ._httpx import Paced
from ._outgoing import AsyncCalls, BlockingCalls

__all__ = ["AsyncRateLimitTransport", "RateLimitTransport", "RateLimited"]


class RateLimited(functions.RateLimited, httpx.TransportError):
    """A call is not sent, since it would have to wait for too long. `decision` says why."""


class RateLimitTransport(Paced, httpx.BaseTransport):
    """Paces the calls of a transport, and obeys the provider's `Retry-After`.

    `limits`: rates (`"10/second"`), names of rules, or rules as data, decided together. `transport`: what sends requests;
    default: the library's own.

    Before a request is sent it waits for room, for `wait` seconds at most, in the order of arrival; if that is not enough,
    `RateLimited` is raised, an error of the library's transports. After an answer of status 429 or 503 with `Retry-After`, no
    process that shares the limit sends a request before that has passed: the key is blocked by the first of the limits, whose
    rule needs `"block": {}` (rates have it). The answer itself is returned. `max_block_seconds` bounds what is obeyed.

    `key`: who is counted: a text, or a function of the request. Default: the host. `cost`: a number, or a function of the
    request. `name`: begins the names of rules that are stated here. `enabled`: False paces nothing.
    """

    _denied = RateLimited
    _make = httpx.HTTPTransport
    _kind = BlockingCalls

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request when it may be sent."""
        response: httpx.Response = self._calls.send(self._transport.handle_request, request)
        return response

    def close(self) -> None:
        """Closes the transport inside."""
        self._transport.close()


class AsyncRateLimitTransport(Paced, httpx.AsyncBaseTransport):
    """The same for `AsyncClient`, with an `AsyncRateLimiter`."""

    _denied = RateLimited
    _make = httpx.AsyncHTTPTransport
    _kind = AsyncCalls

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request when it may be sent."""
        response: httpx.Response = await self._calls.send(self._transport.handle_async_request, request)
        return response

    async def aclose(self) -> None:
        """Closes the transport inside."""
        await self._transport.aclose()
