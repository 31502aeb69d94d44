"""What each method does; the decisions themselves are the matter of the vectors."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Any

import pytest
from harness import Driver

from sluicegate import (
    AsyncRateLimiter,
    Check,
    ClosedError,
    Decision,
    InvalidArgumentError,
    ManualClock,
    RateLimiter,
    SluicegateError,
    WrongTypeError,
)

Open = Callable[..., Driver]


def test_check_admits_up_to_the_limit(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    answers = [limiter.check("ten", "alice") for _ in range(12)]
    assert [bool(answer) for answer in answers] == [True] * 10 + [False] * 2
    assert [answer.remaining for answer in answers[:3]] == [9, 8, 7]
    assert 0 < answers[-1].retry_after <= 3600
    assert answers[0].source == ("memory" if url == "memory://" else "server")


def test_cost_limit_and_resource(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    assert limiter.check("ten", "bob", cost=10).remaining == 0
    assert limiter.check("ten", "bob", cost=1, limit=20).remaining == 9
    assert limiter.peek("ten", "bob", cost=11).retry_after == math.inf
    assert limiter.check("printer", "bob", cost=3, resource="p1").allowed
    assert limiter.check("printer", "eve", cost=3, resource="p1").remaining == 2


def test_peek_refund_and_reset(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    limiter.check("ten", "carol", cost=10)
    assert not limiter.peek("ten", "carol")
    assert limiter.refund("ten", "carol", cost=4).remaining == 4
    assert limiter.reset("ten", "carol") is None
    assert limiter.peek("ten", "carol").remaining == 10
    assert limiter.reset("printer", "carol", resource="p1") is None


def test_check_all_is_all_or_nothing(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    limiter.check("smooth", "dora", cost=5)
    decision = limiter.check_all([Check("ten", "dora", cost=2), Check("smooth", "dora")])
    assert (decision.allowed, decision.rule) == (False, "smooth")
    assert [part.allowed for part in decision.parts] == [True, False]
    assert limiter.peek("ten", "dora").remaining == 10
    items = (Check("ten", name) for name in ["dora", "emil"])
    assert len(limiter.check_all(items).parts) == 2


def test_wait_sleeps_until_admitted(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    began = time.monotonic()
    assert all(limiter.wait("quick", "fred", timeout=5) for _ in range(3))
    assert 0.1 <= time.monotonic() - began < 2


def test_wait_gives_up_when_it_is_hopeless(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    limiter.check("ten", "gina", cost=10)
    began = time.monotonic()
    assert not limiter.wait("ten", "gina", timeout=0.5)
    assert not limiter.wait("ten", "gina", timeout=math.inf, cost=11)
    assert time.monotonic() - began < 0.5


def test_a_manual_clock_needs_no_sleep(url: str, open_limiter: Open) -> None:
    clock = ManualClock(1_760_000_000_000_000)
    limiter = open_limiter(url, clock=clock)
    limiter.check("smooth", "hugo", cost=5)
    denied = limiter.check("smooth", "hugo")
    assert denied.retry_after == 12.0
    clock.advance(denied.retry_after - 0.000001)
    assert not limiter.check("smooth", "hugo")
    clock.advance(0.000001)
    assert limiter.check("smooth", "hugo")
    before = clock.now_us
    assert limiter.wait("smooth", "hugo", timeout=60)
    assert clock.now_us - before == 12_000_000


def test_close_is_final_and_may_be_repeated(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    limiter.ping()
    limiter.close()
    limiter.close()
    for call in (limiter.ping, lambda: limiter.check("ten", "ida"), lambda: limiter.reset("ten", "ida")):
        with pytest.raises(ClosedError):
            call()


def test_close_ends_a_wait(url: str, prefix: str) -> None:
    rule = {"rule_id": "slow", "algorithm": "gcra", "limit": 1, "window_size_seconds": 60}
    limiter = RateLimiter(url, rules=[rule], prefix=prefix)
    limiter.check("slow", "ida")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(limiter.wait, "slow", "ida", timeout=math.inf)
        time.sleep(0.1)
        limiter.close()
        with pytest.raises(ClosedError):
            waiting.result(5)


def test_as_context_managers(redis_url: str) -> None:
    with RateLimiter(redis_url, rules="[]") as limiter:
        limiter.ping()
    with pytest.raises(ClosedError):
        limiter.ping()


class Pk(IntEnum):
    ALICE = 7


def test_an_int_is_its_decimal_text(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    assert limiter.check("ten", 7).remaining == 9
    assert limiter.check("ten", "7").remaining == 8
    assert limiter.check_all([Check("ten", Pk.ALICE)]).remaining == 7
    assert limiter.peek("ten", -(10**40)).remaining == 10
    assert limiter.check("ten", (1, "a")).remaining == limiter.peek("ten", ["1", "a"]).remaining == 9
    assert limiter.check("printer", 1, resource=2).remaining == limiter.peek("printer", "1", resource="2").remaining
    assert Check("printer", 1, resource=2) == Check("printer", "1", resource="2")
    with pytest.raises(InvalidArgumentError, match="^key is an int of too many digits"):
        limiter.check("ten", 10**5000)


@pytest.mark.parametrize("key", [True, 7.0, None, b"7", ["7", False]])
def test_what_is_no_key(key: Any, url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    with pytest.raises(WrongTypeError, match=r"^key(\[1\])? must be a str or an int, not (bool|float|NoneType|bytes)") as error:
        limiter.check("ten", key)
    assert isinstance(error.value, SluicegateError) and isinstance(error.value, TypeError)
    assert not error.value.retryable


def test_keys_of_any_text(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url)
    for key in ["größe", "\0\n{}%", "鍵" * 500, "🔑"]:
        assert limiter.check("ten", key).remaining == 9


def test_both_limiters_have_the_same_methods_and_parameters() -> None:
    def methods(kind: type) -> dict[str, list[str]]:
        public = (name for name in dir(kind) if not name.startswith("_") and name != "connect")
        return {name: list(inspect.signature(getattr(kind, name)).parameters) for name in public}

    assert methods(RateLimiter) == methods(AsyncRateLimiter)
    options = dict(inspect.signature(RateLimiter).parameters)
    connect = dict(inspect.signature(AsyncRateLimiter.connect).parameters)
    assert [(name, option.default) for name, option in options.items()] == [
        (name, option.default) for name, option in connect.items()
    ]


def test_the_async_limiter_is_made_by_connect() -> None:
    with pytest.raises(TypeError, match="connect"):
        AsyncRateLimiter("memory://", rules="[]")


def test_decisions_are_of_one_class(url: str, open_limiter: Open) -> None:
    assert type(open_limiter(url).check("ten", "jo")) is Decision
