"""Fencing tokens: each reservation of a key has a greater one than those before."""

from ..script import BASE, S, Scenario, check, commit, item, release, reserve, reserve_all, reset, rule
from .held import budget, two_level

DESCRIPTION = "The token of a reservation is greater than all before it under its key"

DENIED = {"allowed": False, "id": False}

SCENARIOS = [
    Scenario(
        "tokens/grow",
        "Each reservation of a key has a greater token: the time in microseconds, or the last one and 1",
        [budget()],
        [
            reserve(0, 1, {"token": BASE}),
            reserve(0, 1, {"token": BASE + 1}, name="b"),
            reserve(1, 1, {"token": BASE + 2}, name="c"),
            reserve(0, 1, {"token": BASE}, name="d", key="bob"),
            reserve(100, 1, {"token": BASE + 100}, name="e"),
            reserve(100, 7, DENIED, name="f"),
            reserve(100, 1, {"token": BASE + 101}, name="g"),
        ],
    ),
    Scenario(
        "tokens/survives",
        "A token is not given out again after all has ended, nor after a reset",
        [budget()],
        [
            reserve(0, 1, {"token": BASE}),
            release(0),
            reserve(0, 1, {"token": BASE + 1}, name="b"),
            commit(0, name="b"),
            reset(0),
            reserve(0, 1, {"token": BASE + 2}, name="c"),
            reset(0),
            reset(0),
            reserve(0, 1, {"token": BASE + 3}, name="d"),
        ],
    ),
    Scenario(
        "tokens/clock-steps-back",
        "Tokens grow when the clock steps back: for 20 s one after the other, and then they follow it again",
        [budget()],
        [
            reserve(30 * S, 1, {"token": BASE + 30 * S}),
            reserve(10 * S, 1, {"token": BASE + 30 * S + 1}, name="b"),
            release(10 * S, name="a"),
            release(10 * S, name="b"),
            reset(10 * S),
            reserve(11 * S, 1, {"token": BASE + 30 * S + 2}, name="c"),
            reserve(40 * S, 1, {"token": BASE + 40 * S}, name="d"),
        ],
    ),
    Scenario(
        "tokens/resource",
        "The token is greater than those of the key and of the resource",
        [two_level("fixed_window", 3, 5)],
        [
            reserve(0, 1, {"token": BASE}, resource="printer"),
            reserve(0, 1, {"token": BASE + 1}, name="b", key="bob", resource="printer"),
            reserve(0, 1, {"token": BASE}, name="c", resource="scanner"),
            reserve(0, 1, {"token": BASE + 2}, name="d", key="carol", resource="printer"),
            reserve(0, 1, {"token": BASE + 3}, name="e", resource="printer"),
        ],
    ),
    Scenario(
        "tokens/reserve-all",
        "One token, greater than the last of each key that the call holds something of",
        [budget(rule_id="a"), budget(rule_id="b"), rule("fixed_window", 9, 10, rule_id="plain")],
        [
            reserve(0, 1, {"token": BASE}, rule="a"),
            reserve(0, 1, {"token": BASE + 1}, name="b", rule="a"),
            reserve_all(0, item("a"), item("b"), item("plain"), name="c", by_hand={"token": BASE + 2}),
            reserve(0, 1, {"token": BASE + 3}, name="d", rule="b"),
            reserve_all(0, item("b", "bob"), item("a", "bob"), name="e", by_hand={"token": BASE}),
        ],
    ),
    Scenario(
        "tokens/expired",
        "Tokens go on after one that expired",
        [budget(lease=5)],
        [
            reserve(60 * S, 1, {"token": BASE + 60 * S}),
            check(65 * S, 1),
            reserve(64 * S, 1, {"token": BASE + 64 * S}, name="b"),
            reserve(30 * S, 1, {"token": BASE + 64 * S + 1}, name="c"),
        ],
    ),
]
