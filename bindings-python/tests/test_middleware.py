"""The middleware for ASGI and WSGI, in real frameworks and by real HTTP."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from web import FRAMEWORKS, RULES, Limits, Site

from sluicegate import RateLimiter, _middleware

ALICE = ("X-User", "alice")

Serve = Callable[..., Site]


@pytest.fixture(params=FRAMEWORKS, ids=lambda framework: framework.__name__)
def serve(request: pytest.FixtureRequest, prefix: str) -> Iterator[Serve]:
    """Starts sites of every framework in turn."""
    with ExitStack() as sites:

        def start(url: str = "memory://", *, closed: bool = False, rules: Any = RULES, **middleware: Any) -> Site:
            limits = Limits(url, {"rules": rules, "prefix": prefix}, middleware, closed)
            return sites.enter_context(request.param(limits))

        yield start


@pytest.fixture
def left(redis_url: str, prefix: str) -> Iterator[Callable[[str, str], int]]:
    """What a site on the same server left of a key."""
    with RateLimiter(redis_url, rules=RULES, prefix=prefix) as limiter:
        yield lambda rule, key: limiter.peek(rule, key).remaining


def test_requests_are_admitted_and_denied(redis_url: str, serve: Serve) -> None:
    site = serve(redis_url)
    first = site.ask("GET", "/orders/7", ALICE)
    assert first.status == 200 and first.json()["path"].strip("/") == "orders/7"
    assert first.header("RateLimit-Policy") == '"orders";q=2;w=3600'
    # In place of the application's own, and no other header is touched.
    assert first.header("RateLimit") == '"orders";r=1;t=3600'
    assert first.header("X-Mine") == "1" and first.header("Retry-After") is None
    assert site.ask("GET", "/orders/8", ALICE).status == 200
    denied = site.ask("GET", "/orders/9?x=1", ALICE)
    assert denied.status == 429 and denied.header("X-Mine") is None
    assert denied.header("RateLimit-Policy") == '"orders";q=2;w=3600'
    seconds = denied.header("Retry-After")
    assert seconds and 3590 <= int(seconds) <= 3600
    assert denied.header("RateLimit") == f'"orders";r=0;t={seconds}'
    assert denied.header("Content-Type") == "application/problem+json"
    assert denied.json() == {
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "detail": f"Try again in {seconds} seconds.",
        "rule": "orders",
    }
    head = site.ask("HEAD", "/orders/9", ALICE)
    assert (head.status, head.body, head.header("Content-Length")) == (429, b"", str(len(denied.body)))
    assert site.ask("GET", "/orders/9", ("X-User", "bob")).status == 200


def test_requests_that_no_rule_matches(serve: Serve) -> None:
    site = serve()
    for answer in (site.ask("POST", "/orders/7", ALICE), site.ask("GET", "/orders/7"), site.ask("GET", "/")):
        assert answer.status == 200
        assert answer.header("RateLimit") == "mine" and answer.header("RateLimit-Policy") is None


def test_no_spelling_of_a_path_slips_past(serve: Serve) -> None:
    site = serve(rules=[{**RULES[0], "limit": 1}])
    spellings = ["/orders/7", "/%6frders/7", "//orders//7", "/x/../orders/7", "/x/%2e%2e/orders/7", "/orders/%3F"]
    assert [site.ask("GET", spelling, ALICE).status for spelling in spellings] == [200] + [429] * 5


def test_a_path_is_read_as_any_server_reads_it(serve: Serve) -> None:
    site = serve(rules=[{**RULES[0], "limit": 1}])
    spellings = ["/orders/7", "/orders/7%0A", "/orders/../a", "/x;/../orders/7", "/orders/7;a"]
    assert [site.ask("GET", spelling, ALICE).status for spelling in spellings] == [200] + [429] * 4


def test_every_key_of_a_path_is_charged(serve: Serve) -> None:
    rule = {**RULES[4], "match": {"path_pattern": "/items/{name}/*"}}
    site = serve(rules=[rule])
    assert site.ask("GET", "/items/victim/../other1/q").status == 200
    denied = site.ask("GET", "/items/victim/../other2/q")
    assert denied.status == 429 and str(denied.header("RateLimit")).count("items") == 1


def test_a_head_is_a_get(serve: Serve) -> None:
    rule = {**RULES[0], "limit": 1, "match": {"methods": ["GET"]}}
    site = serve(rules=[rule])
    assert [site.ask("HEAD", "/orders/7", ALICE).status for _ in range(2)] == [200, 429]


def test_what_yields_too_many_keys_is_refused(serve: Serve) -> None:
    answer = serve(on_error="raise").ask("GET", "/items/x....%0A%0A..%20%20")
    assert answer.status == 400
    assert answer.json()["detail"] == 'path can be read as more than 8 keys of rule "items"'


def test_applications_that_ignore_capitals(serve: Serve) -> None:
    assert serve().ask("POST", "/LOGIN").header("RateLimit") == "mine"
    assert serve(ignore_case=True).ask("POST", "/LOGIN").header("RateLimit") == '"login";r=4;t=12'


def test_paths_are_decoded_once(serve: Serve) -> None:
    site = serve()
    # They are five items, whether the server tells the target or its decoded form.
    targets = ["/items/50%25", "/items/50%2525", "/items/50", "/items/50%3Fa", "/items/50%23a", "/items/%C3%A9"]
    assert [site.ask("GET", target).status for target in targets] == [200] * 6
    again = ["/items/5%30%25", "/items/%350?a", "/items/%c3%a9"]
    assert [site.ask("GET", target).status for target in again] == [429] * 3


@pytest.mark.parametrize(
    ("trusted_proxies", "lines", "client"),
    [
        (0, ["192.0.2.1"], "127.0.0.1"),
        (1, [], "127.0.0.1"),
        (1, ["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
        (1, ["6.6.6.6", "192.0.2.1"], "192.0.2.1"),
        (2, ["6.6.6.6", "192.0.2.1,192.0.2.2"], "192.0.2.1"),
        (3, ["192.0.2.1, 192.0.2.2"], "127.0.0.1"),
        (1, ["192.0.2.1:8080"], "192.0.2.1"),
        (1, ["2001:db8::1"], "2001:db8::/64"),
        (1, ["[2001:db8::1]"], "2001:db8::/64"),
        (1, ["[2001:db8::1]:443"], "2001:db8::/64"),
        (1, ["fe80::1%eth0"], "fe80::/64"),
        (1, ["192.0.2.1, unknown"], "127.0.0.1"),
        (1, ["192.0.2.1,"], "127.0.0.1"),
        (1, ["[192.0.2.1]"], "127.0.0.1"),
        (1, ["192.0.2.256"], "127.0.0.1"),
        (1, ["\xe9"], "127.0.0.1"),
    ],
)
def test_clients_behind_proxies(
    trusted_proxies: int, lines: list[str], client: str, redis_url: str, serve: Serve, left: Callable[[str, str], int]
) -> None:
    site = serve(redis_url, trusted_proxies=trusted_proxies)
    answer = site.ask("POST", "/login", *(("X-Forwarded-For", line) for line in lines))
    assert answer.header("RateLimit") == '"login";r=4;t=12'
    assert left("login", client) == 4


@pytest.mark.parametrize(
    ("trusted_proxies", "line", "client"),
    [
        (1, 'for=6.6.6.6, for="[2001:db8::1]:443";proto=https', "2001:db8::/64"),
        (["127.0.0.0/8", "10.0.0.0/8"], "for=6.6.6.6, for=192.0.2.1, for=10.1.2.3", "192.0.2.1"),
        (["10.0.0.0/8"], "for=192.0.2.1", "127.0.0.1"),
    ],
)
def test_proxies_may_be_named_by_networks_and_write_forwarded(
    trusted_proxies: Any, line: str, client: str, redis_url: str, serve: Serve, left: Callable[[str, str], int]
) -> None:
    site = serve(redis_url, trusted_proxies=trusted_proxies, forwarded_header="forwarded", headers="ietf-draft-7")
    answer = site.ask("POST", "/login", ("Forwarded", line), ("X-Forwarded-For", "7.7.7.7"))
    assert answer.header("RateLimit") == "limit=5, remaining=4, reset=12"
    assert left("login", client) == 4


def test_keys_and_headers(redis_url: str, serve: Serve, left: Callable[[str, str], int]) -> None:
    site = serve(redis_url, api_key="X-Api-Key")
    assert site.ask("GET", "/keys", ("x-api-key", "k1")).header("RateLimit") == '"keys";r=4;t=12'
    assert left("keys", "k1") == 4
    assert site.ask("GET", "/keys").header("RateLimit") == "mine"
    # Whatever the server makes of bytes beyond ASCII, they are the same key for all.
    site.ask("GET", "/", ("X-Device", "gr\xc3\xbcn"))
    assert left("devices", "grün") == 4


def test_keys_by_a_function(redis_url: str, serve: Serve, left: Callable[[str, str], int]) -> None:
    site = serve(redis_url, api_key=lambda request: "from " + (request.get("path") or request.get("PATH_INFO")))
    assert site.ask("GET", "/keys").status == 200
    assert left("keys", "from /keys") == 4


def test_the_other_style(serve: Serve) -> None:
    answer = serve(headers="x-ratelimit").ask("GET", "/orders/7", ALICE)
    assert answer.header("X-RateLimit-Limit") == "2" and answer.header("X-RateLimit-Remaining") == "1"
    assert answer.header("RateLimit-Policy") is None


def test_what_is_no_request(serve: Serve) -> None:
    answer = serve(on_error="raise").ask("GET", "/" + "a" * 17_000)
    assert answer.status == 400 and answer.header("Content-Type") == "application/problem+json"
    assert answer.json() == {
        "type": "about:blank",
        "title": "Bad Request",
        "status": 400,
        "detail": "path is longer than 16384 bytes",
    }


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ({}, 200, "request admitted (fail open): the limiter is closed"),
        ({"on_error": "admit"}, 200, "request admitted (fail open): the limiter is closed"),
        ({"on_error": "deny"}, 503, "request denied (fail closed): the limiter is closed"),
        ({"on_error": "raise"}, 500, None),
    ],
)
def test_a_limiter_that_cannot_decide(
    options: dict[str, str], status: int, said: str | None, serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    answer = serve(closed=True, **options).ask("GET", "/orders/7", ALICE)
    assert answer.status == status
    logged = [record for record in caplog.records if record.name == "sluicegate"]
    assert [(record.levelno, record.getMessage()) for record in logged] == ([(logging.WARNING, said)] if said else [])
    if status == 200:
        assert answer.header("RateLimit") == "mine"
    if status == 503:
        assert answer.json()["detail"] == "The rate limiter is unavailable; try again."
        assert "closed" not in answer.body.decode()


def test_what_rules_in_shadow_would_deny_is_seen(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "sluicegate")
    tried = {**RULES[0], "rule_id": "tried", "limit": 1, "shadow": True}
    # A decision by one rule has no parts.
    for rules in ([tried], [RULES[0], tried]):
        site = serve(rules=rules)
        caplog.clear()
        answers = [site.ask("GET", "/orders/1", ALICE) for _ in range(2)]
        assert [(answer.status, answer.json()["shadow"]) for answer in answers] == [(200, []), (200, ["tried"])]
        # The limiter's own event may come beside it, from another thread.
        records = [record for record in caplog.records if record.name == "sluicegate" and not hasattr(record, "event")]
        assert [record.getMessage() for record in records] == ["a rule in shadow would deny this request: tried"]


def test_a_request_that_was_not_decided_has_no_decision(serve: Serve) -> None:
    assert serve(closed=True).ask("GET", "/orders/7", ALICE).json()["shadow"] is None


def test_undecided_requests_are_logged_once_a_minute(
    serve: Serve, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(_middleware, "time", SimpleNamespace(monotonic=lambda: now))
    site = serve(closed=True)
    said = "request admitted (fail open): the limiter is closed"

    def ask() -> list[str]:
        caplog.clear()
        assert site.ask("GET", "/orders/7", ALICE).status == 200
        return [record.getMessage() for record in caplog.records if record.name == "sluicegate"]

    assert [ask() for _ in range(3)] == [[said], [], []]
    now += 60
    assert [ask() for _ in range(2)] == [[f"{said} (2 more since the last warning)"], []]
    now += 60
    assert ask() == [f"{said} (1 more since the last warning)"]


def test_rules_change_while_requests_run(tmp_path: Path, serve: Serve) -> None:
    path = tmp_path / "rules.json"

    def limit(limit: int) -> None:
        new = tmp_path / "new.json"
        new.write_text(json.dumps([{**RULES[0], "limit": limit}]), encoding="utf-8")
        os.replace(new, path)

    def policy_of(limit: int) -> str:
        return f'"orders";q={limit};w=3600'

    def seen(limit: int) -> bool:
        # Not the last answer: that of the other thread may be one by the rules before.
        end = time.monotonic() + 10
        while policy_of(limit) not in policies and time.monotonic() < end:
            time.sleep(0.01)
        return policy_of(limit) in policies

    limit(10_000)
    site = serve(rules=path)
    asked: list[int] = []
    policies: list[str | None] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            answer = site.ask("GET", "/orders/7", ALICE)
            asked.append(answer.status)
            policies.append(answer.header("RateLimit-Policy"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        while len(asked) < 20:
            time.sleep(0.01)
        for changed in (5, 20_000):
            limit(changed)
            assert seen(changed)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert set(asked) == {200, 429}
    # Nothing was forgotten meanwhile.
    policy = site.ask("GET", "/orders/7", ALICE)
    assert policy.header("RateLimit-Policy") == policy_of(20_000)
    admitted = asked.count(200) + 1
    assert str(policy.header("RateLimit")).startswith(f'"orders";r={20_000 - admitted};')
