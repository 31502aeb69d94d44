"""Functions of the application that are coroutines, in frameworks whose views may be either; and those that nobody awaits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from web import Site, configured, serve_uvicorn, serve_werkzeug, serve_wsgiref

from sluicegate import RateLimiter, wsgi

RULES = [{"rule_id": "all", "rate": "1/minute", "identifier_type": "global", "match": {}}]
MISTAKES = {
    "nothing": "key returned None (return a text that is not empty, a number other than 0, or a list of these; `skip` exempts requests)",
    "raises": "key raised ValueError",
}


async def key_of(user: str | None) -> Any:
    await asyncio.sleep(0)
    if user == "raises":
        raise ValueError("secret")
    return None if user == "nothing" else user


@contextmanager
def flask() -> Iterator[Site]:
    from flask import Flask, request

    from sluicegate.flask import RouteLimits

    async def key() -> Any:
        return await key_of(request.headers.get("x-user"))

    async def skip() -> bool:
        return "x-probe" in request.headers

    async def own(_: Any) -> Any:
        return "own", 418

    app = Flask("site")
    with RateLimiter("memory://", rules=[]) as limiter:
        app.route("/")(RouteLimits(limiter)("1/minute", key=key, skip=skip, on_denied=own)(lambda: "answer"))
        with serve_werkzeug(app) as site:
            yield site


class OfDjango:
    """What sites of Django state."""

    @staticmethod
    async def key(request: Any) -> Any:
        return await key_of(request.headers.get("x-user"))

    @staticmethod
    async def skip(request: Any) -> bool:
        return "x-probe" in request.headers

    @staticmethod
    async def own(request: Any, decision: Any) -> Any:
        from django.http import HttpResponse

        return HttpResponse("own", status=418)


@contextmanager
def django(serve: Callable[[], Any], *, is_coroutine: bool) -> Iterator[Site]:
    configured()
    from django.http import HttpResponse
    from django.test import override_settings
    from django.urls import path

    from sluicegate.django import RouteLimits

    async def coroutine(_: Any) -> Any:
        return HttpResponse("answer")

    with RateLimiter("memory://", rules=[]) as limiter:
        limits = RouteLimits(limiter)("1/minute", key=OfDjango.key, skip=OfDjango.skip, on_denied=OfDjango.own)
        view = limits(coroutine if is_coroutine else lambda _: HttpResponse("answer"))
        with override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": [path("", view)]})), serve() as site:
            yield site


def of_wsgi() -> Any:
    from django.core.wsgi import get_wsgi_application

    return serve_wsgiref(get_wsgi_application())


def of_asgi() -> Any:
    from django.core.asgi import get_asgi_application

    return serve_uvicorn(get_asgi_application())


SITES: dict[str, Callable[[], Any]] = {
    "Flask": flask,
    "Django": lambda: django(of_wsgi, is_coroutine=False),
    "Django, coroutine": lambda: django(of_asgi, is_coroutine=True),
    "Django, ASGI": lambda: django(of_asgi, is_coroutine=False),
}


@pytest.mark.parametrize("opened", SITES.values(), ids=SITES)
def test_coroutines_are_awaited(opened: Callable[[], Any], caplog: pytest.LogCaptureFixture) -> None:
    with opened() as site:
        users = ["alice", "alice", "bob"]
        assert [site.ask("GET", "/", ("x-user", user)).status for user in users] == [200, 418, 200]
        assert site.ask("GET", "/", ("x-user", "alice"), ("x-probe", "1")).status == 200
        for user, said in MISTAKES.items():
            assert site.ask("GET", "/", ("x-user", user)).status == 500
            assert [record.message for record in caplog.records if record.name == "sluicegate"] == [f"route /: {said}"]
            caplog.clear()


def test_the_middleware_of_django_awaits_them() -> None:
    configured()
    from django.test import override_settings

    options = {"key": OfDjango.key, "skip": OfDjango.skip, "on_denied": OfDjango.own, "rules": ["named"]}
    with RateLimiter("memory://", rules=[{"rule_id": "named", "rate": "1/minute"}]) as limiter:
        stated = {"MIDDLEWARE": ["sluicegate.django.SluicegateMiddleware"], "SLUICEGATE": {"limiter": limiter, **options}}
        with override_settings(**stated), of_wsgi() as site:
            assert [site.ask("GET", "/", ("x-user", user)).status for user in ("alice", "alice", "bob")] == [200, 418, 200]
            assert site.ask("GET", "/", ("x-user", "alice"), ("x-probe", "1")).status == 200


def test_what_nobody_can_await_is_refused_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    from sluicegate.flask import RouteLimits

    with RateLimiter("memory://", rules=RULES) as limiter:
        with pytest.raises(TypeError, match=r"^key: a coroutine cannot be awaited here \(use a function that is none"):
            wsgi.RateLimitMiddleware(lambda *_: [], limiter, key=OfDjango.key)
        with pytest.raises(TypeError, match="count must be a function that is no coroutine"):
            RouteLimits(limiter)("1/minute", count=OfDjango.key)
        # Only its result shows that this one is a coroutine.
        limited = wsgi.RateLimitMiddleware(lambda *_: [], limiter, skip=lambda environ: key_of("alice"))
        with serve_wsgiref(limited) as site:
            assert site.ask("GET", "/").status == 500
        assert caplog.messages == [
            "middleware: skip: a coroutine cannot be awaited here (use a function that is none, and a RateLimiter)"
        ]


def test_an_answer_that_count_cannot_judge_is_charged(caplog: pytest.LogCaptureFixture) -> None:
    from flask import Flask

    from sluicegate.flask import RouteLimits

    def judge(_: Any) -> bool:
        raise ValueError("secret")

    app = Flask("site")
    with RateLimiter("memory://", rules=[]) as limiter:
        app.route("/")(RouteLimits(limiter)("1/minute", count=judge)(lambda: "answer"))
        with serve_werkzeug(app) as site:
            assert [site.ask("GET", "/").status for _ in range(2)] == [200, 429]
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    name = "test_an_answer_that_count_cannot_judge_is_charged.<locals>.judge"
    assert errors == [f"count ({name}) raised ValueError: the request is charged"]


def test_a_user_may_have_several_parts() -> None:
    from flask import Flask, request

    from sluicegate.flask import RouteLimits

    app = Flask("site")
    with RateLimiter("memory://", rules=[]) as limiter:
        limits = RouteLimits(limiter, user_id=lambda: request.headers["x-user"].split("/"))
        app.route("/")(limits("1/minute")(lambda: "answer"))
        with serve_werkzeug(app) as site:
            users = ["shop/alice", "shop/alice", "shop/bob"]
            assert [site.ask("GET", "/", ("x-user", user)).status for user in users] == [200, 429, 200]
