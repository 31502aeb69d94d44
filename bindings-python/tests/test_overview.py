"""Calls about one key under every rule, and the rules as data."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from harness import Driver

from sluicegate import InvalidArgumentError, ManualClock, WrongTypeError

RULES = [
    {"rule_id": "login", "rate": "5/minute"},
    {"rule_id": "quota", "algorithm": "fixed_window", "limit": 9, "window": "month", "time_zone": "Asia/Tokyo"},
    {"rule_id": "pool", "algorithm": "sliding_log", "limits": [{"rate": "3/minute", "scope": "resource"}, {"rate": "2/s"}]},
]


@pytest.fixture
def limiter(open_limiter: Callable[..., Driver], url: str) -> Driver:
    return open_limiter(url, rules=RULES, clock=ManualClock(1_760_000_000_000_000))


def remaining(limiter: Driver, **options: object) -> dict[str, int]:
    return {part.rule: part.remaining for part in limiter.inspect("alice", **options).parts}


def test_a_key_is_looked_at_under_every_rule(limiter: Driver) -> None:
    limiter.check("login", "alice", cost=5)
    limiter.check("quota", "alice", cost=2)
    limiter.check("quota", "bob")
    limiter.check("pool", "alice", resource="printer")
    looked = limiter.inspect("alice")
    assert (looked.allowed, looked.rule, looked.remaining) == (False, "login", 0)
    assert looked.parts == (limiter.peek("login", "alice"), limiter.peek("quota", "alice"))
    assert limiter.inspect("alice") == looked
    assert remaining(limiter) == {"login": 0, "quota": 7}
    assert remaining(limiter, resource="printer") == {"login": 0, "quota": 7, "pool": 1}


def test_a_key_is_forgotten_under_every_rule(limiter: Driver) -> None:
    for key in ("alice", "bob"):
        limiter.check("login", key)
        limiter.check("quota", key)
    limiter.check("pool", "alice", resource="printer")
    assert limiter.reset_all("alice") is None
    assert remaining(limiter, resource="printer") == {"login": 5, "quota": 9, "pool": 1}
    limiter.reset_all("alice", resource="printer")
    # What all keys used of a resource is theirs.
    assert remaining(limiter, resource="printer") == {"login": 5, "quota": 9, "pool": 2}
    assert limiter.peek("quota", "bob").remaining == 8


def test_a_composite_key_and_a_timeout(limiter: Driver) -> None:
    limiter.check("login", ["a", "b"])
    assert limiter.inspect(["a", "b"], timeout=5.0).parts[0].remaining == 4
    limiter.reset_all(("a", "b"), timeout=5.0)
    assert limiter.inspect(["a", "b"]).parts[0].remaining == 5


def test_without_a_rule_nothing_is_denied(open_limiter: Callable[..., Driver], url: str) -> None:
    limiter = open_limiter(url, rules=[])
    assert not limiter.inspect("alice").rule_applied
    limiter.reset_all("alice")
    assert limiter.rules() == []


def test_mistakes_are_named(limiter: Driver) -> None:
    for call in (limiter.inspect, limiter.reset_all):
        with pytest.raises(InvalidArgumentError, match="the key is empty"):
            call("")
        with pytest.raises(WrongTypeError, match="key must be a str or an int, not float"):
            call(7.5)
        with pytest.raises(WrongTypeError, match="resource must be a str or an int, not bool"):
            call("alice", resource=True)


def test_rules_are_data(open_limiter: Callable[..., Driver], limiter: Driver) -> None:
    rules = limiter.rules()
    assert [rule["rule_id"] for rule in rules] == ["login", "quota", "pool"]
    assert rules[1] == {**RULES[1], "priority": 0}
    assert open_limiter("memory://", rules=rules).rules() == rules
