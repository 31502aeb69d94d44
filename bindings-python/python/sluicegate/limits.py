"""Storages of the package limits, so that Flask-Limiter, slowapi and others run on Sluicegate by URL alone.

Importing this module registers the schemes: `sluicegate+redis://localhost/0`, `sluicegate+rediss`, `sluicegate+unix`,
`sluicegate+redis-cluster`, `sluicegate+redis-sentinel` and `sluicegate+memory`, and the same after `async+` for `limits.aio`.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from ._routes.needed import needed

with needed("limits", "limits"):
    from limits.aio import storage as aio
    from limits.storage import MovingWindowSupport, SlidingWindowCounterSupport, Storage

    from ._limits import Counts

from ._asynchronous import AsyncRateLimiter
from ._native import RateLimiter
from ._routes.deciding import asynchronous, blocking
from .errors import SluicegateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._routes.hooks import Steps

__all__ = ["AsyncSluicegateStorage", "SluicegateStorage"]

_PREFIX = "sluicegate+"
_SERVERS = ("memory", "redis", "rediss", "unix", "redis-cluster", "redis-sentinel")


class SluicegateStorage(Storage, MovingWindowSupport, SlidingWindowCounterSupport):
    """Counts for every strategy of limits: fixed window, moving window, sliding window counter.

    Each call is atomic at the server, and the time is the server's. Fixed windows count denied calls too, as the package
    documents it. `uri` is a URL of Sluicegate with `sluicegate+` before it; other options are those of `RateLimiter`.

    `reset()` works in memory alone: no call of Sluicegate deletes all keys of a server.
    """

    STORAGE_SCHEME = [_PREFIX + server for server in _SERVERS]

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:
        super().__init__(uri, wrap_exceptions)
        self._url = _url(uri)
        self._options = options
        self._counts = Counts(RateLimiter(self._url, rules=[], **options))

    @property
    def base_exceptions(self) -> type[Exception]:
        """What calls may raise."""
        return SluicegateError

    @property
    def storage(self) -> Any:
        """What the command `flask limiter config` shows."""
        return self._counts.limiter

    def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Counts, in a window that begins with its first call, and answers the count."""
        count: int = blocking(self._counts.incr(key, expiry, amount))
        return count

    def get(self, key: str) -> int:
        """The count of a fixed window."""
        count: int = blocking(self._counts.get(key))
        return count

    def get_expiry(self, key: str) -> float:
        """When the fixed window of a key ends, in seconds since 1970."""
        left: float = blocking(self._counts.left(key))
        return time.time() + left

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Admits calls if no moving window then holds more than the limit."""
        admitted: bool = blocking(self._counts.acquire_moving(key, limit, expiry, amount))
        return admitted

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest call in the moving window was, and how many there are."""
        window: tuple[float, int] = blocking(self._counts.moving(key, limit, expiry))
        return window

    def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Admits calls if the weighted count of two windows is then not above the limit."""
        admitted: bool = blocking(self._counts.acquire_sliding(key, limit, expiry, amount))
        return admitted

    def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """The weighted count of both windows as that of the current one, and after how many seconds it falls."""
        window: tuple[int, float, int, float] = blocking(self._counts.sliding(key, expiry))
        return window

    def clear_sliding_window(self, key: str, expiry: int) -> None:
        """Forgets a key of the sliding window counter."""
        blocking(self._counts.clear_sliding(key, expiry))

    def clear(self, key: str) -> None:
        """Forgets a key of fixed and moving windows."""
        blocking(self._counts.clear(key))

    def check(self) -> bool:
        """Whether the server answers."""
        try:
            blocking(self._counts.ping())
        except SluicegateError:
            return False
        return True

    def reset(self) -> int | None:
        """Forgets everything, in memory. Raises NotImplementedError where there is a server."""
        _ensure_memory(self._url)
        self._counts = Counts(RateLimiter(self._url, rules=[], **self._options))
        return None


class AsyncSluicegateStorage(aio.Storage, aio.MovingWindowSupport, aio.SlidingWindowCounterSupport):
    """The same for the strategies of `limits.aio`, with `async+sluicegate+` before the URL.

    It connects with its first call; `await storage.aclose()` at the end of the application closes it. Options are those of
    `AsyncRateLimiter.connect`. Another event loop opens a connection of its own, and in memory counts for itself.
    """

    STORAGE_SCHEME = [f"async+{_PREFIX}{server}" for server in _SERVERS]

    def __init__(self, uri: str | None = None, wrap_exceptions: bool = False, **options: Any) -> None:
        super().__init__(uri, wrap_exceptions)
        self._url = _url(uri)
        self._options = options
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Future[Counts] | None = None

    @property
    def base_exceptions(self) -> type[Exception]:
        """What calls may raise."""
        return SluicegateError

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Counts, in a window that begins with its first call, and answers the count."""
        count: int = await self._asked(lambda counts: counts.incr(key, expiry, amount))
        return count

    async def get(self, key: str) -> int:
        """The count of a fixed window."""
        count: int = await self._asked(lambda counts: counts.get(key))
        return count

    async def get_expiry(self, key: str) -> float:
        """When the fixed window of a key ends, in seconds since 1970."""
        left: float = await self._asked(lambda counts: counts.left(key))
        return time.time() + left

    async def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Admits calls if no moving window then holds more than the limit."""
        admitted: bool = await self._asked(lambda counts: counts.acquire_moving(key, limit, expiry, amount))
        return admitted

    async def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """When the oldest call in the moving window was, and how many there are."""
        window: tuple[float, int] = await self._asked(lambda counts: counts.moving(key, limit, expiry))
        return window

    async def acquire_sliding_window_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Admits calls if the weighted count of two windows is then not above the limit."""
        admitted: bool = await self._asked(lambda counts: counts.acquire_sliding(key, limit, expiry, amount))
        return admitted

    async def get_sliding_window(self, key: str, expiry: int) -> tuple[int, float, int, float]:
        """The weighted count of both windows as that of the current one, and after how many seconds it falls."""
        window: tuple[int, float, int, float] = await self._asked(lambda counts: counts.sliding(key, expiry))
        return window

    async def clear_sliding_window(self, key: str, expiry: int) -> None:
        """Forgets a key of the sliding window counter."""
        await self._asked(lambda counts: counts.clear_sliding(key, expiry))

    async def clear(self, key: str) -> None:
        """Forgets a key of fixed and moving windows."""
        await self._asked(lambda counts: counts.clear(key))

    async def check(self) -> bool:
        """Whether the server answers."""
        try:
            await self._asked(lambda counts: counts.ping())
        except SluicegateError:
            return False
        return True

    async def reset(self) -> int | None:
        """Forgets everything, in memory. Raises NotImplementedError where there is a server."""
        _ensure_memory(self._url)
        await self.aclose()
        return None

    async def aclose(self) -> None:
        """Closes the connection, which the next call opens again."""
        opening, self._opening = self._opening, None
        if opening is not None and self._loop is asyncio.get_running_loop() and not _is_failed(opening):
            await (await opening).limiter.close()

    async def _asked(self, steps: Callable[[Counts], Steps]) -> Any:
        loop = asyncio.get_running_loop()
        opening = self._opening
        if opening is None or self._loop is not loop or _is_failed(opening):
            # Calls that come meanwhile wait for the same limiter.
            opening = loop.create_task(self._opened())
            self._loop, self._opening = loop, opening
        # One that is given up does not end it for the others.
        return await asynchronous(steps(await asyncio.shield(opening)))

    async def _opened(self) -> Counts:
        return Counts(await AsyncRateLimiter.connect(self._url, rules=[], **self._options))


def _url(uri: str | None) -> str:
    return (uri or "memory://").removeprefix("async+").removeprefix(_PREFIX)


def _ensure_memory(url: str) -> None:
    if not url.startswith("memory:"):
        raise NotImplementedError("a server is not emptied: `clear` forgets a key, and windows end by themselves")


def _is_failed(opening: asyncio.Future[Counts]) -> bool:
    return opening.done() and (opening.cancelled() or opening.exception() is not None)
