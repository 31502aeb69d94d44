"""Requests that take places: never more handlers at once than there are, and every place comes back."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from places import PLACES, RULES, left, until
from web import Site, serve_uvicorn, serve_werkzeug, serve_wsgiref

from sluicegate import AsyncRateLimiter, InvalidArgumentError, RateLimiter, asgi, wsgi

class Room:
    """Counts who is inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.inside = self.most = self.served = 0

    def __enter__(self) -> None:
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.inside -= 1
            self.served += 1


async def asgi_work(room: Room, scope: Any, send: Any) -> None:
    path = scope["path"]
    start = {"type": "http.response.start", "status": 200, "headers": []}
    with room:
        if path == "/jobs/raises":
            raise ZeroDivisionError
        if path == "/jobs/metered":
            await scope["sluicegate.reservation"].commit({"tokens": 3})
        if path == "/jobs/stream":
            await send(start)
            for _ in range(40):
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                await asyncio.sleep(0.005)
        elif path == "/short/work":
            await asyncio.sleep(1.5)
            await send(start)
        else:
            await asyncio.sleep(0.02)
            await send(start)
    await send({"type": "http.response.body", "body": b"done"})
    if path == "/jobs/after":
        await asyncio.sleep(4)


@contextmanager
def of_asgi(url: str, prefix: str, room: Room) -> Iterator[Site]:
    limiters: list[AsyncRateLimiter] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            limiters.append(await AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix))
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await limiters[0].close()
            await send({"type": "lifespan.shutdown.complete"})
        else:
            await asgi_work(room, scope, send)

    with serve_uvicorn(asgi.RateLimitMiddleware(app, lambda _: limiters[0])) as site:
        yield site


def wsgi_work(room: Room, environ: Any, start: Any) -> Any:
    path = environ["PATH_INFO"]

    def stream() -> Iterator[bytes]:
        with room:
            for _ in range(40):
                yield b"x" * 65536
                time.sleep(0.005)

    if path == "/jobs/stream":
        start("200 OK", [])
        return stream()
    with room:
        if path == "/jobs/raises":
            raise ZeroDivisionError
        if path == "/jobs/metered":
            environ["sluicegate.reservation"].commit({"tokens": 3})
        time.sleep(1.5 if path == "/short/work" else 0.02)
    start("200 OK", [("Content-Length", "4")])
    return [b"do", b"ne"]


def of_wsgi(serve: Any) -> Any:
    @contextmanager
    def server(url: str, prefix: str, room: Room) -> Iterator[Site]:
        with RateLimiter(url, rules=RULES, prefix=prefix) as limiter:

            def app(environ: Any, start: Any) -> Any:
                return wsgi_work(room, environ, start)

            with serve(wsgi.RateLimitMiddleware(app, limiter)) as site:
                yield site

    return server


SERVERS = [
    pytest.param(of_asgi, id="uvicorn"),
    pytest.param(of_wsgi(serve_werkzeug), id="werkzeug"),
    pytest.param(of_wsgi(serve_wsgiref), id="wsgiref"),
]


def hang_up(site: Site, target: str) -> None:
    """Reads the beginning of an answer, and no more."""
    with socket.create_connection(("127.0.0.1", site.port)) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: here\r\n\r\n".encode())
        assert connection.recv(100)


@pytest.mark.parametrize("server", SERVERS)
class TestInFlight:
    def test_no_more_than_the_limit_are_served_at_once(self, server: Any, redis_url: str, prefix: str) -> None:
        room = Room()
        with server(redis_url, prefix, room) as site, ThreadPoolExecutor(20) as pool:
            for target in ("/jobs/quick", "/jobs/stream"):
                answers = list(pool.map(lambda _, target=target: site.ask("GET", target), range(60)))
                statuses = [answer.status for answer in answers]
                assert set(statuses) == {200, 429} and statuses.count(200) >= PLACES
                denied = next(answer for answer in answers if answer.status == 429)
                assert denied.json()["rule"] == "places" and int(denied.header("retry-after") or 0) > 0
            assert room.most == PLACES
            until(lambda: left(redis_url, prefix) == PLACES)

    def test_one_client_finds_its_place_free_again(self, server: Any, redis_url: str, prefix: str) -> None:
        with server(redis_url, prefix, Room()) as site:
            assert all(site.ask("GET", "/jobs/quick").status == 200 for _ in range(20))

    def test_places_are_released_after_exceptions_and_closed_connections(self, server: Any, redis_url: str, prefix: str) -> None:
        room = Room()
        with server(redis_url, prefix, room) as site:
            for _ in range(2 * PLACES):
                assert site.ask("GET", "/jobs/raises").status == 500
                hang_up(site, "/jobs/stream")
                until(lambda: left(redis_url, prefix) == PLACES)

    def test_an_application_may_commit_what_it_used(self, server: Any, redis_url: str, prefix: str) -> None:
        with server(redis_url, prefix, Room()) as site:
            assert site.ask("GET", "/jobs/metered").status == 200
            assert (left(redis_url, prefix, "tokens"), left(redis_url, prefix)) == (997, PLACES)

    def test_what_takes_longer_than_its_lease_is_renewed(self, server: Any, redis_url: str, prefix: str) -> None:
        with server(redis_url, prefix, Room()) as site, ThreadPoolExecutor(1) as pool:
            slow = pool.submit(site.ask, "GET", "/short/work")
            until(lambda: left(redis_url, prefix, "short") == 0)
            time.sleep(1)
            assert site.ask("GET", "/short/work").status == 429
            assert slow.result().status == 200
            until(lambda: left(redis_url, prefix, "short") == 1)

    def test_other_rules_are_charged_as_ever(self, server: Any, redis_url: str, prefix: str) -> None:
        with server(redis_url, prefix, Room()) as site:
            assert '"plain";r=99' in (site.ask("GET", "/plain").header("ratelimit") or "")
            assert site.ask("GET", "/other").header("ratelimit") is None


