"""Throttle classes of Django REST framework, and the mixin for classes of views, by real HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from web import Site, configured, serve_wsgiref

from sluicegate import InvalidArgumentError, InvalidRuleError, ManualClock, RateLimiter, UnknownRuleError

RULES = [{"rule_id": "plan", "algorithm": "fixed_window", "limit": 2, "window_size_seconds": 60}]
ALICE, BOB = ("X-User", "alice"), ("X-User", "bob")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_700_000_040_000_000)


@pytest.fixture
def serve(prefix: str, clock: ManualClock, redis_url: str) -> Iterator[Callable[[Callable[[RateLimiter], Any]], Site]]:
    """Serves the views that a function makes of a limiter, by their paths."""
    configured()
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings
    from django.urls import path

    with ExitStack() as opened:

        def start(make: Callable[[RateLimiter], dict[str, Any]]) -> Site:
            limiter = opened.enter_context(RateLimiter(redis_url, rules=RULES, prefix=prefix, clock=clock))
            urls = [path(place, view) for place, view in make(limiter).items()]
            opened.enter_context(override_settings(ROOT_URLCONF=type("urls", (), {"urlpatterns": urls})))
            return opened.enter_context(serve_wsgiref(get_wsgi_application()))

        yield start


def user_named(request: Any) -> Any:
    name = request.headers.get("X-User")
    return name and SimpleNamespace(pk=name, is_authenticated=True)


def api_view(throttles: list[Any], find_user: Callable[[Any], Any] = user_named) -> Any:
    """A view that knows users, by a header unless it is said otherwise."""
    from rest_framework.authentication import BaseAuthentication
    from rest_framework.renderers import JSONRenderer
    from rest_framework.response import Response
    from rest_framework.views import APIView

    class ByHeader(BaseAuthentication):  # type: ignore[misc]
        def authenticate(self, request: Any) -> Any:
            user = find_user(request)
            return user and (user, None)

    class View(APIView):  # type: ignore[misc]
        authentication_classes = [ByHeader]
        throttle_classes = throttles
        renderer_classes = [JSONRenderer]

        def get(self, request: Any) -> Any:
            return Response({"left": request.rate_limit.remaining if hasattr(request, "rate_limit") else None})

        def perform_authentication(self, request: Any) -> None:
            # A user who is nobody: without the models of Django's own.
            request.user = request.user or SimpleNamespace(pk=None, is_authenticated=False)

    return View.as_view()


def api(**options: Any) -> Any:
    from django.test import override_settings

    return override_settings(REST_FRAMEWORK={"UNAUTHENTICATED_USER": None, **options})


def statuses(site: Site, path: str, times: int, *headers: tuple[str, str]) -> list[int]:
    return [site.ask("GET", path, *headers).status for _ in range(times)]


def test_throttles_deny_as_any_throttle_does(serve: Any, clock: ManualClock) -> None:
    with api():
        from sluicegate.rest_framework import RouteLimits

        def views(limiter: RateLimiter) -> dict[str, Any]:
            limits = RouteLimits(limiter, name="shop")
            probed = limits("1/minute", skip=lambda request: request.headers.get("X-Probe") == "1")
            return {
                "orders": api_view([limits("2/minute", "100/hour")]),
                "plan": api_view([limits("plan", key=lambda request: request.headers["X-Team"])]),
                "health": api_view([probed]),
                "both": api_view([limits("5/minute"), limits("1/hour")]),
            }

        site = serve(views)
        first = site.ask("GET", "/orders", ALICE)
        assert (first.status, first.json()) == (200, {"left": 1})
        assert statuses(site, "/orders", 2, ALICE) == [200, 429]
        denied = site.ask("GET", "/orders", ALICE)
        assert denied.header("Retry-After") == "30"
        assert denied.json() == {"detail": "Request was throttled. Expected available in 30 seconds."}
        assert statuses(site, "/orders", 1, BOB) == [200]
        # Nobody has signed in: counted by the address.
        assert statuses(site, "/orders", 3) == [200, 200, 429]
        clock.advance(30)
        assert statuses(site, "/orders", 1, ALICE) == [200]
        assert statuses(site, "/plan", 3, ("X-Team", "red")) == [200, 200, 429]
        assert statuses(site, "/health", 2, ("X-Probe", "1")) == [200, 200]
        assert statuses(site, "/both", 2, ALICE) == [200, 429]


def test_many_clients_are_admitted_exactly(serve: Any) -> None:
    with api():
        from sluicegate.rest_framework import RouteLimits

        site = serve(lambda limiter: {"bulk": api_view([RouteLimits(limiter, name="shop")("10/day")])})
        with ThreadPoolExecutor(50) as pool:
            got = list(pool.map(lambda _: site.ask("GET", "/bulk", ALICE).status, range(200)))
    assert sorted(got) == [200] * 10 + [429] * 190


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": lambda request: None}, "key returned None"),
        ({"key": lambda request: 0}, "key returned 0"),
        ({"key": lambda request: ""}, "key returned ''"),
        ({"key": lambda request: int(request.headers["X-Secret"])}, "key raised ValueError"),
        ({"user_id": lambda request: ""}, "user_id returned ''"),
        ({"user_id": lambda request: 0}, "user_id returned 0"),
        ({"cost": lambda request: 0}, "cost returned 0"),
        ({"limit": lambda request: "plan"}, "limit returned a str"),
        ({"skip": lambda request: 1 // 0}, "skip raised ZeroDivisionError"),
    ],
)
def test_a_mistake_of_the_application_is_named(
    serve: Any, caplog: pytest.LogCaptureFixture, options: dict[str, Any], said: str
) -> None:
    with api():
        from sluicegate.rest_framework import RouteLimits

        site = serve(lambda limiter: {"orders": api_view([RouteLimits(limiter)("1/minute", **options)])})
        assert statuses(site, "/orders", 2, ("X-Secret", "secret-key")) == [500, 500]
    (first, _) = [record for record in caplog.records if record.name == "sluicegate"]
    assert first.message.startswith(f"route /orders: {said}")
    assert "secret-key" not in caplog.text


def test_a_signed_in_user_who_is_false_is_named(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    with api():
        from sluicegate.rest_framework import RouteLimits

        nobody = SimpleNamespace(pk="", is_authenticated=True)
        view = lambda limiter: api_view([RouteLimits(limiter)("1/minute")], lambda request: nobody)  # noqa: E731
        assert statuses(serve(lambda limiter: {"orders": view(limiter)}), "/orders", 2) == [500, 500]
    assert "route /orders: user_id returned ''" in caplog.text


def test_a_rule_that_the_limiter_lacks_is_named(serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    with api():
        from sluicegate.rest_framework import RouteLimits

        site = serve(lambda limiter: {"orders": api_view([RouteLimits(lambda request: limiter)("plam")])})
        assert statuses(site, "/orders", 2) == [500, 500]
    assert 'route /orders: no rule is called "plam"' in caplog.text


@pytest.mark.parametrize(
    ("stated", "options", "kind", "message"),
    [
        (("5/minut",), {}, InvalidRuleError, 'did you mean "minute"'),
        (("plam",), {}, UnknownRuleError, 'no rule is called "plam"'),
        ((), {}, InvalidArgumentError, "a limit is missing"),
        ((5,), {}, TypeError, "a limit must be a rate"),
        (("plan",), {"key": "user"}, TypeError, "key must be a function, not str"),
        (("plan",), {"cost": 0}, InvalidArgumentError, "cost 0: must be at least 1"),
        (("plan",), {"shared": ""}, InvalidArgumentError, "shared is empty"),
        (("plan",), {"no_address": "admit"}, InvalidArgumentError, "no_address must be one of"),
        (("plan",), {"keys": None}, TypeError, "a route has no option keys"),
    ],
)
def test_what_can_be_known_at_the_start_is_refused_then(stated: Any, options: Any, kind: Any, message: str) -> None:
    with RateLimiter("memory://", rules=RULES) as limiter, api():
        from sluicegate.rest_framework import RouteLimits

        with pytest.raises(kind, match=message):
            RouteLimits(limiter)(*stated, **options)
        with pytest.raises(TypeError, match="limiter must be a RateLimiter"):
            RouteLimits(5)


def test_what_a_throttle_cannot_see_is_refused() -> None:
    with RateLimiter("memory://", rules=RULES) as limiter, api():
        from sluicegate.rest_framework import RouteLimits

        for options in ({"count": "failures"}, {"on_denied": lambda *_: None}):
            with pytest.raises(TypeError, match="a throttle does not see the answer"):
                RouteLimits(limiter, **options)
            with pytest.raises(TypeError, match="a throttle does not see the answer"):
                RouteLimits(limiter)("plan", **options)


def test_classes_of_views(serve: Any) -> None:
    configured()
    from django.http import JsonResponse
    from django.views import View

    from sluicegate.django import RateLimitMixin, RouteLimits

    def views(limiter: RateLimiter) -> dict[str, Any]:
        class Report(RateLimitMixin, View):  # type: ignore[misc]
            rate_limit = RouteLimits(limiter, name="shop")("1/minute")

            def get(self, request: Any) -> Any:
                return JsonResponse({"left": request.rate_limit.remaining})

        class Later(Report):
            async def get(self, request: Any) -> Any:
                return JsonResponse({"left": request.rate_limit.remaining})

        return {"report": Report.as_view(), "later": Later.as_view()}

    site = serve(views)
    for path in ("/report", "/later"):
        assert statuses(site, path, 2) == [200, 429]
