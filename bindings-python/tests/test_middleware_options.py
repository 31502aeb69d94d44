"""What the middleware for ASGI and WSGI is made with, and what it refuses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from web import RULES

from sluicegate import AsyncRateLimiter, InvalidArgumentError, RateLimiter, WrongTypeError, asgi, wsgi


def unused_limiter(middleware: Any) -> Any:
    """One of the right kind; that for asyncio is asked for with the first request."""
    limiter = RateLimiter("memory://", rules=RULES)
    return limiter if middleware is wsgi.RateLimitMiddleware else lambda _: limiter


@pytest.mark.parametrize("middleware", [asgi.RateLimitMiddleware, wsgi.RateLimitMiddleware])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"api_key": "a key"}, "api_key must be a function, or the name of an HTTP header"),
        ({"trusted_proxies": -1}, "trusted_proxies -1: must be 0 or more"),
        ({"cost": 0}, "cost 0: must be at least 1"),
        ({"rules": []}, "rules is empty: leave it out"),
        ({"on_error": "ignore"}, 'on_error must be "admit", "deny" or "raise"'),
        ({"headers": "draft"}, 'style: it has to be "ietf", "ietf-draft-6", "ietf-draft-7", .*'),
        ({"trusted_proxies": ["10.0.0.0/8", "10.0.0.1/x"]}, 'trusted_proxies: "10.0.0.1/x" is no network such as'),
        ({"forwarded_header": "via"}, 'forwarded_header: it has to be "x-forwarded-for" or "forwarded"'),
    ],
)
def test_options_that_make_no_sense(middleware: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        middleware(None, unused_limiter(middleware), **options)


@pytest.mark.parametrize("middleware", [asgi.RateLimitMiddleware, wsgi.RateLimitMiddleware])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"limiter": None}, "limiter must be an? .*RateLimiter.*, not NoneType"),
        ({"limiter": 5.5}, "limiter must be an? .*RateLimiter.*, not float"),
        ({"trusted_proxies": "1"}, "trusted_proxies must be an int or a list of networks, not str"),
        ({"trusted_proxies": 1.5}, "trusted_proxies must be an int or a list of networks, not float"),
        ({"ignore_case": 1}, "ignore_case must be a bool, not int"),
        ({"headers": 5}, "headers must be a str, not int"),
        ({"user_id": 5}, "user_id must be a function, not int"),
        ({"api_key": 5}, "api_key must be a function or the name of a header, not int"),
        ({"trusted_proxies": True}, "trusted_proxies must be an int, not bool"),
        ({"on_error": None}, "on_error must be a str, not NoneType"),
    ],
)
def test_wrong_types(middleware: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{message}$"):
        middleware(None, **{"limiter": unused_limiter(middleware), **arguments})


@pytest.mark.parametrize(("user", "remaining"), [(7, 1), ("7", 1), (7.5, None)])
def test_a_user_may_be_a_number(user: Any, remaining: int | None) -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:
        limited = wsgi.RateLimitMiddleware(lambda *_: [], limiter, user_id=lambda _: user)
        environ: dict[str, Any] = {"REQUEST_METHOD": "GET", "PATH_INFO": "/orders/7", "HTTP_X_CLIENT_TYPE": "mobile"}
        if remaining is None:
            # No mistake of the client, whose request would be answered with 400.
            with pytest.raises(WrongTypeError, match="^user_id must be a str or an int, not float$"):
                limited(environ, lambda *_: lambda _: None)
        else:
            limited(environ, lambda *_: lambda _: None)
            assert limiter.peek("orders", "7").remaining == remaining


def test_a_blocking_application_needs_a_blocking_limiter() -> None:
    async def main() -> None:
        async with AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            with pytest.raises(TypeError, match="^limiter must be a RateLimiter, not AsyncRateLimiter$"):
                wsgi.RateLimitMiddleware(None, limiter)  # type: ignore[arg-type]
        connecting = AsyncRateLimiter.connect("memory://", rules=RULES)
        with pytest.raises(TypeError, match="^limiter must be a RateLimiter, not Connecting$"):
            wsgi.RateLimitMiddleware(None, connecting)  # type: ignore[arg-type]
        connecting.close()

    asyncio.run(main())


def test_a_limiter_may_be_found_by_a_coroutine() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    async def main() -> list[int]:
        async def found(_: Any) -> AsyncRateLimiter:
            return limiter

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        statuses: list[int] = []
        scope = {"type": "http", "method": "GET", "path": "/orders/7", "raw_path": b"/orders/7", "headers": []}
        async with AsyncRateLimiter.connect("memory://", rules=[{**RULES[0], "limit": 1}]) as limiter:
            limited = asgi.RateLimitMiddleware(app, found, user_id=lambda _: "alice")
            for _ in range(2):
                await limited({**scope}, receive, send)
        return statuses

    assert asyncio.run(main()) == [200, 429]
