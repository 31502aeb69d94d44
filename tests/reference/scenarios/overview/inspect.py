"""inspect: one key under every rule."""

from ..reservations.held import EVERY, in_flight
from ..script import (
    S, Scenario, block, charge, check, clear_limit, commit, error, inspect, no, out, peek, release, reserve, reset, rule,
    set_limit, unblock, yes,
)  # fmt: skip
from .many import EVERY_ALGORITHM, counter, named, of_a_resource

DESCRIPTION = "inspect: what every rule would answer to a check of cost 1; nothing is changed"

SCENARIOS = (
    [
        Scenario(
            f"inspect/used-{name}",
            "4 of 10 are used, then all: a look shows it, and what comes back is in time; a second look is the same",
            [named(name), counter("other", 7)],
            [
                inspect(0, yes(7, 0, rule="other")),
                check(0, 4, rule=name),
                inspect(0, {"allowed": True, "remaining": 6, "rule": name}),
                check(0, 6, rule=name),
                inspect(1, {"allowed": False, "remaining": 0, "rule": name}),
                inspect(1, {"allowed": False, "remaining": 0, "rule": name}),
                check(1, 1, {"allowed": False}, rule=name),
                inspect(86_400 * S, yes(7, 0)),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            f"inspect/held-{name}",
            "What is held counts as used until it ends",
            [named(name, reservations=True), counter("other", 20)],
            [
                reserve(0, 9, rule=name),
                inspect(0, {"allowed": True, "remaining": 1, "rule": name}),
                commit(0, 2),
                inspect(0, {"allowed": True, "remaining": 8, "rule": name}),
                reserve(0, 8, rule=name),
                inspect(0, {"allowed": False, "remaining": 0, "rule": name}),
                release(0),
                inspect(0, {"allowed": True, "remaining": 8, "rule": name}),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            "inspect/every-algorithm",
            "One part per rule, in their order; in flight is what is held",
            EVERY_ALGORITHM,
            [
                inspect(0, yes(1, 0, rule="uniform")),
                check(0, 3, rule="gcra"),
                reserve(0, 2, rule="in_flight"),
                check(0, 1, rule="uniform"),
                inspect(0, {"allowed": False, "rule": "uniform", "retry_after_us": 2 * S}),
                inspect(2 * S, {"allowed": True, "rule": "uniform"}),
            ],
        ),
        Scenario(
            "inspect/one-rule",
            "One rule is one part",
            [counter("a", 3)],
            [inspect(0, yes(3, 0)), check(0, 3, rule="a"), inspect(0, no(0, 10 * S, 10 * S))],
        ),
        Scenario(
            "inspect/other-keys",
            "Each key by itself",
            [counter("a", 3)],
            [check(0, 3, rule="a"), inspect(0, yes(3, 0), key="bob"), inspect(0, no(0, 10 * S, 10 * S))],
        ),
        Scenario(
            "inspect/longest-wait-speaks",
            "Two rules deny: the one with the longer wait",
            [counter("a", 1), counter("b", 1, 100)],
            [check(0, rule="a"), check(0, rule="b"), inspect(0, no(0, 100 * S, 100 * S, rule="b"))],
        ),
        Scenario(
            "inspect/priority",
            "The parts are in the order of the rules; of two alike the lower number speaks",
            [counter("a", 2, priority=5), counter("b", 2, priority=1)],
            [inspect(0, yes(2, 0, rule="b"))],
        ),
        Scenario(
            "inspect/shadow",
            "A rule in shadow that is full shows in its part, and in shadow_denied",
            [counter("a", 1, shadow=True), counter("b", 5)],
            [check(0, 1, rule="a"), inspect(0, yes(5, 0, rule="b", shadow_denied=True))],
        ),
        Scenario(
            "inspect/resource",
            "Rules with resources are left out unless one is named; then it is the key's use of that one",
            [counter("a", 5), of_a_resource("pool", 3, 2)],
            [
                check(0, 2, rule="pool", resource="printer"),
                inspect(0, yes(5, 0, rule="a")),
                inspect(0, no(0, 10 * S, 10 * S, rule="pool", limit=2), resource="printer"),
                inspect(0, yes(1, 10 * S, rule="pool"), resource="printer", key="bob"),
                inspect(0, yes(2, 0, rule="pool"), resource="scanner"),
            ],
        ),
        Scenario(
            "inspect/only-resources",
            "Without a resource no rule is left, so nothing is denied",
            [of_a_resource("pool", 3)],
            [inspect(0, {"rule_applied": False}), inspect(0, yes(3, 0, rule="pool"), resource="printer")],
        ),
        Scenario(
            "inspect/block",
            "A block shows until its microsecond, and looking begins none",
            [counter("a", 1, block={"seconds": 20}), counter("b", 5)],
            [
                check(0, 1, rule="a"),
                inspect(0, no(0, 10 * S, 10 * S, rule="a")),
                check(0, 1, out(20 * S), rule="a"),
                inspect(0, out(20 * S, rule="a")),
                inspect(20 * S - 1, out(1, rule="a")),
                inspect(20 * S, yes(1, 0, rule="a")),
            ],
        ),
        Scenario(
            "inspect/block-by-hand",
            "By hand, and taken away",
            [counter("a", 9, block={}), counter("b", 5)],
            [
                block(0, 30, rule="a"),
                inspect(S, out(29 * S, rule="a")),
                unblock(S, rule="a"),
                inspect(S, yes(5, 0, rule="b")),
            ],
        ),
        Scenario(
            "inspect/stored-limit",
            "The limit in force: the stored one while it lasts",
            [counter("a", 9, overrides=True)],
            [
                set_limit(0, 3, rule="a", expires_in=5),
                check(0, 2, rule="a"),
                inspect(0, yes(1, 10 * S, limit=3)),
                inspect(5 * S, yes(7, 5 * S, limit=9)),
                set_limit(5 * S, 2, rule="a"),
                inspect(5 * S, no(0, 5 * S, 5 * S, limit=2)),
                clear_limit(5 * S, rule="a"),
                inspect(5 * S, yes(7, 5 * S, limit=9)),
            ],
        ),
        Scenario(
            "inspect/overdraft",
            "More was charged than there was",
            [rule("gcra", 10, 10, rule_id="a"), counter("b", 5)],
            [charge(0, 14, rule="a"), inspect(0, no(0, 5 * S, 14 * S, rule="a")), inspect(5 * S, yes(1, 9 * S, rule="a"))],
        ),
        Scenario(
            "inspect/expired-lease",
            "A look neither ends nor charges what has expired: it shows it",
            [counter("a", 9, reservations=True, lease_seconds=2), in_flight(3, 2, rule_id="b")],
            [
                reserve(0, 4, rule="a"),
                reserve(0, 3, rule="b", name="b"),
                inspect(S, {"allowed": False, "rule": "b", "retry_after_us": S}),
                inspect(3 * S, yes(3, 7 * S, rule="b")),
                inspect(3 * S, yes(3, 7 * S, rule="b")),
                peek(3 * S, 5, {"allowed": True, "remaining": 5}, rule="a"),
            ],
        ),
        Scenario(
            "inspect/composite-key",
            "Parts of a key are looked at as one key",
            [counter("a", 3)],
            [
                check(0, 1, rule="a", key=["x", "y"]),
                inspect(0, yes(2, 10 * S), key=["x", "y"]),
                inspect(0, yes(2, 10 * S), key="x,y"),
                inspect(0, yes(3, 0), key="x"),
            ],
        ),
        Scenario(
            "inspect/after-reset",
            "What was reset is as if never seen",
            [counter("a", 3), counter("b", 3)],
            [check(0, 3, rule="a"), check(0, 1, rule="b"), reset(0, rule="a"), inspect(0, yes(2, 10 * S, rule="b"))],
        ),
        Scenario(
            "inspect/mistakes",
            "A key that is none, and a resource that is empty",
            [counter("a", 3), of_a_resource("pool", 3)],
            [
                inspect(0, error("InvalidArgument"), key=""),
                inspect(0, error("InvalidArgument"), key=[]),
                inspect(0, error("InvalidArgument"), key=["x", ""]),
                inspect(0, error("InvalidArgument"), resource=""),
                inspect(0, yes(3, 0)),
            ],
        ),
    ]
)
