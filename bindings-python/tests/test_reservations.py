"""Usage that is known late, as programs in Python see it; what is decided, the vectors show."""

from __future__ import annotations

import asyncio
import gc
import math
import pickle
import threading
import time
from collections.abc import Callable
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
)

Open = Callable[..., Driver]

RULES = [
    {"rule_id": "tokens", "algorithm": "fixed_window", "limit": 10, "window_size_seconds": 3600, "reservations": True},
    {"rule_id": "jobs", "algorithm": "concurrency", "limit": 2},
]


def left(limiter: Any, rule: str = "tokens") -> int:
    remaining: int = limiter.peek(rule, "alice").remaining
    return remaining


def test_a_reservation_is_a_decision_and_more(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url, rules=RULES)
    held, denied = (limiter.reserve("tokens", "alice", cost=cost) for cost in (4, 7))
    assert isinstance(held, Decision) and held and held.remaining == 6 and held.token > 0 and held.id.startswith("r1.")
    assert not denied and denied.id is None and denied.token is None and denied.remaining == 6
    assert held == held and held != denied and hash(held) == hash(held)
    assert repr(held).startswith(f"{type(held).__name__}(allowed=True") and f"token={held.token}" in repr(held)
    assert "Retry-After" in dict(denied.headers())
    with pytest.raises(TypeError, match="pass its id on"):
        pickle.dumps(held)


def test_ending_twice_takes_effect_once(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url, rules=RULES)
    held = limiter.reserve("tokens", "alice", cost=4)
    assert limiter.renew(held) and limiter.commit(held.id, 3) and left(limiter) == 7
    assert not limiter.commit(held) and not limiter.release(held.id) and not limiter.renew(held) and left(limiter) == 7
    denied = limiter.reserve("tokens", "alice", cost=8)
    assert not limiter.commit(denied) and not limiter.release(denied) and not limiter.renew(denied)


def test_costs_by_rule_and_by_place(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url, rules=RULES)
    checks = [Check("tokens", "alice", cost=4), Check("jobs", "alice")]
    held = limiter.reserve_all(checks)
    assert len(held.parts) == 2 and left(limiter) == 6 and left(limiter, "jobs") == 1
    assert limiter.commit(held, {"tokens": 1}) and left(limiter) == 9 and left(limiter, "jobs") == 2
    assert limiter.commit(limiter.reserve_all(checks), {0: 2}) and left(limiter) == 7


@pytest.mark.parametrize(
    ("cost", "kind", "message"),
    [
        ("3", TypeError, "^cost must be an int, not str"),
        ({"tokens": "3"}, TypeError, r'^cost\["tokens"\] must be an int'),
        ({"tokens": 1, 0: 1}, TypeError, "^cost must have either rules or places"),
        (-1, InvalidArgumentError, "^cost -1: must be a whole number, at least 0"),
        ({7: 1}, InvalidArgumentError, "^item 7: it is not in the reservation"),
    ],
)
def test_costs_that_make_no_sense_end_nothing(
    cost: object, kind: type[Exception], message: str, open_limiter: Open
) -> None:
    limiter = open_limiter("memory://", rules=RULES)
    held = limiter.reserve("tokens", "alice", cost=4)
    with pytest.raises(kind, match=message):
        limiter.commit(held, cost)
    assert limiter.release(held) and left(limiter) == 10


def test_what_is_no_reservation_is_refused(open_limiter: Open) -> None:
    with pytest.raises(TypeError, match="^reservation must be a str or a Reservation, not int"):
        open_limiter("memory://", rules=RULES).commit(5)


def test_another_limiter_ends_it_by_its_id(redis_url: str, open_limiter: Open) -> None:
    first, second = (open_limiter(redis_url, rules=RULES) for _ in range(2))
    assert second.commit(first.reserve("tokens", "alice", cost=4).id, 1) and left(first) == 9


