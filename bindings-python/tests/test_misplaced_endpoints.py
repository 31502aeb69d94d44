"""A limit above `@app.get` of FastAPI, which registers the endpoint alone: it must not be silently unlimited."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

fastapi = pytest.importorskip("fastapi", reason="needs Python 3.11")

from fastapi.testclient import TestClient  # noqa: E402
from starlette.routing import Mount, Route  # noqa: E402

from sluicegate import AsyncRateLimiter  # noqa: E402
from sluicegate.fastapi import RouteLimits  # noqa: E402

_AT_ONCE = "write its decorator below that of the route"
_ADVICE = f"{_AT_ONCE}, unless this route is to be unlimited"


@asynccontextmanager
async def lifespan(app: Any) -> AsyncIterator[None]:
    async with AsyncRateLimiter.connect("memory://", rules=[]) as app.state.limiter:
        yield


def application() -> tuple[Any, RouteLimits]:
    app = fastapi.FastAPI(lifespan=lifespan)
    return app, RouteLimits(lambda _: app.state.limiter, key=lambda _: "all")


def said_of(app: Any, caplog: pytest.LogCaptureFixture, *paths: str) -> list[str]:
    """What is logged when these are asked for, each twice."""
    with TestClient(app) as client:
        for path in paths:
            assert [client.get(path).status_code for _ in range(2)] == [200, 200], path
    return said(caplog)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "sluicegate"]


def lacking(template: str, name: str, advice: str = _ADVICE) -> str:
    return f"route {template}: a limit of {__name__}.{name} is not in force ({advice})"


async def answer(_: Any = None) -> Any:
    return fastapi.Response()


async def other(_: Any = None) -> Any:
    return fastapi.Response()


@pytest.mark.parametrize("by", ["middleware", "a limit"])
def test_a_limit_above_the_route_is_named_once(by: str, caplog: pytest.LogCaptureFixture) -> None:
    app, limits = application()
    endpoint = limits.endpoint("1/minute")
    if by == "middleware":
        app.add_middleware(limits.middleware)

    @app.get("/depends", dependencies=[fastapi.Depends(limits("9/minute"))])
    async def depends() -> None: ...

    kept = [endpoint(app.get("/orders/{order}")(answer))]
    router = fastapi.APIRouter(prefix="/items")
    limited = limits.endpoint("9/minute")(other)
    kept.append(endpoint(router.get("/{item}")(limited)))
    outer = fastapi.APIRouter()
    outer.include_router(router, prefix="/outer")
    app.include_router(outer, prefix="/v1")
    paths = ["/orders/7"] if by == "middleware" else ["/depends", "/orders/7"]
    assert said_of(app, caplog, *paths) == [lacking("/orders/{order}", "answer"), lacking("/v1/outer/items/{item}", "other")]
    assert len(kept) == 2


def test_a_limit_above_the_route_is_named_at_once(caplog: pytest.LogCaptureFixture) -> None:
    router, limits = fastapi.APIRouter(prefix="/shop"), application()[1]

    @limits.endpoint("1/minute")
    @router.get("/orders/{order}")
    async def orders() -> Any: ...

    @router.get("/items")
    @limits.endpoint("1/minute")
    async def items() -> Any: ...

    name = f"{test_a_limit_above_the_route_is_named_at_once.__name__}.<locals>.orders"
    assert said(caplog) == [lacking("/shop/orders/{order}", name, _AT_ONCE)]


def test_each_route_of_a_function_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    app, limits = application()
    app.add_middleware(limits.middleware)
    router, unseen = fastapi.APIRouter(), [fastapi.APIRouter()]

    @limits.endpoint("9/minute")
    @limits.endpoint("1/minute")
    @router.get("/orders")
    @router.get("/old/orders")
    @unseen[0].get("/other")
    async def orders() -> Any: ...

    name = f"{test_each_route_of_a_function_is_named_once.__name__}.<locals>.orders"
    at_once = [lacking("/old/orders", name, _AT_ONCE), lacking("/orders", name, _AT_ONCE)]
    assert said(caplog) == at_once
    app.include_router(router, prefix="/v1")
    app.include_router(unseen[0])
    assert said_of(app, caplog, "/v1/orders") == [*at_once, lacking("/other", name)]


class Called:
    async def __call__(self) -> Any: ...


def test_a_limit_above_the_route_of_an_object(caplog: pytest.LogCaptureFixture) -> None:
    router, limits = fastapi.APIRouter(), application()[1]
    limits.endpoint("1/minute")(router.get("/orders")(Called()))
    assert said(caplog) == [lacking("/orders", Called.__name__, _AT_ONCE)]


def test_one_of_a_mounted_application(caplog: pytest.LogCaptureFixture) -> None:
    app, limits = application()
    inner = fastapi.FastAPI()
    kept = [limits.endpoint("1/minute")(inner.get("/items")(answer)), limits.endpoint("1/minute")(other)]
    app.mount("/inner", inner)
    app.router.routes.append(Mount("/shops/{shop}", routes=[Route("/orders", other)]))
    app.add_middleware(limits.middleware)
    got = said_of(app, caplog, "/inner/items", "/shops/1/orders")
    assert got == [lacking("/inner/items", "answer"), lacking("/shops/{shop}/orders", "other")]
    assert len(kept) == 2


def added(app: Any, limits: RouteLimits, endpoint: Any) -> None:
    app.get("/added/internal")(endpoint)
    app.get("/added")(limits.endpoint("9/minute")(endpoint))


def test_limits_in_their_place_are_not_named(caplog: pytest.LogCaptureFixture) -> None:
    app, limits = application()
    app.add_middleware(limits.middleware)
    app.get("/internal")(answer)
    app.get("/public")(limits.endpoint("9/minute")(limits.endpoint("8/minute")(answer)))
    added(app, limits, other)
    assert said_of(app, caplog, "/internal", "/public", "/added") == []
