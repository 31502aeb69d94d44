"""The follower in Python; its first argument is `blocking` or `asyncio`, the others are those of every follower."""

import asyncio
import sys
import threading

from sluicegate import AsyncRateLimiter, RateLimiter

DRIVER, URL, SOURCE, PREFIX = sys.argv[1:5]
# Longer than anything takes here.
OPTIONS = {"rules": SOURCE, "prefix": PREFIX, "connect_timeout": 30.0, "response_timeout": 30.0}
# Between two rounds of calls: many while rules change, and the machine is left to the servers.
PAUSE = 0.01
over = threading.Event()


def await_the_end() -> None:
    sys.stdin.read()
    over.set()


class Notes:
    """What the follower has to say."""

    def __init__(self) -> None:
        self.admitted = 0
        self.limit = -1

    def take(self, admitted: bool, limit: int) -> None:
        self.admitted += admitted
        if limit != self.limit:
            self.limit = limit
            print("limit", limit, flush=True)


def blocking(notes: Notes) -> None:
    with RateLimiter(URL, **OPTIONS) as limiter:
        while not over.is_set():
            notes.take(limiter.check("counted", "k").allowed, limiter.peek("changing", "k").limit)
            over.wait(PAUSE)


async def asynchronous(notes: Notes) -> None:
    async with AsyncRateLimiter.connect(URL, **OPTIONS) as limiter:
        while not over.is_set():
            decisions = await asyncio.gather(limiter.check("counted", "k"), limiter.peek("changing", "k"))
            notes.take(decisions[0].allowed, decisions[1].limit)
            await asyncio.sleep(PAUSE)


threading.Thread(target=await_the_end, daemon=True).start()
notes = Notes()
if DRIVER == "asyncio":
    asyncio.run(asynchronous(notes))
else:
    blocking(notes)
print("admitted", notes.admitted)