def test_a_rule_that_is_gone_is_none_that_can_be_charged(redis_url: str, open_limiter: Open) -> None:
    held = open_limiter(redis_url, rules=RULES).reserve("tokens", "alice", cost=4)
    others = open_limiter(redis_url, rules=RULES[1:])
    with pytest.raises(Exception, match='no rule is called "tokens"'):
        others.commit(held.id)


def test_a_closed_limiter_ends_nothing(url: str, open_limiter: Open) -> None:
    limiter = open_limiter(url, rules=RULES)
    held = limiter.reserve("tokens", "alice")
    limiter.close()
    for call in (limiter.commit, limiter.release, limiter.renew):
        with pytest.raises(ClosedError):
            call(held)


def test_a_lease_ends_what_is_left_behind(open_limiter: Open) -> None:
    clock = ManualClock(1_760_000_000_000_000)
    limiter = open_limiter("memory://", rules=RULES, clock=clock)
    limiter.reserve("jobs", "alice")
    assert left(limiter, "jobs") == 1
    clock.advance(60)
    assert left(limiter, "jobs") == 2


def test_with_commits_or_releases(url: str, prefix: str, servers: dict[str, str]) -> None:
    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter:
        with limiter.reserve("tokens", "alice", cost=3) as held:
            assert held
        assert left(limiter) == 7
        with pytest.raises(ZeroDivisionError), limiter.reserve("tokens", "alice", cost=3):
            1 / 0  # noqa: B018
        assert left(limiter) == 7
        with limiter.reserve("tokens", "alice", cost=3) as held:
            assert held.renew() and held.commit(1)
        assert left(limiter) == 6
        with limiter.reserve("tokens", "alice", cost=7) as denied:
            assert not denied
        assert left(limiter) == 6


def test_async_with_commits_or_releases(url: str, prefix: str) -> None:
    async def program() -> None:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as limiter:

            async def remaining() -> int:
                return (await limiter.peek("tokens", "alice")).remaining

            async with limiter.reserve("tokens", "alice", cost=3) as held:
                assert held
            assert await remaining() == 7
            with pytest.raises(ZeroDivisionError):
                async with await limiter.reserve("tokens", "alice", cost=3):
                    1 / 0  # noqa: B018
            assert await remaining() == 7
            async with limiter.reserve_all([Check("tokens", "alice", cost=3)]) as held:
                assert await held.renew() and await held.commit({"tokens": 1})
            assert await remaining() == 6
            async with limiter.reserve("tokens", "alice", cost=7) as denied:
                assert not denied
            assert await remaining() == 6

    asyncio.run(program())


def test_what_is_awaited_makes_a_task(url: str, prefix: str) -> None:
    async def program() -> None:
        limiter = await asyncio.create_task(AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix))
        async with limiter:
            one = asyncio.create_task(limiter.reserve("tokens", "alice", cost=3))
            several = asyncio.create_task(limiter.reserve_all([Check("tokens", "alice", cost=4)]))
            both = await asyncio.gather(one, several, limiter.reserve("jobs", "alice"))
            assert all(both) and await limiter.commit(both[0]) and await both[1].release()
            assert (await limiter.peek("tokens", "alice")).remaining == 7
            with pytest.raises(InvalidArgumentError, match="key is empty"):
                await asyncio.create_task(limiter.reserve("tokens", ""))
            waiting = asyncio.create_task(limiter.reserve("jobs", "alice", cost=2, wait=30))
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(program())


def test_what_is_reserved_for_a_cancelled_task_is_released(redis_url: str, prefix: str) -> None:
    async def program() -> None:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES, prefix=prefix) as limiter:

            async def hold() -> None:
                await limiter.reserve("jobs", "alice")

            for turns in range(6):
                task = asyncio.create_task(hold())
                for _ in range(turns):
                    await asyncio.sleep(0)
                if task.cancel():
                    with pytest.raises(asyncio.CancelledError):
                        await task
                    # After its own answer, the releases were sent: each peek asks behind them.
                    while (await limiter.peek("jobs", "alice")).remaining < 2:
                        await asyncio.sleep(0)
                else:
                    await limiter.reset("jobs", "alice")

    asyncio.run(asyncio.wait_for(program(), 30))


