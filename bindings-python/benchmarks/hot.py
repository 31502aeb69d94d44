"""What checks of one key cost that many ask for: sent as one, and decided by units that the process has borrowed.

Slices in turn; each figure is the median of its slices, a ratio that of the ratios within one round.
"""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import dataclass
from itertools import cycle
from statistics import median
from typing import Any

import redis
from measure import IN_FLIGHT, async_rounds, in_awaited_strides, in_strides, in_tasks, rounds
from program import head, options_of, row, servers, verdict
from slices import Slice
from sluicegate import AsyncRateLimiter, RateLimiter

LIMIT = {"limit": 100_000_000, "window_size_seconds": 1, "burst": 50_000_000}
RULES: Any = [
    {"rule_id": "exact", **LIMIT},
    {"rule_id": "leased", **LIMIT, "lease": {"max_age_ms": 20, "pace_ms": 10}},
]
# How many checks are under way at a time, on how many keys. Those of the second load travel together as well, each for itself.
LOADS = {
    "one key": (IN_FLIGHT, 1),
    "a key for each": (IN_FLIGHT, IN_FLIGHT),
    "10,000 keys": (IN_FLIGHT, 10_000),
    "one key, alone": (1, 1),
}
REFERENCE = "a key for each"
# How many times the checks of the reference, and how many leased checks a second.
TOGETHER, LEASED = 1.2, 1_000_000


@dataclass(frozen=True)
class Spent:
    """What a slice has cost the client, and the server."""

    client: Slice
    server: float
    scripts: int


class Server:
    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(url)

    def so_far(self) -> tuple[float, int]:
        """Seconds of processor time, and how many scripts were run."""
        cpu, commands = self._client.info("cpu"), self._client.info("commandstats")
        scripts = sum(of["calls"] for name, of in commands.items() if name.startswith("cmdstat_eval"))
        return cpu["used_cpu_user"] + cpu["used_cpu_sys"], scripts


async def together(url: str, options: argparse.Namespace) -> None:
    server = Server(url)
    async with AsyncRateLimiter.connect(url, rules=RULES) as limiter:

        async def measure(load: tuple[int, int]) -> Spent:
            in_flight, count = load
            keys = cycle([f"user:{number}" for number in range(count)])
            (processor_time, scripts), check = server.so_far(), lambda key: limiter.check("exact", key)
            client = await in_tasks(check, keys.__next__, options.seconds, in_flight)
            later, scripts_later = server.so_far()
            return Spent(client, later - processor_time, scripts_later - scripts)

        results: dict[str, list[Any]] = await async_rounds(LOADS, options.rounds, measure)
    head("asyncio", "checks/s", "client, us", "Redis, us", "checks a script", f"ratio to {REFERENCE}", "at least")
    for load, slices in results.items():
        pairs = zip(slices, results[REFERENCE], strict=True)
        ratio = median(one.client.per_second / other.client.per_second for one, other in pairs)
        row(
            load,
            f"{median(one.client.per_second for one in slices):,.0f}",
            f"{median(one.client.cost for one in slices):.2f}",
            f"{median(one.server / one.client.calls for one in slices) * 1e6:.2f}",
            f"{median(one.client.calls / one.scripts for one in slices):.1f}",
            f"{ratio:.2f}",
            verdict(ratio >= TOGETHER, TOGETHER) if load == "one key" else "",
        )


def report_leased(driver: str, slices: list[Slice], limiter: Any) -> None:
    counts = limiter.metrics()["rules"]["leased"]["decisions"]
    admitted = {source: of["admitted"] for source, of in counts.items()}
    leased = admitted.get("lease", 0) / sum(admitted.values())
    rate = median(one.per_second for one in slices)
    cost = median(one.cost for one in slices)
    row(driver, f"{rate:,.0f}", f"{cost:.2f}", f"{leased * 100:.2f} %", verdict(rate >= LEASED, LEASED))


def leased(url: str, options: argparse.Namespace) -> None:
    head("one key, one thread", "checks/s", "client, us", "decided by borrowed units", "at least")
    with RateLimiter(url, rules=RULES, prefix="blocking") as limiter:
        checks = {"": lambda key: limiter.check("leased", key)}
        results = rounds(checks, options.rounds, lambda check: in_strides(check, lambda: "hot", options.seconds))
        report_leased("blocking", results[""], limiter)

    async def on_a_loop() -> None:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix="asyncio") as limiter:
            checks = {"": lambda key: limiter.check("leased", key)}
            results = await async_rounds(
                checks, options.rounds, lambda check: in_awaited_strides(check, lambda: "hot", options.seconds)
            )
            report_leased("asyncio", results[""], limiter)

    asyncio.run(on_a_loop())


def main() -> None:
    options = options_of(__doc__, rounds=7, seconds=0.5)
    with servers("redis") as started:
        asyncio.run(together(started["redis"], options))
        print()
        leased(started["redis"], options)


if __name__ == "__main__":
    main()
