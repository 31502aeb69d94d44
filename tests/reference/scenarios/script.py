"""The words scenarios are written in. Times are offsets from BASE, in microseconds."""

from dataclasses import dataclass, field

BASE = 1_760_000_000_000_000
"""2025-10-09 08:53:20 UTC: a multiple of 10 s and of every shorter window used here, 20 s into a minute."""

MS = 1_000
S = 1_000_000
MINUTE = 60 * S
HOUR = 60 * MINUTE
DAY = 24 * HOUR

TOOK_EFFECT = {"took_effect": True}
HAD_ENDED = {"took_effect": False}
UNRULED = {"allowed": True, "rule_applied": False}

RULE = "api"
KEY = "alice"


@dataclass(frozen=True)
class Step:
    """A call without its answer, and what the author of the scenario says about the answer."""

    call: dict
    by_hand: dict | None = None


@dataclass(frozen=True)
class Scenario:
    id: str
    note: str
    rules: list[dict]
    steps: list[Step] = field(default_factory=list)


def rule(algorithm: str, limit: int | float | None = None, window: int | float | None = None, **others) -> dict:
    """A rule; `window` in seconds."""
    named = {"rule_id": RULE, "algorithm": algorithm, "limit": limit, "window_size_seconds": window}
    return {name: value for name, value in (named | others).items() if value is not None}


def call(op: str, at: int, by_hand: dict | None, fields: dict) -> Step:
    given = {name: value for name, value in fields.items() if value is not None}
    return Step({"at_us": BASE + at, "op": op, **given}, by_hand)


def check(
    at, cost=None, by_hand=None, *, op="check", rule=RULE, key=KEY, resource=None, limit=None, request_id=None
) -> Step:
    fields = {"rule": rule, "key": key, "cost": cost, "resource": resource, "limit": limit, "request_id": request_id}
    return call(op, at, by_hand, fields)


def peek(at, cost=None, by_hand=None, **fields) -> Step:
    return check(at, cost, by_hand, op="peek", **fields)


def refund(at, cost=None, by_hand=None, **fields) -> Step:
    return check(at, cost, by_hand, op="refund", **fields)


def charge(at, cost=None, by_hand=None, **fields) -> Step:
    return check(at, cost, by_hand, op="charge", **fields)


def reset(at, *, rule=RULE, key=KEY, resource=None, by_hand=None) -> Step:
    return call("reset", at, by_hand, {"rule": rule, "key": key, "resource": resource})


def inspect(at, by_hand=None, *, key=KEY, resource=None) -> Step:
    return call("inspect", at, by_hand, {"key": key, "resource": resource})


def reset_all(at, by_hand=None, *, key=KEY, resource=None) -> Step:
    return call("reset_all", at, by_hand, {"key": key, "resource": resource})


def rules_in_force(*by_hand: dict) -> Step:
    return call("rules", 0, {"rules": list(by_hand)}, {})


def block(at, seconds, by_hand=None, *, rule=RULE, key=KEY) -> Step:
    return call("block", at, by_hand, {"rule": rule, "key": key, "seconds": seconds})


def unblock(at, by_hand=None, *, rule=RULE, key=KEY) -> Step:
    return call("unblock", at, by_hand or TOOK_EFFECT, {"rule": rule, "key": key})


def set_limit(at, limit, by_hand=None, *, expires_in=None, rule=RULE, key=KEY) -> Step:
    fields = {"rule": rule, "key": key, "limit": limit, "expires_in": expires_in}
    return call("set_limit", at, by_hand, fields)


def clear_limit(at, by_hand=None, *, rule=RULE, key=KEY) -> Step:
    return call("clear_limit", at, by_hand or TOOK_EFFECT, {"rule": rule, "key": key})


def check_all(at, *items: dict, by_hand=None, request_id=None) -> Step:
    return call("check_all", at, by_hand, {"items": list(items), "request_id": request_id})


def wait(at, timeout, cost=None, by_hand=None, *, rule=RULE, key=KEY, resource=None, limit=None) -> Step:
    fields = {"rule": rule, "key": key, "timeout": timeout, "cost": cost, "resource": resource, "limit": limit}
    return call("wait", at, by_hand, fields)


def wait_all(at, timeout, *items: dict, by_hand=None) -> Step:
    return call("wait_all", at, by_hand, {"items": list(items), "timeout": timeout})


def reserve(at, cost=None, by_hand=None, *, name="a", rule=RULE, key=KEY, resource=None, limit=None, wait=None) -> Step:
    fields = {"as": name, "rule": rule, "key": key, "cost": cost, "resource": resource, "limit": limit, "wait": wait}
    return call("reserve", at, by_hand, fields)


def reserve_all(at, *items: dict, name="a", by_hand=None, wait=None) -> Step:
    return call("reserve_all", at, by_hand, {"as": name, "items": list(items), "wait": wait})


def reserve_request(at, by_hand=None, *, name="a", method="GET", path="/", **identity) -> Step:
    return call("reserve_request", at, by_hand, {"as": name, "request": {"method": method, "path": path, **identity}})


def commit(at, cost=None, by_hand=None, *, name="a", costs=None) -> Step:
    return call("commit", at, by_hand or TOOK_EFFECT, {"reservation": name, "cost": cost, "costs": costs})


def release(at, by_hand=None, *, name="a") -> Step:
    return call("release", at, by_hand or TOOK_EFFECT, {"reservation": name})


def renew(at, by_hand=None, *, name="a") -> Step:
    return call("renew", at, by_hand or TOOK_EFFECT, {"reservation": name})


def item(rule=RULE, key=KEY, **others) -> dict:
    """One item of a check_all."""
    return {"rule": rule, "key": key, **others}


def yes(left: int, reset: int, **others) -> dict:
    """Admitted by hand: what is left, and the time until all is forgotten."""
    return {"allowed": True, "remaining": left, "retry_after_us": 0, "reset_after_us": reset, **others}


def no(left: int, retry: int | str, reset: int, **others) -> dict:
    """Denied by hand."""
    return {"allowed": False, "remaining": left, "retry_after_us": retry, "reset_after_us": reset, **others}


def out(retry: int | str, reset: int | None = None, **others) -> dict:
    """Blocked by hand. The block ends when the wait does, and nothing else counts, unless said otherwise."""
    return no(0, retry, retry if reset is None else reset, blocked=True, **others)


def error(kind: str) -> dict:
    return {"error": kind}
