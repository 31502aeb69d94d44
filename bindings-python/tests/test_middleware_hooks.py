"""The functions of the application in the middleware for ASGI and WSGI, in real frameworks and by real HTTP."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from web import FRAMEWORKS, Limits, Site, serve_wsgiref

from sluicegate import AsyncRateLimiter, InvalidRuleError, RateLimiter, UnknownRuleError, asgi, wsgi

RULES: list[dict[str, Any]] = [
    {"rule_id": "all", "rate": "100/hour", "identifier_type": "global", "match": {}, "cost": 2},
    {"rule_id": "orders", "rate": "2/hour", "identifier_type": "user_id", "match": {"path_pattern": "/orders/*"}},
    {"rule_id": "free", "rate": "1/hour"},
    {"rule_id": "gold", "limits": [{"rate": "3/minute"}, {"rate": "100/day"}]},
    {"rule_id": "place", "algorithm": "concurrency", "limit": 1},
]
ALICE, BOB = ("X-User", "alice"), ("X-User", "bob")
Serve = Callable[..., Site]


@pytest.fixture(params=FRAMEWORKS, ids=lambda framework: framework.__name__)
def serve(request: pytest.FixtureRequest, prefix: str) -> Iterator[Serve]:
    """Starts sites of every framework in turn."""
    with ExitStack() as sites:

        def start(url: str = "memory://", *, rules_of_limiter: Any = RULES, closed: bool = False, **hooks: Any) -> Site:
            limits = Limits(url, {"rules": rules_of_limiter, "prefix": prefix}, hooks, closed)
            return sites.enter_context(request.param(limits))

        yield start


def header(request: Any, name: str) -> str | None:
    """Of a scope or an environ."""
    if "headers" in request:
        found = (value.decode() for other, value in request["headers"] if other == name.encode())
        return next(found, None)
    value: str | None = request.get(f"HTTP_{name.upper().replace('-', '_')}")
    return value


def plan(request: Any) -> list[str]:
    return [header(request, "x-plan") or "free"]


def own_answer(request: Any, decision: Any) -> Any:
    """An application of the kind that the server runs."""
    text = f"own {decision.rule}".encode()
    if "headers" not in request:

        def of_wsgi(environ: Any, start_response: Any) -> list[bytes]:
            start_response("418 Own", [("Retry-After", "7"), ("Content-Length", str(len(text)))])
            return [text]

        return of_wsgi

    async def of_asgi(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 418, "headers": [(b"retry-after", b"7")]})
        await send({"type": "http.response.body", "body": text})

    return of_asgi


def statuses(site: Site, path: str, times: int, *headers: tuple[str, str]) -> list[int]:
    return [site.ask("GET", path, *headers).status for _ in range(times)]


def test_requests_are_exempt(serve: Serve) -> None:
    site = serve(skip=lambda request: header(request, "x-probe") == "1")
    assert statuses(site, "/orders/1", 3, ALICE, ("X-Probe", "1")) == [200] * 3
    # Nothing was decided, not even by a limiter that is away.
    assert site.ask("GET", "/orders/1", ALICE, ("X-Probe", "1")).header("RateLimit") == "mine"
    assert statuses(site, "/orders/1", 3, ALICE) == [200, 200, 429]


def test_the_limiter_of_a_request_that_is_exempt_is_not_asked(serve: Serve) -> None:
    site = serve(closed=True, on_error="deny", skip=lambda request: header(request, "x-probe") == "1")
    assert site.ask("GET", "/", ("X-Probe", "1")).status == 200
    assert site.ask("GET", "/").status == 503


def test_costs(serve: Serve, redis_url: str) -> None:
    site = serve(redis_url, cost=lambda request: int(header(request, "x-cost") or 1))
    assert ";r=60" in str(site.ask("GET", "/", ("X-Cost", "40")).header("RateLimit"))
    assert ";r=59" in str(site.ask("GET", "/").header("RateLimit"))
    assert [site.ask("GET", "/orders/1", ALICE, ("X-Cost", cost)).status for cost in ("2", "1")] == [200, 429]
    assert site.ask("GET", "/", ("X-Cost", "60")).status == 429


def test_costs_of_a_resource(serve: Serve) -> None:
    rule = {
        "rule_id": "printer",
        "limits": [{"rate": "3/hour"}, {"rate": "4/hour", "scope": "resource"}],
        "identifier_type": "user_id",
        "resource_identifier_type": "path:name",
        "match": {"path_pattern": "/printers/{name}"},
    }
    site = serve(rules_of_limiter=[rule], cost=3)
    asked = [("/printers/a", ALICE), ("/printers/a", BOB), ("/printers/b", BOB)]
    assert [site.ask("GET", path, user).status for path, user in asked] == [200, 429, 200]


def test_the_cost_of_the_rule_is_the_default(serve: Serve) -> None:
    # Whether or not functions choose the rules.
    for hooks in ({}, {"rules": ["all"]}):
        assert ";r=98" in str(serve(**hooks).ask("GET", "/").header("RateLimit"))


def test_the_limit_of_a_plan(serve: Serve, redis_url: str) -> None:
    # The function answers None where there is no plan.
    plans = {"limit": lambda request: int(header(request, "x-limit") or 0) or None}
    site = serve(redis_url, rules=["orders"], **plans)
    assert statuses(site, "/orders/1", 3, ALICE) == [200, 200, 429]
    assert statuses(site, "/orders/1", 4, BOB, ("X-Limit", "3")) == [200, 200, 200, 429]
    # Of every rule that is applied.
    policy = str(serve(**plans).ask("GET", "/orders/1", ALICE, ("X-Limit", "8")).header("RateLimit-Policy"))
    assert '"all";q=8;' in policy and '"orders";q=8;' in policy


def test_a_request_costs_as_much_as_its_body_is_long(serve: Serve) -> None:
    def length(request: Any) -> int:
        return max(1, int((header(request, "content-length") if "headers" in request else request.get("CONTENT_LENGTH")) or 1))

    site = serve(cost=length)
    assert [site.ask("POST", "/", body=b"x" * size).status for size in (60, 41, 40, 1)] == [200, 429, 200, 429]


def test_a_subset_of_the_rules(serve: Serve) -> None:
    site = serve(rules=["orders"])
    assert site.ask("GET", "/").header("RateLimit") == "mine"
    first = site.ask("GET", "/orders/1", ALICE)
    assert str(first.header("RateLimit-Policy")).startswith('"orders"') and "all" not in str(first.header("RateLimit-Policy"))
    assert statuses(site, "/orders/1", 2, ALICE) == [200, 429]


def test_plans_are_rules_of_their_own(serve: Serve, redis_url: str) -> None:
    site = serve(redis_url, rules=plan)
    assert statuses(site, "/", 2, ALICE) == [200, 429]
    assert statuses(site, "/", 2, BOB) == [200, 429]
    assert statuses(site, "/", 4, ALICE, ("X-Plan", "gold")) == [200, 200, 200, 429]
    # Nobody has signed in: counted by the address.
    assert statuses(site, "/", 2) == [200, 429]


def test_plans_are_counted_by_a_key(serve: Serve) -> None:
    site = serve(rules=plan, key=lambda request: header(request, "x-team"))
    assert [site.ask("GET", "/", user, ("X-Team", "red")).status for user in (ALICE, BOB)] == [200, 429]
    assert site.ask("GET", "/", ALICE, ("X-Team", "blue")).status == 200


def test_all_rules_where_a_function_names_none(serve: Serve) -> None:
    site = serve(rules=lambda request: ["free"] if header(request, "x-plan") else None)
    assert statuses(site, "/orders/1", 3, ALICE) == [200, 200, 429]
    assert statuses(site, "/orders/1", 2, ALICE, ("X-Plan", "free")) == [200, 429]


def test_places_are_held_by_name_too(serve: Serve, redis_url: str) -> None:
    site = serve(redis_url, rules=["place"], key=lambda request: "all")
    assert statuses(site, "/", 5) == [200] * 5


LOGIN = {
    "rule_id": "login",
    "algorithm": "fixed_window",
    "limit": 2,
    "window_size_seconds": 86400,
    "reservations": True,
    "identifier_type": "user_id",
    "match": {"path_pattern": "/login"},
}


@pytest.mark.parametrize(
    ("count", "answers", "expected"),
    [
        ("failures", [200, 401, 200, 403, 401], [200, 401, 200, 403, 429]),
        ("successes", [500, 200, 500, 200, 200], [500, 200, 500, 200, 429]),
        (lambda response: response.status_code == 201 and response.headers["x-mine"] == "1", [200, 201, 201, 201], [200, 201, 201, 429]),
        ("all", [200, 401, 200], [200, 401, 429]),
    ],
)
def test_counting_by_the_outcome(serve: Serve, count: Any, answers: list[int], expected: list[int]) -> None:
    site = serve(rules_of_limiter=[LOGIN], count=count)
    assert [site.ask("POST", "/login", ALICE, ("X-Answer", str(status))).status for status in answers] == expected


def test_guesses_at_the_same_time_do_not_pass_together(serve: Serve, redis_url: str) -> None:
    site = serve(redis_url, rules_of_limiter=[LOGIN], count="failures")
    with ThreadPoolExecutor(20) as pool:
        got = pool.map(lambda _: site.ask("POST", "/login", ALICE, ("X-Answer", "401")).status, range(20))
        assert sorted(got) == [401] * 2 + [429] * 18


def test_an_answer_of_its_own(serve: Serve) -> None:
    site = serve(on_denied=own_answer)
    assert statuses(site, "/orders/1", 2, ALICE) == [200, 200]
    own = site.ask("GET", "/orders/1", ALICE)
    assert (own.status, own.body) == (418, b"own orders")
    # Its own headers stay; those that it lacks are added.
    assert own.header("Retry-After") == "7" and own.header("Cache-Control") == "no-store"
    assert '"orders";r=0' in str(own.header("RateLimit"))


def test_every_decision_is_told(serve: Serve) -> None:
    told: list[tuple[str, bool]] = []
    site = serve(on_decision=lambda request, decision: told.append((decision.rule, decision.allowed)))
    statuses(site, "/orders/1", 3, ALICE)
    assert told == [("orders", True), ("orders", True), ("orders", False)]


def test_what_only_looks_stops_nothing(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    site = serve(on_decision=lambda request, decision: int("secret"))
    with caplog.at_level(logging.ERROR, "sluicegate"):
        assert site.ask("GET", "/").status == 200
    assert [record.message for record in caplog.records if record.name == "sluicegate"] == [
        "middleware: on_decision raised ValueError"
    ]


@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        ({"skip": lambda request: int("secret")}, "middleware: skip raised ValueError"),
        ({"cost": lambda request: 0}, "middleware: cost returned 0"),
        ({"rules": lambda request: "free"}, "middleware: rules returned a str"),
        ({"rules": lambda request: []}, "middleware: rules returned an empty list (return None for all rules that match; "),
        ({"rules": lambda request: ["nobody"]}, 'middleware: no rule is called "nobody"'),
        ({"rules": ["free"], "key": lambda request: ""}, "middleware: key returned ''"),
        ({"limit": lambda request: 0}, "middleware: limit returned 0"),
        ({"rules": ["gold"], "limit": 5}, 'middleware: rule "gold": a limit can be given only for a rule with a single limit'),
        ({"cost": 101, "on_denied": lambda request, decision: "too many"}, "middleware: on_denied returned a str (return a response"),
    ],
)
def test_a_mistake_of_the_application_is_named(
    serve: Serve, caplog: pytest.LogCaptureFixture, hooks: dict[str, Any], said: str
) -> None:
    site = serve(**hooks)
    with caplog.at_level(logging.ERROR, "sluicegate"):
        assert site.ask("GET", "/").status == 500
    (record,) = [record for record in caplog.records if record.name == "sluicegate"]
    assert record.message.startswith(said) and "secret" not in record.message


@pytest.mark.parametrize("user", ["", 0])
def test_a_user_that_is_false_is_a_mistake(caplog: pytest.LogCaptureFixture, user: object) -> None:
    def app(_: Any, start: Any) -> list[bytes]:
        start("200 OK", [])
        return [b"reached"]

    with RateLimiter("memory://", rules=RULES) as limiter:
        with serve_wsgiref(wsgi.RateLimitMiddleware(app, limiter, user_id=lambda _: user)) as site:
            assert site.ask("GET", "/orders/1").status == 500
    assert f"middleware: user_id returned {user!r} (return" in caplog.text


def test_what_no_rule_can_match_is_refused_as_ever(serve: Serve) -> None:
    answer = serve(cost=1, on_error="raise").ask("GET", "/" + "a" * 17_000)
    assert answer.status == 400 and answer.json()["detail"] == "path is longer than 16384 bytes"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"skip": "x"}, "skip must be a function, not str"),
        ({"cost": "1"}, "cost must be a function or an int, not str"),
        ({"limit": "1"}, "limit must be a function or an int, not str"),
        ({"rules": "free"}, "rules must be a list of names, or a function, not str"),
        ({"count": 5}, "count must be a str, not int"),
        ({"rules": [5]}, "rules must be a list of names, or a function, not list"),
        ({"on_denied": 5}, "on_denied must be a function, not int"),
    ],
)
@pytest.mark.parametrize("middleware", [asgi.RateLimitMiddleware, wsgi.RateLimitMiddleware])
def test_options_that_make_no_sense(middleware: Any, options: dict[str, Any], message: str) -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:
        found = limiter if middleware is wsgi.RateLimitMiddleware else lambda _: limiter
        with pytest.raises(TypeError, match=f"^{message}$"):
            middleware(None, found, **options)


def test_names_are_known_at_the_start() -> None:
    with RateLimiter("memory://", rules=RULES) as limiter:
        with pytest.raises(UnknownRuleError, match='no rule is called "nobody"'):
            wsgi.RateLimitMiddleware(None, limiter, rules=["nobody"])  # type: ignore[arg-type]
        # Every request would count.
        with pytest.raises(InvalidRuleError, match="count by the outcome needs rules with reservations"):
            wsgi.RateLimitMiddleware(None, limiter, count="failures")  # type: ignore[arg-type]

    async def main() -> None:
        async with AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            with pytest.raises(UnknownRuleError, match='no rule is called "nobody"'):
                asgi.RateLimitMiddleware(None, limiter, rules=["nobody"])  # type: ignore[arg-type]

    asyncio.run(main())


def test_functions_may_be_coroutines() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    async def main() -> list[int]:
        async def rules(_: Any) -> list[str]:
            await asyncio.sleep(0)
            return ["free"]

        async def key(_: Any) -> str:
            await asyncio.sleep(0)
            return "alice"

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                got.append(message["status"])

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        got: list[int] = []
        scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "headers": []}
        async with AsyncRateLimiter.connect("memory://", rules=RULES) as limiter:
            limited = asgi.RateLimitMiddleware(app, limiter, rules=rules, key=key)
            for _ in range(2):
                await limited({**scope}, receive, send)
        return got

    assert asyncio.run(main()) == [200, 429]


@pytest.mark.parametrize("leaves", ["cancelled", "raises"])
def test_what_is_held_is_given_back_where_on_decision_ends_the_request(leaves: str) -> None:
    places = [{"rule_id": "places", "algorithm": "concurrency", "limit": 1, "identifier_type": "global", "match": {"path_pattern": "/*"}}]
    asked = asyncio.Event()

    class Left(BaseException):
        """As frameworks and loops have them, which no function of an application catches."""

    async def on_decision(_: Any, decision: Any) -> None:
        asked.set()
        if leaves == "raises":
            raise Left
        await asyncio.Event().wait()

    async def ignored(*_: Any) -> Any:
        return {"type": "http.disconnect"}

    async def main() -> None:
        async with AsyncRateLimiter.connect("memory://", rules=places) as limiter:
            app = asgi.RateLimitMiddleware(ignored, limiter, on_decision=on_decision)
            scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "headers": []}
            request = asyncio.create_task(app(scope, ignored, ignored))
            await asked.wait()
            request.cancel()
            with pytest.raises((Left, asyncio.CancelledError)):
                await request
            await asyncio.sleep(0)
            assert (await limiter.peek("places", "global")).remaining == 1

    asyncio.run(main())
