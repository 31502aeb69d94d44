"""One way to drive both limiters, so that every test runs on both."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from sluicegate import AsyncRateLimiter, RateLimiter

# Longer than anything takes here; a call that hangs must not hang the tests.
PATIENCE = 30


class Blocking:
    """The limiter for threads, as it is."""

    runner = "Python sync"

    def __init__(self, url: str, **options: Any) -> None:
        self._limiter = RateLimiter(url, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._limiter, name)

    def finish(self) -> None:
        self._limiter.close()


class Asyncio:
    """The limiter for asyncio, on a loop that runs while a call does."""

    runner = "Python async"

    def __init__(self, url: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        try:
            self._limiter = self._run(self._connect(url, options))
        except BaseException:
            self._loop.close()
            raise

    @staticmethod
    async def _connect(url: str, options: dict[str, Any]) -> AsyncRateLimiter:
        return await AsyncRateLimiter.connect(url, **options)

    def _run(self, call: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(call, PATIENCE))

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._limiter, name)

        def call(*arguments: Any, **options: Any) -> Any:
            answer = method(*arguments, **options)
            return self._run(answer) if inspect.isawaitable(answer) else answer

        return call

    def finish(self) -> None:
        self._run(self._limiter.close())
        self._loop.close()


Driver = Blocking | Asyncio
DRIVERS = [Blocking, Asyncio]
