"""The applications among the examples do what they say."""

from __future__ import annotations

import http.client
import importlib.util
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from web import Site, serve_uvicorn

from sluicegate import Check, ManualClock, RateLimiter

FOLDER = Path(__file__).parents[2] / "examples"
ALICE = ("Authorization", "Bearer alice")


def application(name: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("fastapi", reason="needs Python 3.11")
    monkeypatch.setenv("LIMITER_URL", redis_url)
    specification = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert specification and specification.loader
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture
def app(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    return application("fastapi_app", redis_url, monkeypatch).app


@pytest.fixture
def gateway(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MODEL_PACE", "0.002")
    return application("language_models", redis_url, monkeypatch)


def test_orders_per_user_and_logins_per_address(app: Any) -> None:
    with serve_uvicorn(app) as site:
        orders = [site.ask("GET", f"/orders/{number}", ALICE) for number in range(51)]
        logins = [site.ask("POST", "/login") for _ in range(6)]
        of_bob = site.ask("GET", "/orders/1", ("Authorization", "Bearer bob"))
    assert [answer.status for answer in orders] == [200] * 50 + [429]
    assert orders[0].header("RateLimit-Policy") == '"api_user_get_orders";q=50;w=60'
    assert orders[0].json() == {"order": 0, "of": "alice"}
    assert orders[50].json()["rule"] == "api_user_get_orders"
    assert [answer.status for answer in logins] == [200] * 5 + [429]
    assert logins[5].header("Retry-After") == "60" and logins[5].json()["rule"] == "login_attempts_per_ip"
    assert of_bob.status == 200


def test_a_gateway_charges_what_an_answer_used(gateway: Any, redis_url: str) -> None:
    with RateLimiter(redis_url, rules=gateway.RULES) as limiter, serve_uvicorn(gateway.app) as site:
        answer = site.ask("POST", "/chat?max_tokens=4000&words=500", ("Authorization", "Bearer acme"))
        assert (answer.status, len(answer.body.split())) == (200, 500)
        left = {rule: limiter.peek(rule, "acme").remaining for rule in ("requests", "tokens", "in_flight")}
        # A second of the tokens may have come back.
        assert left["requests"] >= 599 and 59_500 <= left["tokens"] < 60_000 and left["in_flight"] == 20
        denied = site.ask("POST", "/chat?max_tokens=60001", ("Authorization", "Bearer acme"))
        assert (denied.status, denied.header("Retry-After")) == (400, None)


def test_fifteen_calls_are_under_way_and_those_that_hang_up_give_back(gateway: Any, redis_url: str) -> None:
    gateway.PACE = 0.1
    with RateLimiter(redis_url, rules=gateway.RULES) as limiter, serve_uvicorn(gateway.app) as site:
        connections = [begin(site) for _ in range(15)]
        denied = site.ask("POST", "/chat?max_tokens=4000", ("Authorization", "Bearer slow"))
        assert denied.status == 429 and int(denied.header("Retry-After") or 0) >= 1
        assert limiter.peek("in_flight", "slow").remaining == 5
        for connection in connections:
            connection.close()
        ended = threading.Event()
        for _ in range(100):
            if limiter.peek("in_flight", "slow").remaining == 20:
                break
            ended.wait(0.1)
        assert limiter.peek("in_flight", "slow").remaining == 20
        assert limiter.peek("tokens", "slow").remaining > 55_000


def begin(site: Site) -> socket.socket:
    """Asks for a long answer, and reads no more than that it began."""
    connection = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    connection.sendall(
        b"POST /chat?max_tokens=4000&words=4000 HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer slow\r\n\r\n"
    )
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    assert answer.status == 200
    return connection


def test_long_calls_at_saturation_lose_no_capacity() -> None:
    """Calls of 20 s that reserve 4,000 of 60,000 tokens a minute and use 500: 13 to 15 are under way at all times."""
    clock = ManualClock(1_760_000_000_000_000)
    with RateLimiter("memory://", rules=str(FOLDER / "language_models.jsonc"), clock=clock) as limiter:
        under_way: list[tuple[int, Any]] = []
        for tick in range(3_000):
            while under_way and under_way[0][0] <= tick:
                assert under_way.pop(0)[1].commit({"tokens": 500})
            while made := limiter.reserve_all([Check("tokens", "acme", cost=4_000), Check("in_flight", "acme")]):
                under_way.append((tick + 200, made))
            assert 13 <= len(under_way) <= 15, tick
            clock.advance(0.1)


@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_a_quota_begins_anew_with_the_month_of_the_bills(
    backend: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    quota = application("monthly_quota", redis_url if backend == "redis" else "memory://", monkeypatch)
    # An hour before the month ends in Berlin; in UTC it ends two hours later.
    quota.CLOCK = ManualClock(round(datetime.fromisoformat("2026-04-30T23:00+02:00").timestamp() * 1e6))
    acme, bob = (("Authorization", f"Bearer {customer}") for customer in ("acme", "bob"))
    with serve_uvicorn(quota.app) as site:

        def usage() -> Any:
            return site.ask("GET", "/usage", bob).json()

        assert usage() == {"limit": 500, "used": 0, "renewed": None}
        assert site.ask("POST", "/convert?pages=480", bob).json() == {"pages": 480, "left": 20}
        assert site.ask("POST", "/convert?pages=20&broken=true", bob).status == 422
        denied = site.ask("POST", "/convert?pages=21", bob)
        assert (denied.status, denied.header("Retry-After")) == (429, "3600")
        assert denied.json()["detail"] == "20 of 500 pages are left until 2026-05-01"
        assert usage() == {"limit": 500, "used": 480, "renewed": "2026-05-01"}
        assert site.ask("POST", "/convert?pages=501", bob).status == 413
        assert site.ask("POST", "/convert?pages=501", acme).json() == {"pages": 501, "left": 19_499}
        # A plan that is raised in the middle of the month keeps what was used.
        quota.PLAN_OF["bob"] = "team"
        assert usage() == {"limit": 20_000, "used": 480, "renewed": "2026-05-01"}
        quota.CLOCK.advance(3_599.999999)
        assert usage()["used"] == 480
        quota.CLOCK.advance(0.000001)
        assert usage() == {"limit": 20_000, "used": 0, "renewed": None}
        assert site.ask("POST", "/convert?pages=1", bob).status == 200
        assert usage()["renewed"] == "2026-06-01"


def test_parallel_calls_get_no_more_than_the_quota(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    quota = application("monthly_quota", redis_url, monkeypatch)
    bob = ("Authorization", "Bearer bob")
    with serve_uvicorn(quota.app) as site, ThreadPoolExecutor(20) as callers:
        answers = list(callers.map(lambda _: site.ask("POST", "/convert?pages=30", bob).status, range(20)))
    assert sorted(answers) == [200] * 16 + [429] * 4
