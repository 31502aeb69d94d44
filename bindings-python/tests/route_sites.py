"""One site with limits at its routes, in every framework, on real servers."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from web import Site, configured, serve_uvicorn, serve_werkzeug, serve_wsgiref

from sluicegate import AsyncRateLimiter, RateLimiter

RULES: list[dict[str, Any]] = [
    {"rule_id": "plan", "algorithm": "fixed_window", "limit": 2, "window_size_seconds": 86400},
    {"rule_id": "guesses", "rate": "1/minute", "reservations": True},
    {"rule_id": "place", "algorithm": "concurrency", "limit": 1},
    {"rule_id": "address", "identifier_type": "ip_address", "rate": "2/minute"},
    {
        "rule_id": "by-item",
        "identifier_type": ["path:id", "header:x-user"],
        "rate": "2/minute",
        "match": {"path_pattern": "/keyed/{id}"},
    },
]

# Each path: its limits, and the functions of the application, which get the names and values of a request's headers.
Headers = Callable[[str], str | None]
ROUTES: dict[str, tuple[tuple[Any, ...], dict[str, Callable[..., Any] | Any]]] = {
    "/items/{id}": (("3/minute", "100/hour"), {}),
    "/methods": (("1/minute",), {"per_method": True}),
    "/first": (("2/minute",), {"shared": "together"}),
    "/second": (("2/minute",), {"shared": "together"}),
    "/plan": (("plan",), {"limit": lambda header: 5 if header("x-plan") == "gold" else None}),
    "/login": (("2/minute",), {"count": "failures"}),
    "/sales": (("2/minute",), {"count": "successes"}),
    "/guesses": (("guesses",), {"count": "failures"}),
    "/created": (("1/minute",), {"count": lambda response: response.status_code == 201}),
    "/bulk": (("10/day",), {"cost": lambda header: int(header("x-cost") or 1)}),
    "/health": (("1/minute",), {"skip": lambda header: header("x-probe") == "1"}),
    "/broken": (("1/minute",), {"key": lambda header: None}),
    "/nobody": (("1/minute",), {"key": lambda header: 0}),
    "/number": (("1/minute",), {"key": lambda header: 4915.1}),
    "/raising": (("1/minute",), {"key": lambda header: int(header("x-user") or "")}),
    # Nothing that any of the frameworks could send.
    "/unanswered": (("1/minute",), {"on_denied": lambda *_: 5}),
    "/place": (("place",), {}),
    "/address": (("address",), {}),
    "/keyed/{id}": (("by-item",), {}),
    "/users": (("1/minute",), {"key": None, "user_id": lambda header: header("x-user")}),
    "/data": (({"rule_id": "data", "algorithm": "sliding_log", "limit": 1, "window_size_seconds": 60},), {}),
}
_HOOKS = ("key", "user_id", "cost", "limit", "skip")


def _options(stated: dict[str, Any], header_of: Callable[[Any], Headers]) -> dict[str, Any]:
    """The functions, in the form that a framework has for them."""

    def for_framework(function: Any) -> Any:
        return lambda *request: function(header_of(*request))

    return {
        name: for_framework(value) if name in _HOOKS and callable(value) else value for name, value in stated.items()
    }


def _user(header: Headers) -> str | None:
    return header("x-user") or "nobody"


@contextmanager
def fastapi(url: str, **options: Any) -> Iterator[Site]:
    module = pytest.importorskip("fastapi", reason="needs Python 3.11")
    from sluicegate.fastapi import RouteLimits

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with AsyncRateLimiter.connect(url, **options) as app.state.limiter:
            yield

    def header_of(request: Any) -> Headers:
        found: Headers = request.headers.get
        return found

    app = module.FastAPI(lifespan=lifespan, title="site")
    limits = RouteLimits(lambda request: request.app.state.limiter, key=lambda request: _user(header_of(request)))
    app.add_middleware(limits.middleware)

    async def answer(request: Any) -> Any:
        decision = getattr(request.state, "rate_limit", None)
        body = {"left": decision and decision.remaining}
        return module.responses.JSONResponse(body, int(request.headers.get("x-answer", 200)))

    answer.__annotations__["request"] = module.Request
    for path, (stated, hooks) in ROUTES.items():
        limit = module.Depends(limits(*stated, **_options(hooks, header_of)))
        app.api_route(path, methods=["GET", "POST", "HEAD"], dependencies=[limit])(answer)
    own = limits("1/minute", on_denied=lambda request, decision: module.Response(f"own {decision.rule}", 418))
    app.api_route("/own", methods=["GET", "POST"], dependencies=[module.Depends(own)])(answer)
    with serve_uvicorn(app) as site:
        yield site


@contextmanager
def flask(url: str, **options: Any) -> Iterator[Site]:
    from flask import Flask, g, jsonify, request

    from sluicegate.flask import RouteLimits

    app = Flask("site")
    with RateLimiter(url, **options) as limiter:
        limits = RouteLimits(limiter, key=lambda: _user(request.headers.get))

        def answer(**_: Any) -> Any:
            decision = g.get("rate_limit")
            return jsonify(left=decision and decision.remaining), int(request.headers.get("x-answer", 200))

        def add(path: str, view: Any) -> None:
            rule = path.replace("{", "<").replace("}", ">")
            app.add_url_rule(rule, rule, view, methods=["GET", "POST", "HEAD"])

        for path, (stated, hooks) in ROUTES.items():
            add(path, limits(*stated, **_options(hooks, lambda: request.headers.get))(answer))
        own = limits("1/minute", on_denied=lambda decision: (f"own {decision.rule}", 418))
        add("/own", own(answer))
        with serve_werkzeug(app) as site:
            yield site


@contextmanager
def django(url: str, **options: Any) -> Iterator[Site]:
    configured()
    from django.core.wsgi import get_wsgi_application
    from django.http import HttpResponse, JsonResponse
    from django.test import override_settings
    from django.urls import path as route

    from sluicegate.django import RouteLimits

    def header_of(request: Any) -> Headers:
        found: Headers = request.headers.get
        return found

    def answer(request: Any, **_: Any) -> Any:
        decision = getattr(request, "rate_limit", None)
        body = {"left": decision and decision.remaining}
        return JsonResponse(body, status=int(request.headers.get("x-answer", 200)))

    with RateLimiter(url, **options) as limiter:
        limits = RouteLimits(limiter, name="site", key=lambda request: _user(header_of(request)))

        def place(path: str) -> str:
            return path[1:].replace("{", "<").replace("}", ">")

        urls = [
            route(place(path), limits(*stated, **_options(hooks, header_of))(answer))
            for path, (stated, hooks) in ROUTES.items()
        ]
        own = limits("1/minute", on_denied=lambda request, decision: HttpResponse(f"own {decision.rule}", status=418))
        urls.append(route("own", own(answer)))
        with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": urls})):
            with serve_wsgiref(get_wsgi_application()) as site:
                yield site


@contextmanager
def aiohttp(url: str, **options: Any) -> Iterator[Site]:
    from aiohttp import web

    from sluicegate.aiohttp import RATE_LIMIT, RouteLimits

    limiter_key = web.AppKey("limiter", AsyncRateLimiter)

    def header_of(request: Any) -> Headers:
        found: Headers = request.headers.get
        return found

    limits = RouteLimits(
        lambda request: request.app[limiter_key], name="site", key=lambda request: _user(header_of(request))
    )

    async def answer(request: Any) -> Any:
        decision = request.get(RATE_LIMIT)
        body = {"left": decision and decision.remaining}
        return web.json_response(body, status=int(request.headers.get("x-answer", 200)))

    async def serve(listener: socket.socket, ended: asyncio.Event) -> None:
        app = web.Application()
        for path, (stated, hooks) in ROUTES.items():
            hooks = {**hooks}
            count = hooks.get("count")
            if callable(count):
                hooks["count"] = lambda response: response.status == 201
            handler = limits(*stated, **_options(hooks, header_of))(answer)
            app.router.add_get(path, handler)
            app.router.add_post(path, handler)
        own = limits(
            "1/minute", on_denied=lambda request, decision: web.Response(text=f"own {decision.rule}", status=418)
        )
        app.router.add_route("*", "/own", own(answer))
        async with AsyncRateLimiter.connect(url, **options) as limiter:
            app[limiter_key] = limiter
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


FRAMEWORKS: list[Callable[..., Any]] = [fastapi, flask, django, aiohttp]
