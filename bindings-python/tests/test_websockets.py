"""Handshakes of WebSockets behind the middleware for ASGI, on a real server and on one that lets an application say less."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import pytest
from test_starlette_routes import handshake
from web import Site, serve_hypercorn

from sluicegate import AsyncRateLimiter, RateLimiter, asgi

RULES: list[dict[str, Any]] = [
    {"rule_id": "talk", "rate": "1/minute", "identifier_type": "global", "match": {"path_pattern": "/talk", "methods": ["GET"]}},
    {
        "rule_id": "place",
        "algorithm": "concurrency",
        "limit": 1,
        "identifier_type": "global",
        "match": {"path_pattern": "/place"},
    },
]


async def talk(connection: Any) -> None:
    await connection.accept()
    await connection.close()


@pytest.fixture
def start(prefix: str, redis_url: str) -> Iterator[Callable[..., Site]]:
    applications = pytest.importorskip("starlette.applications")
    from starlette.routing import WebSocketRoute

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES, prefix=prefix) as app.state.limiter:
            yield

    with ExitStack() as opened:

        def open_(**options: Any) -> Site:
            routes = [WebSocketRoute(path, talk) for path in ("/talk", "/place", "/other")]
            app = applications.Starlette(routes=routes, lifespan=lifespan)
            app.add_middleware(asgi.RateLimitMiddleware, limiter=lambda scope: scope["app"].state.limiter, **options)
            return opened.enter_context(serve_hypercorn(app))

        yield open_


def test_a_handshake_is_limited_as_a_request(start: Callable[..., Site]) -> None:
    site = start()
    status, accepted = handshake(site, "/talk")
    assert status == 101 and 'ratelimit: "talk";r=0' in accepted
    status, refused = handshake(site, "/talk")
    assert status == 429 and "retry-after: 60" in refused and "application/problem+json" in refused
    assert handshake(site, "/other")[0] == 101


def test_an_answer_of_its_own(start: Callable[..., Site]) -> None:
    from starlette.responses import PlainTextResponse

    site = start(on_denied=lambda scope, decision: PlainTextResponse(f"own {decision.rule}", 418))
    assert handshake(site, "/talk")[0] == 101
    status, refused = handshake(site, "/talk")
    assert status == 418 and "own talk" in refused and "retry-after: 60" in refused


def test_a_place_is_held_while_the_socket_is_open(prefix: str, redis_url: str) -> None:
    sent: list[Any] = []
    left: list[int] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        with RateLimiter(redis_url, rules=RULES, prefix=prefix) as other:
            left.append(other.peek("place", "global").remaining)
        if scope.get("fails"):
            raise ValueError("it fails")

    async def send(message: Any) -> None:
        sent.append(message["type"])

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def main() -> None:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES, prefix=prefix) as limiter:
            limited = asgi.RateLimitMiddleware(app, limiter)
            scope = {"type": "websocket", "path": "/place", "headers": []}
            await limited({**scope}, receive, send)
            with pytest.raises(ValueError, match="it fails"):
                await limited({**scope, "fails": True}, receive, send)
            left.append((await limiter.peek("place", "global")).remaining)

    asyncio.run(main())
    assert left == [0, 0, 1] and sent == ["websocket.accept"] * 2


def test_servers_that_let_an_application_say_no_more() -> None:
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def main() -> None:
        async with AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            limited = asgi.RateLimitMiddleware(app, limiter)
            for _ in range(2):
                await limited({"type": "websocket", "path": "/talk", "headers": []}, receive, send)

    asyncio.run(main())
    assert [message["type"] for message in sent] == ["websocket.accept", "websocket.close"]
    assert sent[1]["code"] == 1008
