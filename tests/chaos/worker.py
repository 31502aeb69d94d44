"""The worker in Python, see README.md; its first argument is `blocking` or `asyncio`, the others are those of every worker."""

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from sluicegate import AsyncRateLimiter, Decision, RateLimiter, SluicegateError

DRIVER, URL, RULES, PREFIX = sys.argv[1:5]
INSTANCES, PAUSE_US = map(int, sys.argv[5:7])
LANES = [(rule, key, int(timeout) / 1e6 or None) for rule, key, timeout in zip(*[iter(sys.argv[7:])] * 3, strict=True)]
OPTIONS = {"rules": Path(RULES), "prefix": PREFIX, "instances": INSTANCES}
PAUSE = PAUSE_US / 1e6
# Every language says these words.
KINDS = {"ConnectionFailedError": "Connection", "ResponseTimeoutError": "Timeout", "ServerError": "Server"}

is_over = threading.Event()
counts = [0] * len(LANES)


def clock() -> int:
    return time.monotonic_ns() // 1000


def say(*words: object) -> None:
    # In one piece: lanes may be threads.
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def tell(lane: int, before: int, answer: Decision | SluicegateError) -> None:
    after = clock()
    if isinstance(answer, SluicegateError):
        kind = type(answer).__name__
        said = ("-", KINDS.get(kind, kind), 0)
    else:
        said = (int(answer.allowed), answer.source, answer.remaining)
    say(lane, counts[lane], before, after, *said)
    counts[lane] += 1


def blocking() -> None:
    with RateLimiter(URL, **OPTIONS) as limiter:

        def check(lane: int) -> None:
            rule, key, timeout = LANES[lane]
            while not is_over.is_set():
                before = clock()
                try:
                    answer = limiter.check(rule, key, timeout=timeout)
                except SluicegateError as error:
                    answer = error
                tell(lane, before, answer)
                time.sleep(PAUSE)

        run_threads(check)


def run_threads(check: Callable[[int], None]) -> None:
    say("ready")
    sys.stdin.readline()
    threads = [threading.Thread(target=check, args=[lane]) for lane in range(len(LANES))]
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    is_over.set()
    for thread in threads:
        thread.join()


async def asynchronous() -> None:
    async with AsyncRateLimiter.connect(URL, lazy=True, **OPTIONS) as limiter:

        async def check(lane: int) -> None:
            rule, key, timeout = LANES[lane]
            while not is_over.is_set():
                before = clock()
                try:
                    answer = await limiter.check(rule, key, timeout=timeout)
                except SluicegateError as error:
                    answer = error
                tell(lane, before, answer)
                await asyncio.sleep(PAUSE)

        await run_tasks(check)


async def run_tasks(check: Callable[[int], Awaitable[None]]) -> None:
    def wait_for_end() -> None:
        sys.stdin.readline()
        is_over.set()

    say("ready")
    sys.stdin.readline()
    waiting = asyncio.get_running_loop().run_in_executor(None, wait_for_end)
    await asyncio.gather(*map(check, range(len(LANES))))
    await waiting


if DRIVER == "asyncio":
    asyncio.run(asynchronous())
else:
    blocking()
say("done", *counts)
