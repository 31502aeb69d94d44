"""Denials that are remembered for long: asyncio has the server say when they end."""

import asyncio

from sluicegate import AsyncRateLimiter, ManualClock, RateLimiter
from sluicegate.rules import Rule

RULES: list[Rule] = [{"rule_id": "slow", "rate": "2/hour"}]


def test_what_another_process_gives_back_is_seen_at_once(
    redis_url: str, prefix: str, loop: asyncio.AbstractEventLoop
) -> None:
    clock = ManualClock(1_700_000_000_000_000)

    async def until(allowed: bool, source: str, limiter: AsyncRateLimiter, step: float) -> None:
        while True:
            decision = await limiter.check("slow", "k")
            if (decision.allowed, decision.source) == (allowed, source):
                return
            clock.advance(step)
            await asyncio.sleep(0.005)

    async def play() -> None:
        url = f"{redis_url}?protocol=resp3"
        async with AsyncRateLimiter.connect(
            url, rules=RULES, prefix=prefix, clock=clock, remember_denials=600.0
        ) as limiter:
            for _ in range(3):
                await limiter.check("slow", "k")
            # Older than a second, it is denied again, and watched from then on.
            clock.advance(2)
            await limiter.check("slow", "k")
            clock.advance(2)
            await until(False, "cache", limiter, 2)
            with RateLimiter(redis_url, rules=RULES, prefix=prefix, clock=clock) as other:
                other.refund("slow", "k")
            # The clock stands still: no denial is old.
            await until(True, "server", limiter, 0)

    loop.run_until_complete(asyncio.wait_for(play(), 60))
