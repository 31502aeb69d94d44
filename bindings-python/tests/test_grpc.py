"""Calls of gRPC, which a real client sends to an application behind the middleware, over HTTP/2."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any

import pytest
from web import LONGEST_WAIT, Site, serve_hypercorn, serve_wsgiref

from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi

grpc = pytest.importorskip("grpc")

RULES = [{"rule_id": "calls", "identifier_type": "global", "rate": "1/hour", "match": {"path_pattern": "/shop.Orders/*"}}]
Start = Callable[..., AbstractContextManager[Site]]
_FRAME = b"\x00\x00\x00\x00\x05hello"


async def greeting(scope: Any, receive: Any, send: Any) -> None:
    """A service of gRPC, which greets whoever calls."""
    while (await receive()).get("more_body", False):
        pass
    headers = [(b"content-type", b"application/grpc")]
    await send({"type": "http.response.start", "status": 200, "headers": headers, "trailers": True})
    await send({"type": "http.response.body", "body": _FRAME})
    await send({"type": "http.response.trailers", "headers": [(b"grpc-status", b"0")], "more_trailers": False})


@contextmanager
def site(*, is_closed: bool = False, **options: Any) -> Iterator[Site]:
    """A server whose limiter is opened with the first request."""
    opened: list[AsyncRateLimiter] = []

    async def limiter(_: Any) -> AsyncRateLimiter:
        if not opened:
            opened.append(await AsyncRateLimiter.connect("memory://", rules=RULES))
            if is_closed:
                await opened[0].close()
        return opened[0]

    with serve_hypercorn(asgi.RateLimitMiddleware(greeting, limiter, **options)) as served:
        yield served


@contextmanager
def route(*, is_closed: bool = False, **options: Any) -> Iterator[Site]:
    """The same service at a route of Starlette."""
    Response = pytest.importorskip("starlette.responses").Response
    from starlette.applications import Starlette
    from starlette.routing import Route

    from sluicegate.fastapi import RouteLimits

    class Greeting(Response):  # type: ignore[misc,valid-type]
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            await greeting(scope, receive, send)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with AsyncRateLimiter.connect("memory://", rules=[]) as app.state.limiter:
            if is_closed:
                await app.state.limiter.close()
            yield

    async def place(_: Any) -> Any:
        return Greeting()

    limits = RouteLimits(lambda request: request.app.state.limiter, **options)
    limited = limits.endpoint({"rule_id": "calls", "rate": "1/hour"})(place)
    app = Starlette(routes=[Route("/shop.Orders/Place", limited, methods=["POST"])], lifespan=lifespan)
    app.add_middleware(limits.middleware)
    with serve_hypercorn(app) as served:
        yield served


SITES = pytest.mark.parametrize("site", [site, route], ids=["middleware", "route"])


def call(served: Site) -> Any:
    with grpc.insecure_channel(f"127.0.0.1:{served.port}") as channel:
        return channel.unary_unary("/shop.Orders/Place")(b"world", timeout=LONGEST_WAIT)


@SITES
def test_a_call_that_is_denied_has_used_up_its_quota(site: Start) -> None:
    with site() as served:
        assert call(served) == b"hello"
        with pytest.raises(grpc.RpcError) as denied:
            call(served)
    assert denied.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    metadata = dict(denied.value.trailing_metadata())
    assert denied.value.details() == f"Try again in {metadata['retry-after']} seconds."
    assert metadata["ratelimit"].startswith('"calls";r=0;t=')


@SITES
def test_a_call_that_cannot_be_decided_finds_the_service_unavailable(site: Start) -> None:
    with site(is_closed=True, on_error="deny") as served, pytest.raises(grpc.RpcError) as refused:
        call(served)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE


def test_grpc_web_is_answered_in_headers() -> None:
    def app(_: Any, start: Any) -> list[bytes]:
        start("200 OK", [])
        return [b"hello"]

    with RateLimiter("memory://", rules=RULES) as limiter, serve_wsgiref(wsgi.RateLimitMiddleware(app, limiter)) as served:
        web = "POST", "/shop.Orders/Place", ("Content-Type", "application/grpc-web+proto")
        assert served.ask(*web).body == b"hello"
        denied = served.ask(*web)
    assert (denied.status, denied.header("grpc-status"), denied.body) == (200, "8", b"")
    assert denied.header("content-type") == "application/grpc-web+proto"
