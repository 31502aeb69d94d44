"""The storage of the package limits: by its strategies, and behind Flask-Limiter and slowapi."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest
from limits import RateLimitItem, RateLimitItemPerMinute, RateLimitItemPerSecond, parse
from limits.errors import StorageError
from limits.limits import Granularity
from limits.storage import MemoryStorage, Storage, storage_from_string
from limits.strategies import STRATEGIES, FixedWindowRateLimiter, MovingWindowRateLimiter, SlidingWindowCounterRateLimiter

from sluicegate import ManualClock
from sluicegate.limits import SluicegateStorage

# The beginning of an aligned minute.
START = 1_700_000_040
SLACK = 0.5


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START * 1_000_000)


@pytest.fixture
def storage(url: str, prefix: str, clock: ManualClock) -> Storage:
    """One on every backend, by URL."""
    storage = storage_from_string(f"sluicegate+{url}", prefix=prefix, clock=clock)
    assert isinstance(storage, SluicegateStorage)
    return storage


@pytest.fixture
def in_step(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryStorage]:
    """The package's own storage by the same clock."""
    monkeypatch.setattr(time, "time", lambda: clock.now_us / 1_000_000)
    yield MemoryStorage()


def left(strategy: Any, item: RateLimitItem) -> int:
    remaining: int = strategy.get_window_stats(item, "alice").remaining
    return remaining


def reset_in(strategy: Any, item: RateLimitItem) -> float:
    reset: float = strategy.get_window_stats(item, "alice").reset_time
    return reset - time.time()


def test_fixed_windows_begin_with_the_first_call_and_count_what_is_denied(storage: Storage, clock: ManualClock) -> None:
    limiter, item = FixedWindowRateLimiter(storage), RateLimitItemPerMinute(3)
    clock.advance(30)
    assert left(limiter, item) == 3 and reset_in(limiter, item) == pytest.approx(0, abs=SLACK)
    assert [limiter.hit(item, "alice", cost=2), limiter.test(item, "alice"), limiter.hit(item, "alice", cost=2)] == [
        True, True, False,
    ]  # fmt: skip
    # The denied call is counted, as the package documents it.
    assert not limiter.test(item, "alice") and storage.get(item.key_for("alice")) == 4
    clock.advance(45)
    assert not limiter.hit(item, "alice") and left(limiter, item) == 0
    assert reset_in(limiter, item) == pytest.approx(15, abs=SLACK)
    assert limiter.hit(item, "bob")
    clock.advance(15)
    assert limiter.hit(item, "alice") and left(limiter, item) == 2


def test_moving_windows(storage: Storage, clock: ManualClock) -> None:
    limiter, item = MovingWindowRateLimiter(storage), RateLimitItemPerMinute(3)
    assert left(limiter, item) == 3
    assert limiter.hit(item, "alice")
    clock.advance(20)
    assert limiter.hit(item, "alice")
    assert left(limiter, item) == 1 and reset_in(limiter, item) == pytest.approx(40, abs=SLACK)
    assert [limiter.test(item, "alice", cost=2), limiter.hit(item, "alice", cost=2)] == [False, False]
    assert limiter.hit(item, "alice")
    assert [limiter.test(item, "alice"), limiter.hit(item, "alice")] == [False, False]
    assert reset_in(limiter, item) == pytest.approx(40, abs=SLACK)
    clock.advance(40)
    assert limiter.hit(item, "alice") and not limiter.hit(item, "alice")
    assert not limiter.hit(item, "bob", cost=4)


def test_sliding_window_counters(storage: Storage, clock: ManualClock) -> None:
    limiter, item = SlidingWindowCounterRateLimiter(storage), RateLimitItemPerMinute(10)
    assert left(limiter, item) == 10 and reset_in(limiter, item) == pytest.approx(0, abs=SLACK)
    assert [limiter.hit(item, "alice", cost=9), limiter.hit(item, "alice"), limiter.hit(item, "alice")] == [True, True, False]
    assert left(limiter, item) == 0 and reset_in(limiter, item) == pytest.approx(60, abs=SLACK)
    # Three quarters of the window before: 7.5, of which the package drops the half.
    clock.advance(75)
    assert left(limiter, item) == 3
    assert [limiter.test(item, "alice", cost=3), limiter.test(item, "alice", cost=4)] == [True, False]
    assert [limiter.hit(item, "alice", cost=4), limiter.hit(item, "alice", cost=3)] == [False, True]
    # 10.5 until it is less than 10.
    assert reset_in(limiter, item) == pytest.approx(3, abs=SLACK)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_decisions_are_those_of_the_package(strategy: str, in_step: MemoryStorage, clock: ManualClock) -> None:
    """Both storages get the same history, at irregular times: at the very end of a moving window they differ."""
    ours = STRATEGIES[strategy](storage_from_string("sluicegate+memory://", clock=clock))
    theirs = STRATEGIES[strategy](in_step)
    item = RateLimitItemPerMinute(7)
    times = Random(1)
    for step in range(300):
        clock.advance(times.uniform(1, 11))
        cost = 1 + step % 3
        each = [(each.test(item, "a", cost=cost), each.hit(item, "a", cost=cost)) for each in (theirs, ours)]
        assert each[0] == each[1], step
        assert ours.get_window_stats(item, "a").remaining == theirs.get_window_stats(item, "a").remaining, step


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_key_is_forgotten(strategy: str, storage: Storage) -> None:
    limiter, item = STRATEGIES[strategy](storage), parse("1 per 2 hour")
    assert [limiter.hit(item, who) for who in ("alice", "alice", "bob")] == [True, False, True]
    limiter.clear(item, "alice")
    assert [limiter.hit(item, who) for who in ("alice", "bob")] == [True, False]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_cost_of_zero_counts_nothing(strategy: str, storage: Storage) -> None:
    limiter, item = STRATEGIES[strategy](storage), RateLimitItemPerMinute(1)
    assert [limiter.hit(item, "alice", cost=cost) for cost in (0, 1, 1)] == [True, True, False]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_threads_are_admitted_exactly(strategy: str, storage: Storage) -> None:
    limiter, item = STRATEGIES[strategy](storage), RateLimitItemPerMinute(10)
    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(lambda _: limiter.hit(item, "alice"), range(100))) == 10


