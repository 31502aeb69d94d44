"""Calls of the async limiter that are the only one under way, which look for their answers by themselves."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from conftest import RULES, Body, Turns

from sluicegate import AsyncRateLimiter, ClosedError, Decision


@pytest.fixture(params=["redis", "cluster"])
def backend(request: pytest.FixtureRequest) -> str:
    """Those that calls wait for."""
    return request.param


def test_it_is_sent_also_if_it_is_cancelled(run: Callable[[Body], None], url: str, prefix: str) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        call = asyncio.create_task(limiter.check("ten", "cancelled"))
        await asyncio.sleep(0)
        call.cancel()
        # By another limiter, since this one sends what is left when it is called again.
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as other:
            await until_charged(other, "cancelled")
        assert (await limiter.check("ten", "cancelled")).remaining == 8
        await answered(limiter, "after")

    run(body)


def test_closing_ends_it(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        call = asyncio.create_task(limiter.check("ten", "closed"))
        await asyncio.sleep(0)
        await limiter.close()
        (answer,) = await asyncio.gather(call, return_exceptions=True)
        # A server that is quick has answered before.
        assert isinstance(answer, (ClosedError, Decision))

    run(body)


def test_calls_that_join_it_are_answered(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        for number in range(50):
            assert (await limiter.check("ten", f"before-{number}")).remaining == 9
            together = (limiter.check("ten", f"{number}-{beside}") for beside in range(number % 3 + 2))
            assert all(answer.remaining == 9 for answer in await asyncio.gather(*together))

    run(body)


def test_its_answer_may_be_found_by_another_call(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        async def beside(key: str) -> Decision:
            # Until the answer to the other is there.
            time.sleep(0.003)
            return await limiter.wait("ten", key, timeout=5)

        for number in range(20):
            both = asyncio.gather(limiter.check("ten", f"a-{number}"), beside(f"b-{number}"))
            assert all(answer.remaining == 9 for answer in await both)

    run(body)


def test_one_that_nobody_awaits_any_longer_stops_no_other(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        call = begun(limiter)
        await answered(limiter, "beside")
        call.close()
        await answered(limiter, "after")

    run(body)


def begun(limiter: AsyncRateLimiter) -> Coroutine[Any, Any, Decision]:
    """A call that waits for its answer. Where a thread serves the loop, the answer may be there before anybody waits."""
    for _ in range(100):
        call = limiter.check("ten", "left")
        try:
            call.send(None)
        except StopIteration:
            continue
        return call
    pytest.fail("no call ever waits")


def test_others_have_their_turns_beside_it(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        turns = Turns(pause=0)
        for number in range(100):
            await limiter.check("ten", f"{number}")
        assert turns.end() >= 100

    run(body)


async def answered(limiter: AsyncRateLimiter, key: str) -> None:
    """Calls one after the other, and then at once."""
    for number in range(5):
        assert (await limiter.check("ten", f"{key}-{number}")).remaining == 9
    together = await asyncio.gather(*(limiter.check("ten", f"{key}-{number}") for number in range(5)))
    assert all(answer.remaining == 8 for answer in together)


async def until_charged(limiter: AsyncRateLimiter, key: str) -> None:
    end = time.monotonic() + 10
    while (await limiter.peek("ten", key)).remaining != 9:
        assert time.monotonic() < end, f"{key} was not charged"