def test_what_was_not_awaited_says_so(recwarn: pytest.WarningsRecorder) -> None:
    async def main() -> None:
        with pytest.raises(AttributeError) as lacking:
            AsyncRateLimiter.connect("memory://", rules=RULES).check("tokens", "alice")  # type: ignore[attr-defined]
        assert str(lacking.value) == (
            "AsyncRateLimiter.connect(...) was not awaited: it has no attribute 'check' (write `await` before it)"
        )
        del lacking
        limiter = await AsyncRateLimiter.connect("memory://", rules=RULES)
        for name, call in (
            ("reserve", lambda: limiter.reserve("jobs", "alice")),
            ("reserve_all", lambda: limiter.reserve_all([Check("jobs", "alice")])),
            ("reserve_request", lambda: limiter.reserve_request("GET", "/")),
        ):
            what = f"AsyncRateLimiter.{name}(...) was not awaited: it is neither true nor false (write `await` before it)"
            with pytest.raises(TypeError) as untrue:
                if call():
                    pass
            assert str(untrue.value) == what
            del untrue
        assert await asyncio.create_task(limiter.reserve("jobs", "alice"))
        async with limiter.reserve("jobs", "alice") as held:
            assert held
        limiter.reserve("jobs", "alice").close()
        await limiter.close()

    asyncio.run(main())
    gc.collect()
    assert [str(warning.message) for warning in recwarn if warning.category is RuntimeWarning] == [
        f"AsyncRateLimiter.{name}(...) was never awaited" for name in ("connect", "reserve", "reserve_all", "reserve_request")
    ]


def test_a_wait_ends_with_what_another_thread_gives_back(url: str, prefix: str) -> None:
    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter:
        held = limiter.reserve("jobs", "alice", cost=2)
        began = time.monotonic()
        assert not limiter.reserve("jobs", "alice", wait=0.15) and time.monotonic() - began >= 0.15
        timer = threading.Timer(0.05, held.release)
        timer.start()
        with limiter.reserve_all([Check("jobs", "alice")], wait=math.inf) as made:
            assert made and time.monotonic() - began < 10
        timer.join()
        assert left(limiter, "jobs") == 2


def test_tasks_wait_in_turn(url: str, prefix: str) -> None:
    async def program() -> None:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as limiter:
            inside, most, order = 0, 0, []

            async def work(number: int) -> None:
                nonlocal inside, most
                async with limiter.reserve("jobs", "alice", wait=30) as held:
                    assert held
                    order.append(number)
                    inside += 1
                    most = max(most, inside)
                    await asyncio.sleep(0.002)
                    inside -= 1

            await asyncio.gather(*(work(number) for number in range(50)))
            assert order == list(range(50)) and most == 2

    asyncio.run(program())


def test_tasks_that_are_cancelled_lose_no_place(url: str, prefix: str) -> None:
    async def program() -> None:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as limiter:

            async def hold(wait: float | None) -> None:
                async with limiter.reserve("jobs", "alice", wait=wait):
                    await asyncio.sleep(0.001)

            cancelled = 0
            for number in range(150):
                tasks = [asyncio.create_task(hold(30 if each % 2 else None)) for each in range(8)]
                await asyncio.sleep(number % 15 * 0.0002)
                for task in tasks:
                    cancelled += task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            assert cancelled > 150
            async with limiter.reserve("jobs", "alice", cost=2, wait=5) as held:
                assert held

    asyncio.run(program())


def test_a_wait_that_makes_no_sense_is_refused(open_limiter: Open) -> None:
    limiter = open_limiter("memory://", rules=RULES)
    with pytest.raises(InvalidArgumentError, match="^wait must be 0 or more"):
        limiter.reserve("jobs", "alice", wait=-1)
    with pytest.raises(TypeError, match="^wait must be a float"):
        limiter.reserve_all([Check("jobs", "alice")], wait="1")
    assert left(limiter, "jobs") == 2
