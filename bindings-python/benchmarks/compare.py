"""Compares clients in one process, on one server: short slices in turn, so that noise meets all alike.

Each figure is the median of its slices; a ratio is the median of the ratios within one round.
"""

from __future__ import annotations

import argparse
import asyncio
from statistics import median

import contenders
from measure import IN_FLIGHT, Results, async_rounds, in_strides, in_tasks, in_threads, one_by_one, rounds
from program import head, options_of, row, servers


def table(title: str, results: Results, reference: str, columns: dict[str, str], ratio: str) -> None:
    """Prints one row per contender; the ratio is to the reference, of the figure named."""
    print(f"\n**{title}**\n")
    head("", *columns, f"{columns_name(columns, ratio)}, ratio to {reference}")
    for name, slices in results.items():
        figures = [f"{median(getattr(one, figure) for one in slices):,.1f}" for figure in columns.values()]
        pairs = zip(slices, results[reference], strict=True)
        relative = median(getattr(one, ratio) / getattr(other, ratio) for one, other in pairs)
        row(name, *figures, f"{relative:.2f}")


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
    options = options_of(__doc__, rounds=7, seconds=0.5)
    with servers("redis") as started:
        compare_in_memory(options)
        compare_blocking(started["redis"], options)
        asyncio.run(compare_asyncio(started["redis"], options))


if __name__ == "__main__":
    main()
