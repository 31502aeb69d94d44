"""The headers of one client's limit stay out of answers that a shared cache may send to others."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from web import Site, configured, serve_uvicorn, serve_werkzeug, serve_wsgiref

from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi

RULES = [{"rule_id": "all", "rate": "1000/hour", "identifier_type": "global", "match": {"path_pattern": "/*"}}]
SHARED = ["public", "public, max-age=60", "max-age=60", "Max-Age=060, must-revalidate", "s-maxage=5", "PUBLIC"]
OWN = ["private", "private, max-age=60", "no-store", "no-cache", "max-age=0", "max-age=0, must-revalidate", "immutable", ""]


@asynccontextmanager
async def lifespan(app: Any) -> Any:
    async with AsyncRateLimiter.connect("memory://", rules=RULES) as app.state.limiter:
        yield


def starlette_app(kind: str) -> Any:
    """What an answer says of caches is what its request asks for."""
    applications = pytest.importorskip("starlette.applications")
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    from sluicegate.fastapi import RouteLimits

    limits = RouteLimits(lambda request: request.app.state.limiter, key=lambda _: "all")

    async def answer(request: Any) -> Any:
        return PlainTextResponse("reached", headers={"Cache-Control": request.headers["x-cache"]})

    endpoint = answer if kind == "asgi" else limits.endpoint("all")(answer)
    app = applications.Starlette(routes=[Route("/", endpoint)], lifespan=lifespan)
    if kind == "asgi":
        app.add_middleware(asgi.RateLimitMiddleware, limiter=lambda scope: scope["app"].state.limiter)
    if kind == "middleware":
        app.add_middleware(limits.middleware)
    return app


@contextmanager
def wsgi_site() -> Iterator[Site]:
    def app(environ: Any, start: Any) -> Any:
        start("200 OK", [("Cache-Control", environ["HTTP_X_CACHE"])])
        return [b"reached"]

    with RateLimiter("memory://", rules=RULES) as limiter, serve_wsgiref(wsgi.RateLimitMiddleware(app, limiter)) as site:
        yield site


@contextmanager
def flask() -> Iterator[Site]:
    from flask import Flask, request

    from sluicegate.flask import RouteLimits

    with RateLimiter("memory://", rules=RULES) as limiter:
        app = Flask("cached")
        limited = RouteLimits(limiter, key=lambda: "all")("all")
        app.route("/")(limited(lambda: ("reached", {"Cache-Control": request.headers["X-Cache"]})))
        with serve_werkzeug(app) as site:
            yield site


@contextmanager
def django() -> Iterator[Site]:
    configured()
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.test import override_settings
    from django.urls import path

    from sluicegate.django import RouteLimits

    def answer(request: Any) -> Any:
        return HttpResponse("reached", headers={"Cache-Control": request.headers["X-Cache"]})

    with RateLimiter("memory://", rules=RULES) as limiter:
        view = RouteLimits(limiter, key=lambda _: "all")("all")(answer)
        with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("", view)]})):
            with serve_wsgiref(get_wsgi_application()) as site:
                yield site


@contextmanager
def aiohttp() -> Iterator[Site]:
    from aiohttp import web

    from sluicegate.aiohttp import RouteLimits

    async def answer(request: Any) -> Any:
        return web.Response(text="reached", headers={"Cache-Control": request.headers["X-Cache"]})

    async def serve(listener: socket.socket, ended: asyncio.Event) -> None:
        async with AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            app = web.Application()
            app.router.add_get("/", RouteLimits(limiter, key=lambda _: "all")("all")(answer))
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            await web.SockSite(runner, listener).start()
            await ended.wait()
            await runner.cleanup()

    listener = socket.create_server(("127.0.0.1", 0))
    loop, ended = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(serve(listener, ended),))
    thread.start()
    try:
        yield Site(listener.getsockname()[1])
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        loop.close()


def test_a_view_of_django_that_is_cached_is_counted_all_the_same() -> None:
    configured()
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse
    from django.test import override_settings
    from django.urls import path
    from django.views.decorators.cache import cache_page

    from sluicegate.django import RouteLimits

    calls: list[Any] = []

    def answer(request: Any) -> Any:
        calls.append(request)
        return HttpResponse("reached")

    with RateLimiter("memory://", rules=[]) as limiter:
        view = RouteLimits(limiter, key=lambda _: "all")("3/hour")(cache_page(60)(answer))
        with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("", view)]})):
            with serve_wsgiref(get_wsgi_application()) as site:
                answers = [site.ask("GET", "/") for _ in range(4)]
    assert ([one.status for one in answers], len(calls)) == ([200, 200, 200, 429], 1)
    assert [one.header("RateLimit") for one in answers[:3]] == [None] * 3
    assert answers[3].header("RateLimit") is not None


SITES: dict[str, Callable[[], Any]] = {
    "asgi": lambda: serve_uvicorn(starlette_app("asgi")),
    "starlette": lambda: serve_uvicorn(starlette_app("endpoint")),
    "starlette, middleware": lambda: serve_uvicorn(starlette_app("middleware")),
    "wsgi": wsgi_site,
    "flask": flask,
    "django": django,
    "aiohttp": aiohttp,
}


@pytest.mark.parametrize("opened", SITES.values(), ids=SITES)
def test_an_answer_for_all_has_no_headers_of_one_client(opened: Callable[[], Any]) -> None:
    with opened() as site:
        answers = {cache: site.ask("GET", "/", ("X-Cache", cache)) for cache in [*SHARED, *OWN]}
    for cache, answer in answers.items():
        # It stays as the application has it.
        assert (answer.status, answer.header("Cache-Control")) == (200, cache)
        names = [name for name, _ in answer.headers if name.lower().startswith("ratelimit")]
        assert len(names) == (0 if cache in SHARED else 2), cache
