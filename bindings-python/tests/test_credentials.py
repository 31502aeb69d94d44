"""A function that gives user and password for each new connection."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest
from harness import Driver

from sluicegate import AsyncRateLimiter, ConnectionFailedError, RateLimiter, WrongTypeError

Open = Callable[..., Driver]


class User:
    """A user of a server, whose password changes."""

    def __init__(self, url: str, name: str) -> None:
        self._server, self.name = urlsplit(url), name
        self.password = ""
        self.rotate("first")

    def rotate(self, password: str) -> None:
        self._order(f"ACL SETUSER {self.name} on resetpass >{password} ~* +@all")
        self._order(f"CLIENT KILL USER {self.name}")
        self.password = password

    def _order(self, command: str) -> None:
        with socket.create_connection((self._server.hostname or "", self._server.port or 0)) as connection:
            connection.sendall(command.encode() + b"\r\n")
            answer = connection.recv(1024)
        assert answer.startswith((b"+OK", b":")), answer


@pytest.fixture
def user(redis_url: str, prefix: str) -> User:
    return User(redis_url, prefix)


def test_each_new_connection_asks(redis_url: str, open_limiter: Open, user: User) -> None:
    asked: list[str] = []

    def give() -> tuple[str, str]:
        asked.append(threading.current_thread().name)
        return user.name, user.password

    limiter = open_limiter(redis_url, credentials=give)
    assert limiter.check("ten", "k").allowed
    assert limiter.check("ten", "k").allowed
    assert asked == ["sluicegate-credentials"]
    user.rotate("second")
    for _ in range(3):
        # The broken connection may be found only by a call.
        try:
            limiter.check("ten", "k")
        except ConnectionFailedError:
            pass
    assert limiter.check("ten", "k").allowed


def test_a_coroutine_function_runs_on_the_loop(redis_url: str, user: User) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()

        async def give() -> tuple[str | None, str]:
            assert asyncio.get_running_loop() is loop
            await asyncio.sleep(0)
            return user.name, user.password

        rules = [{"rule_id": "ten", "rate": "10/d"}]
        async with AsyncRateLimiter.connect(redis_url, rules=rules, prefix=user.name, credentials=give) as limiter:
            assert (await limiter.check("ten", "k")).allowed

    asyncio.run(asyncio.wait_for(main(), 30))


async def _coroutine() -> str:
    return "a password"


def _raising() -> str:
    raise ValueError("token-of-somebody")


class _Unnamed(type):
    def __getattribute__(cls, name: str) -> object:
        if name == "__name__":
            raise ValueError("token-of-somebody")
        return super().__getattribute__(name)


class _Kind(metaclass=_Unnamed):
    pass


# Attempts to connect are paced by function, and one that is gone may leave its address to the next: the limiter is in the frames.
_KEPT: list[object] = []


class _Unreadable(tuple[str, ...]):
    def __len__(self) -> int:
        raise ValueError("token-of-somebody")


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    ("give", "words"),
    [
        (_raising, "`credentials` raised ValueError"),
        (lambda: None, "`credentials` must return a password, or a tuple of user and password, not NoneType"),
        (lambda: "\udcff", "`credentials` raised UnicodeEncodeError"),
        (lambda: _Unreadable(("user", "token")), "`credentials` raised ValueError"),
        (lambda: _Kind(), "`credentials` must return a password, or a tuple of user and password, not _Kind"),
        (lambda: type("K" * 1000, (), {})(), "not " + "K" * 63 + "…"),
        (lambda: ("only",), "`credentials` must return a password, or a tuple of user and password, not tuple"),
        (lambda: ("user", b"bytes"), "`credentials` must return a password, or a tuple of user and password, not tuple"),
    ],
)
def test_what_gives_none_is_an_error_without_secrets(
    redis_url: str, open_limiter: Open, give: Callable[[], object], words: str
) -> None:
    with pytest.raises(ConnectionFailedError) as raised:
        open_limiter(redis_url, credentials=give).check("ten", "k")
    _KEPT.append(raised)
    assert str(raised.value).endswith(words)
    assert "token" not in str(raised.value)


def test_a_blocking_limiter_takes_no_coroutine_function(redis_url: str) -> None:
    limiter = RateLimiter(redis_url, rules=[{"rule_id": "ten", "rate": "10/d"}], credentials=_coroutine)  # type: ignore[arg-type]
    with pytest.raises(ConnectionFailedError, match="not coroutine$"):
        limiter.check("ten", "k")


def test_it_has_to_be_a_function(redis_url: str, open_limiter: Open) -> None:
    with pytest.raises(WrongTypeError, match="^credentials must be a function, not str$"):
        open_limiter(redis_url, credentials="secret")


def test_a_program_ends_while_the_function_hangs(redis_url: str) -> None:
    program = """
import sys, threading
from sluicegate import RateLimiter, SluicegateError
hangs = threading.Event()
limiter = RateLimiter(sys.argv[1], rules=[{"rule_id": "a", "rate": "1/d"}], credentials=hangs.wait, connect_timeout=0.05)
try:
    limiter.check("a", "k")
except SluicegateError as error:
    print(str(error).rpartition(": ")[2])
"""
    ended = subprocess.run([sys.executable, "-c", program, redis_url], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "`credentials` took too long\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit on memory")
def test_without_a_thread_the_error_says_so(redis_url: str) -> None:
    program = """if True:
        import resource, sys, threading
        from sluicegate import ConnectionFailedError, RateLimiter

        limiter = RateLimiter(sys.argv[1], rules=[{"rule_id": "ten", "rate": "10/d"}], credentials=lambda: "secret")
        # No thread of Python has room for its stack.
        threading.stack_size(1 << 33)
        resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))
        try:
            limiter.check("ten", "k")
        except ConnectionFailedError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", program, redis_url], capture_output=True, text=True, timeout=60)
    words = "no thread can be started to call `credentials` (raise the limit on threads)"
    assert done.stdout.rstrip().endswith(words)
    assert done.stderr == ""


def test_a_limiter_can_be_closed_while_it_asks(redis_url: str) -> None:
    program = """
import asyncio, sys, threading, time
from contextlib import suppress
from sluicegate import AsyncRateLimiter, RateLimiter, SluicegateError

url, rules = sys.argv[1], [{"rule_id": "a", "rate": "1/d"}]

def check(limiter):
    with suppress(SluicegateError):
        limiter.check("a", "k")

def close_own():
    limiters[0].close()
    return "x"

for count in range(100):
    limiter = RateLimiter(url, rules=rules, credentials=lambda: ("default", "x"))
    thread = threading.Thread(target=check, args=(limiter,))
    thread.start()
    time.sleep(count % 20 * 0.0001)
    limiter.close()
    thread.join()

limiters = [RateLimiter(url, rules=rules, credentials=close_own)]
check(limiters[0])

async def main():
    for count in range(40):
        limiter = await AsyncRateLimiter.connect(url, rules=rules, lazy=True, credentials=lambda: ("default", "x"))
        task = asyncio.create_task(limiter.check("a", "k"))
        await asyncio.sleep(count % 20 * 0.0001)
        await limiter.close()
        with suppress(SluicegateError):
            await task

asyncio.run(main())
print("closed")
"""
    ended = subprocess.run([sys.executable, "-c", program, redis_url], capture_output=True, text=True, timeout=120)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "closed\n", "")
