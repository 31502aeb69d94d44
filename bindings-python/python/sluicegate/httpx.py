"""Transports of httpx that pace outgoing calls, and obey the provider's `Retry-After`."""

from __future__ import annotations

from ._routes.needed import needed

with needed("httpx", "httpx"):
    import httpx

from . import functions
from ._httpx import AsyncTransport, BlockingTransport

__all__ = ["AsyncRateLimitTransport", "RateLimitTransport", "RateLimited"]


class RateLimited(functions.RateLimited, httpx.TransportError):
    """A call is not sent, since it would have to wait for too long. `decision` says why."""


class RateLimitTransport(BlockingTransport, httpx.BaseTransport):
    """Paces the calls of a `Client`, and obeys the provider's `Retry-After`: `RateLimitTransport(limiter, "10/second")`.

    `limiter`: a `RateLimiter`, or a function that returns one. `limits`: rates (`"10/second"`), names of rules, or rules as data,
    decided together. `transport`: what sends requests; default: the library's own.

    Before a request is sent it waits for room, for `wait` seconds at most, in the order of arrival; if that is not enough,
    `RateLimited` is raised, an error of the library's transports. After an answer of status 429 or 503 with `Retry-After`, no
    process that shares the limit sends a request before that has passed: the key is blocked by the first of the limits, whose
    rule needs `"block": {}` (rates have it). The answer itself is returned. `max_block_seconds` bounds what is obeyed.

    `key`: who is counted: a text, or a function of the request. Default: the host. `cost`: a number, or a function of the
    request. `name`: begins the names of rules that are stated here. `enabled`: False paces nothing.
    """

    _denied = RateLimited
    _make = httpx.HTTPTransport


class AsyncRateLimitTransport(AsyncTransport, httpx.AsyncBaseTransport):
    """The same for `AsyncClient`, with an `AsyncRateLimiter`."""

    _denied = RateLimited
    _make = httpx.AsyncHTTPTransport
