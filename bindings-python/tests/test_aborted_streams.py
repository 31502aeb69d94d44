"""Streams whose client hangs up give back the place that a limit at their route, or the middleware, holds for them."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import pytest
from places import PLACES, RULES, left, until
from test_hang_ups import HANG_UP, head
from web import LONGEST_WAIT, Site, configured, serve_hypercorn, serve_uvicorn, serve_werkzeug, serve_wsgiref

from sluicegate import AsyncRateLimiter, RateLimiter, wsgi

# More than the buffers of a connection: it is not sent while the client reads none of it.
PART = b"x" * 1_000_000


class Work:
    """What handlers do until the test is over."""

    def __init__(self) -> None:
        self.is_over = threading.Event()

    def parts(self) -> Iterator[bytes]:
        while not self.is_over.wait(0.005):
            yield PART

    async def parts_of_a_loop(self) -> AsyncIterator[bytes]:
        while not self.is_over.is_set():
            yield PART
            await asyncio.sleep(0.005)

    async def forever(self) -> None:
        """Until it is cancelled."""
        while not self.is_over.is_set():
            await asyncio.sleep(0.01)


@contextmanager
def flask(url: str, prefix: str, work: Work, *, with_middleware: bool = False) -> Iterator[Site]:
    from flask import Flask, Response

    from sluicegate.flask import RouteLimits

    def stream() -> Any:
        return Response(work.parts())

    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter, ending(work):
        app = Flask("site")
        app.add_url_rule("/jobs/stream", "stream", stream if with_middleware else RouteLimits(limiter)("places")(stream))
        with serve_werkzeug(wsgi.RateLimitMiddleware(app, limiter) if with_middleware else app) as site:
            yield site
            work.is_over.set()
            end_of_threads()


@contextmanager
def django(serve: Any, url: str, prefix: str, work: Work, *, with_middleware: bool = False) -> Iterator[Site]:
    configured()
    from django.http import StreamingHttpResponse
    from django.test import override_settings
    from django.urls import path

    from sluicegate.django import RouteLimits

    def stream(_: Any) -> Any:
        return StreamingHttpResponse(work.parts())

    async def stream_of_a_loop(_: Any) -> Any:
        return StreamingHttpResponse(work.parts_of_a_loop())

    async def waits(_: Any) -> Any:
        await work.forever()

    def late(request: Any) -> Any:
        """Begins its answer when nobody is there any more."""
        time.sleep(0.3)
        return StreamingHttpResponse(work.parts_of_a_loop() if hasattr(request, "scope") else work.parts())

    with RateLimiter(url, rules=RULES, prefix=prefix) as limiter, ending(work):
        limit = (lambda view: view) if with_middleware else RouteLimits(limiter)("places")
        views = {"stream": stream, "loop": stream_of_a_loop, "waits": waits, "late": late}
        urls = [path(f"jobs/{name}", limit(view)) for name, view in views.items()]
        if not with_middleware:
            # The client is gone before it is decided, though the place is taken.
            slowly = RouteLimits(limiter)("places", on_decision=lambda *_: time.sleep(0.3))
            urls.append(path("jobs/decided", slowly(waits)))
        stated: dict[str, Any] = {"ROOT_URLCONF": type("urls", (), {"urlpatterns": urls})}
        if with_middleware:
            stated |= {"MIDDLEWARE": ["sluicegate.django.SluicegateMiddleware"], "SLUICEGATE": {"limiter": limiter}}
        with override_settings(**stated), serve() as site:
            yield site
            work.is_over.set()
            end_of_threads()


def of_wsgi() -> Any:
    from django.core.wsgi import get_wsgi_application

    return serve_wsgiref(get_wsgi_application())


def of_asgi(serve: Any) -> Any:
    from django.core.asgi import get_asgi_application

    return serve(get_asgi_application())


@contextmanager
def aiohttp(url: str, prefix: str, work: Work) -> Iterator[Site]:
    from aiohttp import web

    from sluicegate.aiohttp import RouteLimits

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        async for part in work.parts_of_a_loop():
            await response.write(part)
        return response

    async def waits(_: web.Request) -> web.Response:
        await work.forever()
        return web.Response()

    async def serve(listener: socket.socket, ended: asyncio.Event) -> None:
        async with AsyncRateLimiter.connect(url, rules=RULES, prefix=prefix) as limiter:
            limits = RouteLimits(limiter)
            app = web.Application()
            app.router.add_get("/jobs/stream", limits("places")(stream))
            app.router.add_get("/jobs/waits", limits("places")(waits))
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            await web.SockSite(runner, listener).start()
            await ended.wait()
            await runner.cleanup()

    listener = socket.create_server(("127.0.0.1", 0))
    loop, ended = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(listener, ended),))
    thread.start()
    with ExitStack() as stack:
        stack.callback(loop.close)
        stack.callback(thread.join)
        stack.callback(loop.call_soon_threadsafe, ended.set)
        stack.enter_context(ending(work))
        yield Site(listener.getsockname()[1])


@contextmanager
def ending(work: Work) -> Iterator[None]:
    try:
        yield
    finally:
        work.is_over.set()


def end_of_threads() -> None:
    """Those that still answer give back what they hold, which needs the limiter."""
    for thread in threading.enumerate():
        if "process_request" in thread.name:
            thread.join(10)


SITES: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "Flask": (flask, ["stream"]),
    "Flask, middleware": (partial(flask, with_middleware=True), ["stream"]),
    "Django": (partial(django, of_wsgi), ["stream", "late"]),
    "Django, middleware": (partial(django, of_wsgi, with_middleware=True), ["stream", "late"]),
    "Django, ASGI, uvicorn": (partial(django, partial(of_asgi, serve_uvicorn)), ["loop", "waits", "late", "decided"]),
    "Django, ASGI, Hypercorn": (partial(django, partial(of_asgi, serve_hypercorn)), ["loop", "waits", "late"]),
    "Django, ASGI, middleware": (
        partial(django, partial(of_asgi, serve_uvicorn), with_middleware=True),
        ["loop", "waits", "late"],
    ),
    "aiohttp": (aiohttp, ["stream", "waits"]),
}


@pytest.mark.parametrize("how", HANG_UP)
@pytest.mark.parametrize("site", SITES)
def test_a_place_comes_back_when_the_client_has_hung_up(site: str, how: str, redis_url: str, prefix: str) -> None:
    opened, handlers = SITES[site]
    with opened(redis_url, prefix, Work()) as served:
        for handler in handlers:
            connection = socket.create_connection(("127.0.0.1", served.port), LONGEST_WAIT)
            connection.sendall(head("GET", f"/jobs/{handler}"))
            until(lambda: left(redis_url, prefix) == PLACES - 1)
            if handler in ("stream", "loop"):
                assert connection.recv(100).startswith(b"HTTP/1.")
            HANG_UP[how](connection)
            try:
                until(lambda: left(redis_url, prefix) == PLACES)
            except AssertionError:
                pytest.fail(handler)
