"""The async limiter and a server that is killed, restarted, or says nothing, on loops of several kinds."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import sys
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator

import pytest
from conftest import LOOPS, RULES, Body, Turns
from outages import Server

from sluicegate import (
    AsyncRateLimiter,
    Check,
    ClosedError,
    ConnectionFailedError,
    RateLimiter,
    ResponseTimeoutError,
    SluicegateError,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")

# Long enough for a busy machine to kill a server before calls under way run out of time.
RESPONSE_TIMEOUT = 1.0
SHORT = 0.05


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest, server: Server) -> Iterator[Callable[[Body], None]]:
    loop = LOOPS[request.param]()

    async def with_limiter(body: Body) -> None:
        jobs = {"rule_id": "jobs", "limit": 10, "window_size_seconds": 3600, "reservations": True}
        options = {"rules": [*RULES, jobs], "response_timeout": RESPONSE_TIMEOUT}
        async with AsyncRateLimiter.connect(server.url, **options) as limiter:
            await limiter.check("ten", "first")
            # By then the loop serves a socket of its own, if it can.
            await asyncio.sleep(0.1)
            assert (limiter._calls._socket is None) is (request.param == "no_readers")
            await body(limiter)

    yield lambda body: loop.run_until_complete(asyncio.wait_for(with_limiter(body), 30))
    loop.close()


async def many(limiter: AsyncRateLimiter, key: str, count: int) -> list[object]:
    calls = (limiter.check("ten", f"{key}-{number}") for number in range(count))
    return await asyncio.gather(*calls, return_exceptions=True)


async def recover(limiter: AsyncRateLimiter) -> None:
    end = time.monotonic() + 10
    while True:
        try:
            await limiter.ping()
            break
        except SluicegateError:
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
    for _ in range(3):
        assert all(await many(limiter, "recovered", 100))
        await asyncio.sleep(0.15)
        assert (await limiter.check("ten", f"at {time.monotonic_ns()}")).remaining == 9
    turns = asyncio.create_task(asyncio.sleep(0.01))
    assert await asyncio.wait_for(turns, 5) is None


def test_a_killed_server_ends_calls_and_later_ones_succeed(
    run: Callable[[Body], None], server: Server
) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        for _ in range(3):
            server.pause()
            calls = asyncio.create_task(many(limiter, "under way", 200))
            await asyncio.sleep(0.01)
            server.kill()
            answers = await calls
            assert {type(answer) for answer in answers} == {ConnectionFailedError}
            assert all(answer.retryable for answer in answers)
            with pytest.raises(ConnectionFailedError):
                await limiter.check("ten", "nobody")
            server.start()
            await recover(limiter)

    run(body)


def test_a_silent_server_is_a_timeout_in_time(run: Callable[[Body], None], server: Server) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        for count in (1, 200):
            server.pause()
            began = time.monotonic()
            answers = await many(limiter, "silent", count)
            took = time.monotonic() - began
            kinds = {type(answer) for answer in answers}
            assert ResponseTimeoutError in kinds
            # What was not sent yet when the circuit breaker opened was certainly not carried out.
            assert kinds <= ({ResponseTimeoutError} if count == 1 else {ResponseTimeoutError, ConnectionFailedError})
            assert all(answer.retryable for answer in answers)
            # One after the other, they would take minutes; a busy machine takes its time for two hundred errors.
            assert RESPONSE_TIMEOUT - 0.02 <= took < 10 * RESPONSE_TIMEOUT
            server.resume()
            await recover(limiter)

    run(body)


def test_a_call_ends_by_its_own_time(run: Callable[[Body], None], server: Server) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        assert await limiter.check("ten", "k", timeout=SHORT)
        server.pause()
        try:
            for call in (
                limiter.check("ten", "k", timeout=SHORT),
                limiter.peek("ten", "k", timeout=SHORT),
                limiter.check_all([Check("ten", "k", timeout=SHORT), Check("ten", "l")]),
                limiter.reset("ten", "k", timeout=SHORT),
                limiter.ping(timeout=SHORT),
            ):
                began = time.monotonic()
                with pytest.raises(ResponseTimeoutError):
                    await call
                assert time.monotonic() - began < 6 * SHORT
        finally:
            server.resume()

    run(body)


class Witness:
    """Is gone as soon as the frame that has it."""


async def failed(call: Awaitable[object]) -> weakref.ref[Witness]:
    witness = Witness()
    try:
        await call
        pytest.fail("nobody answers")
    except (ResponseTimeoutError, ConnectionFailedError):
        return weakref.ref(witness)


def test_an_error_is_part_of_no_cycle_of_references(run: Callable[[Body], None], server: Server) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        calls = (limiter.check, limiter.peek, limiter.charge, limiter.refund)
        server.pause()
        gc.collect()
        gc.disable()
        try:
            witnesses = [await failed(call("ten", "k", timeout=SHORT)) for call in calls]
            witnesses += [await failed(limiter.wait("ten", "k", timeout=SHORT))]
            witnesses += [await failed(limiter.reserve("jobs", "k", timeout=SHORT))]
            # The circuit breaker opens.
            await many(limiter, "silent", 20)
            witnesses += [await failed(call("ten", "k")) for call in calls]
            # Until then the loop itself refers to the last future.
            await asyncio.sleep(0)
            assert [witness() for witness in witnesses] == [None] * 10
        finally:
            gc.enable()
            server.resume()

    run(body)


@pytest.mark.parametrize("tasks", [1, 2])
def test_calls_that_the_open_breaker_ends_let_others_run(
    run: Callable[[Body], None], server: Server, tasks: int
) -> None:
    calls = 50

    async def body(limiter: AsyncRateLimiter) -> None:
        async def hammer() -> None:
            for _ in range(calls):
                with pytest.raises(ConnectionFailedError):
                    await limiter.check("ten", "k")

        server.pause()
        try:
            await many(limiter, "silent", 20)
            turns = Turns(0)
            await asyncio.gather(*(hammer() for _ in range(tasks)))
            assert turns.end() >= calls
        finally:
            server.resume()

    run(body)


def test_a_blocking_call_ends_by_its_own_time(server: Server) -> None:
    of_addresses = {"rule_id": "web", "rate": "5/minute", "identifier_type": "ip_address", "match": {"path_pattern": "/*"}}
    with RateLimiter(server.url, rules=[*RULES, of_addresses]) as limiter:
        assert limiter.check_request("GET", "/", ip="203.0.113.9", timeout=SHORT).rule == "web"
        calls: list[Callable[[], object]] = [
            lambda: limiter.check("ten", "k", timeout=SHORT),
            lambda: limiter.charge("ten", "k", timeout=SHORT),
            lambda: limiter.refund("ten", "k", timeout=SHORT),
            lambda: limiter.check_all([Check("ten", "l"), Check("ten", "k", timeout=SHORT)]),
            lambda: limiter.check_request("GET", "/", ip="203.0.113.9", timeout=SHORT),
            lambda: limiter.reset("ten", "k", timeout=SHORT),
            lambda: limiter.ping(timeout=SHORT),
        ]
        server.pause()
        try:
            for call in calls:
                began = time.monotonic()
                with pytest.raises(ResponseTimeoutError):
                    call()
                assert time.monotonic() - began < 6 * SHORT
        finally:
            server.resume()


def test_a_forgotten_script_is_sent_anew(run: Callable[[Body], None], server: Server) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        for number in range(3):
            assert server.command("SCRIPT FLUSH") == b"+OK\r\n"
            answers = await asyncio.gather(*(limiter.check("ten", f"k{number}") for _ in range(100)))
            assert sum(map(bool, answers)) == 10

    run(body)


def test_ten_thousand_at_once(run: Callable[[Body], None]) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        calls = [limiter.check("ten", f"{number % 500}") for number in range(10_000)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        # On a busy machine some may be late, and open the circuit breaker, but none is decided twice.
        late = sum(isinstance(answer, ResponseTimeoutError | ConnectionFailedError) for answer in answers)
        admitted = sum(answer is not None and getattr(answer, "allowed", False) for answer in answers)
        assert 5000 - late <= admitted <= 5000

    run(body)


MANY = 2000


async def all_sent(limiter: AsyncRateLimiter, server: Server) -> list[asyncio.Future[object]]:
    """Calls that the server has got, and whose answers nobody has read. How much fits into a socket is up to the system."""
    for time_of_trial in range(50):
        server.command("FLUSHALL")
        calls = [asyncio.ensure_future(limiter.check("ten", f"{time_of_trial} {number}")) for number in range(MANY)]
        # By the second turn they are sent, and the loop runs no more.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        end = time.monotonic() + RESPONSE_TIMEOUT / 2
        while time.monotonic() < end:
            if server.command("DBSIZE") == b":%d\r\n" % MANY:
                return calls
            time.sleep(0.01)
        await asyncio.gather(*calls, return_exceptions=True)
    pytest.fail("calls do not fit into a socket")


def test_a_loop_that_was_held_up_reads_the_answers_that_have_arrived(
    run: Callable[[Body], None], server: Server
) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        # Else each task notes where it was made, which takes seconds.
        asyncio.get_running_loop().set_debug(False)
        calls = await all_sent(limiter, server)
        time.sleep(1.2 * RESPONSE_TIMEOUT)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert [answer for answer in answers if isinstance(answer, BaseException)] == []
        assert list(limiter.metrics()["servers"].values()) == [{"breaker_open": False, "breaker_openings": 0}]

    run(body)


async def attempts(**options: object) -> tuple[int, int]:
    """How many connections have been opened when the limiter is made, and after its first call."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        opened: list[socket.socket] = []

        def count() -> int:
            with contextlib.suppress(BlockingIOError):
                while True:
                    opened.append(listener.accept()[0])
            return len(opened)

        url = f"redis://127.0.0.1:{listener.getsockname()[1]}"
        async with AsyncRateLimiter.connect(url, rules=RULES, response_timeout=SHORT, fallback="deny", **options) as limiter:
            # Time for what should not happen.
            await asyncio.sleep(0.2)
            before = count()
            assert (await limiter.check("ten", "k")).source == "fallback"
            after = count()
        for connection in opened:
            connection.close()
        return before, after


