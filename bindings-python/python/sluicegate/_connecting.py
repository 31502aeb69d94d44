"""A limiter for asyncio on its way."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Protocol, TypeVar

from ._awaiting import Awaiting


class _Closable(Protocol):
    async def close(self) -> None: ...


_L = TypeVar("_L", bound=_Closable)


class Connecting(Awaiting[_L]):
    """A limiter on its way: `await` it, make it a task, or enter it by `async with`, which closes it at the end."""

    __slots__ = ("_limiter", "_open")

    _limiter: _L

    def __init__(self, open: Callable[[], Coroutine[Any, Any, _L]]) -> None:
        super().__init__("AsyncRateLimiter.connect")
        self._open = open

    def _run(self) -> Coroutine[Any, Any, _L]:
        return self._open()

    async def __aenter__(self) -> _L:
        self._limiter = await self
        return self._limiter

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._limiter.close()
