"""Requests that choose their rules, and what their answers say of limits."""

from __future__ import annotations

import copy
import math
import time
import pickle
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest
from harness import Driver

from sluicegate import ClosedError, Decision, InvalidArgumentError

RULES = [
    {
        "rule_id": "orders",
        "identifier_type": "user_id",
        "algorithm": "fixed_window",
        "limit": 2,
        "window_size_seconds": 3600,
        "window_start": "first_request",
        "match": {"path_pattern": "/orders/*", "methods": ["GET"]},
        "priority": 2,
    },
    {
        "rule_id": "mobile",
        "identifier_type": "header:x-device",
        "algorithm": "gcra",
        "limit": 10,
        "window_size_seconds": 60,
        "match": {"required_headers": {"X-Client-Type": "mobile"}},
        "priority": 1,
    },
]
MOBILE = {"X-Client-Type": "mobile", "X-Device": "d7"}

OpenLimiter = Callable[..., Driver]


def test_all_rules_that_match_decide_together(url: str, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter(url, rules=RULES)
    both = limiter.check_request("GET", "/orders/7", user_id="alice", headers=MOBILE)
    assert both and both.rule_applied and [part.rule for part in both.parts] == ["mobile", "orders"]
    assert limiter.check_request("get", "/orders/8", user_id="alice")
    denied = limiter.check_request("GET", "//orders/./9?x=1", user_id="alice", headers=MOBILE)
    assert not denied and denied.rule == "orders" and denied.retry_after > 3500
    # All or nothing.
    assert limiter.peek("mobile", "d7").remaining == 9
    assert limiter.check_request("GET", "/orders/7", user_id="bob")


def test_a_request_without_a_rule_is_admitted(url: str, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter(url, rules=RULES)
    decision = limiter.check_request("DELETE", "/orders/7")
    assert decision and not decision.rule_applied and decision.rule == ""
    assert (decision.limit, decision.remaining, decision.parts) == (2**53 - 1, 2**53 - 1, ())
    assert decision.headers() == decision.headers("x-ratelimit") == []
    assert limiter.check("orders", "alice").rule_applied


def test_a_closed_limiter_admits_no_request(url: str, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter(url, rules=RULES)
    limiter.close()
    with pytest.raises(ClosedError):
        limiter.check_request("GET", "/")


@pytest.mark.parametrize(
    "headers",
    [
        MOBILE,
        MappingProxyType(MOBILE),
        list(MOBILE.items()),
        [list(pair) for pair in MOBILE.items()],
        MOBILE.items(),
        [("x-client-type", "mobile"), ("x-device", "d7"), ("x-device", ""), ("cookie", "a"), ("cookie", "b")],
    ],
)
def test_headers_in_all_their_forms(headers: Any, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter("memory://", rules=RULES)
    matches = limiter.match_request("GET", "/", headers=headers)
    # The last form has two lines of what the rule counts by.
    assert {(match.rule_id, match.key.rstrip(", ")) for match in matches} == {("mobile", "d7")}


def test_every_argument_may_be_a_keyword(open_limiter: OpenLimiter) -> None:
    limiter = open_limiter("memory://", rules=RULES)
    client = {"user_id": "alice", "ip": "192.0.2.1", "api_key": "k"}
    request = {"method": "GET", "path": "/orders/7", **client, "headers": {}}
    assert limiter.check_request(**request).rule == "orders"
    assert limiter.check_request("GET", "/", user_id=None, ip=None, api_key=None, headers=None).rule == ""
    (match,) = limiter.match_request(**request, explain=False)
    assert match == limiter.match_request(**request)[0] and len({match, *limiter.match_request(**request)}) == 1
    assert repr(match) == "RequestMatch(rule_id='orders', key='alice', resource=None, matched=True, reason=None)"
    mobile, orders = limiter.match_request(**request, explain=True)
    assert (mobile.matched, mobile.key) == (False, None)
    assert mobile.reason == 'required_headers: the request has no "x-client-type"'
    assert (orders.matched, orders.key, orders.reason) == (True, "alice", "every condition holds")


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"method": 1}, "method must be a str, not int"),
        ({"path": b"/"}, "path must be a str, not bytes"),
        ({"user_id": 7.5}, "user_id must be a str or an int, not float"),
        ({"ip": 7}, "ip must be a str, not int"),
        ({"api_key": 7}, "api_key must be a str, not int"),
        ({"api_key_header": 7}, "api_key_header must be a str, not int"),
        ({"other_paths": 7}, "other_paths must be an iterable of str, not int"),
        ({"other_paths": "/a"}, "other_paths must be an iterable of str, not str"),
        ({"other_paths": [7]}, "an item of other_paths must be a str, not int"),
        ({"ignore_case": "no"}, "ignore_case must be a bool, not str"),
        ({"headers": 7}, "headers must be a mapping or an iterable of pairs, not int"),
        ({"headers": "ab"}, "an item of headers must be a name and a value, not str"),
        ({"headers": [("a", "b", "c")]}, "an item of headers must be a name and a value, not tuple"),
        ({"headers": {"a": 1}}, "a value in headers must be a str, not int"),
        ({"headers": [(1, "a")]}, "a name in headers must be a str, not int"),
        ({"explain": "yes"}, "explain must be a bool, not str"),
    ],
)
def test_wrong_types_are_named(wrong: dict[str, Any], named: str, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter("memory://", rules=RULES)
    arguments = {"method": "GET", "path": "/", **wrong}
    with pytest.raises(TypeError, match=named):
        limiter.match_request(**arguments)
    if "explain" not in wrong:
        with pytest.raises(TypeError, match=named):
            limiter.check_request(**arguments)


def test_what_is_not_utf_8_is_refused(open_limiter: OpenLimiter) -> None:
    limiter = open_limiter("memory://", rules=RULES)
    for wrong in ({"path": "/\ud800"}, {"headers": {"a": "\ud800"}}):
        with pytest.raises(InvalidArgumentError, match="is not well-formed Unicode$"):
            limiter.check_request(**{"method": "GET", "path": "/", **wrong})


def test_headers_of_answers(url: str, open_limiter: OpenLimiter) -> None:
    limiter = open_limiter(url, rules=RULES)
    decision = limiter.check_request("GET", "/orders/7", user_id="alice", headers=MOBILE)
    assert decision.headers() == decision.headers("ietf") == decision.headers(style="ietf")
    assert decision.headers() == [
        ("RateLimit-Policy", '"mobile";q=10;w=60, "orders";q=2;w=3600'),
        ("RateLimit", '"mobile";r=9;t=6, "orders";r=1;t=3600'),
    ]
    denied = limiter.check("orders", "alice", cost=2)
    assert denied.headers("x-ratelimit-seconds") == [
        ("X-RateLimit-Limit", "2"),
        ("X-RateLimit-Remaining", "1"),
        ("X-RateLimit-Reset", "3600"),
        ("Retry-After", "3600"),
    ]
    assert abs(int(dict(denied.headers("x-ratelimit"))["X-RateLimit-Reset"]) - 3600 - time.time()) < 30
    assert (decision.headers("none"), denied.headers("none")) == ([], [("Retry-After", "3600")])
    never = limiter.check("orders", "alice", cost=3)
    assert never.retry_after == math.inf and "Retry-After" not in dict(never.headers())
    with pytest.raises(InvalidArgumentError, match="style: it has to be"):
        denied.headers("X-RateLimit")
    with pytest.raises(TypeError, match="style must be a str, not int"):
        denied.headers(7)


def test_windows(open_limiter: OpenLimiter) -> None:
    rules = [
        {"rule_id": "burst", "algorithm": "gcra", "limit": 100, "burst": 10, "window_size_seconds": 60},
        {"rule_id": "level", "algorithm": "decay", "limit": 4, "resolution_seconds": 1},
    ]
    limiter = open_limiter("memory://", rules=rules)
    assert (limiter.check("burst", "k").window, limiter.check("level", "k").window) == (6.0, 0.0)


def test_decisions_travel(open_limiter: OpenLimiter) -> None:
    shadow = {**RULES[0], "rule_id": "trial", "shadow": True}
    limiter = open_limiter("memory://", rules=[*RULES, shadow])
    request = ("GET", "/orders/7")
    for decision in [
        limiter.check_request(*request, user_id="alice", headers=MOBILE),
        limiter.check("trial", "alice"),
        limiter.check("orders", "alice", cost=3),
        limiter.check_request("GET", "/"),
    ]:
        for twin in (pickle.loads(pickle.dumps(decision)), copy.copy(decision)):
            assert twin == decision and hash(twin) == hash(decision) and repr(twin) == repr(decision)
            assert twin.headers() == decision.headers() and twin.shadow == decision.shadow
            assert twin.parts == decision.parts and twin.window == decision.window


def test_decisions_of_ones_own() -> None:
    own = Decision(allowed=False, rule="own", limit=5, remaining=0, retry_after=1.5, reset_after=9.0, window=60.0)
    assert own.headers() == [
        ("RateLimit-Policy", '"own";q=5;w=60'),
        ("RateLimit", '"own";r=0;t=2'),
        ("Retry-After", "2"),
    ]
    own = Decision(allowed=True, rule="own", limit=5, remaining=0, shadow=True)
    assert own.shadow and own.headers() == []
    assert not Decision(allowed=True, rule="", limit=5, remaining=0).rule_applied
