"""The async storage of the package limits, by the strategies of `limits.aio`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import pytest
from limits import RateLimitItemPerMinute, parse
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import STRATEGIES
from limits.errors import StorageError
from limits.storage import storage_from_string

from sluicegate import ManualClock
from sluicegate.limits import AsyncSluicegateStorage

# The beginning of an aligned minute.
START = 1_700_000_040


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START * 1_000_000)


@pytest.fixture
def storage(url: str, prefix: str, clock: ManualClock) -> Any:
    """One on every backend, by URL."""
    storage: Any = storage_from_string(f"async+sluicegate+{url}", prefix=prefix, clock=clock)
    assert isinstance(storage, AsyncSluicegateStorage)
    return storage


@asynccontextmanager
async def in_step(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[MemoryStorage]:
    """The package's own storage by the same clock."""
    monkeypatch.setattr(time, "time", lambda: clock.now_us / 1_000_000)
    yield MemoryStorage()


def run(steps: Callable[[Any], Awaitable[Any]], storage: Any) -> Any:
    """Carries out steps with a storage that is closed then."""

    async def running() -> Any:
        try:
            return await steps(storage)
        finally:
            await storage.aclose()

    return asyncio.run(running())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_hit_is_counted_and_forgotten(strategy: str, storage: Any) -> None:
    async def steps(storage: Any) -> None:
        limiter, item = STRATEGIES[strategy](storage), parse("3 per 2 minute")
        assert await storage.check()
        assert [await limiter.hit(item, "alice", cost=cost) for cost in (0, 2, 2 if "fixed" not in strategy else 1)] == [
            True, True, "fixed" in strategy,
        ]  # fmt: skip
        assert (await limiter.get_window_stats(item, "alice")).remaining == (0 if "fixed" in strategy else 1)
        assert await limiter.test(item, "bob")
        await limiter.clear(item, "alice")
        assert (await limiter.get_window_stats(item, "alice")).remaining == 3

    run(steps, storage)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_decisions_are_those_of_the_package(strategy: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both storages get the same history, at irregular times: at the very end of a moving window they differ."""

    async def steps(storage: Any) -> None:
        async with in_step(clock, monkeypatch) as own:
            pair = [STRATEGIES[strategy](each) for each in (storage, own)]
            item, times = RateLimitItemPerMinute(7), Random(1)
            for step in range(200):
                clock.advance(times.uniform(1, 11))
                cost = 1 + step % 3
                ours, theirs = [
                    (await each.test(item, "a", cost=cost), await each.hit(item, "a", cost=cost)) for each in pair
                ]
                assert ours == theirs, step
                left = [(await each.get_window_stats(item, "a")).remaining for each in pair]
                assert left[0] == left[1], step

    run(steps, storage_from_string("async+sluicegate+memory://", clock=clock))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tasks_are_admitted_exactly(strategy: str, storage: Any) -> None:
    async def steps(storage: Any) -> None:
        limiter, item = STRATEGIES[strategy](storage), RateLimitItemPerMinute(10)
        assert sum(await asyncio.gather(*(limiter.hit(item, "alice") for _ in range(100)))) == 10

    run(steps, storage)


def test_both_storages_and_all_loops_share_windows(redis_url: str, prefix: str) -> None:
    async def count(storage: Any) -> Any:
        return await storage.incr("LIMITER/alice/5/1/minute", 60)

    storage: Any = storage_from_string(f"async+sluicegate+{redis_url}", prefix=prefix)
    other: Any = storage_from_string(f"sluicegate+{redis_url}", prefix=prefix)
    assert [run(count, storage), run(count, storage), other.get("LIMITER/alice/5/1/minute")] == [1, 2, 2]


def test_everything_is_forgotten_in_memory_alone(redis_url: str) -> None:
    async def steps(storage: Any) -> None:
        assert [await storage.incr("key", 60), await storage.reset(), await storage.incr("key", 60)] == [1, None, 1]
        with pytest.raises(NotImplementedError, match="a server is not emptied"):
            await storage_from_string(f"async+sluicegate+{redis_url}").reset()  # type: ignore[misc]

    run(steps, storage_from_string("async+sluicegate+memory://"))


def test_a_server_that_is_away() -> None:
    async def steps(storage: Any) -> None:
        assert not await storage.check()
        for _ in range(2):
            with pytest.raises(StorageError):
                await storage.incr("key", 60)

    run(steps, storage_from_string("async+sluicegate+redis://127.0.0.1:1", wrap_exceptions=True))
