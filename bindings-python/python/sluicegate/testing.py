"""Fixtures of pytest: a limiter in memory with a clock that a test moves, new for every test.

A `conftest.py` takes them by `pytest_plugins = ["sluicegate.testing"]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._routes.needed import needed

with needed("pytest", "pytest"):
    import pytest

from ._asynchronous import AsyncRateLimiter
from ._connecting import Connecting
from ._native import ManualClock, RateLimiter

__all__ = ["connect_rate_limiter", "rate_limiter", "rate_limiter_clock", "rate_limiter_rules"]

# The beginning of 2024: windows that are aligned, and those of the calendar but for weeks, begin with the test.
_START = 1_704_067_200_000_000


@pytest.fixture
def rate_limiter_rules() -> Any:
    """The rules: as `rules` of `RateLimiter`. A fixture of the same name in your `conftest.py` states your own."""
    return []


@pytest.fixture
def rate_limiter_clock() -> ManualClock:
    """The clock of the test's limiters, which moves when `advance` is called, or a call waits."""
    return ManualClock(_START)


@pytest.fixture
def rate_limiter(rate_limiter_rules: Any, rate_limiter_clock: ManualClock) -> Iterator[RateLimiter]:
    """A limiter in memory, for this test alone."""
    with RateLimiter("memory://", rules=rate_limiter_rules, clock=rate_limiter_clock) as limiter:
        yield limiter


@pytest.fixture
def connect_rate_limiter(rate_limiter_rules: Any, rate_limiter_clock: ManualClock) -> Callable[[], Connecting[AsyncRateLimiter]]:
    """Connects a limiter for asyncio: `async with connect_rate_limiter() as limiter`, on the loop that runs."""
    return lambda: AsyncRateLimiter.connect("memory://", rules=rate_limiter_rules, clock=rate_limiter_clock)