def test_what_runs_after_the_response_holds_no_place(redis_url: str, prefix: str) -> None:
    with of_asgi(redis_url, prefix, Room()) as site:
        assert site.ask("GET", "/jobs/after").status == 200
        over = time.monotonic()
        until(lambda: left(redis_url, prefix) == PLACES)
        # Long before the application is done.
        assert time.monotonic() < over + 2


WORKER = """
import asyncio, os, sys, uvicorn
from sluicegate import AsyncRateLimiter, asgi
url, prefix, rules, descriptor = sys.argv[1:]
limiter = None

async def app(scope, receive, send):
    global limiter
    if scope["type"] == "lifespan":
        limiter = await AsyncRateLimiter.connect(url, rules=rules, prefix=prefix)
        await receive()
        return await send({"type": "lifespan.startup.complete"})
    await asyncio.sleep(60)

app = asgi.RateLimitMiddleware(app, lambda _: limiter)
uvicorn.run(app, fd=int(descriptor), log_level="critical")
"""


def test_a_killed_worker_loses_its_places_when_their_leases_end(redis_url: str, prefix: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        descriptor = listener.fileno()
        command = [sys.executable, "-c", WORKER, redis_url, prefix, json.dumps(RULES), str(descriptor)]
        with subprocess.Popen(command, pass_fds=[descriptor]) as worker:
            try:
                site = Site(listener.getsockname()[1])
                with socket.create_connection(("127.0.0.1", site.port)) as connection:
                    connection.sendall(b"GET /short/work HTTP/1.1\r\nHost: here\r\n\r\n")
                    until(lambda: left(redis_url, prefix, "short") == 0)
                    time.sleep(0.8)
                    assert left(redis_url, prefix, "short") == 0
            finally:
                os.kill(worker.pid, signal.SIGKILL)
    killed = time.monotonic()
    until(lambda: left(redis_url, prefix, "short") == 1)
    assert time.monotonic() - killed < 5


def test_check_request_names_what_takes_places(redis_url: str, prefix: str) -> None:
    what = 'rule "places": check_request does not work with algorithm "concurrency" (use reserve_request)'
    with RateLimiter(redis_url, rules=RULES, prefix=prefix) as limiter:
        with pytest.raises(InvalidArgumentError) as raised:
            limiter.check_request("GET", "/jobs/quick")
        assert str(raised.value) == what
        with limiter.reserve_request("GET", "/jobs/metered") as held:
            assert [part.rule for part in held.parts] == ["places", "tokens"] and held.id is not None
            assert limiter.peek("tokens", "global").remaining == 990
        plain = limiter.reserve_request("GET", "/plain")
        assert plain and plain.id is None and not plain.commit() and limiter.peek("plain", "global").remaining == 99
        assert not limiter.reserve_request("GET", "/other").rule_applied




def test_a_body_that_nobody_closes_gives_its_place_back() -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:
        site = wsgi.RateLimitMiddleware(lambda _, start: (start("200 OK", []), [b"done"])[1], limiter)
        environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/short/work", "SCRIPT_NAME": "", "REMOTE_ADDR": "192.0.2.1"}
        answers: list[str] = []
        for _ in range(3):
            body = site(environ, lambda status, *_: answers.append(status))  # type: ignore[arg-type, func-returns-value, return-value]
            # Neither read nor closed.
            del body
            gc.collect()
        assert answers == ["200 OK"] * 3
