"""An adapter of requests that paces outgoing calls, and obeys the provider's `Retry-After`."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ._routes.needed import needed

with needed("requests", "requests"):
    from requests import PreparedRequest, RequestException, Response
    from requests.adapters import HTTPAdapter

from . import functions
from ._outgoing import BlockingCalls, Paced

__all__ = ["RateLimitAdapter", "RateLimited"]


class RateLimited(functions.RateLimited, RequestException):
    """A call is not sent, since it would have to wait for too long. `decision` says why."""


class RateLimitAdapter(Paced, HTTPAdapter):
    """Paces the calls of a session that mounts it: `session.mount("https://", RateLimitAdapter(limiter, "10/second"))`.

    Its options are those of `sluicegate.httpx.RateLimitTransport`, but for `transport`, and those of `HTTPAdapter`. `RateLimited` is a
    `RequestException`.
    """

    _denied = RateLimited
    _kind = BlockingCalls

    def _open(self, **options: Any) -> None:
        HTTPAdapter.__init__(self, **options)

    def send(self, request: PreparedRequest, *arguments: Any, **options: Any) -> Response:
        """Sends a request when it may be sent."""

        def send(request: PreparedRequest) -> Response:
            return super(RateLimitAdapter, self).send(request, *arguments, **options)

        response: Response = self._calls.send(send, request)
        return response

    @staticmethod
    def _host(request: PreparedRequest) -> str:
        return urlsplit(request.url or "").hostname or ""
