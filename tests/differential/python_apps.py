"""One application in each framework of Python, behind the middleware. A handler that runs says so in a header."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi

RULES = json.loads((Path(__file__).parent / "rules.json").read_text(encoding="utf-8"))
REPORT = "X-Ran"


class Recorder:
    """A limiter that remembers what it charged for the request that it was asked about last; they come one by one."""

    def __init__(self) -> None:
        self.charged: list[tuple[str, str]] = []

    def record(self, limiter: Any, method: str, path: str, asked: dict[str, Any]) -> None:
        self.charged = []
        self.charged = [(match.rule_id, match.key) for match in limiter.match_request(method, path, **asked)]

    def report(self, rule: str, key: str | None = None) -> dict[str, str]:
        """The header of a handler that ran, for this rule and the key that it saw."""
        return {REPORT: quote(json.dumps({"rule": rule, "key": key, "charged": self.charged}))}


class AsyncRecorder(Recorder):
    limiter: AsyncRateLimiter | None = None

    async def reserve_request(self, method: str, path: str, **asked: Any) -> Any:
        if self.limiter is None:
            self.limiter = await AsyncRateLimiter.connect("memory://", rules=RULES)
        self.record(self.limiter, method, path, asked)
        return await self.limiter.reserve_request(method, path, **asked)


class BlockingRecorder(Recorder):
    limiter = RateLimiter("memory://", rules=RULES)

    def reserve_request(self, method: str, path: str, **asked: Any) -> Any:
        self.record(self.limiter, method, path, asked)
        return self.limiter.reserve_request(method, path, **asked)


def starlette() -> Any:
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route

    recorder = AsyncRecorder()

    def handler(rule: str, key: Any = lambda request: None) -> Any:
        async def handle(request: Any) -> Any:
            return PlainTextResponse("ran", headers=recorder.report(rule, key(request)))

        return handle

    def parameter(name: str) -> Any:
        return lambda request: request.path_params[name]

    graphql = Starlette(routes=[Route("/{rest:path}", handler("graphql"))])
    routes = [
        Route("/login", handler("login"), methods=["POST"]),
        Route("/status", handler("status")),
        Route("/a", handler("a")),
        Route("/api/{t}/{rest:path}", handler("tenant", parameter("t"))),
        Route("/items/{id}", handler("item", parameter("id"))),
        Mount("/files", routes=[Route("/{rest:path}", handler("files"))]),
        Mount("/graphql", app=graphql),
        Mount("/sub", routes=[Route("/inner/{t}", handler("inner", parameter("t")))]),
        Route("/keys", handler("keys", lambda request: request.headers.get("x-api-key"))),
        Route("/{any:path}/download", handler("download")),
    ]
    app = Starlette(routes=routes)
    app.add_middleware(asgi.RateLimitMiddleware, limiter=lambda _: recorder)
    return app


def fastapi(is_outside: bool = False) -> Any:
    from fastapi import APIRouter, FastAPI, Header, Response

    recorder = AsyncRecorder()
    app = FastAPI(root_path="/x1")
    ran = lambda rule, key=None: Response("ran", headers=recorder.report(rule, key))  # noqa: E731

    app.post("/login")(lambda: ran("login"))
    app.get("/status")(lambda: ran("status"))
    app.get("/a")(lambda: ran("a"))

    @app.get("/api/{t}/{rest:path}")
    def tenant(t: str) -> Any:
        return ran("tenant", t)

    @app.get("/items/{id}")
    def item(id: str) -> Any:  # noqa: A002
        return ran("item", id)

    app.get("/files/{rest:path}")(lambda: ran("files"))
    graphql = FastAPI()
    graphql.get("/{rest:path}")(lambda: ran("graphql"))
    app.mount("/graphql", graphql)
    sub = APIRouter(prefix="/sub")

    @sub.get("/inner/{t}")
    def inner(t: str) -> Any:
        return ran("inner", t)

    app.include_router(sub)

    @app.get("/keys")
    def keys(x_api_key: str | None = Header(None)) -> Any:
        return ran("keys", x_api_key)

    app.get("/{any:path}/download")(lambda: ran("download"))
    if is_outside:
        return asgi.RateLimitMiddleware(app, lambda _: recorder)
    app.add_middleware(asgi.RateLimitMiddleware, limiter=lambda _: recorder)
    return app


def fastapi_inside() -> Any:
    """The middleware is around the application, which sets its root path itself."""
    return fastapi(is_outside=True)


def quart() -> Any:
    from quart import Quart, Response, request

    recorder = AsyncRecorder()
    app = Quart(__name__)

    def add(path: str, rule: str, key: Any = lambda **_: None, **options: Any) -> None:
        async def handle(**found: Any) -> Any:
            return Response("ran", headers=recorder.report(rule, key(**found)))

        app.add_url_rule(path, path, handle, **options)

    add("/login", "login", methods=["POST"])
    add("/status", "status")
    add("/a", "a", strict_slashes=False)
    add("/api/<t>/<path:rest>", "tenant", lambda t, rest: t)
    add("/items/<id>", "item", lambda id: id)
    add("/files/<path:rest>", "files")
    add("/graphql", "graphql")
    add("/graphql/<path:rest>", "graphql")
    add("/sub/inner/<t>", "inner", lambda t: t)
    add("/keys", "keys", lambda: request.headers.get("X-Api-Key"))
    add("/<path:any>/download", "download")
    return asgi.RateLimitMiddleware(app, lambda _: recorder)


def flask_by_asgi() -> Any:
    from asgiref.wsgi import WsgiToAsgi

    recorder = AsyncRecorder()
    return asgi.RateLimitMiddleware(WsgiToAsgi(_flask(recorder)), lambda _: recorder)


def flask() -> Any:
    recorder = BlockingRecorder()
    return wsgi.RateLimitMiddleware(_flask(recorder), recorder)


def _flask(recorder: Recorder) -> Any:
    from flask import Flask, request
    from werkzeug.middleware.dispatcher import DispatcherMiddleware

    app, sub = Flask(__name__), Flask(__name__)
    ran = lambda rule, key=None: ("ran", recorder.report(rule, key))  # noqa: E731

    app.add_url_rule("/login", "login", lambda: ran("login"), methods=["POST"])
    app.add_url_rule("/status", "status", lambda: ran("status"))
    app.add_url_rule("/a", "a", lambda: ran("a"), strict_slashes=False)
    app.add_url_rule("/api/<t>/<path:rest>", "tenant", lambda t, rest: ran("tenant", t))
    app.add_url_rule("/items/<id>", "item", lambda id: ran("item", id))
    app.add_url_rule("/files/<path:rest>", "files", lambda rest: ran("files"), merge_slashes=False)
    app.add_url_rule("/graphql", "graphql", lambda: ran("graphql"))
    app.add_url_rule("/graphql/<path:rest>", "graphql rest", lambda rest: ran("graphql"))
    app.add_url_rule("/keys", "keys", lambda: ran("keys", request.headers.get("X-Api-Key")))
    app.add_url_rule("/<path:any>/download", "download", lambda any: ran("download"))
    sub.add_url_rule("/inner/<t>", "inner", lambda t: ran("inner", t))
    return DispatcherMiddleware(app, {"/sub": sub})


def django() -> Any:
    from django.core.wsgi import get_wsgi_application

    recorder = BlockingRecorder()
    _configure_django(recorder)
    return wsgi.RateLimitMiddleware(get_wsgi_application(), recorder)


def django_by_asgi() -> Any:
    from django.core.asgi import get_asgi_application

    recorder = AsyncRecorder()
    _configure_django(recorder, FORCE_SCRIPT_NAME="/x1")
    return asgi.RateLimitMiddleware(get_asgi_application(), lambda _: recorder)


def _configure_django(recorder: Recorder, **options: Any) -> None:
    from django.conf import settings
    from django.http import HttpResponse
    from django.urls import include, path, re_path

    def view(rule: str, key: Any = lambda request, **found: None) -> Any:
        def handle(request: Any, **found: Any) -> Any:
            if rule == "login" and request.method != "POST":
                return HttpResponse(status=405)
            return HttpResponse("ran", headers=recorder.report(rule, key(request, **found)))

        return handle

    patterns = [
        path("login", view("login")),
        path("status", view("status")),
        re_path("^a$", view("a")),
        path("api/<str:t>/<path:rest>", view("tenant", lambda request, t, **_: t)),
        re_path("^items/(?P<id>[^/]+)$", view("item", lambda request, id: id)),
        path("files/<path:rest>", view("files")),
        re_path("^graphql", view("graphql")),
        path("sub/", include([path("inner/<t>", view("inner", lambda request, t: t))])),
        path("keys", view("keys", lambda request: request.headers.get("X-Api-Key"))),
        re_path(".*/download$", view("download")),
    ]
    urls = type("urls", (), {"urlpatterns": patterns})
    settings.configure(ROOT_URLCONF=urls, ALLOWED_HOSTS=["*"], SECRET_KEY="for tests", **options)
