"""The class for Django's setting MIDDLEWARE, by real HTTP."""

from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.test import override_settings
from django.urls import path as route
from web import LONGEST_WAIT, Site, configured, serve_uvicorn, serve_wsgiref

from sluicegate import RateLimiter, UnknownRuleError

RULES: list[dict[str, Any]] = [
    {"rule_id": "orders", "rate": "2/hour", "identifier_type": "user_id", "match": {"path_pattern": "/orders/*"}},
    {"rule_id": "login", "rate": "1/hour", "identifier_type": "ip_address", "match": {"path_pattern": "/login"}},
    {"rule_id": "keys", "rate": "1/hour", "identifier_type": "api_key", "match": {"path_pattern": "/keys"}},
    {
        "rule_id": "place",
        "algorithm": "concurrency",
        "limit": 1,
        "identifier_type": "global",
        "match": {"path_pattern": "/jobs/*"},
    },
    {"rule_id": "free", "rate": "1/hour"},
    {
        "rule_id": "guesses",
        "rate": "1/hour",
        "reservations": True,
        "identifier_type": "global",
        "match": {"path_pattern": "/guess"},
    },
]
ALICE, BOB = ("X-User", "alice"), ("X-User", "bob")
Start = Callable[..., Site]


class SignedIn:
    """Stands where a site has AuthenticationMiddleware."""

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        name = request.headers.get("X-User")
        number = request.headers.get("X-Number")
        request.user = SimpleNamespace(pk=UUID(number) if number else name, is_authenticated=bool(number or name))
        return self._get_response(request)


class Kinds:
    """Middleware that tells of which kind a stream is, before which the site has its say."""

    def __init__(self, get_response: Any) -> None:
        self._get_response = get_response

    def __call__(self, request: Any) -> Any:
        response = self._get_response(request)
        if response.streaming:
            response.headers["X-Is-Async"] = str(response.is_async)
        return response


def answer(request: Any, **_: Any) -> Any:
    decision = getattr(request, "rate_limit", None)
    return JsonResponse({"rule": decision and decision.rule}, status=int(request.headers.get("X-Answer", 200)))


def failing(request: Any) -> Any:
    raise ValueError("it fails")


def streaming(request: Any) -> Any:
    limiter = limiter_of_test()
    return StreamingHttpResponse(f"{limiter.peek('place', 'global').remaining} " for _ in range(2))


def parts() -> Iterator[str]:
    yield from ("first ", "last")


async def asynchronous_parts() -> AsyncIterator[str]:
    for part in parts():
        yield part


class Closing:
    """What a server closes once all of it is sent, which takes until another client was answered."""

    may_end = threading.Event()

    def __iter__(self) -> Iterator[str]:
        yield "all"

    def close(self) -> None:
        self.may_end.wait(LONGEST_WAIT)


def own_answer(request: Any, decision: Any) -> Any:
    return HttpResponse(f"own {decision.rule}", status=418)


def refused_route(request: Any) -> bool:
    raise Http404


URLS = [
    route("orders/<item>", answer),
    route("login", answer),
    route("keys", answer),
    route("guess", answer),
    route("jobs/failing", failing),
    route("jobs/streaming", streaming),
    route("jobs/plain", answer),
    route("jobs/parts", lambda request: StreamingHttpResponse(parts())),
    route("jobs/asynchronous-parts", lambda request: StreamingHttpResponse(asynchronous_parts())),
    route("jobs/closing", lambda request: StreamingHttpResponse(Closing())),
    route("", answer),
]
# What settings name by its path.
LIMITER: list[RateLimiter] = []


def limiter_of_test(request: Any = None) -> RateLimiter:
    return LIMITER[-1]


