"""Leases that are renewed in the background, also while the server is away."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from uuid import uuid4

import pytest
from harness import Driver
from outages import Server

from sluicegate import AsyncRateLimiter, Check, RateLimiter, WrongTypeError
from sluicegate._inflight import AsyncInFlight, InFlight

JOBS = [{"rule_id": "jobs", "algorithm": "concurrency", "limit": 1, "lease_seconds": 0.4}]

SHORT = 0.05

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings of the package, but for those of circuit breakers; that of a busy machine, of asyncio, is none."""
    warnings = [record for record in caplog.records if record.name == "sluicegate" and record.levelname == "WARNING"]
    return [record.message for record in warnings if getattr(record, "event", "") != "breaker_open"]


def until_said(caplog: pytest.LogCaptureFixture, count: int) -> list[str]:
    """The warnings, when there are so many."""
    until = time.monotonic() + 20
    while len(said(caplog)) < count and time.monotonic() < until:
        time.sleep(0.02)
    return said(caplog)


def free_within(limiter: Driver, seconds: float) -> bool:
    """Whether another job may run within this time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if limiter.peek("jobs", "report"):
            return True
        time.sleep(0.05)
    return False


def test_a_block_keeps_what_is_renewed(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    with RateLimiter(redis_url, rules=JOBS, prefix=uuid4().hex) as limiter:
        with limiter.reserve("jobs", "report", renewed=True) as held:
            assert held and not free_within(limiter, 1.2)
        assert limiter.peek("jobs", "report")
        all_held = limiter.reserve_all([Check("jobs", "report")], renewed=True)
        assert not free_within(limiter, 1.0)
        # Nobody can end it any more.
        del all_held
        gc.collect()
        assert free_within(limiter, 5)
        assert said(caplog) == []


def test_a_block_that_outlives_its_lease_is_logged(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    with RateLimiter(redis_url, rules=JOBS, prefix=uuid4().hex) as limiter:
        with limiter.reserve("jobs", "report") as held:
            assert free_within(limiter, 5)
        assert said(caplog)[0].startswith('the lease of a reservation under rule "jobs" was over')
        with pytest.raises(KeyError), limiter.reserve("jobs", "report"):
            assert free_within(limiter, 5)
            raise KeyError
        assert len(said(caplog)) == 2
        assert not held.commit()
        with limiter.reserve("jobs", "report") as held:
            assert free_within(limiter, 5)
            assert not held.commit()
        assert len(said(caplog)) == 2, "the block has been told"


def test_a_closed_limiter_renews_nothing_more(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    limiter = RateLimiter(redis_url, rules=JOBS, prefix=uuid4().hex)
    held = limiter.reserve("jobs", "report", renewed=True)
    limiter.close()
    closed = f'a reservation under rule "{held.rule}" could not be renewed: the limiter is closed'
    assert until_said(caplog, 1) == [closed]
    time.sleep(0.5)  # in which it would have been tried ten times
    assert said(caplog) == [closed]


def test_a_task_keeps_what_is_renewed(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    async def free(limiter: AsyncRateLimiter, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if await limiter.peek("jobs", "report"):
                return True
            await asyncio.sleep(0.05)
        return False

    async def main() -> None:
        async with AsyncRateLimiter.connect(redis_url, rules=JOBS, prefix=uuid4().hex) as limiter:
            async with limiter.reserve("jobs", "report", renewed=True) as held:
                assert held and not await free(limiter, 1.2)
            assert said(caplog) == []
            all_held = await limiter.reserve_all([Check("jobs", "report")], renewed=True)
            assert not await free(limiter, 1.0)
            del all_held
            gc.collect()
            assert await free(limiter, 5)
            async with limiter.reserve("jobs", "report"):
                assert await free(limiter, 5)
            assert said(caplog)[0].startswith('the lease of a reservation under rule "jobs" was over')

    asyncio.run(main())


def test_whether_to_renew_is_a_flag(open_limiter: Callable[..., Driver]) -> None:
    limiter = open_limiter("memory://", rules=JOBS)
    with pytest.raises(WrongTypeError, match="^renewed must be a bool, not int"):
        limiter.reserve("jobs", "report", renewed=1)


def lose(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Takes the server away for longer than the lease of a reservation that is renewed, which says so once, and that it is lost."""
    server.kill()
    assert "could not be renewed" in until_said(caplog, 1)[0]
    time.sleep(1)  # several renewals fail
    assert len(until_said(caplog, 1)) == 1
    server.start()
    assert "is renewed no longer" in until_said(caplog, 2)[1]
    time.sleep(0.5)
    assert len(until_said(caplog, 2)) == 2


@needs_signals
def test_a_renewal_that_fails_is_said_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with RateLimiter(server.url, rules=JOBS, connect_timeout=SHORT, response_timeout=SHORT) as limiter:
        held = limiter.reserve("jobs", "report", timeout=5, renewed=True)
        lose(server, caplog)
        assert not held.commit()


@needs_signals
def test_a_server_that_is_away_keeps_no_other_from_renewals(
    server: Server, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    patient = [{**JOBS[0], "lease_seconds": 5}]
    with RateLimiter(server.url, rules=JOBS) as away, RateLimiter(redis_url, rules=patient, prefix="away") as limiter:
        gone = [away.reserve("jobs", f"report {number}", renewed=True) for number in range(8)]
        server.kill()
        with limiter.reserve("jobs", "report", renewed=True) as held:
            assert held
            # Eight renewals that fail take 1.5 s each.
            time.sleep(6)
        assert [message for message in until_said(caplog, len(gone)) if "could not be renewed" not in message] == []


@needs_signals
def test_a_renewal_for_a_request_that_fails_is_tried_again_in_time(server: Server) -> None:
    rules = [{**JOBS[0], "lease_seconds": 6}]

    async def main() -> None:
        options = {"rules": rules, "connect_timeout": SHORT, "response_timeout": SHORT}
        with RateLimiter(server.url, **options) as blocking:
            async with AsyncRateLimiter.connect(server.url, **options) as limiter:
                flights = [
                    InFlight(blocking.reserve("jobs", "thread", timeout=5), 60),
                    AsyncInFlight(await limiter.reserve("jobs", "task", timeout=5), 60),
                ]
                await asyncio.sleep(2.5)
                server.command("CONFIG SET maxmemory 1")
                # They fail at half of the lease, after 3 s. Another half would be too late.
                await asyncio.sleep(1.1)
                server.command("CONFIG SET maxmemory 0")
                await asyncio.sleep(3.4)
                held = [(await limiter.peek("jobs", key, timeout=5)).remaining == 0 for key in ("thread", "task")]
                for flight in flights:
                    flight.end()
                assert held == [True, True]

    asyncio.run(main())


@needs_signals
def test_a_renewal_of_a_task_that_fails_is_said_once(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        options = {"rules": JOBS, "connect_timeout": SHORT, "response_timeout": SHORT}
        async with AsyncRateLimiter.connect(server.url, **options) as limiter:
            held = await limiter.reserve("jobs", "report", timeout=5, renewed=True)
            await asyncio.to_thread(lose, server, caplog)
            assert not await held.commit()

    asyncio.run(main())