def test_processes_share_windows(redis_url: str, prefix: str) -> None:
    one, other = (storage_from_string(f"sluicegate+{redis_url}", prefix=prefix) for _ in range(2))
    item = RateLimitItemPerMinute(5)
    FixedWindowRateLimiter(one).hit(item, "alice", cost=3)
    # It has not counted itself, and is not told the window.
    assert other.get(item.key_for("alice")) == 3


class PerFortnight(RateLimitItem):
    GRANULARITY = Granularity(14 * 86400, "fortnight")


class Odd(RateLimitItemPerSecond):
    """An item whose window its key does not name."""

    def get_expiry(self) -> int:
        return 90


@pytest.mark.parametrize("item", [PerFortnight(2), Odd(2)], ids=["registered", "odd"])
def test_items_of_the_application(item: RateLimitItem, storage: Storage) -> None:
    limiter = FixedWindowRateLimiter(storage)
    assert [limiter.hit(item, "alice") for _ in range(3)] == [True, True, False]
    assert left(limiter, item) == 0 and reset_in(limiter, item) == pytest.approx(item.get_expiry(), abs=SLACK)
    limiter.clear(item, "alice")
    assert limiter.hit(item, "alice")


def test_keys_that_are_no_items(storage: Storage) -> None:
    assert [storage.incr("key", 60), storage.incr("key", 60, amount=4), storage.get("key")] == [1, 5, 5]
    storage.clear("key")
    assert storage.get("key") == 0 and storage.get("another") == 0


def test_everything_is_forgotten_in_memory_alone(redis_url: str, prefix: str) -> None:
    memory = storage_from_string("sluicegate+memory://")
    assert memory.incr("key", 60) == 1 and memory.reset() is None and memory.incr("key", 60) == 1
    with pytest.raises(NotImplementedError, match="a server is not emptied"):
        storage_from_string(f"sluicegate+{redis_url}", prefix=prefix).reset()


def test_a_server_that_is_away() -> None:
    away = "sluicegate+redis://127.0.0.1:1"
    assert not storage_from_string(away).check()
    with pytest.raises(StorageError):
        storage_from_string(away, wrap_exceptions=True).incr("key", 60)


def flask_limiter(url: str, strategy: str, **options: Any) -> Callable[[str], tuple[int, Any]]:
    from flask import Flask
    from flask_limiter import Limiter
    from flask_limiter.util import get_remote_address

    app = Flask("site")
    limiter = Limiter(
        get_remote_address, app=app, storage_uri=url, strategy=strategy, headers_enabled=True, storage_options=options
    )
    app.add_url_rule("/orders", "orders", limiter.limit("2 per minute;10 per hour")(lambda: "a book"))
    app.add_url_rule("/other", "other", lambda: "not limited")
    client = app.test_client()

    def ask(path: str) -> tuple[int, Any]:
        answer = client.get(path)
        return answer.status_code, answer.headers

    return ask


def slowapi(url: str, strategy: str, **options: Any) -> Callable[[str], tuple[int, Any]]:
    from slowapi import Limiter, _rate_limit_exceeded_handler
    from slowapi.errors import RateLimitExceeded
    from slowapi.util import get_remote_address
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route
    from starlette.testclient import TestClient

    limiter = Limiter(get_remote_address, storage_uri=url, strategy=strategy, headers_enabled=True, storage_options=options)

    @limiter.limit("2 per minute;10 per hour")
    async def orders(request: Request) -> Any:
        return PlainTextResponse("a book")

    async def other(request: Request) -> Any:
        return PlainTextResponse("not limited")

    app = Starlette(routes=[Route("/orders", orders), Route("/other", other)])
    app.state.limiter = limiter
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)  # type: ignore[arg-type]
    client = TestClient(app)

    def ask(path: str) -> tuple[int, Any]:
        answer = client.get(path)
        return answer.status_code, answer.headers

    return ask


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("site", [flask_limiter, slowapi], ids=lambda site: site.__name__)
def test_frameworks_run_on_it_by_url_alone(site: Any, strategy: str, redis_url: str, prefix: str, clock: ManualClock) -> None:
    ask = site(f"sluicegate+{redis_url}", strategy, prefix=prefix, clock=clock)
    answers = [ask("/orders") for _ in range(3)]
    assert [status for status, _ in answers] == [200, 200, 429]
    assert [headers["X-RateLimit-Remaining"] for _, headers in answers] == ["1", "0", "0"]
    assert 58 <= int(answers[2][1]["Retry-After"]) <= 61
    assert ask("/other")[0] == 200
    clock.advance(60 if strategy != "sliding-window-counter" else 120)
    assert ask("/orders")[0] == 200
