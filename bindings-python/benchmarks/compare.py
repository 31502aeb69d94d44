"""Compares clients in one process, on one server: short slices in turn, so that noise meets all alike.

Each figure is the median of its slices; a ratio is the median of the ratios within one round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
from datetime import date
from statistics import median

import contenders
from measure import IN_FLIGHT, Results, async_rounds, in_strides, in_tasks, in_threads, one_by_one, rounds

def table(title: str, results: Results, reference: str, columns: dict[str, str], ratio: str) -> None:
    """Prints one row per contender; the ratio is to the reference, of the figure named."""
    print(f"\n**{title}**\n")
    print("|", " | ".join(["", *columns, f"{columns_name(columns, ratio)}, ratio to {reference}"]), "|")
    print("|" + "---|" * (len(columns) + 2))
    for name, slices in results.items():
        figures = [f"{median(getattr(one, figure) for one in slices):,.1f}" for figure in columns.values()]
        pairs = zip(slices, results[reference], strict=True)
        relative = median(getattr(one, ratio) / getattr(other, ratio) for one, other in pairs)
        print("|", " | ".join([name, *figures, f"{relative:.2f}"]), "|")


def columns_name(columns: dict[str, str], figure: str) -> str:
    return next(name for name, column in columns.items() if column == figure)


LATENCY = {"p50, us": "p50", "p99, us": "p99", "client CPU, us": "cost"}
THROUGHPUT = {"checks/s": "per_second", "client CPU, us": "cost"}


def compare_blocking(url: str, options: argparse.Namespace) -> None:
    checks = contenders.blocking(url)
    for name, count in (("one hot key", 1), ("10,000 keys", 10_000)):
        key = contenders.keys(count)
        results = rounds(checks, options.rounds, lambda check: one_by_one(check, key, options.seconds))
        table(f"Blocking, 1 in flight, {name}", results, "redis-py: return 1", LATENCY, "p50")
    key = contenders.keys(10_000)
    results = rounds(checks, options.rounds, lambda check: in_threads(check, key, options.seconds))
    table(f"Blocking, {IN_FLIGHT} threads, 10,000 keys", results, "redis-py: return 1", THROUGHPUT, "per_second")


async def compare_asyncio(url: str, options: argparse.Namespace) -> None:
    checks = await contenders.asynchronous(url)
    for name, count in (("one hot key", 1), ("10,000 keys", 10_000)):
        key = contenders.keys(count)
        for tasks, columns, ratio in ((1, LATENCY, "p50"), (IN_FLIGHT, THROUGHPUT, "per_second")):
            results = await async_rounds(
                checks, options.rounds, lambda check: in_tasks(check, key, options.seconds, tasks)
            )
            table(f"asyncio, {tasks} in flight, {name}", results, "redis-py: return 1", columns, ratio)


def compare_in_memory(options: argparse.Namespace) -> None:
    key = contenders.keys(10_000)
    results = rounds(contenders.in_memory(), options.rounds, lambda check: in_strides(check, key, options.seconds))
    table("In memory, one thread, 10,000 keys", results, "sluicegate gcra", {"us": "cost"}, "cost")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="slices per contender")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a slice")
    options = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    print(f"{date.today()}, {os.cpu_count()} cores, load {load:.1f} before the run,", end=" ")
    print(f"{options.rounds} rounds of {options.seconds} s")
    program = [os.environ["SLUICEGATE_TEST_SERVERS"], "start", "redis"]
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        url = json.loads(server.stdout.readline())["redis"]
        compare_in_memory(options)
        compare_blocking(url, options)
        asyncio.run(compare_asyncio(url, options))


if __name__ == "__main__":
    main()
