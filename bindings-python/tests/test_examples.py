"""The applications among the examples do what they say."""

from __future__ import annotations

import http.client
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
from web import Answer, Site, running, serve_uvicorn, serve_wsgiref

from sluicegate import Check, ManualClock, RateLimiter

FOLDER = Path(__file__).parents[2] / "examples"
ALICE = ("Authorization", "Bearer alice")


def application(name: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("fastapi", reason="needs Python 3.11")
    monkeypatch.setenv("LIMITER_URL", redis_url)
    return loaded(name)


def loaded(name: str) -> Any:
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


def test_regions_through_a_partition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    regions = loaded("regions")
    # A tenth of the traffic: the loop of a busy machine carries it without falling behind.
    monkeypatch.setattr(regions, "DEMAND", 50)
    monkeypatch.setattr(regions, "RULES", [{**regions.RULES[0], "limit": 100, "burst": 20}])
    monkeypatch.setattr(regions, "PHASES", dict.fromkeys(regions.PHASES, 2))
    monkeypatch.setattr(sys, "argv", ["regions.py", str(tmp_path / "regions.svg")])
    regions.main()
    first, connected, cut_off, again = capsys.readouterr().out.splitlines()
    assert "is in charge of acme" in first
    # Regions live on what the third lends, and it decides for itself.
    assert "allotment" in connected and "(server" in connected
    assert "share" in cut_off
    # How soon they borrow again, a busy machine decides; that they do, tests of regions show.
    assert "connected again: ap " in again
    assert "together" in (tmp_path / "regions.svg").read_text()


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
        # A second of the tokens may have been refilled.
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


HOUR = 3_600


def guess(site: Site, password: str, name: str = "alice") -> Answer:
    body = json.dumps({"name": name, "password": password}).encode()
    return site.ask("POST", "/login", ("Content-Type", "application/json"), body=body)


@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_guessers_are_locked_out_for_an_hour_and_then_for_two(
    backend: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = application("login", redis_url if backend == "redis" else "memory://", monkeypatch)
    monkeypatch.setattr(login, "hashed", str.encode)
    monkeypatch.setitem(login.ACCOUNTS, "alice", b"right")
    login.CLOCK = ManualClock(1_760_000_000_000_000)
    with serve_uvicorn(login.app) as site:
        # What failed before is forgotten on success.
        assert [guess(site, "wrong").status for _ in range(4)] == [401] * 4
        assert guess(site, "right").json() == {"welcome": "alice"}
        for hours in (1, 2, 4):
            assert [guess(site, "wrong").status for _ in range(5)] == [401] * 5
            locked = guess(site, "right")
            assert (locked.status, locked.header("Retry-After")) == (429, str(hours * HOUR))
            login.CLOCK.advance(hours * HOUR - 0.000001)
            assert guess(site, "right").status == 429
            assert guess(site, "wrong", "bob").status == 401
            login.CLOCK.advance(0.000001)
        assert guess(site, "right").status == 200


@pytest.mark.parametrize("backend", ["memory", "redis"])
def test_parallel_guessers_get_five_guesses(
    backend: str, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    login = application("login", redis_url if backend == "redis" else "memory://", monkeypatch)
    login.CLOCK = ManualClock(1_760_000_000_000_000)
    looked, all_have_asked = [], threading.Event()

    def is_right(name: str, password: str) -> bool:
        looked.append(password)
        # A password takes until every other guess was answered.
        assert all_have_asked.wait(30)
        return False

    monkeypatch.setattr(login, "is_right", is_right)
    with serve_uvicorn(login.app) as site, ThreadPoolExecutor(32) as guessers:
        answers = [guessers.submit(guess, site, str(number)) for number in range(32)]
        denied = [answer.result().status for answer in islice(as_completed(answers), 27)]
        assert (denied, len(looked)) == ([429] * 27, 5)
        all_have_asked.set()
        assert Counter(answer.result().status for answer in answers) == {429: 27, 401: 5}
        assert guess(site, "again").status == 429 and len(looked) == 5


class Provider(BaseHTTPRequestHandler):
    """Admits what comes, but for a second after its tenth call."""

    calls: ClassVar[list[tuple[str, int]]] = []
    lock = threading.Lock()
    closed_until = 0.0

    def do_GET(self) -> None:
        with self.lock:
            now = time.monotonic()
            if sum(status == 200 for _, status in self.calls) == 10 and not self.closed_until:
                type(self).closed_until = now + 1
            status = 429 if now < self.closed_until else 200
            self.calls.append((self.path, status))
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "1")
        self.end_headers()
        self.wfile.write(b"done" if status == 200 else b"")

    def log_message(self, *_: object) -> None:
        pass


def test_a_fleet_keeps_a_provider_s_limit_and_pauses_when_it_says_so(redis_url: str) -> None:
    workers, jobs = 4, 10
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    environment = {**os.environ, "LIMITER_URL": redis_url, "PROVIDER_RATE": "40/s"}
    program = [sys.executable, str(FOLDER / "paced_worker.py"), f"http://127.0.0.1:{server.server_port}/"]
    with running(server):
        began = time.monotonic()
        fleet = [
            subprocess.Popen([*program, *(f"{worker}-{job}" for job in range(jobs))], env=environment)
            for worker in range(workers)
        ]
        assert [worker.wait(60) for worker in fleet] == [0] * workers
        took = time.monotonic() - began
    done = [path for path, status in Provider.calls if status == 200]
    assert sorted(done) == sorted(f"/{worker}-{job}" for worker in range(workers) for job in range(jobs))
    refused = len(Provider.calls) - len(done)
    # None of them asks again before its own pause is over, and the others see it.
    assert 1 <= refused <= workers
    # One call per 25 ms, and a second without any.
    assert took >= 1 + (len(Provider.calls) - 1 - refused) / 40 - 0.025 * refused


def test_pauses_of_a_provider() -> None:
    worker = loaded("paced_worker")
    assert (worker.pause("3"), worker.pause(None), worker.pause("soon"), worker.pause("-5")) == (3, 1, 1, 0.1)
    later = format_datetime(datetime.now(timezone.utc) + timedelta(seconds=90), usegmt=True)
    assert 80 < worker.pause(later) <= 90


@pytest.fixture
def support(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("LIMITER_URL", redis_url)
    page = loaded("support_page")
    yield page
    page.limiter.close()


def test_support_sees_and_changes_the_limits_of_a_customer(support: Any) -> None:
    customer = '<b>"Böb" & co</b>'
    support.limiter.check("exports", customer, cost=5)
    with serve_wsgiref(support.app) as site:
        origin = ("Origin", f"http://127.0.0.1:{site.port}")

        def post(*headers: tuple[str, str], **fields: str) -> Answer:
            body = urlencode({"key": customer, **fields}).encode()
            form = ("Content-Type", "application/x-www-form-urlencoded")
            return site.ask("POST", "/", form, *headers, body=body)

        def shown() -> str:
            answer = site.ask("GET", f"/?{urlencode({'key': customer})}")
            assert answer.status == 200 and b"<b>" not in answer.body
            assert "frame-ancestors 'none'" in (answer.header("Content-Security-Policy") or "")
            return answer.body.decode()

        assert "<td>exports<td>5<td>5<td>" in shown() and escape(customer) in shown()
        moved = post(origin, action="raise", rule="exports", limit="50")
        assert (moved.status, moved.header("Location")) == (303, f"?{urlencode({'key': customer})}")
        assert "<td>exports<td>5<td>50<td>" in shown()
        assert support.limiter.peek("exports", customer).remaining == 45
        post(origin, action="clear", rule="exports")
        assert not support.limiter.check("exports", customer)
        post(origin, action="reset", rule="exports")
        assert support.limiter.check("exports", customer)
        post(origin, action="block", rule="api", minutes="90")
        assert "<td>for 1 h 30 min<td>" in shown() and not support.limiter.check("api", customer)
        post(origin, action="unblock", rule="api")
        assert support.limiter.check("api", customer)
        # Mistakes, and forms of other sites.
        for fields in ({"action": "raise", "limit": "<i>"}, {"action": "erase"}, {"action": "block", "minutes": "5"}):
            wrong = post(origin, rule="exports", **fields)
            assert wrong.status == 400 and b"<i>" not in wrong.body
        for foreign in ((), (("Origin", "https://elsewhere.example"),)):
            assert post(*foreign, action="reset", rule="exports").status == 400
        assert support.limiter.peek("exports", customer).remaining == 4


def test_a_raised_limit_ends_after_a_day(support: Any) -> None:
    clock = ManualClock(1_760_000_000_000_000)
    support.limiter = RateLimiter("memory://", rules=support.RULES, clock=clock)
    support.change({"action": "raise", "rule": "api", "key": "acme", "limit": "2000"})
    clock.advance(support.DAY - 0.000001)
    assert support.limiter.peek("api", "acme").limit == 2_000
    clock.advance(0.000001)
    assert support.limiter.peek("api", "acme").limit == 1_000
