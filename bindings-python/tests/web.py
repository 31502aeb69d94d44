"""Applications of real frameworks behind the middleware, on real servers, and a client for them."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest

from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi

LONGEST_WAIT = 30
METHODS = ["GET", "HEAD", "POST"]
OWN_HEADERS = {"RateLimit": "mine", "X-Mine": "1"}
MINUTE = {"algorithm": "gcra", "window_size_seconds": 60}
RULES: list[dict[str, Any]] = [
    {
        "rule_id": "orders",
        "identifier_type": "user_id",
        "algorithm": "fixed_window",
        "limit": 2,
        "window_size_seconds": 3600,
        "window_start": "first_request",
        "match": {"path_pattern": "/orders/*", "methods": ["GET", "HEAD"]},
    },
    {"rule_id": "login", "identifier_type": "ip_address", "limit": 5, **MINUTE, "match": {"path_pattern": "/login"}},
    {"rule_id": "keys", "identifier_type": "api_key", "limit": 5, **MINUTE, "match": {"path_pattern": "/keys"}},
    {"rule_id": "devices", "identifier_type": "header:x-device", "limit": 5, **MINUTE, "match": {}},
    {
        "rule_id": "items",
        "identifier_type": "path:name",
        "limit": 1,
        **MINUTE,
        "match": {"path_pattern": "/items/{name}"},
    },
]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The value of a header, which must not be there twice."""
        values = [value for other, value in self.headers if other.lower() == name.lower()]
        assert len(values) <= 1, values
        return values[0] if values else None

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Site:
    """A server that runs."""

    port: int

    def ask(self, method: str, target: str, *headers: tuple[str, str], body: bytes = b"") -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONGEST_WAIT)
        try:
            connection.putrequest(method, target)
            for name, value in headers:
                connection.putheader(name, value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()


@dataclass(frozen=True)
class Limits:
    """What limits a site."""

    url: str
    options: dict[str, Any]
    middleware: dict[str, Any]
    closed: bool = False

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[AsyncRateLimiter]:
        async with AsyncRateLimiter.connect(self.url, **self.options) as limiter:
            if self.closed:
                await limiter.close()
            yield limiter

    @contextmanager
    def opened(self) -> Iterator[RateLimiter]:
        with RateLimiter(self.url, **self.options) as limiter:
            if self.closed:
                limiter.close()
            yield limiter


def serve_uvicorn(app: Any, http: str = "auto") -> Any:
    """Its parser of HTTP is `h11`, or `httptools`, which takes several requests at once."""
    uvicorn = pytest.importorskip("uvicorn")
    return _uvicorn(uvicorn, app, http)


@contextmanager
def _uvicorn(uvicorn: Any, app: Any, http: str) -> Iterator[Site]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, http=http, proxy_headers=False, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        # It accepts from now on, and answers as soon as the application has started.
        yield Site(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def serve_hypercorn(app: Any) -> Iterator[Site]:
    """HTTP/1.1, and HTTP/2 where a client begins with it."""
    from hypercorn.asyncio import serve
    from hypercorn.config import Config

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    config = Config()
    # It closes it.
    config.bind = [f"fd://{listener.detach()}"]
    config.errorlog = config.accesslog = None
    ended = threading.Event()

    async def over() -> None:
        while not ended.is_set():
            await asyncio.sleep(0.01)

    thread = threading.Thread(target=lambda: asyncio.run(serve(app, config, shutdown_trigger=over)))
    thread.start()
    try:
        yield Site(port)
    finally:
        ended.set()
        thread.join()


@contextmanager
def serve_wsgiref(app: Any) -> Iterator[Site]:
    """A server that tells no target, only the decoded path."""
    with make_server("127.0.0.1", 0, app, ThreadingServer, SilentHandler) as server, running(server):
        yield Site(server.server_port)


@contextmanager
def serve_werkzeug(app: Any) -> Iterator[Site]:
    from werkzeug.serving import WSGIRequestHandler as Handler
    from werkzeug.serving import make_server as make

    class Silent(Handler):
        def log(self, *_: object) -> None:
            pass

    server = make("127.0.0.1", 0, app, threaded=True, request_handler=Silent)
    with running(server):
        yield Site(server.server_port)


@contextmanager
def running(server: Any) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class SilentHandler(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass

    def get_stderr(self) -> Any:
        """What the application raises is part of the tests."""
        return _Nowhere()


class _Nowhere:
    def write(self, _: str) -> None: ...
    def flush(self) -> None: ...


@contextmanager
def starlette(limits: Limits) -> Iterator[Site]:
    applications = pytest.importorskip("starlette.applications")
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with limits.connected() as app.state.limiter:
            yield

    async def answer(request: Any) -> Any:
        return JSONResponse(_seen(request.url.path, request.scope), _asked_for(request), OWN_HEADERS)

    routes = [Route("/{path:path}", answer, methods=METHODS)]
    app = applications.Starlette(routes=routes, lifespan=lifespan)
    app.add_middleware(asgi.RateLimitMiddleware, limiter=_limiter_of, user_id=_user_of_scope, **limits.middleware)
    with serve_uvicorn(app) as site:
        yield site


@contextmanager
def fastapi(limits: Limits) -> Iterator[Site]:
    module = pytest.importorskip("fastapi", reason="needs Python 3.11")

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with limits.connected() as app.state.limiter:
            yield

    app = module.FastAPI(lifespan=lifespan)
    app.add_middleware(asgi.RateLimitMiddleware, limiter=_limiter_of, user_id=_user_of_scope, **limits.middleware)

    async def answer(path: str, request: Any) -> Any:
        return module.responses.JSONResponse(_seen(path, request.scope), _asked_for(request), OWN_HEADERS)

    # It passes what has this type, which only this function knows.
    answer.__annotations__["request"] = module.Request
    app.api_route("/{path:path}", methods=METHODS)(answer)

    with serve_uvicorn(app) as site:
        yield site


def flask_application() -> Any:
    from flask import Flask, request

    app = Flask(__name__)
    app.url_map.merge_slashes = False

    @app.route("/", defaults={"path": ""}, methods=METHODS)
    @app.route("/<path:path>", methods=METHODS)
    def answer(path: str) -> Any:
        return _seen(path, request.environ), _asked_for(request), OWN_HEADERS

    return app


@contextmanager
def flask(limits: Limits) -> Iterator[Site]:
    app = flask_application()
    with limits.opened() as limiter:
        app.wsgi_app = wsgi.RateLimitMiddleware(app.wsgi_app, limiter, user_id=_user_of_environ, **limits.middleware)
        with serve_werkzeug(app) as site:
            yield site


@contextmanager
def django(limits: Limits) -> Iterator[Site]:
    from django.core.wsgi import get_wsgi_application

    configured()
    with limits.opened() as limiter:
        app = get_wsgi_application()
        app = wsgi.RateLimitMiddleware(app, limiter, user_id=_user_of_environ, **limits.middleware)
        with serve_wsgiref(app) as site:
            yield site


def configured() -> None:
    """Django is configured once in a process."""
    from django.conf import settings

    if not settings.configured:
        settings.configure(ROOT_URLCONF=_urls(), ALLOWED_HOSTS=["127.0.0.1"], SECRET_KEY="for tests")


def _urls() -> Any:
    from django.http import JsonResponse
    from django.urls import re_path

    def answer(request: Any) -> Any:
        return JsonResponse(_seen(request.path, request.META), status=_asked_for(request), headers=OWN_HEADERS)

    return type("urls", (), {"urlpatterns": [re_path("", answer)]})


def _asked_for(request: Any) -> int:
    """The status that an application is asked to answer with."""
    return int(request.headers.get("X-Answer", 200))


def _seen(path: str, found: Any) -> dict[str, Any]:
    """What an application sees of a request: its path, and which rules in shadow would have denied it."""
    decision = found.get("sluicegate.decision")
    parts = decision and (decision.parts or [decision])
    return {"path": path, "shadow": parts and [part.rule for part in parts if part.shadow_denied]}


def _limiter_of(scope: Any) -> AsyncRateLimiter:
    limiter: AsyncRateLimiter = scope["app"].state.limiter
    return limiter


async def _user_of_scope(scope: Any) -> str | None:
    return next((value.decode() for name, value in scope["headers"] if name == b"x-user"), None)


def _user_of_environ(environ: Any) -> str | None:
    user: str | None = environ.get("HTTP_X_USER")
    return user


FRAMEWORKS: Iterable[Callable[[Limits], Any]] = [starlette, fastapi, flask, django]
