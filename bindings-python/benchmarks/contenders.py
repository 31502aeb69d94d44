"""The clients that are compared. Each makes a function that checks one key.

Limits are so high that everything is admitted: what is measured is the way there and back.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import limits
import limits.aio
import redis
import redis.asyncio
import throttled
import throttled.asyncio

import bare
import sluicegate

PER_MINUTE = 100_000_000
WINDOW_MS = 60_000
RULES = [
    {"rule_id": name, "algorithm": name, "limit": PER_MINUTE, "window_size_seconds": 60}
    for name in ("gcra", "fixed_window")
]
# A hand-written script: the least that a limiter can do.
GCRA_LUA = Path(__file__).parents[2] / "tests" / "benchmarks" / "baseline" / "gcra.lua"
POOL = 64

Check = Callable[[str], Any]
AsyncCheck = Callable[[str], Awaitable[Any]]


def keys(count: int) -> Callable[[], str]:
    """One hot key, or many in turn."""
    return itertools.cycle([f"user:{number}" for number in range(count)]).__next__


def blocking(url: str) -> dict[str, Check]:
    client = redis.Redis.from_url(url, max_connections=POOL)
    one = client.script_load("return 1")
    gcra = client.script_load(GCRA_LUA.read_text())
    ours = sluicegate.RateLimiter(url, rules=RULES)
    window = limits.strategies.FixedWindowRateLimiter(limits.storage.RedisStorage(url))
    item = limits.RateLimitItemPerMinute(PER_MINUTE)
    return {
        "bare socket: gcra.lua": bare.blocking(url, bare.evalsha(gcra, PER_MINUTE, WINDOW_MS, 0)),
        "redis-py: return 1": lambda key: client.evalsha(one, 1, key),
        "redis-py: gcra.lua": lambda key: client.evalsha(gcra, 1, f"g:{key}", PER_MINUTE, WINDOW_MS, 0),
        "sluicegate gcra": lambda key: ours.check("gcra", key),
        "throttled-py gcra": peer(throttled, "gcra", url).limit,
        "sluicegate fixed_window": lambda key: ours.check("fixed_window", key),
        "throttled-py fixed_window": peer(throttled, "fixed_window", url).limit,
        "limits fixed_window": lambda key: window.hit(item, key),
    }


async def asynchronous(url: str) -> dict[str, AsyncCheck]:
    client = redis.asyncio.Redis.from_url(url, max_connections=POOL)
    one = await client.script_load("return 1")
    gcra = await client.script_load(GCRA_LUA.read_text())
    ours = await sluicegate.AsyncRateLimiter.connect(url, rules=RULES)
    storage = limits.aio.storage.RedisStorage(f"async+{url}", implementation="redispy")
    window = limits.aio.strategies.FixedWindowRateLimiter(storage)
    item = limits.RateLimitItemPerMinute(PER_MINUTE)
    return {
        "bare socket: gcra.lua": bare.asynchronous(url, bare.evalsha(gcra, PER_MINUTE, WINDOW_MS, 0)),
        "redis-py: return 1": lambda key: client.evalsha(one, 1, key),
        "redis-py: gcra.lua": lambda key: client.evalsha(gcra, 1, f"g:{key}", PER_MINUTE, WINDOW_MS, 0),
        "sluicegate gcra": lambda key: ours.check("gcra", key),
        "throttled-py gcra": peer(throttled.asyncio, "gcra", url).limit,
        "sluicegate fixed_window": lambda key: ours.check("fixed_window", key),
        "throttled-py fixed_window": peer(throttled.asyncio, "fixed_window", url).limit,
        "limits fixed_window": lambda key: window.hit(item, key),
    }


def in_memory() -> dict[str, Check]:
    ours = sluicegate.RateLimiter("memory://", rules=RULES)
    window = limits.strategies.FixedWindowRateLimiter(limits.storage.MemoryStorage())
    item = limits.RateLimitItemPerMinute(PER_MINUTE)
    return {
        "sluicegate gcra": lambda key: ours.check("gcra", key),
        "throttled-py gcra": peer(throttled, "gcra", None).limit,
        "sluicegate fixed_window": lambda key: ours.check("fixed_window", key),
        "throttled-py fixed_window": peer(throttled, "fixed_window", None).limit,
        "limits fixed_window": lambda key: window.hit(item, key),
    }


def peer(package: Any, algorithm: str, url: str | None) -> Any:
    """A limiter of throttled-py."""
    quota = package.rate_limiter.per_min(PER_MINUTE, burst=PER_MINUTE)
    store = package.store.RedisStore(server=url) if url else package.store.MemoryStore()
    return package.Throttled(using=algorithm, quota=quota, store=store)
