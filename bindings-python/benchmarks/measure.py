"""How a slice of a limiter's time is measured: many slices in turn, so that noise meets all alike."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "tests/benchmarks"))

from slices import Slice  # noqa: E402

IN_FLIGHT = 64
# How many checks are made between two looks at the clock.
STRIDE = 20

Key = Callable[[], str]
Check = Callable[[str], Any]
AsyncCheck = Callable[[str], Awaitable[Any]]


class Watch:
    """Wall time and CPU time of a slice."""

    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), time.process_time()

    def stop(self, checks: int, latencies: list[float]) -> Slice:
        cpu, seconds = time.process_time() - self._cpu, time.perf_counter() - self._began
        return Slice(checks, seconds, cpu, latencies)


def one_by_one(check: Check, key: Key, seconds: float) -> Slice:
    latencies = []
    watch = Watch()
    end = time.perf_counter() + seconds
    before = 0.0
    while before < end:
        before = time.perf_counter()
        check(key())
        latencies.append(time.perf_counter() - before)
    return watch.stop(len(latencies), latencies)


def in_strides(check: Check, key: Key, seconds: float) -> Slice:
    """For checks so short that a clock would be most of it."""
    checks = 0
    watch = Watch()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(STRIDE):
            check(key())
        checks += STRIDE
    return watch.stop(checks, [])


async def in_awaited_strides(check: AsyncCheck, key: Key, seconds: float) -> Slice:
    """The same for checks that are awaited, by one task."""
    checks = 0
    watch = Watch()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(STRIDE):
            await check(key())
        checks += STRIDE
    return watch.stop(checks, [])


def in_threads(check: Check, key: Key, seconds: float) -> Slice:
    watch = Watch()
    with ThreadPoolExecutor(IN_FLIGHT) as pool:
        parts = list(pool.map(lambda _: one_by_one(check, key, seconds).calls, range(IN_FLIGHT)))
    return watch.stop(sum(parts), [])


async def task(check: AsyncCheck, key: Key, end: float) -> list[float]:
    latencies = []
    before = 0.0
    while before < end:
        before = time.perf_counter()
        await check(key())
        latencies.append(time.perf_counter() - before)
    return latencies


async def in_tasks(check: AsyncCheck, key: Key, seconds: float, tasks: int) -> Slice:
    watch = Watch()
    end = time.perf_counter() + seconds
    parts = await asyncio.gather(*(task(check, key, end) for _ in range(tasks)))
    latencies = [latency for part in parts for latency in part]
    return watch.stop(len(latencies), latencies)


Results = dict[str, list[Slice]]


def rounds(checks: dict[str, Any], count: int, measure: Callable[[Any], Slice]) -> Results:
    results: Results = {name: [] for name in checks}
    for number in range(count + 1):
        for name, check in checks.items():
            measured = measure(check)
            # The first round opens connections and warms up.
            if number:
                results[name].append(measured)
    return results


async def async_rounds(
    checks: dict[str, Any], count: int, measure: Callable[[Any], Awaitable[Slice]]
) -> Results:
    results: Results = {name: [] for name in checks}
    for number in range(count + 1):
        for name, check in checks.items():
            measured = await measure(check)
            if number:
                results[name].append(measured)
    return results
