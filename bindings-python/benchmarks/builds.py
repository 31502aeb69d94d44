"""Compares a check of two builds of this package, so closely that a machine that others use slows both alike.

Both are imported into this process, and one thread makes a few calls of the one and of the other in turn: where the system puts
a process, and how fast the machine is just then, is the same for both. A ratio is that of two neighbouring blocks; what is printed
is the median of all, the interval in which it is with 95 % (by the order statistics), and the middle half of all ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable
from importlib import import_module
from math import sqrt
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from program import conditions, head, row, servers

CALLS = 20
# Of each block, not counted: what the other build left in the caches of the processor.
FIRST = 2
WARM_UP = 50
IN_FLIGHT = 64
TOGETHER = {"64 tasks, one key": ["user:1"] * 1_280, "64 tasks, 10,000 keys": [f"user:{number}" for number in range(10_000)]}
RULES = [{"rule_id": "gcra", "rate": "1000000000/h"}]
Block = Callable[[], float]


def imported(folder: Path) -> Any:
    """The build in a folder, under no name that keeps the other from being imported."""
    sys.path.insert(0, str(folder))
    try:
        package = import_module("sluicegate")
        import_module("sluicegate._asynchronous")
    finally:
        sys.path.pop(0)
        for name in [name for name in sys.modules if name.split(".")[0] == "sluicegate"]:
            del sys.modules[name]
    assert Path(package.__file__).parents[1] == folder.resolve(), package.__file__
    return package


def blocking(package: Any, url: str) -> Block:
    check = package.RateLimiter(url, rules=RULES).check

    def block() -> float:
        taken = []
        for _ in range(FIRST + CALLS):
            began = perf_counter()
            check("gcra", "user:1")
            taken.append(perf_counter() - began)
        return median(taken[FIRST:]) * 1e6

    return block


def on_a_loop(package: Any, url: str, loop: asyncio.AbstractEventLoop) -> Block:
    check = loop.run_until_complete(connected(package, url)).check

    async def calls() -> float:
        taken = []
        for _ in range(FIRST + CALLS):
            began = perf_counter()
            await check("gcra", "user:1")
            taken.append(perf_counter() - began)
        return median(taken[FIRST:]) * 1e6

    return lambda: loop.run_until_complete(calls())


def many_on_a_loop(package: Any, url: str, loop: asyncio.AbstractEventLoop, keys: list[str]) -> Block:
    """As many tasks as wait at a time in a busy service; a figure is the time of the block by the number of its calls."""
    check = loop.run_until_complete(connected(package, url)).check

    async def task(own: list[str]) -> None:
        for key in own:
            await check("gcra", key)

    async def calls() -> float:
        began = perf_counter()
        await asyncio.gather(*(task(keys[number::IN_FLIGHT]) for number in range(IN_FLIGHT)))
        return (perf_counter() - began) / len(keys) * 1e6

    return lambda: loop.run_until_complete(calls())


async def connected(package: Any, url: str) -> Any:
    return await package.AsyncRateLimiter.connect(url, rules=RULES)


def compare(name: str, before: Block, after: Block, pairs: int) -> None:
    for _ in range(WARM_UP):
        before(), after()
    old, new = [], []
    for number in range(pairs):
        # Which goes first changes, so that neither always follows the other.
        for block, figures in ((before, old), (after, new))[:: 1 if number % 2 else -1]:
            figures.append(block())
    ratios = sorted(after / before for before, after in zip(old, new, strict=True))
    low, _, high = quantiles(ratios, n=4)
    # Of the ranks of a median: a binomial distribution, near enough a normal one.
    off = round(1.96 * sqrt(pairs) / 2)
    surely = f"{ratios[pairs // 2 - off]:.3f}..{ratios[pairs // 2 + off]:.3f}"
    figures = (f"{median(old):.2f}", f"{median(new):.2f}", f"{median(ratios):.3f}", surely, f"{low:.2f}..{high:.2f}")
    row(name, *figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=2000, help="blocks of each build")
    parser.add_argument("before", type=Path, help="a folder in which the older build is installed")
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    builds = [imported(folder) for folder in (options.before, options.after)]
    conditions(f"{options.pairs} pairs of blocks of {CALLS} calls, one in flight, and a tenth as many of tasks")
    head("a check, microseconds", "before", "after", "ratio", "95 % of the median", "middle half")
    with servers("redis") as started:
        loop = asyncio.new_event_loop()
        for place in (started["redis"], "memory://"):
            kind = place.partition(":")[0]
            compare(f"blocking, {kind}", *(blocking(build, place) for build in builds), options.pairs)
            compare(f"asyncio, {kind}", *(on_a_loop(build, place, loop) for build in builds), options.pairs)
            for name, keys in TOGETHER.items():
                compare(f"asyncio, {kind}, {name}", *(many_on_a_loop(build, place, loop, keys) for build in builds), options.pairs // 10)


if __name__ == "__main__":
    main()
