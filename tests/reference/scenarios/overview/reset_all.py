"""reset_all: one key forgotten under every rule."""

from ..reservations.held import EVERY, in_flight
from ..script import (
    HAD_ENDED, S, Scenario, block, charge, check, commit, error, inspect, no, peek, release, reserve, reset_all, rule,
    set_limit, yes,
)  # fmt: skip
from .many import EVERY_ALGORITHM, counter, named, of_a_resource

DESCRIPTION = "reset_all: what was counted for a key is forgotten under every rule"

SCENARIOS = (
    [
        Scenario(
            f"reset_all/used-{name}",
            "All was used under both rules: both have forgotten it, and nothing of another key",
            [named(name), counter("other", 10)],
            [
                check(0, 10, rule=name),
                check(0, 10, rule="other"),
                check(0, 10, rule=name, key="bob"),
                reset_all(1),
                inspect(1, yes(10, 0)),
                inspect(1, {"allowed": False, "remaining": 0, "rule": name}, key="bob"),
                check(1, 10, {"allowed": True, "remaining": 0}, rule=name),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            f"reset_all/held-{name}",
            "What was held is gone, and ending it takes no effect",
            [named(name, reservations=True), in_flight(3, rule_id="place")],
            [
                reserve(0, 6, rule=name),
                reserve(0, 3, rule="place", name="b"),
                reset_all(S),
                inspect(S, yes(3, 0, rule="place")),
                commit(S, 6, HAD_ENDED),
                release(S, HAD_ENDED, name="b"),
                peek(S, 10, yes(10, 0), rule=name),
                reserve(S, 10, {"allowed": True}, rule=name),
            ],
        )
        for name in EVERY
    ]
    + [
        Scenario(
            "reset_all/every-algorithm",
            "Each of twelve rules forgets",
            EVERY_ALGORITHM,
            [
                check(0, 3, rule="gcra"),
                check(0, 10, rule="decay"),
                check(0, 10, rule="list"),
                check(0, 1, rule="uniform"),
                reserve(0, 2, rule="in_flight"),
                reset_all(1),
                inspect(1, yes(1, 0, rule="uniform")),
            ],
        ),
        Scenario(
            "reset_all/untouched",
            "A key that was never seen stays so",
            [counter("a", 3), counter("b", 4)],
            [reset_all(0), inspect(0, yes(3, 0))],
        ),
        Scenario(
            "reset_all/resource-left-out",
            "Rules with resources are left out unless one is named",
            [counter("a", 5), of_a_resource("pool", 9, 2)],
            [
                check(0, 2, rule="pool", resource="printer"),
                check(0, 5, rule="a"),
                reset_all(0),
                inspect(0, no(0, 10 * S, 10 * S, rule="pool"), resource="printer"),
                peek(0, 5, yes(5, 0), rule="a"),
            ],
        ),
        Scenario(
            "reset_all/resource",
            "The key's use of the one named; what all keys used of it is theirs, and so is the scanner's",
            [of_a_resource("pool", 9, 2)],
            [
                check(0, 2, rule="pool", resource="printer"),
                check(0, 2, rule="pool", resource="scanner"),
                reset_all(0, resource="printer"),
                inspect(0, yes(2, 10 * S), resource="printer"),
                peek(0, 1, no(0, 10 * S, 10 * S), rule="pool", resource="scanner"),
            ],
        ),
        Scenario(
            "reset_all/resource-alone",
            "A rule that counts nothing but the resource forgets it, whoever used it",
            [of_a_resource("pool", 3)],
            [
                check(0, 3, rule="pool", resource="printer", key="bob"),
                reset_all(0, resource="printer"),
                inspect(0, yes(3, 0), resource="printer"),
            ],
        ),
        Scenario(
            "reset_all/block",
            "A block ends, and so does its memory: the next one is as short as the first",
            [counter("a", 1, block={"seconds": 20, "factor": 2})],
            [
                check(0, 1, rule="a"),
                check(0, 1, {"blocked": True, "retry_after_us": 20 * S}, rule="a"),
                reset_all(S),
                inspect(S, yes(1, 0)),
                check(S, 1, {"allowed": True}, rule="a"),
                check(S, 1, {"blocked": True, "retry_after_us": 20 * S}, rule="a"),
            ],
        ),
        Scenario(
            "reset_all/block-by-hand",
            "One by hand ends too",
            [counter("a", 9, block={}), counter("b", 9)],
            [block(0, 30, rule="a"), reset_all(S), inspect(S, yes(9, 0, blocked=False))],
        ),
        Scenario(
            "reset_all/stored-limit",
            "A stored limit is no usage: it stays",
            [counter("a", 9, overrides=True)],
            [set_limit(0, 3, rule="a"), check(0, 3, rule="a"), reset_all(0), inspect(0, yes(3, 0, limit=3))],
        ),
        Scenario(
            "reset_all/request-id",
            "The answer that a request id has kept stays too",
            [counter("a", 3)],
            [
                check(0, 2, yes(1, 10 * S), rule="a", request_id="q"),
                reset_all(0),
                check(0, 2, yes(1, 10 * S), rule="a", request_id="q"),
                inspect(0, yes(3, 0)),
            ],
        ),
        Scenario(
            "reset_all/overdraft",
            "Also more than there was",
            [rule("gcra", 10, 10, rule_id="a")],
            [charge(0, 50, rule="a"), reset_all(0), inspect(0, yes(10, 0))],
        ),
        Scenario(
            "reset_all/composite-key",
            "Parts of a key are one key",
            [counter("a", 3)],
            [
                check(0, 3, rule="a", key=["x", "y"]),
                check(0, 3, rule="a", key="x"),
                reset_all(0, key=["x", "y"]),
                inspect(0, yes(3, 0), key="x,y"),
                inspect(0, no(0, 10 * S, 10 * S), key="x"),
            ],
        ),
        Scenario(
            "reset_all/mistakes",
            "A key that is none, and a resource that is empty: nothing is forgotten",
            [counter("a", 3), of_a_resource("pool", 3)],
            [
                check(0, 3, rule="a"),
                reset_all(0, error("InvalidArgument"), key=""),
                reset_all(0, error("InvalidArgument"), key=[]),
                reset_all(0, error("InvalidArgument"), key=["x", ""]),
                inspect(0, no(0, 10 * S, 10 * S)),
            ],
        ),
    ]
)
