"""Servers and limiters for the tests."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from harness import DRIVERS, Driver
from outages import Server

from sluicegate import AsyncRateLimiter

try:
    import uvloop
except ImportError:
    uvloop = None

RULES = [
    {"rule_id": "slow", "algorithm": "gcra", "limit": 1, "window_size_seconds": 1},
    {"rule_id": "ten", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 3600},
    {"rule_id": "smooth", "algorithm": "gcra", "limit": 5, "window_size_seconds": 60},
    {"rule_id": "quick", "algorithm": "gcra", "limit": 20, "window_size_seconds": 1, "burst": 1},
    {
        "rule_id": "printer",
        "algorithm": "fixed_window",
        "limits": [
            {"limit": 3, "window_size_seconds": 3600},
            {"limit": 5, "window_size_seconds": 3600, "scope": "resource"},
        ],
    },
]


Body = Callable[[AsyncRateLimiter], Awaitable[None]]


class NoReaders(asyncio.SelectorEventLoop):
    """A loop that cannot watch a pipe, like the one of Windows."""

    def add_reader(self, *_: Any) -> None:
        raise NotImplementedError


LOOPS = {"asyncio": asyncio.new_event_loop, "no_readers": NoReaders}
if uvloop:
    LOOPS["uvloop"] = uvloop.new_event_loop


class Turns:
    """Counts the turns that a task gets which pauses between them."""

    def __init__(self, pause: float) -> None:
        self._count = 0
        self._task = asyncio.create_task(self._take(pause))

    async def _take(self, pause: float) -> None:
        while True:
            self._count += 1
            await asyncio.sleep(pause)

    def end(self) -> int:
        self._task.cancel()
        return self._count


class Servers:
    """Real servers that obey commands."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.addresses: dict[str, str] = self._answer()

    def command(self, *words: str) -> None:
        assert self._process.stdin
        print(json.dumps(words), file=self._process.stdin, flush=True)
        answer = self._answer()
        assert answer == {"done": True}, answer

    def _answer(self) -> Any:
        assert self._process.stdout
        return json.loads(self._process.stdout.readline())


@contextmanager
def started(*kinds: str) -> Iterator[Servers]:
    """Servers that are gone afterwards."""
    program = os.environ["SLUICEGATE_TEST_SERVERS"]
    command = [program, "start", *kinds]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as servers:
        # Leaving the block closes their standard input, and they end.
        yield Servers(servers)


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, str]]:
    with started("redis", "cluster") as servers:
        yield {"memory": "memory://", **servers.addresses}


@pytest.fixture(params=["memory", "redis", "cluster"])
def backend(request: pytest.FixtureRequest) -> str:
    """Every backend in turn."""
    return request.param


@pytest.fixture
def url(backend: str, servers: dict[str, str]) -> str:
    return servers[backend]


@pytest.fixture
def redis_url(servers: dict[str, str]) -> str:
    return servers["redis"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Redis server of one test, which may kill it."""
    server = Server(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def prefix() -> str:
    """So that no test finds what another stored."""
    return f"test-{uuid4().hex}"


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> Iterator[asyncio.AbstractEventLoop]:
    loop = LOOPS[request.param]()
    yield loop
    loop.close()


@pytest.fixture
def run(loop: asyncio.AbstractEventLoop, url: str, prefix: str) -> Callable[[Body], None]:
    """Runs a test body with a limiter, on every backend and every kind of loop."""

    async def with_limiter(body: Body) -> None:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as limiter:
            await body(limiter)

    return lambda body: loop.run_until_complete(asyncio.wait_for(with_limiter(body), 30))


@pytest.fixture(params=DRIVERS, ids=lambda driver: driver.__name__)
def driver(request: pytest.FixtureRequest) -> type[Driver]:
    """Both limiters in turn."""
    return request.param


@pytest.fixture
def open_limiter(driver: type[Driver], prefix: str) -> Iterator[Callable[..., Driver]]:
    """Opens limiters that are closed with the test."""
    opened: list[Driver] = []

    def open_(url: str, **options: object) -> Driver:
        limiter = driver(url, **{"rules": RULES, "prefix": prefix, **options})
        opened.append(limiter)
        return limiter

    yield open_
    for limiter in opened:
        limiter.finish()
