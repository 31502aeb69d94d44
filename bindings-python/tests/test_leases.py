"""Units that a process borrows of its server: who decides then."""

import asyncio
from collections import Counter

from sluicegate import AsyncRateLimiter, ManualClock, RateLimiter
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