@pytest.fixture(params=["wsgi", "asgi"])
def start(request: pytest.FixtureRequest, prefix: str) -> Iterator[Start]:
    """Starts a site on a server of either kind."""
    configured()
    with ExitStack() as opened:

        def open_(url: str = "memory://", **options: Any) -> Site:
            LIMITER.append(opened.enter_context(RateLimiter(url, rules=RULES, prefix=prefix)))
            middleware = ["test_django_middleware.SignedIn", "test_django_middleware.Kinds", "sluicegate.django.SluicegateMiddleware"]
            urls = type("urls", (), {"urlpatterns": URLS})
            stated = {"limiter": LIMITER[-1], **options}
            opened.enter_context(override_settings(ROOT_URLCONF=urls, MIDDLEWARE=middleware, SLUICEGATE=stated))
            if request.param == "wsgi":
                return opened.enter_context(serve_wsgiref(get_wsgi_application()))
            site: Site = opened.enter_context(serve_uvicorn(get_asgi_application()))
            return site

        yield open_


def statuses(site: Site, path: str, times: int, *headers: tuple[str, str]) -> list[int]:
    return [site.ask("GET", path, *headers).status for _ in range(times)]


def test_requests_are_decided_with_the_user_of_the_site(start: Start, redis_url: str) -> None:
    site = start(redis_url)
    first = site.ask("GET", "/orders/1", ALICE)
    assert first.json() == {"rule": "orders"} and str(first.header("RateLimit")).startswith('"orders";r=1')
    assert statuses(site, "/orders/2", 2, ALICE) == [200, 429]
    denied = site.ask("GET", "/orders/3", ALICE)
    assert denied.header("Content-Type") == "application/problem+json" and denied.header("Cache-Control") == "no-store"
    assert denied.header("Retry-After") == "1800"
    assert statuses(site, "/orders/1", 1, BOB) == [200]
    # Nobody: the rule counts users.
    assert statuses(site, "/orders/1", 3) == [200] * 3


def test_a_primary_key_may_be_a_uuid(start: Start) -> None:
    site = start()
    users = [("X-Number", f"00000000-0000-0000-0000-00000000000{number}") for number in (1, 1, 1, 2)]
    assert [site.ask("GET", "/orders/1", user).status for user in users] == [200, 200, 429, 200]


def test_addresses_keys_and_spellings(start: Start) -> None:
    site = start(api_key="X-Api-Key", trusted_proxies=1)
    clients = [("X-Forwarded-For", f"192.0.2.{number}") for number in (1, 1, 2)]
    assert [site.ask("GET", path, client).status for path, client in zip(["/login", "/%6cogin", "/login"], clients)] == [200, 429, 200]
    assert [site.ask("GET", "/keys", ("X-Api-Key", key)).status for key in "aab"] == [200, 429, 200]


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
def test_a_place_is_free_when_the_answer_is_over(start: Start, redis_url: str) -> None:
    site = start(redis_url)
    assert statuses(site, "/jobs/plain", 3) == [200] * 3
    assert statuses(site, "/jobs/failing", 2) == [500] * 2
    # While it is streamed, the place is held.
    assert [site.ask("GET", "/jobs/streaming").body for _ in range(2)] == [b"0 0 "] * 2


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
@pytest.mark.parametrize("start", ["asgi"], indirect=True)
def test_a_place_is_free_before_the_end_is_sent(start: Start) -> None:
    site = start()
    Closing.may_end.clear()
    try:
        assert statuses(site, "/jobs/closing", 2) == [200, 200]
    finally:
        Closing.may_end.set()


@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume")
@pytest.mark.parametrize(("path", "is_async"), [("/jobs/parts", "False"), ("/jobs/asynchronous-parts", "True")])
def test_a_stream_stays_of_its_kind(start: Start, path: str, is_async: str) -> None:
    site = start()
    for _ in range(2):
        streamed = site.ask("GET", path)
        assert (streamed.body, streamed.header("X-Is-Async")) == (b"first last", is_async)


