"""Limits of functions, coroutines and tasks of Celery."""

from __future__ import annotations

import asyncio
import logging
import math
import pickle
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from sluicegate import (
    AsyncRateLimiter,
    ConnectionFailedError,
    InvalidArgumentError,
    InvalidRuleError,
    ManualClock,
    RateLimiter,
    UnknownRuleError,
)
from sluicegate.functions import FunctionLimits, RateLimited

RULES = [
    {"rule_id": "partner", "algorithm": "fixed_window", "limit": 2, "window_size_seconds": 60},
    {"rule_id": "place", "algorithm": "concurrency", "limit": 1},
]


class Threads:
    """Functions, and the limiter for them."""

    def __init__(self, url: str, **options: Any) -> None:
        self.limiter = RateLimiter(url, **options)
        self.limits = FunctionLimits(self.limiter)

    def define(self, decorate: Callable[[Any], Any], body: Callable[..., Any]) -> Callable[..., Any]:
        def function(*arguments: Any, **named: Any) -> Any:
            """What it does."""
            return body(*arguments, **named)

        limited: Callable[..., Any] = decorate(function)
        return limited

    def close(self) -> None:
        self.limiter.close()


class Loop:
    """The same for coroutines, each of which is run to its end."""

    def __init__(self, url: str, **options: Any) -> None:
        self._runner = asyncio.new_event_loop()
        self.limiter = self._run(_connected(url, options))
        self.limits = FunctionLimits(self.limiter)

    def _run(self, awaited: Awaitable[Any]) -> Any:
        return self._runner.run_until_complete(awaited)

    def define(self, decorate: Callable[[Any], Any], body: Callable[..., Any]) -> Callable[..., Any]:
        async def function(*arguments: Any, **named: Any) -> Any:
            """What it does."""
            return body(*arguments, **named)

        limited = decorate(function)

        def call(*arguments: Any, **named: Any) -> Any:
            return self._run(limited(*arguments, **named))

        call.__wrapped__ = limited  # type: ignore[attr-defined]
        return call

    def close(self) -> None:
        self._run(self.limiter.close())
        self._runner.close()


async def _connected(url: str, options: dict[str, Any]) -> AsyncRateLimiter:
    return await AsyncRateLimiter.connect(url, **options)


Kind = Threads | Loop
Start = Callable[..., Kind]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_040_000_000)


@pytest.fixture(params=[Threads, Loop], ids=["function", "coroutine"])
def start(request: pytest.FixtureRequest, prefix: str, clock: ManualClock) -> Iterator[Start]:
    started: list[Kind] = []

    def open_(url: str = "memory://", **options: Any) -> Kind:
        started.append(request.param(url, **{"rules": RULES, "prefix": prefix, "clock": clock, **options}))
        return started[-1]

    yield open_
    for each in started:
        each.close()


