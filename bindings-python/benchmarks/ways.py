"""What the way to the server costs: TLS against plain, a Cluster against one server, a server that does not answer.

Slices of all ways in turn; each figure is the median of its slices, a ratio that of the ratios within one round.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import bare
from measure import IN_FLIGHT, Results, async_rounds, in_tasks, in_threads, one_by_one, rounds
from program import head, options_of, row, servers, verdict
from slices import Slice
from sluicegate import AsyncRateLimiter, RateLimiter, SluicegateError

RULES = [{"rule_id": "gcra", "rate": "1000000000/h"}]
PRIMARIES = 3
EVERY = 0.001
# What each way may take of the first: of the time of a call made alone, of the checks per second with 64 in flight.
TARGETS = {("TLS", 1): (1.2, 0.75), ("Cluster", 1): (1.25, 0.75), ("Cluster", 10_000): (1.25, 0.6)}
# Long enough for the system's count of processor time, which is coarse.
SHARES_SECONDS = 1.0
# What an error of a silent server may take, in microseconds, and what of a core beyond the calls themselves.
ERROR_US, BEYOND = 1000, 0.02


def keys(number: int) -> Any:
    return cycle([f"user:{one}" for one in range(number)]).__next__


def report(driver: str, number: int, alone: Results, together: Results) -> None:
    """A row per way but the first, to which it is compared."""
    first = next(iter(alone))
    for way in list(alone)[1:]:
        if (way, number) not in TARGETS:
            continue
        most, least = TARGETS[way, number]
        slower = median(one.p50 / other.p50 for one, other in zip(alone[way], alone[first], strict=True))
        pairs = zip(together[way], together[first], strict=True)
        faster = median(one.per_second / other.per_second for one, other in pairs)
        latencies = (f"{median(one.p50 for one in alone[name]):.1f}" for name in (first, way))
        rates = (f"{median(one.per_second for one in together[name]):,.0f}" for name in (first, way))
        judged = verdict(round(slower, 2) <= most, most), verdict(round(faster, 2) >= least, least)
        row(f"{driver}, {way}, {number:,} keys", *latencies, f"{slower:.2f}", judged[0], *rates, f"{faster:.2f}", judged[1])


def processor_time_of(pids: list[int]) -> float:
    """What these processes have taken together, in seconds: proc_pid_stat(5), `utime` and `stime`."""
    # The name, in brackets, may have spaces.
    stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids]
    return sum(int(time) for fields in stats for time in fields[11:13]) / os.sysconf("SC_CLK_TCK")


class Shares:
    """Who takes the processors while 64 checks of 10,000 keys are in flight."""

    def __init__(self, pids: dict[str, list[int]]) -> None:
        self._pids = pids
        self._rows: list[tuple[str, ...]] = []

    def begin(self, way: str) -> float:
        return processor_time_of(self._pids[way])

    def end(self, driver: str, way: str, before: float, client: Slice) -> None:
        taken = processor_time_of(self._pids[way]) - before
        self._rows.append((
            f"{driver}, {way}",
            f"{client.cost:.1f}",
            f"{taken / client.calls * 1e6:.1f}",
            f"{client.processor_time / client.seconds:.2f}",
            f"{taken / client.seconds:.2f}",
        ))

    def report(self) -> None:
        head("64 in flight, 10,000 keys", "client, us a check", "servers, us a check", "client, cores", "servers, cores")
        for cells in self._rows:
            row(*cells)


def blocking(ways: dict[str, dict[str, Any]], shares: Shares, options: argparse.Namespace) -> None:
    limiters = {way: RateLimiter(rules=RULES, **given) for way, given in ways.items()}
    checks = {way: lambda key, limiter=limiter: limiter.check("gcra", key) for way, limiter in limiters.items()}
    for number in (1, 10_000):
        alone = rounds(checks, options.rounds, lambda check: one_by_one(check, keys(number), options.seconds))
        together = rounds(checks, options.rounds, lambda check: in_threads(check, keys(number), options.seconds))
        report("Python, blocking", number, alone, together)
    for way, check in checks.items():
        before = shares.begin(way)
        shares.end("Python, blocking", way, before, in_threads(check, keys(10_000), SHARES_SECONDS))


def floor(ways: dict[str, dict[str, Any]], options: argparse.Namespace) -> None:
    """What TLS adds to a command on a bare socket, of which the server and the cipher take the most."""
    checks = {way: bare.spinning(**ways[way]) for way in ("plain", "TLS")}
    results = rounds(checks, options.rounds, lambda check: one_by_one(check, keys(1), options.seconds))
    plain, tls = ([one.p50 for one in results[way]] for way in checks)
    head("", "plain: p50, us", "TLS: p50, us", "TLS adds, us")
    adds = median(own - other for own, other in zip(tls, plain, strict=True))
    row("bare socket that spins, SET", f"{median(plain):.1f}", f"{median(tls):.1f}", f"{adds:.1f}")


async def asynchronous(ways: dict[str, dict[str, Any]], shares: Shares, options: argparse.Namespace) -> None:
    limiters = {way: await AsyncRateLimiter.connect(rules=RULES, **given) for way, given in ways.items()}
    checks = {way: lambda key, limiter=limiter: limiter.check("gcra", key) for way, limiter in limiters.items()}
    for number in (1, 10_000):
        results = [
            await async_rounds(
                checks, options.rounds, lambda check, tasks=tasks: in_tasks(check, keys(number), options.seconds, tasks)
            )
            for tasks in (1, IN_FLIGHT)
        ]
        report("Python, asyncio", number, *results)
    for way, check in checks.items():
        before = shares.begin(way)
        shares.end("Python, asyncio", way, before, await in_tasks(check, keys(10_000), SHARES_SECONDS, IN_FLIGHT))


def paced(limiter: Any, calls: int) -> tuple[list[float], int]:
    """Makes a call every millisecond: the time of each in microseconds, and how many failed."""
    micros, failed, start = [], 0, time.perf_counter()
    for number in range(calls):
        time.sleep(max(0.0, start + number * EVERY - time.perf_counter()))
        began = time.perf_counter()
        try:
            limiter.check("gcra", "k")
        except SluicegateError:
            failed += 1
        micros.append((time.perf_counter() - began) * 1e6)
    return micros, failed


async def async_paced(limiter: Any, calls: int) -> tuple[list[float], int]:
    micros, failed, start = [], 0, time.perf_counter()
    for number in range(calls):
        await asyncio.sleep(max(0.0, start + number * EVERY - time.perf_counter()))
        began = time.perf_counter()
        try:
            await limiter.check("gcra", "k")
        except SluicegateError:
            failed += 1
        micros.append((time.perf_counter() - began) * 1e6)
    return micros, failed


def silent_row(driver: str, micros: list[float], remote: float, in_memory: float) -> None:
    p99, beyond = quantiles(micros, n=100)[98], remote - in_memory
    row(
        driver,
        f"{median(micros):.1f}",
        f"{p99:.1f}",
        verdict(p99 <= ERROR_US, ERROR_US),
        *(f"{part * 100:.1f}" for part in (remote, in_memory, beyond)),
        verdict(beyond <= BEYOND, BEYOND * 100),
    )


def silent(url: str, pid: int, calls: int) -> None:
    """The server is stopped by a signal; the figures are of the time after the circuit breaker opened."""
    head("", "error: p50, us", "p99, us", "at most", "CPU, % of a core", "in memory, %", "beyond, %", "at most")
    quick = {"rules": RULES, "response_timeout": 0.05}

    def spent(cpu: float) -> float:
        return (time.process_time() - cpu) / (calls * EVERY)

    async def on_a_loop() -> None:
        limiter, memory = [await AsyncRateLimiter.connect(one, **quick) for one in (url, "memory://")]
        os.kill(pid, signal.SIGSTOP)
        await async_paced(limiter, 8)
        parts = []
        for one in (limiter, memory):
            cpu = time.process_time()
            micros, failed = await async_paced(one, calls)
            parts.append((spent(cpu), micros, failed))
        assert [failed for _, _, failed in parts] == [calls, 0]
        silent_row("Python, asyncio", parts[0][1], parts[0][0], parts[1][0])

    try:
        asyncio.run(on_a_loop())
        parts = []
        for place in (url, "memory://"):
            limiter = RateLimiter(place, **quick)
            paced(limiter, 8)
            cpu = time.process_time()
            micros, failed = paced(limiter, calls)
            parts.append((spent(cpu), micros, failed))
        assert [failed for _, _, failed in parts] == [calls, 0]
        silent_row("Python, blocking", parts[0][1], parts[0][0], parts[1][0])
    finally:
        os.kill(pid, signal.SIGCONT)


def main() -> None:
    options = options_of(__doc__, rounds=5, seconds=0.3)
    with servers("redis", "tls") as one, servers("cluster") as cluster:
        # Replicas would take their share of the machine.
        for replica in cluster["pids"][PRIMARIES:]:
            os.kill(replica, signal.SIGKILL)
        files = {name: one[name] for name in ("tls_ca", "tls_cert", "tls_key")}
        ways = {
            "plain": {"url": one["redis"]},
            "TLS": {"url": one["tls"], **files},
            "Cluster": {"url": cluster["cluster"]},
        }
        head("", "plain: p50, us", "p50, us", "ratio", "at most", "plain: 64, checks/s", "checks/s", "ratio", "at least")
        shares = Shares({
            "plain": one["pids"],
            "TLS": one["pids"],
            "Cluster": cluster["pids"][:PRIMARIES],
        })
        blocking(ways, shares, options)
        asyncio.run(asynchronous(ways, shares, options))
        print()
        shares.report()
        print()
        floor(ways, options)
        print()
        silent(one["redis"], one["pids"][0], 3000)


if __name__ == "__main__":
    main()
