"""Limits at endpoints of Starlette, and at WebSockets, which are refused before they are accepted."""

from __future__ import annotations

import base64
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest
from web import LONGEST_WAIT, Site, serve_hypercorn

from sluicegate import AsyncRateLimiter

Start = Callable[..., Site]


@pytest.fixture
def start(prefix: str, redis_url: str) -> Iterator[Start]:
    """A site of Starlette whose endpoints are limited, on a server that has WebSockets."""
    applications = pytest.importorskip("starlette.applications")
    from starlette.responses import JSONResponse, PlainTextResponse
    from starlette.routing import Mount, Route, WebSocketRoute

    from sluicegate.fastapi import RouteLimits

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with AsyncRateLimiter.connect(redis_url, rules=[], prefix=prefix) as app.state.limiter:
            yield

    def own(connection: Any, decision: Any) -> Any:
        return PlainTextResponse(f"own {decision.rule}", 418)

    async def answer(request: Any) -> Any:
        return JSONResponse({"left": request.state.rate_limit.remaining}, int(request.headers.get("x-answer", 200)))

    async def talk(connection: Any) -> None:
        await connection.accept()
        await connection.close()

    with ExitStack() as opened:

        def open_(*, with_middleware: bool) -> Site:
            limits = RouteLimits(lambda connection: app.state.limiter, name="site")
            inner = [Route("/orders/{id}", limits.endpoint("1/minute")(answer))]
            routes = [
                Route("/orders/{id}", limits.endpoint("2/minute")(answer)),
                Route("/login", limits.endpoint("1/minute", count="failures")(answer)) if with_middleware else None,
                Route("/own", limits.endpoint("1/minute", on_denied=own)(answer)),
                WebSocketRoute("/talk", limits.endpoint("1/minute")(talk)),
                WebSocketRoute("/own-talk", limits.endpoint("1/minute", on_denied=own)(talk)),
                Mount("/shop", routes=inner),
            ]
            app = applications.Starlette(routes=[route for route in routes if route is not None], lifespan=lifespan)
            if with_middleware:
                app.add_middleware(limits.middleware)
            return opened.enter_context(serve_hypercorn(app))

        yield open_