def test_a_lazy_limiter_opens_nothing_before_its_first_call() -> None:
    before, after = asyncio.run(attempts(lazy=True))
    assert (before, after > 0) == (0, True)
    before, _ = asyncio.run(attempts(lazy=False))
    assert before > 0


def test_a_restart_while_nothing_is_under_way_is_hardly_noticed(
    run: Callable[[Body], None], server: Server
) -> None:
    async def body(limiter: AsyncRateLimiter) -> None:
        server.kill()
        server.start()
        watches = limiter._calls._socket is not None
        await asyncio.sleep(0.1)
        answers = [(await many(limiter, f"{number}", 1))[0] for number in range(20)]
        # Only a loop that watches the socket hears of the break at once.
        assert sum(isinstance(answer, SluicegateError) for answer in answers) <= (not watches)
        await recover(limiter)

    run(body)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("under_way", (1, 100))
@pytest.mark.parametrize("name", LOOPS)
def test_a_forked_child_leaves_the_socket_alone(name: str, under_way: int, server: Server) -> None:
    loop = LOOPS[name]()

    async def connect() -> AsyncRateLimiter:
        limiter = await AsyncRateLimiter.connect(server.url, rules=RULES)
        await limiter.check("ten", "first")
        await asyncio.sleep(0.1)
        return limiter

    async def finished(calls: asyncio.Task[list[object]]) -> list[object]:
        # The child's loop may have read what woke this one: asyncio wakes both by one pipe.
        while not calls.done():
            await asyncio.sleep(0.01)
        return await calls

    limiter = loop.run_until_complete(connect())
    for _ in range(5):
        calls = loop.create_task(many(limiter, f"{time.monotonic_ns()}", under_way))
        # So that the calls are sent, and their answers are on their way.
        loop.run_until_complete(asyncio.sleep(0))
        loop.run_until_complete(asyncio.sleep(0))
        pid = os.fork()
        if pid == 0:
            try:
                loop.run_until_complete(asyncio.wait_for(limiter.check("ten", "child"), 10))
            except ClosedError:
                os._exit(7)
            finally:
                os._exit(1)
        assert all(loop.run_until_complete(finished(calls)))
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        assert all(loop.run_until_complete(many(limiter, f"{time.monotonic_ns()}", 100)))
    loop.run_until_complete(limiter.close())
    loop.close()
