"""How the async limiter lives with tasks, timeouts and loops of several kinds."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import LOOPS, RULES, Body, NoReaders, Turns

from sluicegate import AsyncRateLimiter, Check, ClosedError, RateLimiter, SluicegateError


def test_many_at_once_never_admit_too_much(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        answers = await asyncio.gather(*(limiter.check("ten", "a") for _ in range(500)))
        assert sum(map(bool, answers)) == 10

    run(body)


def test_mixed_calls_each_get_their_own_answer(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        async def one(number: int) -> None:
            key = f"key-{number}"
            assert (await limiter.check("ten", key, cost=number % 10 + 1)).remaining == 9 - number % 10
            with pytest.raises(SluicegateError, match="tem"):
                await limiter.check("tem", key)
            assert (await limiter.peek("ten", key)).remaining == 9 - number % 10
            await limiter.reset("ten", key)
            assert (await limiter.check("ten", key)).remaining == 9

        await asyncio.gather(*(one(number) for number in range(100)))

    run(body)


def test_a_cancelled_call_disturbs_no_other(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        tasks = [asyncio.create_task(limiter.check("ten", f"k{number}")) for number in range(200)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(answer.remaining == 9 for answer in answers[1::2])
        assert (await limiter.check("ten", "after")).remaining == 9

    run(body)


def test_waits_take_turns_and_those_cancelled_leave(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        admitted = []

        async def one(number: int) -> None:
            assert await limiter.wait_all([Check("quick", "turns")], timeout=20)
            admitted.append(number)

        began = time.monotonic()
        tasks = [asyncio.create_task(one(number)) for number in range(40)]
        await asyncio.sleep(0.02)
        for task in tasks[1::2]:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Before they were cancelled, some may have been admitted.
        assert admitted == sorted(admitted) and set(range(0, 40, 2)) <= set(admitted)
        assert len(admitted) < 30
        # One every 50 ms: each sleeps no longer than it has to.
        assert 0.9 < time.monotonic() - began < 3

    run(body)


def test_a_timeout_ends_a_wait(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        await limiter.check("ten", "w", cost=10)
        began = time.monotonic()
        for delay in (0, 0.05):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(limiter.wait("ten", "w", timeout=7200), delay)
        assert time.monotonic() - began < 5
        await limiter.reset("ten", "w")
        # Waits that were given up take nothing.
        await asyncio.sleep(0.05)
        assert (await limiter.peek("ten", "w")).remaining == 10

    run(body)


@pytest.mark.skipif(not hasattr(asyncio, "timeout"), reason="came with Python 3.11")
def test_the_timeout_of_a_block_is_honoured(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        await limiter.check("ten", "b", cost=10)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await limiter.wait("ten", "b", timeout=7200)
        async with asyncio.timeout(20):
            assert not await limiter.check("ten", "b")

    run(body)


def test_a_wait_that_is_thrown_away_takes_nothing(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        await limiter.check("slow", "t")
        wait = limiter.wait("slow", "t", timeout=7200)
        wait.send(None)
        await asyncio.sleep(0.01)
        wait.close()
        await limiter.reset("slow", "t")
        await asyncio.sleep(1.1)
        assert (await limiter.peek("slow", "t")).remaining == 1

    run(body)


def test_close_ends_what_is_under_way(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        await limiter.check("ten", "c", cost=10)
        wait = asyncio.create_task(limiter.wait("ten", "c", timeout=7200))
        await asyncio.sleep(0.01)
        await limiter.close()
        with pytest.raises(ClosedError):
            await wait

    run(body)


def test_a_waiting_loop_runs_on(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        await limiter.check("slow", "r")
        turns = Turns(pause=0.001)
        assert await limiter.wait("slow", "r", timeout=5)
        assert turns.end() > 5

    run(body)


def test_awaited_or_entered(redis_url: str) -> None:
    async def both() -> None:
        limiter = await AsyncRateLimiter.connect(redis_url, rules=RULES)
        async with limiter as same:
            assert same is limiter
        with pytest.raises(ClosedError):
            await limiter.ping()

    asyncio.run(both())


@pytest.mark.parametrize("loop", LOOPS)
def test_close_releases_what_nobody_learns_of(loop: str, redis_url: str) -> None:
    """Places are held for those callers alone who were given one, whenever a limiter is closed."""
    rules = [{"rule_id": "places", "algorithm": "concurrency", "limit": 5000, "lease_seconds": 600}]

    async def caller(limiter: AsyncRateLimiter, key: str, granted: list[int]) -> None:
        with suppress(ClosedError):
            while await limiter.reserve("places", key):
                granted.append(1)

    async def body(round_: int) -> tuple[str, int]:
        key, granted = f"close-{loop}-{round_}", []
        limiter = await AsyncRateLimiter.connect(redis_url, rules=rules)
        callers = [asyncio.create_task(caller(limiter, key, granted)) for _ in range(20)]
        for _ in range(round_ * 7):
            await asyncio.sleep(0)
        await limiter.close()
        await asyncio.gather(*callers)
        return key, len(granted)

    for round_ in range(1, 13):
        running = LOOPS[loop]()
        try:
            key, granted = running.run_until_complete(body(round_))
        finally:
            running.close()
        with RateLimiter(redis_url, rules=rules) as looking:
            assert 5000 - looking.peek("places", key).remaining == granted, key


def test_a_closed_limiter_says_so_on_every_loop(redis_url: str) -> None:
    async def main() -> AsyncRateLimiter:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES) as limiter:
            return limiter

    limiter = asyncio.run(main())
    with pytest.raises(ClosedError):
        asyncio.run(limiter.check("login", "k"))


def test_a_limiter_belongs_to_one_loop(redis_url: str) -> None:
    async def main() -> None:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES) as limiter:
            with ThreadPoolExecutor(1) as other:
                call = asyncio.get_running_loop().run_in_executor(other, asyncio.run, limiter.ping())
                with pytest.raises(RuntimeError, match="another event loop"):
                    await call

    asyncio.run(main())


def test_a_loop_per_thread(redis_url: str, prefix: str) -> None:
    admitted = []

    async def main() -> None:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES, prefix=prefix) as limiter:
            answers = await asyncio.gather(*(limiter.check("ten", "t") for _ in range(50)))
            admitted.append(sum(map(bool, answers)))

    threads = [threading.Thread(target=asyncio.run, args=(main(),)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(admitted) == 8 and sum(admitted) == 10


def test_a_forgotten_limiter_is_closed_with_a_warning(redis_url: str) -> None:
    async def main() -> None:
        limiter = await AsyncRateLimiter.connect(redis_url, rules=RULES)
        await limiter.ping()
        bridge = weakref.ref(limiter)
        with pytest.warns(ResourceWarning, match="unclosed"):
            del limiter
            gc.collect()
        assert bridge() is None

    asyncio.run(main())


class ClosedMeanwhile(NoReaders):
    """Takes a callback of another thread when it has just been closed, as may happen between check and append."""

    def __init__(self) -> None:
        super().__init__()
        self.closes = False
        self.has_closed = threading.Event()
        self.kept: list[Any] = []

    def call_soon_threadsafe(self, callback: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not self.closes:
            return super().call_soon_threadsafe(callback, *args, **kwargs)
        self.has_closed.wait(10)
        self.kept.append(callback)


def test_a_loop_that_closes_while_it_is_called_keeps_no_limiter(redis_url: str) -> None:
    async def unfinished() -> None:
        limiter = await AsyncRateLimiter.connect(redis_url, rules=RULES)
        loop.closes = True
        # Nothing else keeps it until the loop is closed if the answer comes before this ends.
        kept.append(limiter)
        asyncio.create_task(limiter.check("ten", "late"))
        await asyncio.sleep(0)

    def listeners() -> int:
        return sum(thread.name == "sluicegate-listen" for thread in threading.enumerate())

    before = listeners()
    kept: list[AsyncRateLimiter] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loop = ClosedMeanwhile()
        loop.run_until_complete(unfinished())
        assert listeners() == before + 1
        loop.close()
        loop.has_closed.set()
        kept.clear()
        del loop
        end = time.monotonic() + 10
        while listeners() > before and time.monotonic() < end:
            time.sleep(0.05)
            gc.collect()
    assert listeners() == before


# The kernel marks a thread that is ending, and lists it for a moment after it was joined.
PF_EXITING = 0x4


def native_threads() -> int:
    """The threads of limiters that have not ended."""
    count = 0
    for thread in Path("/proc/self/task").iterdir():
        # One that was just listed may be gone.
        with suppress(FileNotFoundError, ProcessLookupError):
            name, _, rest = (thread / "stat").read_text().partition("(")[2].rpartition(")")
            flags = int(rest.split()[6])
            count += name.startswith("sluicegate") and not flags & PF_EXITING
    return count


def opened() -> tuple[int, int]:
    return len(os.listdir("/proc/self/fd")), native_threads()


# So that the thread which connects has ended, is about to, or does all the work.
@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("pause", (None, 0, 0.001))
@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=LOOPS)
def test_a_closed_limiter_keeps_no_descriptor(
    new_loop: Callable[[], asyncio.AbstractEventLoop], pause: float | None, redis_url: str
) -> None:
    async def closed() -> None:
        before = opened()
        limiters = []
        for url in [redis_url, "memory://"] * 50:
            limiter = await AsyncRateLimiter.connect(url, rules=RULES)
            await limiter.check("ten", "c")
            calls = asyncio.gather(*(limiter.check("ten", "c") for _ in range(3)), return_exceptions=True)
            if pause is not None:
                await asyncio.sleep(pause)
            await limiter.close()
            assert all(now <= first for now, first in zip(opened(), before, strict=True))
            limiters.append(limiter)
            await calls

    loop = new_loop()
    loop.run_until_complete(closed())
    loop.close()


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_a_closed_blocking_limiter_keeps_no_descriptor(redis_url: str) -> None:
    before = opened()
    limiters = []
    for url in [redis_url, "memory://"] * 50:
        limiter = RateLimiter(url, rules=RULES)
        limiter.check("ten", "c")
        limiter.close()
        assert all(now <= first for now, first in zip(opened(), before, strict=True))
        limiters.append(limiter)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
@pytest.mark.parametrize("new_loop", LOOPS.values(), ids=LOOPS)
def test_limiters_leave_no_descriptors_and_no_threads(
    new_loop: Callable[[], asyncio.AbstractEventLoop], redis_url: str
) -> None:
    def count() -> int:
        return len(os.listdir("/proc/self/fd")) + len(os.listdir("/proc/self/task"))

    async def finished() -> None:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES) as limiter:
            await asyncio.gather(*(limiter.check("ten", "d") for _ in range(100)))

    async def unfinished() -> None:
        limiter = await AsyncRateLimiter.connect(redis_url, rules=RULES)
        asyncio.create_task(limiter.check("ten", "d"))
        await asyncio.sleep(0)

    async def unconnected() -> None:
        asyncio.create_task(unfinished())
        await asyncio.sleep(0)

    async def forgotten() -> AsyncRateLimiter:
        # Its loop has stopped by then, and never runs again.
        return await AsyncRateLimiter.connect(redis_url, rules=RULES)

    def rounds() -> None:
        for main in (finished, unfinished, unconnected, forgotten) * 3:
            loop = new_loop()
            loop.run_until_complete(main())
            loop.close()
            # Tasks that are destroyed are reported to the loop.
            del loop
            gc.collect()

    # Warnings are ignored, not recorded: a record would keep the task it is about.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # The first loop of a kind may open files that stay.
        rounds()
        before = count()
        rounds()
        # Threads take a moment to end, and may hold garbage until then.
        end = time.monotonic() + 10
        while count() > before and time.monotonic() < end:
            time.sleep(0.05)
            gc.collect()
        assert count() <= before
