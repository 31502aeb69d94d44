"""Calls of gRPC, which a real client sends to an application behind the middleware, over HTTP/2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from web import LONGEST_WAIT, Site, serve_hypercorn, serve_wsgiref

from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi

grpc = pytest.importorskip("grpc")

RULES = [{"rule_id": "calls", "identifier_type": "global", "rate": "1/hour", "match": {"path_pattern": "/shop.Orders/*"}}]
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


def call(served: Site) -> Any:
    with grpc.insecure_channel(f"127.0.0.1:{served.port}") as channel:
        return channel.unary_unary("/shop.Orders/Place")(b"world", timeout=LONGEST_WAIT)


def test_a_call_that_is_denied_has_used_up_its_quota() -> None:
    with site() as served:
        assert call(served) == b"hello"
        with pytest.raises(grpc.RpcError) as denied:
            call(served)
    assert denied.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    metadata = dict(denied.value.trailing_metadata())
    assert denied.value.details() == f"Try again in {metadata['retry-after']} seconds."
    assert metadata["ratelimit"].startswith('"calls";r=0;t=')


def test_a_call_that_cannot_be_decided_finds_the_service_unavailable() -> None:
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