def handshake(site: Site, path: str) -> tuple[int, str]:
    """The status and the rest of the answer to who asks for a WebSocket."""
    key = base64.b64encode(b"0123456789abcdef").decode()
    lines = ["Host: localhost", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
    with socket.create_connection(("127.0.0.1", site.port), LONGEST_WAIT) as connection:
        connection.sendall("\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode())
        received = b""
        while b"\r\n\r\n" not in received or (b" 101 " not in received.split(b"\r\n")[0] and not received.endswith(b"0\r\n\r\n")):
            part = connection.recv(65536)
            if not part:
                break
            received += part
    return int(received.split()[1]), received.decode("latin-1").lower()


def test_an_endpoint_that_is_no_coroutine_is_refused() -> None:
    pytest.importorskip("starlette")
    from sluicegate.fastapi import RouteLimits

    class Endpoint:
        async def __call__(self, request: Any) -> Any: ...

    limit = RouteLimits(lambda connection: None).endpoint("1/minute")  # type: ignore[arg-type, return-value]
    limit(Endpoint())
    for wrong in (lambda request: None, Endpoint):
        with pytest.raises(TypeError, match="the endpoint must be a coroutine function"):
            limit(wrong)


@pytest.mark.parametrize("with_middleware", [True, False], ids=["middleware", "none"])
def test_endpoints(start: Start, with_middleware: bool) -> None:
    site = start(with_middleware=with_middleware)
    first = site.ask("GET", "/orders/1")
    assert first.json() == {"left": 1} and ";r=1" in str(first.header("RateLimit"))
    assert [site.ask("GET", f"/orders/{number}").status for number in (2, 3)] == [200, 429]
    assert [site.ask("GET", "/shop/orders/1").status for _ in range(2)] == [200, 429]
    assert site.ask("GET", "/own").status == 200
    denied = site.ask("GET", "/own")
    assert (denied.status, denied.header("Retry-After")) == (418, "60")


def test_endpoints_are_counted_by_the_outcome(start: Start) -> None:
    site = start(with_middleware=True)
    asked = [site.ask("GET", "/login", ("X-Answer", answer)).status for answer in ("200", "401", "200")]
    assert asked == [200, 401, 429]


@pytest.mark.parametrize("with_middleware", [True, False], ids=["middleware", "none"])
def test_a_websocket_is_refused_before_it_is_accepted(start: Start, with_middleware: bool) -> None:
    site = start(with_middleware=with_middleware)
    status, accepted = handshake(site, "/talk")
    assert status == 101 and (not with_middleware or 'ratelimit: "site:/talk:1/minute";r=0' in accepted)
    status, refused = handshake(site, "/talk")
    assert status == 429 and "retry-after: 60" in refused and "cache-control: no-store" in refused
    assert [handshake(site, "/own-talk")[0] for _ in range(2)] == [101, 418]


def test_mounted_applications_have_limits_of_their_own(prefix: str, redis_url: str) -> None:
    module = pytest.importorskip("fastapi", reason="needs Python 3.11")
    from starlette.responses import PlainTextResponse
    from starlette.routing import Mount, Route

    from sluicegate.fastapi import RouteLimits

    @asynccontextmanager
    async def lifespan(_: Any) -> Any:
        async with AsyncRateLimiter.connect(redis_url, rules=[], prefix=prefix) as app.state.limiter:
            yield

    limits = RouteLimits(lambda _: app.state.limiter, name="site", key=lambda _: "all")

    def version() -> Any:
        inner = module.FastAPI()
        inner.get("/items", dependencies=[module.Depends(limits("1/minute"))])(lambda: "items")
        return inner

    async def answer(_: Any) -> Any:
        return PlainTextResponse("items")

    # In an application without FastAPI, and with parameters in two places.
    route = Route("/{item}", limits.endpoint("1/minute")(answer))
    shop = Mount("/shops/{shop}", routes=[Mount("/items", routes=[route])])
    app = module.FastAPI(lifespan=lifespan)
    for path in ("/v1", "/v2"):
        app.mount(path, version())
    app.router.routes.append(shop)
    app.get("/items", dependencies=[module.Depends(limits("1/minute"))])(lambda: "items")
    with serve_hypercorn(app) as site:
        for path in ("/items", "/v1/items", "/v2/items"):
            assert [site.ask("GET", path).status for _ in range(2)] == [200, 429], path
        # What a client chooses is in no name.
        assert [site.ask("GET", path).status for path in ("/shops/1/items/2", "/shops/3/items/4")] == [200, 429]
        policy = site.ask("GET", "/v1/items").header("RateLimit-Policy")
        assert str(policy).startswith('"site:/v1/items:1/minute"')


def test_a_router_has_limits_of_its_own_wherever_it_is_included() -> None:
    module = pytest.importorskip("fastapi", reason="needs Python 3.11")
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    from sluicegate.fastapi import RouteLimits

    @asynccontextmanager
    async def lifespan(_: Any) -> Any:
        async with AsyncRateLimiter.connect("memory://", rules=[]) as app.state.limiter:
            yield

    limits = RouteLimits(lambda _: app.state.limiter, name="site", key=lambda _: "all")

    async def answer(_: Any) -> Any:
        return PlainTextResponse("items")

    inner = module.APIRouter(prefix="/{shop}")
    inner.get("/items", dependencies=[module.Depends(limits("1/minute"))])(lambda: "items")
    plain = module.APIRouter(routes=[Route("/plain", limits.endpoint("1/minute")(answer))])
    router = module.APIRouter()
    for included in (inner, plain):
        router.include_router(included, prefix="/inner")
    app = module.FastAPI(lifespan=lifespan)
    for prefix in ("/v1", "/v2"):
        app.include_router(router, prefix=prefix)
    with serve_hypercorn(app) as site:
        for path in ("/v1/inner/1/items", "/v2/inner/1/items", "/v1/inner/plain", "/v2/inner/plain"):
            assert [site.ask("GET", path).status for _ in range(2)] == [200, 429], path
        # What a client chooses is in no name.
        assert site.ask("GET", "/v1/inner/2/items").status == 429
