"""Units that a process borrows of its server: who decides then."""

import asyncio
import time
from collections import Counter

from sluicegate import AsyncRateLimiter, Check, ManualClock, RateLimiter
from sluicegate.rules import Rule

RULES: list[Rule] = [{"rule_id": "busy", "rate": "1000/s", "lease": {"max_age_ms": 20, "pace_ms": 10}}]
CALLS = 900


def is_mostly_leased(sources: Counter[str]) -> bool:
    return set(sources) == {"server", "lease"} and sources["lease"] > CALLS / 2


def test_threads_spend_what_they_borrow(redis_url: str, prefix: str) -> None:
    clock, sources = ManualClock(1_700_000_000_000_000), Counter[str]()
    with RateLimiter(redis_url, rules=RULES, prefix=prefix, clock=clock) as limiter:
        for _ in range(CALLS):
            clock.advance(0.001)
            sources[limiter.check("busy", "k").source] += 1
        assert is_mostly_leased(sources), sources
        assert limiter.metrics()["rules"]["busy"]["loans"]["spent"] == sources["lease"]


def test_tasks_spend_what_they_borrow(redis_url: str, prefix: str, loop: asyncio.AbstractEventLoop) -> None:
    clock, sources = ManualClock(1_700_000_000_000_000), Counter[str]()

    async def ask() -> None:
        async with await AsyncRateLimiter.connect(redis_url, rules=RULES, prefix=prefix, clock=clock) as limiter:
            for _ in range(CALLS):
                clock.advance(0.001)
                sources[(await limiter.check("busy", "k")).source] += 1

    loop.run_until_complete(ask())
    assert is_mostly_leased(sources), sources


SLOW: list[Rule] = [
    {
        "rule_id": rule_id,
        "algorithm": "fixed_window",
        "window_start": "first_request",
        "rate": "100000/hour",
        "lease": {"max_age_ms": 1000, "pace_ms": 100},
    }
    for rule_id in ("user", "tenant")
]


def test_an_idle_event_loop_gives_back_what_it_borrowed(
    redis_url: str, prefix: str, loop: asyncio.AbstractEventLoop
) -> None:
    both = [Check("user", "k"), Check("tenant", "k")]

    async def borrow(limiter: AsyncRateLimiter) -> int:
        for calls in range(1, 20_000):
            decision = await limiter.check_all(both)
            assert decision.allowed
            if decision.source == "lease" and decision.remaining > 1:
                return calls
            await asyncio.sleep(0.001)
        raise AssertionError("nothing is borrowed")

    async def ask() -> None:
        async with await AsyncRateLimiter.connect(redis_url, rules=SLOW, prefix=prefix) as limiter:
            calls = await borrow(limiter)
            end = time.monotonic() + 30
            # By another limiter, while this loop calls nothing of its own.
            while any(used(watching, rule) != calls for rule in ("user", "tenant")):
                assert time.monotonic() < end, "nothing is given back"
                await asyncio.sleep(0.02)

    def used(watching: RateLimiter, rule: str) -> int:
        return 100_000 - watching.peek(rule, "k").remaining

    with RateLimiter(redis_url, rules=SLOW, prefix=prefix) as watching:
        loop.run_until_complete(ask())
