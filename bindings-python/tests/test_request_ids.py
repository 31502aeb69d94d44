"""Calls that are repeated by their ids, as programs in Python see it; what is decided, the vectors show."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest
from harness import Driver

from sluicegate import Check, InvalidArgumentError, ManualClock

Open = Callable[..., Driver]


class Cutter:
    """A proxy before a server. On request it passes so many more bytes of an answer on and closes the connection."""

    def __init__(self, server: tuple[str, int]) -> None:
        self.left: int | None = None
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._server)
            threading.Thread(target=self._carry, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(server, client, True), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, cuts: bool) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                left = self.left if cuts else None
                sink.sendall(data[:left])
                if left is not None and left < len(data):
                    # The next connection is whole again.
                    self.left = None
                    break
                if left is not None:
                    self.left = left - len(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        # The other one is closed by who reads from it.
        source.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def cutter(redis_url: str) -> Iterator[Cutter]:
    address = urlsplit(redis_url)
    assert address.hostname and address.port
    cutter = Cutter((address.hostname, address.port))
    yield cutter
    cutter.close()


def test_a_lost_answer_is_healed(cutter: Cutter, redis_url: str, open_limiter: Open) -> None:
    rules = [{"rule_id": "ten", "algorithm": "fixed_window", "limit": 1000, "window_size_seconds": 36000}]
    limiter = open_limiter(cutter.url, rules=rules, breaker_failures=0)
    left, cuts = 1000, 0
    for number in range(60):
        calls: list[tuple[int, Callable[[str], Any]]] = [
            (-3, lambda id_: limiter.check("ten", "k", cost=3, request_id=id_)),
            (-1, lambda id_: limiter.check_all([Check("ten", "k")], request_id=id_)),
            (-2, lambda id_: limiter.charge("ten", "k", cost=2, request_id=id_)),
            (+4, lambda id_: limiter.refund("ten", "k", cost=4, request_id=id_)),
        ]
        for step, (change, call) in enumerate(calls):
            cutter.left = number % 45
            left += change
            assert call(f"call {number} {step}").remaining == left
            cuts += cutter.left is None
    assert cuts > 100
    assert open_limiter(redis_url, rules=rules).peek("ten", "k").remaining == left


def test_an_id_is_for_one_call_and_a_while(url: str, open_limiter: Open) -> None:
    clock = ManualClock()
    limiter = open_limiter(url, clock=clock, request_id_seconds=5)
    assert limiter.check("ten", "k", request_id="a").remaining == 9
    assert limiter.check("ten", "k", request_id="a").remaining == 9
    with pytest.raises(InvalidArgumentError, match='^rule "ten": request_id: another call had it'):
        limiter.check("ten", "k", cost=2, request_id="a")
    clock.advance(5)
    assert limiter.check("ten", "k", request_id="a").remaining == 8


def test_calls_that_take_no_id(open_limiter: Open) -> None:
    limiter = open_limiter("memory://")
    for name in ("peek", "reserve", "reset"):
        with pytest.raises(TypeError, match="request_id"):
            getattr(limiter, name)("ten", "k", request_id="a")
    with pytest.raises(TypeError, match="request_id"):
        Check("ten", "k", request_id="a")  # type: ignore[call-arg]