def outcome(call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a call returns, or in how many seconds to retry."""
    try:
        return call(*arguments, **named)
    except RateLimited as denied:
        return denied.retry_after


def test_calls_are_denied_by_an_exception(start: Start, clock: ManualClock, redis_url: str) -> None:
    kind = start(redis_url)
    double = kind.define(kind.limits("2/minute", "100/hour"), lambda number: number * 2)
    assert [outcome(double, number) for number in (1, 2, 3)] == [2, 4, 30]
    with pytest.raises(RateLimited, match=r'^denied by rule "functions:test_functions.*:2/minute-.*": retry in 30 s$') as denied:
        double(1)
    assert denied.value.decision is not None and len(denied.value.decision.parts) == 2
    clock.advance(30)
    assert outcome(double, 4) == 8


def test_a_call_waits_for_room(start: Start, clock: ManualClock, redis_url: str) -> None:
    kind = start(redis_url)
    one = kind.define(kind.limits("partner", wait=60), lambda: clock.now_us)
    several = kind.define(kind.limits("2/minute", "100/hour", wait=60), lambda: clock.now_us)
    for waiting in (one, several):
        begun = clock.now_us
        # Whoever waits advances a manual clock.
        assert [waiting() - begun for _ in range(2)] == [0, 0]
        assert waiting() > begun
    assert math.isclose(outcome(kind.define(kind.limits("1/hour", wait=1), lambda: 0)), 0)


def test_a_wait_that_would_be_too_long_is_denied_at_once(start: Start, clock: ManualClock) -> None:
    kind = start()
    call = kind.define(kind.limits("1/hour", wait=10), lambda: "done")
    begun = clock.now_us
    assert [outcome(call), outcome(call)] == ["done", 3600]
    assert clock.now_us == begun


def test_calls_are_counted_by_their_arguments(start: Start) -> None:
    kind = start()
    send = kind.define(kind.limits("1/minute", key=lambda customer, **_: customer), lambda customer, text="": text)
    assert [outcome(send, who, text="hello") for who in ("acme", "acme", "globex")] == ["hello", 60, "hello"]
    numbered = kind.define(kind.limits("1/minute", key=lambda number: number), lambda number: "sent")
    assert [outcome(numbered, number) for number in (7, 7)] == ["sent", 60]


def test_a_key_is_the_same_for_all_functions(start: Start) -> None:
    kind = start()
    first = kind.define(kind.limits("partner", key="eu"), lambda: "done")
    other = kind.define(kind.limits("partner", key="us"), lambda: "done")
    assert [outcome(first), outcome(first), outcome(other)] == ["done"] * 3
    assert isinstance(outcome(first), float)


def test_functions_share_a_limit(start: Start) -> None:
    kind = start()
    first, second = (kind.define(kind.limits("2/minute", shared="mail"), lambda: "done") for _ in range(2))
    assert [outcome(call) for call in (first, second, first)] == ["done", "done", 30]
    (rule,) = [rule["rule_id"] for rule in kind.limiter.rules() if "mail" in rule["rule_id"]]
    assert rule == "functions:mail:2/minute"


def test_costs_plans_and_exceptions(start: Start) -> None:
    kind = start()
    bulk = kind.define(kind.limits("10/minute", cost=len), lambda items: "done")
    assert [outcome(bulk, "a" * size) for size in (4, 6, 1)] == ["done", "done", 6]
    assert outcome(bulk, "a" * 11) == math.inf
    plan = kind.define(kind.limits("partner", limit=lambda size: size), lambda size: "done")
    assert [outcome(plan, 3) for _ in range(3)] == ["done"] * 3
    exempt = kind.define(kind.limits("1/minute", skip=lambda is_test: is_test), lambda is_test: "done")
    assert [outcome(exempt, is_test) for is_test in (True, True, False)] == ["done"] * 3


def test_a_result_in_place_of_the_exception(start: Start) -> None:
    kind = start()
    told: list[bool] = []
    call = kind.define(
        kind.limits(
            "1/minute",
            on_denied=lambda decision, number: (decision.rule, number),
            on_decision=lambda decision, _: told.append(decision.allowed),
        ),
        lambda number: "done",
    )
    assert call(1) == "done" and call(2)[1] == 2 and told == [True, False]


def test_a_place_is_held_while_a_function_runs(start: Start, redis_url: str, prefix: str, clock: ManualClock) -> None:
    kind = start(redis_url)

    def left() -> int:
        with RateLimiter(redis_url, rules=RULES, prefix=prefix, clock=clock) as limiter:
            return limiter.peek("place", "global").remaining

    def fail() -> None:
        raise ValueError(left())

    assert kind.define(kind.limits("place"), left)() == 0
    assert left() == 1
    with pytest.raises(ValueError, match="^0$"):
        kind.define(kind.limits("place"), fail)()
    assert left() == 1


def test_who_waits_for_a_place_gets_it(redis_url: str, prefix: str) -> None:
    with RateLimiter(redis_url, rules=RULES, prefix=prefix) as limiter:
        at_work, end = threading.Event(), threading.Event()

        @FunctionLimits(limiter)("place", wait=20)
        def work(is_first: bool) -> bool:
            if is_first:
                at_work.set()
                assert end.wait(20)
            return end.is_set()

        first = threading.Thread(target=work, args=(True,))
        first.start()
        assert at_work.wait(20)
        threading.Timer(0.1, end.set).start()
        assert work(False)
        first.join()


def test_the_exception_can_be_pickled(start: Start, prefix: str, redis_url: str, clock: ManualClock) -> None:
    kind = start(redis_url)
    with RateLimiter(redis_url, rules=RULES, prefix=prefix, clock=clock) as other, other.reserve("place", "global"):
        for stated in ("place", "partner"):
            call = kind.define(kind.limits(stated, cost=1, limit=1), lambda: None)
            with pytest.raises(RateLimited) as denied:
                call()
                call()
            copy = pickle.loads(pickle.dumps(denied.value))
            assert (copy.decision, str(copy)) == (denied.value.decision, str(denied.value))
            assert copy.retry_after == copy.decision.retry_after > 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": lambda: None}, "key returned None"),
        ({"key": lambda: int("secret-key")}, "key raised ValueError"),
        ({"cost": lambda: 0}, "cost returned 0"),
        ({"limit": lambda: "many"}, "limit returned a str"),
    ],
)
def test_a_mistake_of_the_application_is_named(start: Start, options: dict[str, Any], said: str) -> None:
    kind = start()
    call = kind.define(kind.limits("1/minute", **options), lambda: "done")
    with pytest.raises(RuntimeError, match=f"^function test_functions.*function: {said}") as error:
        call()
    assert "secret" not in str(error.value)


def test_what_can_be_known_at_the_start_is_refused_then() -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:
        limits = FunctionLimits(limiter)
        for stated, options, kind, message in [
            (("5/minut",), {}, InvalidRuleError, 'did you mean "minute"'),
            (("parner",), {}, UnknownRuleError, 'no rule is called "parner"'),
            ((), {}, InvalidArgumentError, "a limit is missing"),
            ((5,), {}, TypeError, "a limit must be a rate"),
            (("partner",), {"wait": "1"}, TypeError, "wait must be a number, not str"),
            (("partner",), {"wait": -1}, InvalidArgumentError, "wait -1: must be 0 or more"),
            (("partner",), {"wait": math.nan}, InvalidArgumentError, "wait nan: must be 0 or more"),
            (("partner",), {"cost": "1"}, TypeError, "cost must be a function or an int, not str"),
            (("partner",), {"key": 5}, TypeError, "key must be a function, not int"),
        ]:
            with pytest.raises(kind, match=message):
                limits(*stated, **options)  # type: ignore[arg-type]

        def generator() -> Iterator[int]:
            yield 1

        async def coroutine() -> None: ...

        with pytest.raises(TypeError, match="a generator runs after its call"):
            limits("partner")(generator)
        with pytest.raises(TypeError, match="limiter must be an AsyncRateLimiter for a coroutine"):
            limits("partner")(coroutine)
        with pytest.raises(InvalidArgumentError, match="name is empty"):
            FunctionLimits(limiter, name="")
        with pytest.raises(TypeError, match="limiter must be a RateLimiter, an AsyncRateLimiter, or a function"):
            FunctionLimits(5)  # type: ignore[arg-type]


def test_a_limiter_that_is_opened_later(start: Start) -> None:
    kind = start()
    called = kind.define(FunctionLimits(lambda: kind.limiter)("partner"), lambda: "done")
    assert called() == "done"
    wrong = kind.define(FunctionLimits(lambda: 5)("partner"), lambda: "done")  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="not int"):
        wrong()


def test_a_limiter_that_cannot_decide() -> None:
    with RateLimiter("redis://127.0.0.1:1", rules=RULES) as limiter:
        called = FunctionLimits(limiter)("partner")(lambda: "done")
        with pytest.raises(ConnectionFailedError):
            called()


def test_limits_that_are_off(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    kind = start()
    call = kind.define(FunctionLimits(kind.limiter, enabled=False)("1/minute"), lambda: "done")
    assert [call() for _ in range(3)] == ["done"] * 3
    assert [record.message for record in caplog.records if record.levelno == logging.WARNING] == [
        "limits of functions are off (enabled=False)"
    ]


def test_a_function_keeps_its_name_and_its_kind() -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:

        @FunctionLimits(limiter)("partner")
        def named() -> None:
            """What it does."""

    assert named.__name__ == "named" and named.__doc__ == "What it does." and not asyncio.iscoroutinefunction(named)


def test_tasks_of_celery_come_back_when_they_are_admitted(clock: ManualClock, redis_url: str, prefix: str) -> None:
    celery = pytest.importorskip("celery")
    app = celery.Celery("worker", set_as_current=False)
    app.conf.update(task_always_eager=True, task_store_eager_result=False)
    with RateLimiter(redis_url, rules=[], prefix=prefix, clock=clock) as limiter:
        limited = FunctionLimits(limiter, name="worker")
        countdowns: list[float] = []

        def later(decision: Any, task: Any, *_: Any) -> None:
            countdowns.append(decision.retry_after)
            # What the queue does with the countdown.
            clock.advance(decision.retry_after)
            raise task.retry(countdown=decision.retry_after)

        @app.task(bind=True, max_retries=None)
        @limited("1/minute", key=lambda task, customer: customer, on_denied=later)
        def send(self: Any, customer: str) -> str:
            return f"sent to {customer}"

        @app.task
        @limited("1/minute", key=lambda customer: customer)
        def once(customer: str) -> str:
            return f"sent to {customer}"

        assert [send.delay(who).get() for who in ("acme", "acme", "globex")] == ["sent to acme", "sent to acme", "sent to globex"]
        assert countdowns == [60]
        assert once.delay("acme").get() == "sent to acme"
        denied = once.delay("acme")
        assert denied.failed() and isinstance(denied.result, RateLimited) and denied.result.retry_after == 60
