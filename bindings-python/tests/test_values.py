"""Decision, Check, ManualClock: values one can print, compare, copy and store."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from sluicegate import Check, Decision, InvalidArgumentError, ManualClock, RateLimiter

PART = Decision(allowed=True, rule="b", limit=9, remaining=3)
DECISION = Decision(
    allowed=False,
    rule="a",
    limit=5,
    remaining=0,
    retry_after=math.inf,
    reset_after=0.3,
    shadow_denied=True,
    source="server",
    parts=(PART,),
)
CHECK = Check("login", "it's", cost=2, resource="r", limit=7, timeout=0.25)


@pytest.mark.parametrize("value", [PART, DECISION, CHECK, Check("a", "b")], ids=repr)
@pytest.mark.parametrize(
    "copied",
    [
        copy.copy,
        copy.deepcopy,
        *(lambda value, p=p: pickle.loads(pickle.dumps(value, p)) for p in range(2, pickle.HIGHEST_PROTOCOL + 1)),
        lambda value: eval(repr(value), {"Decision": Decision, "Check": Check, "inf": math.inf}),
    ],
)
def test_a_copy_is_equal(value: object, copied: Callable[[object], object]) -> None:
    other = copied(value)
    assert other == value and hash(other) == hash(value) and repr(other) == repr(value)


def test_decisions_differ_in_any_field() -> None:
    assert DECISION != PART and PART != "b"
    assert PART == Decision(allowed=True, rule="b", limit=9, remaining=3)
    assert PART != Decision(allowed=True, rule="b", limit=9, remaining=3, source="server")
    assert len({PART, DECISION, copy.copy(PART)}) == 2


def test_a_decision_reads_well() -> None:
    assert repr(PART) == (
        "Decision(allowed=True, rule='b', limit=9, window=0.0, remaining=3, retry_after=0.0, reset_after=0.0, "
        "shadow_denied=False, shadow=False, source='memory')"
    )
    assert repr(CHECK) == """Check('login', "it's", cost=2, resource='r', limit=7, timeout=0.25)"""
    assert (bool(PART), bool(DECISION)) == (True, False)
    assert DECISION.parts == (PART,) and PART.parts == ()


@pytest.mark.parametrize("value", [PART, CHECK])
def test_values_are_frozen(value: object) -> None:
    for name in ("rule", "limit", "anything"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(value, name, 1)


def test_microseconds_survive_a_pickle() -> None:
    clock = ManualClock(1)
    rules = [{"rule_id": "w", "algorithm": "fixed_window", "limit": 1, "window_size_seconds": 315_360_000}]
    decision = RateLimiter("memory://", rules=rules, clock=clock).check("w", "k")
    assert decision.reset_after == 315_359_999.999999
    assert pickle.loads(pickle.dumps(decision)) == decision


def test_a_clock_moves_in_whole_microseconds() -> None:
    clock = ManualClock()
    for _ in range(10):
        clock.advance(0.1)
    assert (clock.now_us, repr(clock)) == (1_000_000, "ManualClock(now_us=1000000)")
    clock.advance(0.3)
    assert clock.now_us == 1_300_000
    clock.set(5)
    clock.advance(2)
    assert clock.now_us == 2_000_005


@pytest.mark.parametrize("seconds", [-1, -0.001, math.nan])
def test_a_clock_is_not_advanced_backwards(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds must be 0 or more"):
        ManualClock().advance(seconds)


@pytest.mark.parametrize("now_us", [-1, 2**53 + 1, 2**64, -(2**64)])
def test_a_clock_shows_no_other_times(now_us: int) -> None:
    message = rf"^now_us {now_us}: must be a whole number from 0 to 2\^53$"
    clock = ManualClock(2**53)
    for setting in (ManualClock, clock.set):
        with pytest.raises(InvalidArgumentError, match=message):
            setting(now_us)
    assert clock.now_us == 2**53


@pytest.mark.parametrize("field", ["limit", "remaining"])
@pytest.mark.parametrize("value", [-1, 2**64])
def test_a_decision_has_no_other_figures(field: str, value: int) -> None:
    fields: dict[str, Any] = {"allowed": True, "rule": "b", "limit": 9, "remaining": 3, field: value}
    with pytest.raises(InvalidArgumentError, match=rf"^{field} {value}: must be a whole number, at least 0"):
        Decision(**fields)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("allowed", 1, "allowed must be a bool, not int"),
        ("rule", b"b", "rule must be a str, not bytes"),
        ("limit", "9", "limit must be an int, not str"),
        ("remaining", 1.5, "remaining must be an int, not float"),
        ("retry_after", "1", "retry_after must be a float, not str"),
        ("reset_after", None, "reset_after must be a float, not NoneType"),
        ("window", [], "window must be a float, not list"),
        ("shadow", "no", "shadow must be a bool, not str"),
        ("shadow_denied", 0, "shadow_denied must be a bool, not int"),
        ("source", 5, "source must be a str, not int"),
        ("parts", 5, "parts must be an iterable of Decision, not int"),
        ("parts", [PART, "b"], r"parts\[1\] must be Decision, not str"),
    ],
)
def test_a_decision_is_not_made_of_anything(field: str, value: object, message: str) -> None:
    fields: dict[str, Any] = {"allowed": True, "rule": "b", "limit": 9, "remaining": 3, field: value}
    with pytest.raises(TypeError, match=f"^{message}$"):
        Decision(**fields)


@pytest.mark.parametrize("field", ["window", "retry_after", "reset_after"])
def test_spans_of_a_decision(field: str) -> None:
    fields: dict[str, Any] = {"allowed": True, "rule": "b", "limit": 9, "remaining": 3}
    assert getattr(Decision(**fields, **{field: 1e300}), field) == math.inf
    for seconds in (-1, math.nan):
        with pytest.raises(InvalidArgumentError, match=f"^{field} must be 0 or more$"):
            Decision(**fields, **{field: seconds})
