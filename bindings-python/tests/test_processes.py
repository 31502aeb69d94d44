"""Threads, forked children, signals, and the end of the interpreter."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from conftest import RULES

from sluicegate import AsyncRateLimiter, Decision, RateLimiter, SluicegateError

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def test_threads_never_admit_too_much(url: str, prefix: str) -> None:
    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter, ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: limiter.check("ten", "a"), range(500)))
    assert sum(map(bool, answers)) == 10


@contextmanager
def under_way(call: Callable[[], object]) -> Iterator[None]:
    """Runs a call that takes a second or more on another thread, which must not be over too soon."""
    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.1)
    # This thread would only come here after the call if that kept others from running.
    assert thread.is_alive()
    yield
    thread.join(20)
    assert not thread.is_alive()


def test_other_threads_run_while_one_sleeps(url: str, prefix: str) -> None:
    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter:
        limiter.check("slow", "a")
        with under_way(lambda: limiter.wait("slow", "a", timeout=5)):
            assert limiter.check("ten", "a")


def test_other_threads_run_while_the_server_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"redis://127.0.0.1:{server.getsockname()[1]}"
        limiter = RateLimiter(url, rules=RULES, connect_timeout=1.5, response_timeout=1.5)

        def ping() -> None:
            with pytest.raises(SluicegateError):
                limiter.ping()

        with under_way(ping):
            pass


def first_check(url: str, prefix: str) -> Decision:
    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter:
        return limiter.check("ten", "s")


def test_a_spawned_child_has_a_limiter_of_its_own(redis_url: str, prefix: str) -> None:
    first_check(redis_url, prefix)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply_async(first_check, (redis_url, prefix)).get(20).remaining == 8


def test_a_limiter_cannot_be_sent_to_another_process() -> None:
    with pytest.raises(TypeError, match="cannot pickle 'sluicegate.RateLimiter'"):
        pickle.dumps(RateLimiter("memory://", rules=RULES))


def forked(body: Callable[[], bool]) -> bool:
    """Whether the body was true in a forked child, which must not hang."""
    context = multiprocessing.get_context("fork")
    child = context.Process(target=lambda: os._exit(0 if body() else 1))
    child.start()
    child.join(20)
    if child.is_alive():
        child.kill()
        pytest.fail("the child hangs")
    return child.exitcode == 0


@forks
def test_a_child_shares_the_limit_and_not_the_connection(redis_url: str, prefix: str) -> None:
    with RateLimiter(redis_url, rules=RULES, prefix=prefix) as limiter:
        limiter.check("ten", "f", cost=3)
        assert forked(lambda: limiter.check("ten", "f", cost=2).remaining == 5)
        assert limiter.check("ten", "f").remaining == 4


@forks
@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_children_of_busy_threads_do_not_hang(url: str, prefix: str) -> None:
    """Pre-fork servers: the fork may happen while other threads are in the middle of calls."""
    limiter = RateLimiter(url, rules=RULES, prefix=prefix)
    stop = threading.Event()

    def hammer() -> None:
        while not stop.is_set():
            limiter.check("ten", "h")

    threads = [threading.Thread(target=hammer) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            assert forked(lambda: all(limiter.check("ten", f"c{n}").remaining < 10 for n in range(50)))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        limiter.close()


@forks
@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_a_child_opens_an_async_limiter_of_its_own(url: str, prefix: str) -> None:
    async def one() -> bool:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as limiter:
            answers = await asyncio.gather(*(limiter.check("ten", "o") for _ in range(20)))
            return any(answers)

    assert asyncio.run(one())
    assert forked(lambda: asyncio.run(one()) is (url == "memory://"))


PREAMBLE = """
import asyncio, logging, os, sys, threading, time
from sluicegate import *
# In development mode loops say on a busy machine that a step of theirs took long.
logging.getLogger("asyncio").addFilter(lambda record: not record.msg.startswith("Executing"))
"""


def python(source: str, *arguments: str, send: int | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a program in an interpreter of its own; `send` is a signal for it once it has printed a line."""
    code = PREAMBLE + textwrap.dedent(source)
    command = [sys.executable, "-X", "dev", "-c", f"RULES = {RULES!r}\n{code}", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout
        try:
            first = child.stdout.readline() if send else ""
            if send:
                # By then it is where it has to wait.
                time.sleep(0.3)
                child.send_signal(send)
            out, err = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            raise
    return subprocess.CompletedProcess(child.args, child.returncode, first + out, err)


@forks
def test_an_async_limiter_in_a_child_is_refused_clearly(redis_url: str) -> None:
    done = python(
        """
        async def connect():
            return await AsyncRateLimiter.connect(sys.argv[1], rules=RULES)

        loop = asyncio.new_event_loop()
        limiter = loop.run_until_complete(connect())
        pid = os.fork()
        try:
            loop.run_until_complete(asyncio.wait_for(limiter.check("ten", "x"), 10))
            os.write(1, b"child: decided\\n" if pid == 0 else b"parent: decided\\n")
        except ClosedError as error:
            os.write(1, f"child: {error}\\n".encode())
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        loop.run_until_complete(limiter.close())
        loop.close()
        """,
        redis_url,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [
        "child: the limiter was connected before a fork: connect again in the child process",
        "parent: decided",
    ]


@forks
@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_a_child_drops_an_async_limiter_without_a_word(url: str) -> None:
    done = python(
        """
        async def connect():
            return await AsyncRateLimiter.connect(sys.argv[1], rules=RULES)

        loop = asyncio.new_event_loop()
        limiter = loop.run_until_complete(connect())
        pid = os.fork()
        if pid == 0:
            del limiter
            os._exit(0)
        status = os.waitpid(pid, 0)[1]
        loop.run_until_complete(limiter.check("ten", "x"))
        loop.run_until_complete(limiter.close())
        loop.close()
        print("end of child:", status)
        """,
        url,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end of child: 0\n", "")


@pytest.mark.parametrize("backend", ["memory", "redis"])
@pytest.mark.parametrize(
    "call",
    [
        'limiter.check("ten", "x")',
        'limiter.check_all([Check("ten", "x"), Check("slow", "x")])',
        'limiter.wait("quick", "x", timeout=60)',
        'limiter.wait("ten", "x", cost=10, timeout=7200)',
        'pytest.raises(UnknownRuleError, limiter.check, "tem", "x")',
    ],
)
def test_the_interpreter_ends_with_threads_in_calls(call: str, url: str) -> None:
    done = python(
        f"""
        import pytest
        limiter = RateLimiter(sys.argv[1], rules=RULES)

        def hammer():
            while True:
                {call}

        for _ in range(8):
            threading.Thread(target=hammer, daemon=True).start()
        time.sleep(0.3)
        print("end")
        """,
        url,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", ""), done.stderr


@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_the_interpreter_ends_with_loops_in_threads(url: str) -> None:
    """Before Python 3.14 it unwinds their stacks, and native code in between would abort the process."""
    done = python(
        """
        async def hammer(limiter):
            while True:
                await limiter.check("ten", "x")
                await limiter.wait("quick", "x", timeout=60)

        async def main():
            async with AsyncRateLimiter.connect(sys.argv[1], rules=RULES) as limiter:
                await asyncio.gather(*(hammer(limiter) for _ in range(20)))

        for _ in range(4):
            threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
        time.sleep(0.5)
        print("end")
        """,
        url,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_the_interpreter_ends_with_tasks_in_calls(url: str) -> None:
    done = python(
        """
        kept = []

        async def main():
            limiter = await AsyncRateLimiter.connect(sys.argv[1], rules=RULES)
            kept.append(limiter)
            await limiter.check("ten", "x", cost=10)
            for _ in range(100):
                kept.append(asyncio.create_task(limiter.check("ten", "x")))
            kept.append(asyncio.create_task(limiter.wait("ten", "x", timeout=7200)))
            await asyncio.sleep(0)

        asyncio.run(main())
        print("end")
        """,
        url,
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
    assert "Traceback" not in done.stderr and "Fatal" not in done.stderr, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_a_wait_can_be_interrupted(url: str, prefix: str) -> None:
    done = python(
        """
        limiter = RateLimiter(sys.argv[1], rules=RULES, prefix=sys.argv[2])
        limiter.check("ten", "x", cost=10)
        try:
            print("waiting", flush=True)
            limiter.wait("ten", "x", timeout=7200)
        except KeyboardInterrupt:
            print("interrupted", limiter.peek("ten", "x").remaining)
        """,
        url,
        prefix,
        send=signal.SIGINT,
    )
    assert (done.returncode, done.stdout) == (0, "waiting\ninterrupted 0\n"), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
@pytest.mark.parametrize("call", ["wait('ten', 'x', timeout=7200)", "reserve('places', 'x', wait=7200)"])
def test_a_wait_can_be_interrupted_in_an_outage(call: str) -> None:
    done = python(
        f"""
        rules = [{{"rule_id": "ten", "rate": "10/d"}}, {{"rule_id": "places", "algorithm": "concurrency", "limit": 1}}]
        limiter = RateLimiter("redis://127.0.0.1:1", rules=rules, fallback="deny")
        try:
            print("waiting", flush=True)
            limiter.{call}
        except KeyboardInterrupt:
            print("interrupted")
        """,
        send=signal.SIGINT,
    )
    assert (done.returncode, done.stdout) == (0, "waiting\ninterrupted\n"), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_signals_do_not_break_calls(redis_url: str, prefix: str) -> None:
    done = python(
        """
        import signal
        signal.signal(signal.SIGALRM, lambda *_: None)
        with RateLimiter(sys.argv[1], rules=RULES, prefix=sys.argv[2]) as limiter:
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0013)
            admitted = sum(limiter.check("ten", "x").allowed for _ in range(5000))
            signal.setitimer(signal.ITIMER_REAL, 0)
            print(admitted)
        """,
        redis_url,
        prefix,
    )
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr
