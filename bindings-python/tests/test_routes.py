"""Limits at routes, in real frameworks and by real HTTP."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from route_sites import FRAMEWORKS, RULES
from web import Site

from sluicegate import InvalidArgumentError, InvalidRuleError, RateLimiter, UnknownRuleError
from sluicegate import django as of_django
from sluicegate import flask as of_flask

ALICE, BOB = ("X-User", "alice"), ("X-User", "bob")
Start = Callable[..., Site]


@pytest.fixture(params=FRAMEWORKS, ids=lambda framework: framework.__name__)
def start(request: pytest.FixtureRequest, prefix: str) -> Iterator[Start]:
    """Starts sites of every framework in turn."""
    with ExitStack() as sites:
        yield lambda url="memory://", **options: sites.enter_context(
            request.param(url, prefix=prefix, **{"rules": RULES, **options})
        )


def statuses(site: Site, path: str, times: int, *headers: tuple[str, str]) -> list[int]:
    return [site.ask("GET", path, *headers).status for _ in range(times)]


def test_rates_at_a_route_are_decided_together(start: Start, redis_url: str) -> None:
    site = start(redis_url)
    first = site.ask("GET", "/items/1", ALICE)
    assert first.status == 200 and first.json() == {"left": 2}
    policy = first.header("RateLimit-Policy")
    assert policy and policy.count(";q=") == 2 and '"site:/items/' in policy and "items/1" not in policy
    assert statuses(site, "/items/2", 3, ALICE) == [200, 200, 429]
    denied = site.ask("GET", "/items/3", ALICE)
    assert denied.header("Retry-After") == "20" and denied.header("Cache-Control") == "no-store"
    assert denied.header("RateLimit-Policy") == policy
    # What is denied has charged the other limit nothing.
    assert ";r=97" in (denied.header("RateLimit") or "")
    assert site.ask("GET", "/items/3", BOB).status == 200


def test_methods_share_a_limit_or_have_their_own(start: Start) -> None:
    site = start()
    assert [site.ask(method, "/items/1", ALICE).status for method in ("GET", "POST", "HEAD", "GET")] == [200, 200, 200, 429]
    assert [site.ask(method, "/methods", ALICE).status for method in ("GET", "POST", "HEAD")] == [200, 200, 429]


def test_calls_of_grpc_get_a_status_of_theirs(start: Start) -> None:
    site = start()
    web = ("Content-Type", "application/grpc-web+proto")
    assert [site.ask("POST", "/first", ALICE, web).status for _ in range(2)] == [200, 200]
    denied = site.ask("POST", "/first", ALICE, web)
    assert (denied.status, denied.body, denied.header("grpc-status")) == (200, b"", "8")
    assert denied.header("Content-Type") == web[1] and denied.header("Cache-Control") == "no-store"
    assert denied.header("grpc-message") == f"Try again in {denied.header('Retry-After')} seconds."
    assert [site.ask("GET", "/first", ALICE, web).status, site.ask("POST", "/first", ALICE).status] == [429, 429]
    # An answer of the application's own is sent as it is.
    _, own = site.ask("POST", "/own", ALICE, web), site.ask("POST", "/own", ALICE, web)
    assert (own.status, own.body[:8], own.header("grpc-status")) == (418, b"own site", None)


def test_routes_share_a_limit(start: Start) -> None:
    site = start()
    assert [site.ask("GET", path, ALICE).status for path in ("/first", "/second", "/first")] == [200, 200, 429]


def test_a_rule_of_the_file_with_the_limit_of_a_plan(start: Start) -> None:
    site = start()
    assert statuses(site, "/plan", 3, ALICE) == [200, 200, 429]
    assert statuses(site, "/plan", 6, BOB, ("X-Plan", "gold")) == [200] * 5 + [429]


def test_rules_of_the_file_keep_their_identifiers(start: Start) -> None:
    site = start()
    assert [site.ask("GET", "/address", user).status for user in (ALICE, BOB, ALICE)] == [200, 200, 429]
    assert [site.ask("GET", f"/keyed/{item}", ALICE).status for item in "112"] == [200, 200, 200]
    assert site.ask("GET", "/keyed/1", ALICE).status == 429
    # The client's mistake, and none of the application.
    answer = site.ask("GET", "/keyed/1")
    assert answer.status == 400
    assert b"the request has no header" in answer.body


def test_rules_as_data(start: Start) -> None:
    assert statuses(start(), "/data", 2, ALICE) == [200, 429]


@pytest.mark.parametrize(
    ("path", "answers", "expected"),
    [
        ("/login", [200, 401, 200, 403, 401], [200, 401, 200, 403, 429]),
        ("/guesses", [200, 401, 200, 401], [200, 401, 429, 429]),
        ("/sales", [500, 200, 500, 200, 200], [500, 200, 500, 200, 429]),
        ("/created", [200, 201, 201], [200, 201, 429]),
    ],
)
def test_counting_by_the_outcome(start: Start, path: str, answers: list[int], expected: list[int]) -> None:
    site = start()
    got = [site.ask("GET", path, ALICE, ("X-Answer", str(status))).status for status in answers]
    assert got == expected


def test_guesses_at_the_same_time_do_not_pass_together(start: Start, redis_url: str) -> None:
    site = start(redis_url)
    with ThreadPoolExecutor(20) as pool:
        ask = lambda _: site.ask("GET", "/login", ALICE, ("X-Answer", "401")).status  # noqa: E731
        assert sorted(pool.map(ask, range(20))) == [401] * 2 + [429] * 18


def test_many_clients_are_admitted_exactly(start: Start, redis_url: str) -> None:
    site = start(redis_url)
    with ThreadPoolExecutor(50) as pool:
        got = list(pool.map(lambda _: site.ask("GET", "/bulk", ALICE).status, range(200)))
    assert sorted(got) == [200] * 10 + [429] * 190


def test_costs_and_exceptions(start: Start) -> None:
    site = start()
    assert [site.ask("GET", "/bulk", ALICE, ("X-Cost", cost)).status for cost in ("4", "6", "1")] == [200, 200, 429]
    assert statuses(site, "/health", 3, ("X-Probe", "1")) == [200] * 3
    exempt = site.ask("GET", "/health", ("X-Probe", "1"))
    assert exempt.json() == {"left": None} and exempt.header("RateLimit") is None
    assert statuses(site, "/health", 2) == [200, 429]


def test_an_answer_of_its_own(start: Start) -> None:
    site = start()
    assert site.ask("GET", "/own", ALICE).status == 200
    own = site.ask("GET", "/own", ALICE)
    assert (own.status, own.body) == (418, b"own site:/own:1/minute")
    assert own.header("Retry-After") == "60" and own.header("Cache-Control") == "no-store"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/broken", "key returned None"),
        ("/nobody", "key returned 0"),
        ("/number", "key returned a float"),
        ("/raising", "key raised ValueError"),
        ("/bulk", "cost returned -1"),
    ],
)
def test_a_mistake_of_the_application_is_named(
    start: Start, caplog: pytest.LogCaptureFixture, path: str, said: str
) -> None:
    site = start()
    with caplog.at_level(logging.ERROR, "sluicegate"):
        assert site.ask("GET", path, ("X-User", "secret-key"), ("X-Cost", "-1")).status == 500
    (record,) = [record for record in caplog.records if record.name == "sluicegate"]
    assert said in record.message and path in record.message
    # Nor does it stand in what the framework logs of the exception.
    assert "secret-key" not in caplog.text and "4915.1" not in caplog.text


def test_an_answer_that_is_none_is_named(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    site = start()
    with caplog.at_level(logging.ERROR, "sluicegate"):
        assert statuses(site, "/unanswered", 2, ALICE) == [200, 500]
    (record,) = [record for record in caplog.records if record.name == "sluicegate"]
    assert record.message == "route /unanswered: on_denied returned 5 (return a response, or None for the default one)"


def test_users_are_counted_apart_from_addresses(start: Start) -> None:
    site = start()
    assert [site.ask("GET", "/users", ("X-User", name)).status for name in ("127.0.0.1", "127.0.0.1", "7")] == [200, 429, 200]
    assert statuses(site, "/users", 2) == [200, 429]


def test_a_place_is_free_when_the_answer_is_there(start: Start, redis_url: str) -> None:
    site = start(redis_url)
    assert statuses(site, "/place", 5, ALICE) == [200] * 5


def test_a_request_that_nobody_can_decide(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    site = start(f"redis://127.0.0.1:{port}", fallback="deny")
    assert site.ask("GET", "/items/1", ALICE).status == 429


@pytest.mark.parametrize("framework", [of_flask, of_django])
def test_what_can_be_known_at_the_start_is_refused_then(framework: Any) -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:
        limits = framework.RouteLimits(limiter)
        for stated, kind, message in [
            (("5/minut",), InvalidRuleError, 'did you mean "minute"'),
            (("plam",), UnknownRuleError, 'no rule is called "plam"'),
            ((), InvalidArgumentError, "a limit is missing"),
            ((5,), TypeError, "a limit must be a rate"),
        ]:
            with pytest.raises(kind, match=message):
                limits(*stated)
        for options, kind, message in [
            ({"cout": "all"}, TypeError, "a route has no option cout"),
            ({"count": "every"}, InvalidArgumentError, 'count must be one of "all", "failures", "successes" or a function'),
            ({"key": "x"}, TypeError, "key must be a function, not str"),
            ({"cost": 0}, InvalidArgumentError, "cost 0: must be at least 1"),
            ({"limit": -1}, InvalidArgumentError, "limit -1: must be at least 1"),
            ({"shared": ""}, InvalidArgumentError, "shared is empty"),
            ({"per_method": 5}, TypeError, "per_method must be a bool, not int"),
            ({"no_address": "admit"}, InvalidArgumentError, "no_address must be one of"),
        ]:
            with pytest.raises(kind, match=message):
                limits("5/minute", **options)
        # Whatever limiter there will be.
        with pytest.raises(UnknownRuleError, match='no rule is called "5 per minute"'):
            framework.RouteLimits(lambda *_: limiter)("5 per minute")
        with pytest.raises(InvalidRuleError, match='rule "plan": count by the outcome needs reservations'):
            limits("plan", count="failures")
        with pytest.raises(TypeError, match="limiter must be a RateLimiter"):
            framework.RouteLimits(5)


def test_what_is_known_with_the_first_request_alone(caplog: pytest.LogCaptureFixture) -> None:
    from flask import Flask

    app = Flask("late")
    with RateLimiter("memory://", rules=RULES) as limiter:
        limits = of_flask.RouteLimits(lambda: limiter)
        app.add_url_rule("/plan", "plan", limits("plan", count="failures")(lambda: "answer"))
        app.add_url_rule("/plam", "plam", limits("plam")(lambda: "answer"))
        assert [app.test_client().get(path).status_code for path in ("/plan", "/plam")] == [500, 500]
    assert [record.message for record in caplog.records if record.name == "sluicegate"] == [
        'route /plan: rule "plan": count by the outcome needs reservations (add "reservations": true to the rule)',
        'route /plam: no rule is called "plam" (a limit is a rate such as "5/minute", or the name of a rule)',
    ]


def test_limits_that_are_off(caplog: pytest.LogCaptureFixture) -> None:
    from flask import Flask

    with RateLimiter("memory://", rules=[]) as limiter:
        limits = of_flask.RouteLimits(limiter, enabled=False)
        assert "limits of routes are off" in caplog.text
        app = Flask("off")
        app.route("/")(limits("1/minute")(lambda: "answer"))
        assert [app.test_client().get("/").status_code for _ in range(3)] == [200] * 3


def test_an_error_handler_answers() -> None:
    from flask import Flask

    with RateLimiter("memory://", rules=[]) as limiter:
        app = Flask("handled")
        app.route("/")(of_flask.RouteLimits(limiter)("1/minute")(lambda: "answer"))
        app.errorhandler(429)(lambda error: ({"rule": error.decision.rule}, 429))
        client = app.test_client()
        client.get("/")
        denied = client.get("/")
        assert denied.json == {"rule": "handled:/:1/minute"} and denied.headers["Retry-After"] == "60"
