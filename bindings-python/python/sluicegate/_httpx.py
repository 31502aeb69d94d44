"""What transports of httpx and of its successor httpx2 have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._outgoing import AsyncCalls, BlockingCalls
from .functions import RateLimited

if TYPE_CHECKING:
    from ._routes.hooks import Hook
    from ._routes.rules import Rule


class Paced:
    """A transport around another."""

    # Of the library.
    _denied: type[RateLimited]
    _make: Callable[[], Any]
    _kind: type[BlockingCalls] | type[AsyncCalls]

    def __init__(
        self,
        limiter: Any,
        *limits: str | Rule,
        transport: Any = None,
        key: str | Hook | None = None,
        cost: int | Hook = 1,
        wait: float = 60,
        name: str = "outgoing",
        enabled: bool = True,
        max_block_seconds: float = 3600,
    ) -> None:
        self._calls: Any = self._kind(
            limiter,
            limits,
            host_of=_host,
            denied=self._denied,
            key=key,
            cost=cost,
            wait=wait,
            name=name,
            enabled=enabled,
            max_block_seconds=max_block_seconds,
        )
        self._transport = type(self)._make() if transport is None else transport


def _host(request: Any) -> str:
    host: str = request.url.host
    return host
