"""An adapter of requests that paces outgoing calls, and obeys the provider's `Retry-After`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ._routes.needed import needed

with needed("requests", "requests"):
    from requests import PreparedRequest, RequestException, Response
    from requests.adapters import HTTPAdapter

from . import functions
from ._outgoing import BlockingCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._native import RateLimiter
    from ._routes.hooks import Hook
    from ._routes.rules import Rule

__all__ = ["RateLimitAdapter", "RateLimited"]


class RateLimited(functions.RateLimited, RequestException):
    """A call is not sent, since it would have to wait for too long. `decision` says why."""


class RateLimitAdapter(HTTPAdapter):
    """Paces the calls of a session that mounts it, and obeys the provider's `Retry-After`.

    `limits`: rates (`"10/second"`), names of rules, or rules as data, decided together.

    Before a request is sent it waits for room, for `wait` seconds at most, in the order of arrival; if that is not enough,
    `RateLimited` is raised, a `RequestException`. After an answer of status 429 or 503 with `Retry-After`, no process that shares
    the limit sends a request before that has passed: the key is blocked by the first of the limits, whose rule needs `"block": {}` (rates have it). The answer itself is returned. `max_block_seconds` bounds what is obeyed.

    `key`: who is counted: a text, or a function of the request. Default: the host. `cost`: a number, or a function of the
    request. `name`: begins the names of rules that are stated here. `enabled`: False paces nothing.

    Other options are those of `HTTPAdapter`.
    """

    def __init__(
        self,
        limiter: RateLimiter | Callable[[], RateLimiter],
        *limits: str | Rule,
        key: str | Hook | None = None,
        cost: int | Hook = 1,
        wait: float = 60,
        name: str = "outgoing",
        enabled: bool = True,
        max_block_seconds: float = 3600,
        **options: Any,
    ) -> None:
        self._calls = BlockingCalls(
            limiter,
            limits,
            host_of=_host,
            denied=RateLimited,
            key=key,
            cost=cost,
            wait=wait,
            name=name,
            enabled=enabled,
            max_block_seconds=max_block_seconds,
        )
        super().__init__(**options)

    def send(self, request: PreparedRequest, *arguments: Any, **options: Any) -> Response:
        """Sends a request when it may be sent."""

        def send(request: PreparedRequest) -> Response:
            return super(RateLimitAdapter, self).send(request, *arguments, **options)

        response: Response = self._calls.send(send, request)
        return response


def _host(request: PreparedRequest) -> str:
    return urlsplit(request.url or "").hostname or ""
