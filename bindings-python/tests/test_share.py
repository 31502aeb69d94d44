"""Processes that use a part of the limits: always, or while no server decides."""

import asyncio

import pytest
import sluicegate

RULES = [{"rule_id": "api", "rate": "100/hour", "fallback": "local"}]
NOBODY = "redis://127.0.0.1:1"


def test_instances_change_while_the_limiter_runs() -> None:
    limiter = sluicegate.RateLimiter(NOBODY, rules=RULES, share=0.5, instances=5)
    assert limiter.check("api", "a").remaining == 9
    limiter.set_instances(25)
    assert limiter.check("api", "b").remaining == 1
    for wrong in (0, 1_000_001):
        with pytest.raises(sluicegate.InvalidArgumentError, match="from 1 to 1000000"):
            limiter.set_instances(wrong)


def test_instances_change_in_asyncio_too() -> None:
    async def run() -> tuple[int, int]:
        async with await sluicegate.AsyncRateLimiter.connect(NOBODY, rules=RULES, share=0.5, instances=5) as limiter:
            first = await limiter.check("api", "a")
            limiter.set_instances(25)
            return first.remaining, (await limiter.check("api", "b")).remaining

    assert asyncio.run(run()) == (9, 1)


def test_a_lazy_limiter_is_made_while_the_server_is_away() -> None:
    async def run() -> None:
        rules = [{"rule_id": "api", "rate": "100/hour"}]
        with pytest.raises(sluicegate.ConnectionFailedError):
            await sluicegate.AsyncRateLimiter.connect(NOBODY, rules=rules)
        async with await sluicegate.AsyncRateLimiter.connect(NOBODY, rules=rules, lazy=True) as limiter:
            with pytest.raises(sluicegate.ConnectionFailedError):
                await limiter.check("api", "a")

    asyncio.run(run())
