"""The middleware for ASGI and WSGI, called with what servers hand over."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import unquote

import pytest
from web import RULES, configured

from sluicegate import AsyncRateLimiter, RateLimiter, asgi, wsgi


async def ask_asgi(rules: Any = RULES, **scope: Any) -> list[Any]:
    """What an ASGI server gets that hands over just this."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def send(message: Any) -> None:
        seen.append(message.get("status", message["type"]))

    async def receive() -> Any:
        raise AssertionError("nothing is to be read")

    async with AsyncRateLimiter.connect("memory://", rules=rules) as limiter:
        middleware = asgi.RateLimitMiddleware(app, limiter, user_id=lambda scope: "alice")
        for _ in range(3):
            await middleware({"headers": [], "method": "GET", **scope}, receive, send)
    return seen


def test_every_line_of_an_api_key_is_charged() -> None:
    """Some applications take the first line, some the last."""

    async def left() -> list[int]:
        async def app(*_: Any) -> None:
            pass

        async with AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            middleware = asgi.RateLimitMiddleware(app, limiter, api_key="X-Key")
            for junk in ("1", "2"):
                lines = [(b"x-device", b"real"), (b"x-device", junk.encode()), (b"x-key", junk.encode()), (b"x-key", b"real")]
                scope = {"type": "http", "method": "GET", "path": "/keys", "headers": lines}
                await middleware(scope, app, app)
            return [(await limiter.peek(rule, "real")).remaining for rule in ("keys", "devices")]

    assert asyncio.run(left()) == [3, 3]


def test_both_spellings_of_a_header_that_a_wsgi_application_reads() -> None:
    """Within ASGI, too, it cannot tell one from the other, and gets their lines joined."""
    from asgiref.wsgi import WsgiToAsgi

    rules = [rule for rule in RULES if rule["rule_id"] in ("keys", "devices")]
    seen: set[str] = set()

    def app(environ: Any, start: Any) -> list[bytes]:
        seen.update((environ["HTTP_X_KEY"], environ["HTTP_X_DEVICE"]))
        start("200 OK", [])
        return []

    async def left() -> list[int]:
        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            pass

        async with AsyncRateLimiter.connect("memory://", rules=rules) as limiter:
            middleware = asgi.RateLimitMiddleware(WsgiToAsgi(app), limiter, api_key="X-Key")
            for lines in ([(b"x_key", b"a"), (b"x-device", b"a")], [(b"x-key", b"b"), (b"x_key", b"c"), (b"x_device", b"b,c")]):
                scope = {"type": "http", "method": "GET", "path": "/keys", "headers": lines, "query_string": b""}
                await middleware({**scope, "http_version": "1.1", "server": ("h", 80)}, receive, send)
            return [(await limiter.peek(rule, key)).remaining for rule in ("keys", "devices") for key in sorted(seen)]

    assert asyncio.run(left()) == [4] * 4
    assert seen == {"a", "b,c"}


def test_rules_may_spell_a_header_with_an_underscore() -> None:
    rules = [{**RULES[3], "identifier_type": "header:X_Device"}]
    environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_X_DEVICE": "one"}
    with RateLimiter("memory://", rules=rules) as limiter:
        app = wsgi.RateLimitMiddleware(lambda environ, start: [], limiter)
        app(environ, lambda *_: None)  # type: ignore[arg-type]
        assert limiter.peek("devices", "one").remaining == 4


