"""CORS middleware around the limiter: denials keep its headers, and preflights are not counted."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest
from web import serve_uvicorn

from sluicegate import AsyncRateLimiter
from sluicegate.asgi import RateLimitMiddleware

ORIGIN = "https://shop.example"
RULES = [{"rule_id": "r", "rate": "2/hour", "identifier_type": "global", "match": {"path_pattern": "/orders"}}]


def test_denials_have_the_headers_and_preflights_are_left_alone(redis_url: str, prefix: str) -> None:
    fastapi = pytest.importorskip("fastapi")
    from fastapi.middleware.cors import CORSMiddleware

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        async with AsyncRateLimiter.connect(redis_url, rules=RULES, prefix=prefix) as app.state.limiter:
            yield

    app = fastapi.FastAPI(lifespan=lifespan)
    app.add_middleware(RateLimitMiddleware, limiter=lambda scope: scope["app"].state.limiter)
    app.add_middleware(CORSMiddleware, allow_origins=[ORIGIN], allow_methods=["*"], expose_headers=["RateLimit"])
    app.get("/orders")(lambda: "fine")
    origin = ("Origin", ORIGIN)
    with serve_uvicorn(app) as site:
        for _ in range(5):
            assert site.ask("OPTIONS", "/orders", origin, ("Access-Control-Request-Method", "GET")).status == 200
        answers = [site.ask("GET", "/orders", origin) for _ in range(3)]
    assert [answer.status for answer in answers] == [200, 200, 429]
    for answer in answers:
        headers = {name.lower(): value for name, value in answer.headers}
        assert headers["access-control-allow-origin"] == ORIGIN
        assert headers["access-control-expose-headers"] == "RateLimit"
