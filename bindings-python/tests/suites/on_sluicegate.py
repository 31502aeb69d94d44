"""A plugin of pytest: whatever the tests of a package open as a storage of limits is one of Sluicegate, on their clock.

What they want in memory is so; for what they want on a server, `SLUICEGATE_SUITE_URL` is one of Redis.
"""

from __future__ import annotations

import functools
import itertools
import os
import time
from typing import Any
from unittest.mock import MagicMock

import pymemcache
import pymongo
import pytest
import redis
from limits._storage_scheme import SCHEMES

from sluicegate import ManualClock
from sluicegate.limits import SluicegateStorage

_SERVER = os.environ["SLUICEGATE_SUITE_URL"]
_KINDS = ("memory", "redis", "memcached", "mongodb")
_METHODS = (
    "incr", "get", "get_expiry", "acquire_entry", "get_moving_window", "acquire_sliding_window_entry", "get_sliding_window",
    "clear", "clear_sliding_window",
)  # fmt: skip
_numbers = itertools.count()
_test = "none"


def pytest_runtest_setup(item: Any) -> None:
    global _test
    _test = f"{os.getpid()}-{next(_numbers)}"


@pytest.fixture
def docker_services(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """Servers of other kinds are not needed; the tests only empty them."""
    for module, name in ((redis, "from_url"), (pymemcache, "Client"), (pymongo, "MongoClient")):
        monkeypatch.setattr(module, name, MagicMock())
    return MagicMock()


class _Emptied:
    """What tests empty between two of their steps."""

    def __repr__(self) -> str:
        return "server"

    def flushall(self) -> None:
        redis.Redis.from_url(_SERVER).flushall()


class FollowingStorage(SluicegateStorage):
    """One whose clock goes as the test's does, which sets that of Python."""

    STORAGE_SCHEME = None  # type: ignore[assignment]

    def __init__(self, url: str = "memory://", wrap_exceptions: bool = False, **_: Any) -> None:
        self._clock = ManualClock(int(time.time() * 1_000_000))
        # Two applications of one test share a server.
        place = "memory://" if url.startswith("memory:") else _SERVER
        super().__init__(f"sluicegate+{place}", wrap_exceptions, clock=self._clock, prefix=_test)
        for name in _METHODS:
            setattr(self, name, self._following(getattr(self, name)))

    def _following(self, method: Any) -> Any:
        @functools.wraps(method)
        def call(*arguments: Any, **options: Any) -> Any:
            if isinstance(redis.Redis.execute_command, MagicMock):
                # The test lets the server fail.
                redis.Redis.execute_command()
            ahead = time.time() - self._clock.now_us / 1_000_000
            if ahead > 0:
                self._clock.advance(ahead)
            return method(*arguments, **options)

        return call


    @property
    def storage(self) -> Any:
        return _Emptied()

    def check(self) -> bool:
        return not isinstance(redis.Redis.execute_command, MagicMock) and super().check()


for scheme in _KINDS:
    SCHEMES[scheme] = FollowingStorage
