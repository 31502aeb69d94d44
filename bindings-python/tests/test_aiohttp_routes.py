"""Limits at what aiohttp has besides functions: classes of views, sub-applications and WebSockets, by real HTTP."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from sluicegate import AsyncRateLimiter
from sluicegate.aiohttp import RATE_LIMIT, RouteLimits


async def answer(_: Any) -> web.Response:
    return web.Response(text="answer")


async def talk(request: web.Request) -> web.WebSocketResponse:
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    await socket.close()
    return socket


def site(limits: RouteLimits) -> web.Application:
    class Report(web.View):
        @limits("1/hour", per_method=True)
        async def get(self) -> web.Response:
            return web.json_response(self.request[RATE_LIMIT].remaining)

        @limits("2/hour", per_method=True)
        async def post(self) -> web.Response:
            return web.json_response(self.request[RATE_LIMIT].remaining)

    app = web.Application()
    app.router.add_view("/report", Report)
    app.router.add_get("/talk", limits("1/hour")(talk))
    for version in ("/v1", "/v2"):
        inner = web.Application()
        inner.router.add_get("/items/{id}", limits("1/hour")(answer))
        app.add_subapp(version, inner)
    return app


async def statuses() -> list[tuple[str, list[int]]]:
    async with AsyncRateLimiter.connect("memory://", rules=[]) as limiter:
        runner = web.AppRunner(site(RouteLimits(limiter)), access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        try:
            async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as client:
                paths = ["GET /report", "POST /report", "GET /v1/items/1", "GET /v2/items/1", "GET /v1/items/2"]
                got = [(path, [(await client.request(*path.split())).status for _ in range(2)]) for path in paths]
                return [*got, ("GET /talk", [await handshake(client) for _ in range(2)])]
        finally:
            await runner.cleanup()


async def handshake(client: aiohttp.ClientSession) -> int:
    try:
        async with client.ws_connect("/talk"):
            return 101
    except aiohttp.WSServerHandshakeError as refused:
        return refused.status


def test_views_sub_applications_and_websockets() -> None:
    assert asyncio.run(statuses()) == [
        ("GET /report", [200, 429]),
        ("POST /report", [200, 200]),
        ("GET /v1/items/1", [200, 429]),
        ("GET /v2/items/1", [200, 429]),
        ("GET /v1/items/2", [429, 429]),
        ("GET /talk", [101, 429]),
    ]


def routes_of(limits: RouteLimits) -> web.RouteTableDef:
    # Where their definition does not see the table.
    site = SimpleNamespace(routes=web.RouteTableDef())

    @limits("1/hour")
    @site.routes.get("/orders/{id}")
    async def orders(_: web.Request) -> web.Response:
        return web.Response(text="an order")

    @limits("1/hour")
    @site.routes.get("/both")
    @limits("9/hour")
    async def both(_: web.Request) -> web.Response:
        return web.Response(text="limited, but not enough")

    @site.routes.get("/items")
    @limits("9/hour")
    async def items(_: web.Request) -> web.Response:
        return web.Response(text="items")

    routes: web.RouteTableDef = site.routes
    return routes


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "sluicegate"]


def test_a_limit_above_the_route_is_named_at_once(caplog: pytest.LogCaptureFixture) -> None:
    limits, routes = RouteLimits(lambda request: request.app["limiter"]), web.RouteTableDef()

    @limits("1/hour")
    @routes.get("/orders/{id}")
    @routes.get("/old/orders/{id}")
    async def orders(_: web.Request) -> web.Response:
        return web.Response(text="an order")

    function = f"{__name__}.{test_a_limit_above_the_route_is_named_at_once.__name__}.<locals>.orders"
    advice = "write its decorator below that of the route"
    assert said(caplog) == [
        f"route {template}: a limit of {function} is not in force ({advice})" for template in ("/old/orders/{id}", "/orders/{id}")
    ]


def test_a_handler_may_be_limited_at_a_further_route(caplog: pytest.LogCaptureFixture) -> None:
    limits, routes = RouteLimits(lambda request: request.app["limiter"]), web.RouteTableDef()

    @routes.get("/internal")
    async def orders(_: web.Request) -> web.Response:
        return web.Response(text="an order")

    routes.get("/orders")(limits("1/hour")(orders))

    @routes.get("/items")
    @limits("1/hour")
    async def items(_: web.Request) -> web.Response:
        return web.Response(text="items")

    assert len(routes) == 3 and said(caplog) == []


def test_a_limit_above_the_route_is_named(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with AsyncRateLimiter.connect("memory://", rules=[]) as limiter:
            app, inner = web.Application(), web.Application()
            inner.add_routes(routes_of(RouteLimits(limiter)))
            app.add_subapp("/v1", inner)
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            try:
                async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as client:
                    assert [(await client.get("/v1/items")).status for _ in range(2)] == [200, 200]
            finally:
                await runner.cleanup()

    asyncio.run(main())
    function = f"{__name__}.{routes_of.__name__}.<locals>"
    advice = "write its decorator below that of the route, unless this route is to be unlimited"
    assert said(caplog) == [
        f"route /v1/{template}: a limit of {function}.{name} is not in force ({advice})"
        for template, name in (("both", "both"), ("orders/{id}", "orders"))
    ]