class Outer:
    """Middleware as most is written."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, *call: Any) -> None:
        await self.app(*call)


def test_an_application_may_set_its_root_path_itself() -> None:
    fastapi = pytest.importorskip("fastapi", reason="needs Python 3.11")
    app = fastapi.FastAPI(root_path="/x1")

    @app.post("/login")
    async def login() -> None: ...

    async def hidden(*call: Any) -> None:
        await app(*call)

    async def statuses(app: Any, **options: Any) -> list[int]:
        found: list[int] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            found.extend([message["status"]] if "status" in message else [])

        rules = [{**RULES[1], "identifier_type": "global", "limit": 1}]
        async with AsyncRateLimiter.connect("memory://", rules=rules) as limiter:
            middleware = asgi.RateLimitMiddleware(app, limiter, **options)
            for _ in range(2):
                scope = {"type": "http", "method": "POST", "path": "/x1/login", "query_string": b"", "headers": []}
                await middleware({**scope, "http_version": "1.1"}, receive, send)
        return found

    for wrapped in (app, Outer(app), Outer(Outer(app))):
        assert asyncio.run(statuses(wrapped)) == [200, 429]
    # Nobody sees into a function.
    assert asyncio.run(statuses(hidden)) == [200, 200]
    assert asyncio.run(statuses(hidden, root_path="/x1")) == [200, 429]


def test_django_may_set_the_root_path() -> None:
    from django.test import override_settings

    configured()
    with override_settings(FORCE_SCRIPT_NAME="/x1"):
        assert asyncio.run(ask_asgi(type="http", path="/x1/orders/7")) == ["http", "http", 429, "http.response.body"]
    assert asyncio.run(ask_asgi(type="http", path="/x1/orders/7")) == ["http"] * 3


def test_an_application_that_is_mounted_is_limited_by_its_own_paths() -> None:
    for root in ("", "/x1"):
        scope = {"type": "http", "path": f"{root}/orders/7", "raw_path": f"{root}/orders/7".encode(), "root_path": root}
        assert asyncio.run(ask_asgi(**scope)) == ["http", "http", 429, "http.response.body"]


def test_the_root_path_is_looked_for_anywhere() -> None:
    """As Litestar does: `/x/x1/orders/7` behind `/x1` is routed to `/orders/7`."""
    for path in ("/x1/orders/7", "/x/x1/orders/7", "/x/x1/x/x1/orders/7"):
        behind = path.split("/x1", 1)[-1]
        limited = asyncio.run(ask_asgi(type="http", path=path, root_path="/x1"))[2:] == [429, "http.response.body"]
        assert limited == (behind == "/orders/7"), path


def test_a_target_that_is_a_link_is_decoded_first() -> None:
    """As Quart does: a target that does not begin with a slash is parsed once it is decoded."""
    rules = [{**RULES[1], "identifier_type": "global", "limit": 2}]
    for target in ("foo:/login%23y", "foo://h/login%3fx", "foo:/log%0ain", "http://h/login%23"):
        scope = {"type": "http", "path": unquote(target), "raw_path": target.encode()}
        assert asyncio.run(ask_asgi(rules, **scope)) == ["http", "http", 429, "http.response.body"], target
    for harmless in ("http://[", "", "*"):
        assert asyncio.run(ask_asgi(type="http", path=harmless))[:2] == ["http", "http"], harmless


def test_clients_that_choose_script_name() -> None:
    """As gunicorn lets them: the application routes by what is left of the path."""
    statuses: list[str] = []
    with RateLimiter("memory://", rules=RULES) as limiter:
        app = wsgi.RateLimitMiddleware(lambda environ, start: start("200 OK", []) or [], limiter, user_id=lambda _: "a")
        for number in range(3):
            paths = {"SCRIPT_NAME": f"/x{number}", "PATH_INFO": "/orders/7", "RAW_URI": f"/x{number}/orders/7?a"}
            app({"REQUEST_METHOD": "GET", **paths}, lambda status, *_: statuses.append(status))  # type: ignore[arg-type]
    assert [status[:3] for status in statuses] == ["200", "200", "429"]


def test_other_kinds_of_connections_pass() -> None:
    assert asyncio.run(ask_asgi(type="lifespan")) == ["lifespan"] * 3


@pytest.mark.parametrize("client", [None, ("", 0), ("testclient", 50000), ("/run/socket", None)])
def test_servers_that_tell_no_target_and_no_address(client: Any) -> None:
    assert asyncio.run(ask_asgi(type="http", path="/login", client=client)) == ["http"] * 3
    assert asyncio.run(ask_asgi(type="http", path="", raw_path=None, client=client)) == ["http"] * 3
    denied = [429, "http.response.body"]
    assert asyncio.run(ask_asgi(type="http", path="/orders/7%", client=client)) == ["http", "http", *denied]
    # A question mark that was decoded does not end the path.
    assert asyncio.run(ask_asgi(type="http", path="/?/../orders/7")) == ["http", "http", *denied]
