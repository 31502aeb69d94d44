"""The worker in Python; its first argument is `blocking` or `asyncio`, the others are those of every worker."""

import asyncio
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sluicegate import AsyncRateLimiter, Decision, RateLimiter

DRIVER, URL, RULES, PREFIX = sys.argv[1:5]
LANES, ROUNDS, HEAVY, PAUSE_US = map(int, sys.argv[5:9])
TARGETS = list(zip(sys.argv[9::2], sys.argv[10::2], strict=True))
# Longer than anything takes here.
OPTIONS = {"rules": Path(RULES), "prefix": PREFIX, "connect_timeout": 30.0, "response_timeout": 30.0}
OPTIONS |= {"identifier_secret": "known to the whole fleet"}
if "FLEET_REGION" in os.environ:
    # Short enough for servers that go away.
    OPTIONS |= {"connect_timeout": 0.3, "response_timeout": 0.3, "fallback": "deny"}
    OPTIONS |= {"regions": json.loads(os.environ["FLEET_REGIONS"]), "region": os.environ["FLEET_REGION"]}
PAUSE = PAUSE_US / 1_000_000


def in_order(lane: int) -> Iterator[int]:
    """Every target, beginning with another one in each lane."""
    return ((lane + at) % len(TARGETS) for at in range(len(TARGETS)))


def cost_of(turn: int) -> int:
    return 2 if turn < HEAVY else 1


def clock() -> int:
    return time.time_ns() // 1000


def line(target: int, cost: int, decision: Decision, before: int) -> str:
    retry, reset = decision.retry_after, decision.reset_after
    times = [-1 if math.isinf(seconds) else round(seconds * 1_000_000) for seconds in (retry, reset)]
    return " ".join(map(str, (target, cost, int(decision.allowed), decision.remaining, *times, before, clock())))


def say(*lines: str) -> None:
    print(*lines, sep="\n", flush=True)


def blocking() -> None:
    with RateLimiter(URL, **OPTIONS) as limiter, ThreadPoolExecutor(LANES) as pool:

        def peek() -> list[str]:
            return [line(at, 1, limiter.peek(*target), clock()) for at, target in enumerate(TARGETS)]

        def hammer(lane: int) -> list[str]:
            lines = []
            for turn in range(ROUNDS):
                for target in in_order(lane):
                    before = clock()
                    decision = limiter.check(*TARGETS[target], cost=cost_of(turn))
                    lines.append(line(target, cost_of(turn), decision, before))
                time.sleep(PAUSE)
            return lines

        peek()
        say("ready")
        sys.stdin.readline()
        for lines in pool.map(hammer, range(LANES)):
            say(*lines)
        say("done")
        sys.stdin.readline()
        say(*peek())


async def asynchronous() -> None:
    async with AsyncRateLimiter.connect(URL, **OPTIONS) as limiter:

        async def peek() -> list[str]:
            return [line(at, 1, await limiter.peek(*target), clock()) for at, target in enumerate(TARGETS)]

        async def check(target: int, cost: int) -> str:
            before = clock()
            return line(target, cost, await limiter.check(*TARGETS[target], cost=cost), before)

        async def hammer(lane: int) -> list[str]:
            lines: list[str] = []
            for turn in range(ROUNDS):
                lines += await asyncio.gather(*(check(target, cost_of(turn)) for target in in_order(lane)))
                await asyncio.sleep(PAUSE)
            return lines

        await peek()
        say("ready")
        sys.stdin.readline()
        for lines in await asyncio.gather(*map(hammer, range(LANES))):
            say(*lines)
        say("done")
        sys.stdin.readline()
        say(*await peek())


if DRIVER == "asyncio":
    asyncio.run(asynchronous())
else:
    blocking()
