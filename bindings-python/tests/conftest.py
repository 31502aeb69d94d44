"""Servers and limiters for the tests."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest
from harness import DRIVERS, Driver

RULES = [
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


@contextmanager
def started(*kinds: str) -> Iterator[dict[str, str]]:
    """Real servers, gone afterwards."""
    program = os.environ["SLUICEGATE_TEST_SERVERS"]
    command = [program, "start", *kinds]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as servers:
        assert servers.stdin and servers.stdout
        # Leaving the block closes their standard input, and they end.
        yield json.loads(servers.stdout.readline())


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, str]]:
    with started("redis", "cluster") as urls:
        yield {"memory": "memory://", **urls}


@pytest.fixture(params=["memory", "redis", "cluster"])
def url(request: pytest.FixtureRequest, servers: dict[str, str]) -> str:
    """Every backend in turn."""
    return servers[request.param]


@pytest.fixture
def redis_url(servers: dict[str, str]) -> str:
    return servers["redis"]


@pytest.fixture
def prefix() -> str:
    """So that no test finds what another stored."""
    return f"test-{uuid4().hex}"


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