def test_functions_of_the_application(start: Start) -> None:
    site = start(
        limiter="test_django_middleware.limiter_of_test",
        user_id=lambda request: request.headers.get("X-Team"),
        skip=lambda request: request.headers.get("X-Probe") == "1",
        on_denied="test_django_middleware.own_answer",
        cost=2,
    )
    red = ("X-Team", "red")
    assert [site.ask("GET", "/orders/1", user, red).status for user in (ALICE, BOB)] == [200, 418]
    own = site.ask("GET", "/orders/1", red)
    assert own.body == b"own orders" and own.header("Retry-After") == "3600"
    assert statuses(site, "/orders/1", 2, red, ("X-Probe", "1")) == [200] * 2


def test_the_limit_of_a_plan(start: Start) -> None:
    site = start(limit=lambda request: 1 if request.headers.get("X-Plan") == "small" else None)
    assert [statuses(site, "/orders/1", 2, ALICE), statuses(site, "/orders/1", 2, BOB, ("X-Plan", "small"))] == [[200, 200], [200, 429]]


def test_a_request_costs_as_much_as_its_body_is_long(start: Start) -> None:
    site = start(cost=lambda request: max(1, int(request.headers.get("Content-Length") or 1)))
    assert [site.ask("POST", "/orders/1", ALICE, body=b"x" * size).status for size in (3, 2, 1)] == [429, 200, 429]


def test_counting_by_the_outcome(start: Start) -> None:
    site = start(count="failures")
    asked = [site.ask("GET", "/guess", ("X-Answer", answer)).status for answer in ("200", "401", "200")]
    assert asked == [200, 401, 429]
    # An exception is a failure.
    assert start(count="successes").ask("GET", "/guess", ("X-Answer", "what")).status == 500


def test_rules_by_name(start: Start) -> None:
    site = start(rules=["free"])
    assert [site.ask("GET", "/", user).status for user in (ALICE, ALICE, BOB)] == [200, 429, 200]


def test_what_the_framework_answers_with_passes(start: Start) -> None:
    assert start(skip="test_django_middleware.refused_route").ask("GET", "/").status == 404


def test_a_mistake_of_the_application_is_named(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    site = start(user_id=lambda request: "")
    with caplog.at_level(logging.ERROR, "sluicegate"):
        assert site.ask("GET", "/orders/1").status == 500
    assert [record.message for record in caplog.records if record.name == "sluicegate"] == [
        "middleware: user_id returned '' (return a text that is not empty, a number other than 0, or a list of these; `skip` exempts requests)"
    ]


def test_an_answer_that_is_none_is_named(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    site = start(on_denied=lambda request, decision: "too many")
    with caplog.at_level(logging.ERROR, "sluicegate"):
        assert statuses(site, "/orders/1", 3, ALICE) == [200, 200, 500]
    assert [record.message for record in caplog.records if record.name == "sluicegate"] == [
        "middleware: on_denied returned a str (return a response, or None for the default one)"
    ]


def test_a_middleware_that_is_off(start: Start) -> None:
    assert statuses(start(enabled=False), "/login", 3) == [200] * 3


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (None, ImproperlyConfigured, "the setting SLUICEGATE is missing"),
        ({}, ImproperlyConfigured, "the setting SLUICEGATE needs a limiter"),
        ({"limitr": 5}, ImproperlyConfigured, "the setting SLUICEGATE has no option limitr"),
        ({"limiter": 5}, TypeError, "limiter must be a RateLimiter"),
        ({"limiter": "nowhere.limiter"}, ImportError, "nowhere"),
        ({"limiter": "test_django_middleware.limiter_of_test", "on_error": "x"}, ValueError, "on_error must be"),
        ({"rules": ["nobody"]}, UnknownRuleError, 'no rule is called "nobody"'),
    ],
)
def test_settings_that_make_no_sense(options: Any, kind: type[Exception], message: str) -> None:
    configured()
    with RateLimiter("memory://", rules=RULES) as limiter:
        if options and "rules" in options:
            options = {**options, "limiter": limiter}
        with override_settings(MIDDLEWARE=["sluicegate.django.SluicegateMiddleware"], SLUICEGATE=options):
            with pytest.raises(kind, match=message):
                WSGIHandler()
