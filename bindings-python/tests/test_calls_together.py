"""Checks of one key that wait for the server together travel as one: each has the decision that it would have had in a row."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from sluicegate import AsyncRateLimiter, Decision, ManualClock, RateLimiter

NOW_US = 1_700_000_000_123_456
LIMIT = 201
CALLERS, ROUNDS = 64, 5

RULES: dict[str, dict[str, Any]] = {
    "fixed_window": {"algorithm": "fixed_window"},
    "first_request": {"algorithm": "fixed_window", "window_start": "first_request"},
    "sliding_window": {"algorithm": "sliding_window"},
    "list": {"algorithm": "sliding_log"},
    "sorted_set": {"algorithm": "sliding_log", "structure": "sorted_set"},
    "sliding_buckets": {"algorithm": "sliding_buckets"},
    "gcra": {"algorithm": "gcra"},
}


def rules() -> list[Any]:
    return [{"rule_id": name, "limit": LIMIT, "window_size_seconds": 60, **fields} for name, fields in RULES.items()]


def figures(decisions: list[Decision]) -> list[tuple[bool, int, float, float]]:
    """In an order that does not depend on who came first."""
    return sorted((one.allowed, one.remaining, one.retry_after, one.reset_after) for one in decisions)


def in_a_row(rule: str) -> list[Decision]:
    with RateLimiter("memory://", rules=rules(), clock=ManualClock(NOW_US)) as limiter:
        return [limiter.check(rule, "k") for _ in range(CALLERS * ROUNDS)]


def admits_exactly_the_limit(rule: str, decisions: list[Decision]) -> None:
    left = [decision.remaining for decision in decisions if decision.allowed]
    assert sorted(left) == list(range(LIMIT)), rule
    assert figures(decisions) == figures(in_a_row(rule)), rule


def scripts(redis_url: str) -> int:
    """How many the server has run."""
    with redis.Redis.from_url(redis_url) as client:
        commands = client.info("commandstats")
    return sum(of["calls"] for name, of in commands.items() if name.startswith("cmdstat_eval"))


@pytest.mark.parametrize("rule", RULES)
def test_tasks_that_ask_together_are_decided_in_a_row_by_few_calls(
    redis_url: str, prefix: str, loop: asyncio.AbstractEventLoop, rule: str
) -> None:
    async def ask() -> list[Decision]:
        clock = ManualClock(NOW_US)
        async with AsyncRateLimiter.connect(redis_url, rules=rules(), prefix=prefix, clock=clock) as limiter:

            async def one() -> list[Decision]:
                return [await limiter.check(rule, "k") for _ in range(ROUNDS)]

            parts = await asyncio.gather(*(one() for _ in range(CALLERS)))
            return [decision for part in parts for decision in part]

    before = scripts(redis_url)
    decisions = loop.run_until_complete(ask())
    asked = scripts(redis_url) - before
    admits_exactly_the_limit(rule, decisions)
    assert asked * 4 <= CALLERS * ROUNDS, f"{asked} scripts"


@pytest.mark.parametrize("rule", RULES)
def test_threads_that_ask_together_are_decided_in_a_row(redis_url: str, prefix: str, rule: str) -> None:
    clock = ManualClock(NOW_US)
    with (
        RateLimiter(redis_url, rules=rules(), prefix=prefix, clock=clock) as limiter,
        ThreadPoolExecutor(CALLERS) as pool,
    ):
        decisions = list(pool.map(lambda _: limiter.check(rule, "k"), range(CALLERS * ROUNDS)))
    admits_exactly_the_limit(rule, decisions)
