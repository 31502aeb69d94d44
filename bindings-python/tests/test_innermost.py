"""Limits around limits: an answer has the headers of the innermost, which decided last, and a denial keeps its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any

import pytest
from web import Site, configured, serve_uvicorn, serve_werkzeug, serve_wsgiref

from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi

RULES = [{"rule_id": "outer", "rate": "100/hour", "identifier_type": "global", "match": {"path_pattern": "/*"}}]
INNER, OWN = "1/minute", "1/hour"


def own_text(decision: Any) -> str:
    return f"own {decision.rule}"


@asynccontextmanager
async def lifespan(app: Any) -> Any:
    async with AsyncRateLimiter.connect("memory://", rules=RULES) as app.state.limiter:
        yield


def starlette_app(*, with_middleware: bool, is_stacked: bool) -> Any:
    applications = pytest.importorskip("starlette.applications")
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    from sluicegate.fastapi import RouteLimits

    limits = RouteLimits(lambda request: request.app.state.limiter, name="inner", key=lambda _: "all")

    async def answer(_: Any) -> Any:
        return PlainTextResponse("reached")

    def own(_: Any, decision: Any) -> Any:
        return PlainTextResponse(own_text(decision), 429)

    around = limits.endpoint("outer") if is_stacked else lambda function: function
    routes = [
        Route("/inner", around(limits.endpoint(INNER)(answer))),
        Route("/own", around(limits.endpoint(OWN, on_denied=own)(answer))),
        Route("/free", answer),
    ]
    app = applications.Starlette(routes=routes, lifespan=lifespan)
    if with_middleware:
        app.add_middleware(limits.middleware)
    if not is_stacked:
        app.add_middleware(asgi.RateLimitMiddleware, limiter=lambda scope: scope["app"].state.limiter)
    return app


def fastapi_app(*, with_middleware: bool, is_stacked: bool) -> Any:
    module = pytest.importorskip("fastapi", reason="needs Python 3.11")
    from sluicegate.fastapi import RouteLimits

    limits = RouteLimits(lambda request: request.app.state.limiter, name="inner", key=lambda _: "all")
    app = module.FastAPI(lifespan=lifespan)

    def own(_: Any, decision: Any) -> Any:
        return module.responses.PlainTextResponse(own_text(decision), 429)

    for path, inner in {"/inner": [limits(INNER)], "/own": [limits(OWN, on_denied=own)], "/free": []}.items():
        stated = [limits("outer"), *inner] if inner and is_stacked else inner
        app.get(path, dependencies=[module.Depends(each) for each in stated])(lambda: "reached")
    if with_middleware:
        app.add_middleware(limits.middleware)
    if not is_stacked:
        app.add_middleware(asgi.RateLimitMiddleware, limiter=lambda scope: scope["app"].state.limiter)
    return app


def flask_app(limiter: RateLimiter, *, is_stacked: bool) -> Any:
    from flask import Flask

    from sluicegate.flask import RouteLimits

    app = Flask("inner")
    limits = RouteLimits(limiter, key=lambda: "all")
    around = limits("outer") if is_stacked else lambda view: view
    app.add_url_rule("/inner", "inner", around(limits(INNER)(lambda: "reached")))
    app.add_url_rule("/own", "own", around(limits(OWN, on_denied=lambda decision: (own_text(decision), 429))(lambda: "reached")))
    app.add_url_rule("/free", "free", lambda: "reached")
    if not is_stacked:
        app.wsgi_app = wsgi.RateLimitMiddleware(app.wsgi_app, limiter)  # type: ignore[method-assign]
    return app


def django_urls(limiter: RateLimiter, *, is_stacked: bool) -> Any:
    from django.http import HttpResponse
    from django.urls import path

    from sluicegate.django import RouteLimits

    limits = RouteLimits(limiter, name="inner", key=lambda _: "all")
    around = limits("outer") if is_stacked else lambda view: view

    def answer(_: Any) -> Any:
        return HttpResponse("reached")

    def own(_: Any, decision: Any) -> Any:
        return HttpResponse(own_text(decision), status=429)

    urls = [path("inner", around(limits(INNER)(answer))), path("own", around(limits(OWN, on_denied=own)(answer))), path("free", answer)]
    return type("urls", (), {"urlpatterns": urls})


@contextmanager
def django(*, is_stacked: bool = False, **settings: Any) -> Iterator[RateLimiter]:
    configured()
    from django.test import override_settings

    with RateLimiter("memory://", rules=RULES) as limiter:
        stated = {**settings, "SLUICEGATE": {"limiter": limiter}}
        with override_settings(ROOT_URLCONF=django_urls(limiter, is_stacked=is_stacked), **stated):
            yield limiter


@contextmanager
def django_wsgi() -> Iterator[Site]:
    from django.core.wsgi import get_wsgi_application

    with django() as limiter, serve_wsgiref(wsgi.RateLimitMiddleware(get_wsgi_application(), limiter)) as site:
        yield site


@contextmanager
def django_asgi() -> Iterator[Site]:
    from django.core.asgi import get_asgi_application

    async def limiter_of(_: Any) -> AsyncRateLimiter:
        if not opened:
            opened.append(await AsyncRateLimiter.connect("memory://", rules=RULES))
        return opened[0]

    opened: list[AsyncRateLimiter] = []
    with django(), serve_uvicorn(asgi.RateLimitMiddleware(get_asgi_application(), limiter_of)) as site:
        yield site


@contextmanager
def django_setting() -> Iterator[Site]:
    from django.core.wsgi import get_wsgi_application

    with django(MIDDLEWARE=["sluicegate.django.SluicegateMiddleware"]), serve_wsgiref(get_wsgi_application()) as site:
        yield site


@contextmanager
def django_stacked() -> Iterator[Site]:
    from django.core.wsgi import get_wsgi_application

    with django(is_stacked=True), serve_wsgiref(get_wsgi_application()) as site:
        yield site


@contextmanager
def flask(*, is_stacked: bool = False) -> Iterator[Site]:
    with RateLimiter("memory://", rules=RULES) as limiter:
        with serve_werkzeug(flask_app(limiter, is_stacked=is_stacked)) as site:
            yield site


@contextmanager
def wsgi_twice() -> Iterator[Site]:
    """Middleware around middleware, of two limiters."""
    rates = {"/inner": INNER, "/own": OWN}
    inner = [
        {**RULES[0], "rule_id": f"inner{path}", "rate": rate, "match": {"path_pattern": path}} for path, rate in rates.items()
    ]
    with RateLimiter("memory://", rules=RULES) as outer, RateLimiter("memory://", rules=inner) as limiter:

        def app(_: Any, start: Any) -> Any:
            start("200 OK", [])
            return [b"reached"]

        def own(_: Any, decision: Any) -> Any:
            def answer(_: Any, start: Any) -> Any:
                start("429 Too Many Requests", [])
                return [own_text(decision).encode()]

            return answer

        limited = wsgi.RateLimitMiddleware(app, limiter, on_denied=own)
        with serve_wsgiref(wsgi.RateLimitMiddleware(limited, outer)) as site:
            yield site


@contextmanager
def aiohttp() -> Iterator[Site]:
    """Decorators around decorators."""
    from aiohttp import web

    from sluicegate.aiohttp import RouteLimits

    async def answer(_: Any) -> Any:
        return web.Response(text="reached")

    def own(_: Any, decision: Any) -> Any:
        return web.Response(text=own_text(decision), status=429)

    async def serve(listener: socket.socket, ended: asyncio.Event) -> None:
        async with AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            limits = RouteLimits(limiter, name="inner", key=lambda _: "all")
            app = web.Application()
            app.router.add_get("/inner", limits("outer")(limits(INNER)(answer)))
            app.router.add_get("/own", limits("outer")(limits(OWN, on_denied=own)(answer)))
            app.router.add_get("/free", limits("outer")(answer))
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


def on_uvicorn(app: Callable[..., Any], **options: bool) -> Any:
    return serve_uvicorn(app(**options))


SITES: dict[str, Callable[[], Any]] = {
    "flask in wsgi": flask,
    "django in wsgi": django_wsgi,
    "django in asgi": django_asgi,
    "django in its middleware": django_setting,
    "wsgi in wsgi": wsgi_twice,
    "flask stacked": partial(flask, is_stacked=True),
    "django stacked": django_stacked,
    "aiohttp stacked": aiohttp,
    "starlette in asgi": partial(on_uvicorn, starlette_app, with_middleware=False, is_stacked=False),
    "starlette in asgi, middleware": partial(on_uvicorn, starlette_app, with_middleware=True, is_stacked=False),
    "starlette stacked": partial(on_uvicorn, starlette_app, with_middleware=False, is_stacked=True),
    "starlette stacked, middleware": partial(on_uvicorn, starlette_app, with_middleware=True, is_stacked=True),
    "fastapi in asgi": partial(on_uvicorn, fastapi_app, with_middleware=False, is_stacked=False),
    "fastapi in asgi, middleware": partial(on_uvicorn, fastapi_app, with_middleware=True, is_stacked=False),
    "fastapi stacked": partial(on_uvicorn, fastapi_app, with_middleware=False, is_stacked=True),
    "fastapi stacked, middleware": partial(on_uvicorn, fastapi_app, with_middleware=True, is_stacked=True),
}


@pytest.mark.parametrize("opened", SITES.values(), ids=SITES)
def test_an_answer_has_the_headers_of_the_innermost_limit(opened: Callable[[], Any]) -> None:
    with opened() as site:
        seen = {path: [site.ask("GET", path) for _ in range(2)] for path in ("/inner", "/own")}
        free = site.ask("GET", "/free")
    for path, (admitted, denied) in seen.items():
        assert (admitted.status, admitted.body.strip(b'"'), denied.status) == (200, b"reached", 429), path
        for answer in (admitted, denied):
            assert str(answer.header("RateLimit-Policy")).startswith('"inner'), path
            assert ";r=0" in str(answer.header("RateLimit")), path
        assert (denied.header("Cache-Control"), denied.header("Retry-After") is not None) == ("no-store", True), path
    assert seen["/own"][1].body.startswith(b"own inner")
    assert str(free.header("RateLimit-Policy")) in ('"outer";q=100;w=3600', "None")
