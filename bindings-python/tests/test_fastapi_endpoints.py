"""Limits around endpoints of FastAPI, in place of dependencies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import pytest

fastapi = pytest.importorskip("fastapi", reason="needs Python 3.11")

from fastapi.testclient import TestClient  # noqa: E402
from starlette.endpoints import HTTPEndpoint  # noqa: E402
from starlette.requests import HTTPConnection  # noqa: E402

from sluicegate import AsyncRateLimiter  # noqa: E402
from sluicegate.fastapi import RouteLimits  # noqa: E402


if TYPE_CHECKING:
    from decimal import Decimal


@pytest.fixture(params=[False, True], ids=["none", "middleware"])
def site(request: pytest.FixtureRequest) -> Iterator[TestClient]:
    limits = RouteLimits(lambda connection: connection.app.state.limiter, name="site", user_id=lambda request: request.headers.get("x-user"))

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with AsyncRateLimiter.connect("memory://", rules=[]) as app.state.limiter:
            yield

    async def signed_in(request: fastapi.Request) -> str:
        if "x-user" not in request.headers:
            raise fastapi.HTTPException(401)
        return str(request.headers["x-user"])

    app = fastapi.FastAPI(lifespan=lifespan)
    if request.param:
        app.add_middleware(limits.middleware)

    @app.get("/orders/{order}")
    @limits.endpoint("2/minute")
    async def orders(order: int, page: int = 1, user: str = fastapi.Depends(signed_in)) -> dict[str, Any]:
        return {"order": order, "page": page, "user": user}

    @app.get("/own")
    @limits.endpoint("9/minute", shared="outer")
    @limits.endpoint("1/minute", shared="inner")
    async def own(reply: fastapi.Response, connection: HTTPConnection) -> dict[str, Any]:
        reply.headers["x-mine"] = "1"
        return {"left": connection.state.rate_limit.remaining}

    @app.get("/plain")
    @limits.endpoint("1/minute")
    async def plain(request: fastapi.Request) -> fastapi.Response:
        return fastapi.Response(request.url.path)

    @app.get("/annotated")
    @limits.endpoint("9/minute")
    async def annotated(reply: Annotated[fastapi.Response, "whose headers are sent"]) -> None:
        reply.headers["x-mine"] = "1"

    @app.get("/checked", response_model=None)
    @limits.endpoint("9/minute")
    async def checked(reply: fastapi.Response) -> Decimal | None:
        reply.headers["x-mine"] = "1"
        return None

    class Orders(HTTPEndpoint):
        @limits.endpoint("1/minute")
        async def get(self, request: fastapi.Request) -> fastapi.Response:
            return fastapi.Response(request.url.path)

    app.add_route("/class", Orders)
    with TestClient(app) as client:
        yield client


ALICE, BOB = {"x-user": "alice"}, {"x-user": "bob"}


def test_a_limit_comes_after_all_dependencies(site: TestClient) -> None:
    asked = [site.get("/orders/7?page=2", headers=user) for user in (ALICE, ALICE, ALICE, BOB)]
    assert [answer.status_code for answer in asked] == [200, 200, 429, 200]
    assert asked[0].json() == {"order": 7, "page": 2, "user": "alice"}
    assert [answer.headers["ratelimit"].split(";")[1] for answer in asked] == ["r=1", "r=0", "r=0", "r=1"]
    # What is not the client's to ask for is not counted.
    assert [site.get("/orders/7").status_code, site.get("/orders/x", headers=BOB).status_code] == [401, 422]
    assert site.get("/orders/8", headers=BOB).status_code == 200


def test_what_the_endpoint_takes_itself_is_its_own(site: TestClient) -> None:
    first = site.get("/own", headers=ALICE)
    assert (first.status_code, first.json(), first.headers["x-mine"]) == (200, {"left": 0}, "1")
    # Those of the innermost.
    assert first.headers["ratelimit"].startswith('"site:inner:1/minute"')
    assert site.get("/own", headers=ALICE).status_code == 429


@pytest.mark.parametrize("path", ["/annotated", "/checked"])
def test_its_own_response_is_known_whatever_else_is_in_the_signature(site: TestClient, path: str) -> None:
    answer = site.get(path, headers=ALICE)
    assert (answer.status_code, answer.headers["x-mine"], answer.headers["ratelimit"].split(";")[1]) == (200, "1", "r=8")


def test_functions_of_a_limit_at_a_method_get_the_request(site: TestClient) -> None:
    assert [site.get("/class", headers=user).status_code for user in (ALICE, ALICE, BOB)] == [200, 429, 200]


def test_an_endpoint_that_is_handed_no_request_is_named() -> None:
    @RouteLimits(lambda _: None).endpoint("1/minute")  # type: ignore[arg-type, return-value]
    async def endpoint(order: int) -> None: ...

    with pytest.raises(TypeError, match=r"endpoint\(\): none of the arguments \(int\) is a Request or a WebSocket"):
        asyncio.run(endpoint(5))


def test_a_response_that_the_endpoint_makes_has_the_headers_too(site: TestClient) -> None:
    first = site.get("/plain", headers=ALICE)
    assert (first.text, first.headers["ratelimit"].split(";")[1]) == ("/plain", "r=0")


def test_nothing_of_it_is_in_the_description_of_the_site(site: TestClient) -> None:
    operations = site.get("/openapi.json").json()["paths"]
    names = {parameter["name"] for path in operations.values() for parameter in path["get"].get("parameters", [])}
    assert names == {"order", "page"}
