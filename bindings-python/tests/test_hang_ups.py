"""Responses that never end: what was reserved for a request comes back when its client has hung up, long before its lease."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import h2.connection
import h2.errors
import pytest
from places import PLACES, RULES, left, until
from web import Site, serve_hypercorn, serve_uvicorn, serve_werkzeug, serve_wsgiref

from sluicegate import AsyncRateLimiter, InvalidArgumentError, RateLimiter, asgi, wsgi


def head(method: str, path: str, *lines: str) -> bytes:
    return "".join(f"{line}\r\n" for line in (f"{method} {path} HTTP/1.1", "Host: here", *lines, "")).encode()


NEVER = head("GET", "/jobs/never")
QUICK = head("GET", "/jobs/quick")
# What clients send before they hang up.
SENT = {
    "one request": NEVER,
    "requests behind another": NEVER + QUICK * 2,
    "requests that are worked on": QUICK * 3,
    "a stream and what follows it": head("GET", "/jobs/stream") + QUICK,
    "the head of a body": head("POST", "/jobs/never", "Content-Length: 100000"),
    "a body that nobody reads": head("POST", "/jobs/never", "Content-Length: 9") + b"unwanted\n",
    "part of a body in chunks": head("POST", "/jobs/never", "Transfer-Encoding: chunked") + b"5\r\nhello\r\n",
    "HEAD, several times": head("HEAD", "/jobs/never") + head("HEAD", "/jobs/quick") * 2,
    "an upgrade that nobody offers": head("GET", "/jobs/never", "Connection: Upgrade", "Upgrade: h3c"),
}


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


HANG_UP: dict[str, Callable[[socket.socket], None]] = {"reset": reset, "end": socket.socket.close}


class Work:
    """What handlers do until the test is over."""

    def __init__(self) -> None:
        self.is_over = threading.Event()

    async def asgi(self, scope: Any, receive: Any, send: Any) -> None:
        start = {"type": "http.response.start", "status": 200, "headers": []}
        if scope["path"] == "/jobs/asks":
            await receive()
        while scope["path"] != "/jobs/quick" and not self.is_over.is_set():
            await asyncio.sleep(0.01)
            if scope["path"] == "/jobs/stream":
                await send(start)
                while not self.is_over.is_set():
                    await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                    await asyncio.sleep(0.005)
        await asyncio.sleep(0.02)
        if scope["path"] != "/jobs/stream":
            await send(start)
        await send({"type": "http.response.body", "body": b"done"})


@contextmanager
def site(serve: Any, url: str, prefix: str, work: Work, **options: Any) -> Iterator[Site]:
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
            await work.asgi(scope, receive, send)

    with serve(asgi.RateLimitMiddleware(app, lambda _: limiters[0], **options)) as opened:
        try:
            yield opened
        finally:
            work.is_over.set()


def serve_httptools(app: Any) -> Any:
    return serve_uvicorn(app, "httptools")


def serve_h11(app: Any) -> Any:
    return serve_uvicorn(app, "h11")


SERVERS = [
    pytest.param(serve_h11, id="uvicorn h11"),
    pytest.param(serve_httptools, id="uvicorn httptools"),
    pytest.param(serve_hypercorn, id="hypercorn"),
]


@pytest.mark.parametrize("how", HANG_UP)
@pytest.mark.parametrize("serve", SERVERS)
def test_a_place_comes_back_when_the_client_has_hung_up(serve: Any, how: str, redis_url: str, prefix: str) -> None:
    work = Work()
    # They do not tell a request that its client has hung up where others wait behind it, Hypercorn also where an upgrade may
    # follow: it ends with its handler.
    untold = {serve_httptools: {"several"}, serve_hypercorn: {"several", "upgrade"}}.get(serve, set())
    with site(serve, redis_url, prefix, work) as opened:
        for what, sent in SENT.items():
            connection = socket.create_connection(("127.0.0.1", opened.port))
            connection.sendall(sent)
            if sent.startswith(QUICK):
                assert connection.recv(100)
            else:
                until(lambda: left(redis_url, prefix) < PLACES)
            HANG_UP[how](connection)
            kind = "several" if sent.count(b"HTTP/1.1") > 1 else "upgrade" if b"Upgrade" in sent else ""
            if kind in untold:
                work.is_over.set()
            try:
                until(lambda: left(redis_url, prefix) == PLACES)
            except AssertionError:
                pytest.fail(what)
            work.is_over.clear()


# Hypercorn asks every client by itself.
@pytest.mark.parametrize("serve", SERVERS[:2])
def test_a_client_that_expects_to_be_asked_is_asked_by_the_application_alone(
    serve: Any, redis_url: str, prefix: str
) -> None:
    work = Work()
    expecting = "Expect: 100-continue", "Content-Length: 5"
    with site(serve, redis_url, prefix, work) as opened:
        with socket.create_connection(("127.0.0.1", opened.port)) as connection:
            connection.sendall(head("POST", "/jobs/quick", *expecting))
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        with socket.create_connection(("127.0.0.1", opened.port)) as connection:
            connection.sendall(head("POST", "/jobs/asks", *expecting))
            assert connection.recv(100).startswith(b"HTTP/1.1 100")
            assert left(redis_url, prefix) == PLACES - 1
        until(lambda: left(redis_url, prefix) == PLACES)


def test_an_application_gets_what_was_read_ahead(redis_url: str, prefix: str) -> None:
    async def echo(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.05)
        sizes, more = 0, True
        while more:
            message = await receive()
            sizes, more = sizes + len(message["body"]), message.get("more_body", False)
            await asyncio.sleep(0.001)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(sizes).encode()})
        assert [(await receive())["type"] for _ in range(2)] == ["http.disconnect"] * 2

    work = Work()
    work.asgi = echo  # type: ignore[method-assign]
    for serve in (serve_uvicorn, serve_hypercorn):
        with site(serve, redis_url, prefix, work) as opened:
            for size in (0, 1, 65_536, 3_000_000):
                assert opened.ask("POST", "/jobs/echo", body=b"x" * size).body == str(size).encode()


@pytest.mark.parametrize("end", ["stream", "connection"])
def test_streams_of_http2_give_their_places_back(end: str, redis_url: str, prefix: str) -> None:
    with site(serve_hypercorn, redis_url, prefix, Work()) as opened:
        connection = socket.create_connection(("127.0.0.1", opened.port))
        client = h2.connection.H2Connection()
        client.initiate_connection()
        fields = [(":method", "GET"), (":path", "/jobs/never"), (":scheme", "http"), (":authority", "here")]
        for stream in (1, 3, 5):
            client.send_headers(stream, fields, end_stream=True)
        connection.sendall(client.data_to_send())
        until(lambda: left(redis_url, prefix) == 0)
        if end == "stream":
            for stream in (1, 3, 5):
                client.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
            connection.sendall(client.data_to_send())
        else:
            connection.close()
        until(lambda: left(redis_url, prefix) == PLACES)
        connection.close()


TOO_LONG = (
    "a reservation is not renewed any more: the response to its request is not over after 0.8 s "
    "(raise max_lease_seconds if requests take that long)"
)


def test_what_is_held_is_renewed_for_so_long_and_no_longer(
    redis_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    with site(serve_uvicorn, redis_url, prefix, Work(), max_lease_seconds=0.8) as opened:
        with socket.create_connection(("127.0.0.1", opened.port)) as connection:
            connection.sendall(head("GET", "/short/never"))
            sees_the_end_of_a_lease(redis_url, prefix, caplog)


def sees_the_end_of_a_lease(url: str, prefix: str, caplog: pytest.LogCaptureFixture) -> None:
    until(lambda: left(url, prefix, "short") == 0)
    time.sleep(0.7)
    assert (left(url, prefix, "short"), caplog.messages) == (0, [])
    until(lambda: left(url, prefix, "short") == 1)
    assert caplog.record_tuples == [("sluicegate", logging.WARNING, TOO_LONG)]


WSGI_SERVERS = [pytest.param(serve_werkzeug, id="werkzeug"), pytest.param(serve_wsgiref, id="wsgiref")]


@contextmanager
def wsgi_site(serve: Any, url: str, prefix: str, work: Work, **options: Any) -> Iterator[Site]:
    """Handlers of WSGI cannot see that a client has hung up: what never answers is bounded by the longest lease."""

    def app(environ: Any, start: Any) -> Any:
        if environ["PATH_INFO"].endswith("/never"):
            work.is_over.wait()
        start("200 OK", [("Content-Length", "4")])
        return [b"done"]

    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter:
        with serve(wsgi.RateLimitMiddleware(app, limiter, **options)) as opened:
            try:
                yield opened
            finally:
                work.is_over.set()
        # Those that still answer give back what they hold, which needs the limiter.
        for thread in threading.enumerate():
            if "process_request" in thread.name:
                thread.join(10)


@pytest.mark.parametrize("serve", WSGI_SERVERS)
def test_wsgi_gives_places_back_whatever_was_sent(serve: Any, redis_url: str, prefix: str) -> None:
    sent = [one.replace(b"/never", b"/quick").replace(b"/stream", b"/quick") for one in SENT.values()]
    with wsgi_site(serve, redis_url, prefix, Work()) as opened:
        for one in [*sent, head("POST", "/jobs/quick", "Expect: 100-continue", "Content-Length: 9")]:
            for hang_up in HANG_UP.values():
                connection = socket.create_connection(("127.0.0.1", opened.port))
                connection.sendall(one)
                hang_up(connection)
        assert opened.ask("GET", "/other").status == 200
        until(lambda: left(redis_url, prefix) == PLACES)


@pytest.mark.parametrize("serve", WSGI_SERVERS)
def test_wsgi_renews_for_so_long_and_no_longer(
    serve: Any, redis_url: str, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    with wsgi_site(serve, redis_url, prefix, Work(), max_lease_seconds=0.8) as opened:
        with socket.create_connection(("127.0.0.1", opened.port)) as connection:
            connection.sendall(head("GET", "/short/never"))
            caplog.set_level(logging.WARNING, "sluicegate")
            sees_the_end_of_a_lease(redis_url, prefix, caplog)


def test_the_longest_lease_is_checked() -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:
        for wrong in (0, -1, float("inf"), float("nan")):
            with pytest.raises(InvalidArgumentError, match=r"max_lease_seconds .*: must be above 0 and finite"):
                wsgi.RateLimitMiddleware(lambda *_: [], limiter, max_lease_seconds=wrong)
        with pytest.raises(TypeError, match="max_lease_seconds must be a number, not str"):
            asgi.RateLimitMiddleware(lambda *_: None, lambda _: None, max_lease_seconds="1")  # type: ignore[arg-type, return-value]
