"""renew: lets a reservation live for `lease_seconds` from now."""

from ..script import (
    HAD_ENDED,
    S,
    Scenario,
    check,
    commit,
    no,
    peek,
    release,
    renew,
    reserve,
    reset,
    rule,
    yes,
)
from .held import budget, drips, holding, in_flight, per_algorithm, two_level

DESCRIPTION = "renew extends a reservation: it ends lease_seconds from now"

SCENARIOS = [
    *per_algorithm(
        "renew/extends",
        "Reserved for 5 s and renewed at 4 s: held until 9 s, and a commit at 8 s is in time",
        [
            reserve(0, 6, {"remaining": 4}),
            renew(4 * S),
            peek(5 * S, 5, {"allowed": False, "remaining": 4}),
            commit(8 * S, 1),
            peek(8 * S, 10, {"allowed": False, "remaining": 9}),
        ],
        lease=5,
    ),
    *per_algorithm(
        "renew/ends",
        "Renewed at 4 s: charged in full at 9 s, neither at 5 s nor when somebody looks",
        [
            reserve(0, 6),
            renew(4 * S),
            peek(9 * S - 1, 5, {"allowed": False, "remaining": 4}),
            renew(9 * S, HAD_ENDED),
            peek(11 * S, 9),
            peek(17 * S, 9),
            release(17 * S, HAD_ENDED),
        ],
        lease=5,
    ),
    *per_algorithm(
        "renew/late",
        "Nothing is revived: at 5 s it has ended and is charged, as of then",
        [
            reserve(0, 6),
            renew(5 * S, HAD_ENDED),
            commit(5 * S, 1, HAD_ENDED),
            peek(6 * S, 5),
            peek(14 * S, 9),
        ],
        lease=5,
    ),
    Scenario(
        "renew/uniform",
        "One at a time: renewed it stays in the way, ended it is charged",
        [holding("uniform", 5)],
        [
            reserve(0, 1),
            renew(4 * S),
            check(7 * S, 1, no(0, 2 * S, 2 * S)),
            check(10 * S, 1, no(0, 1 * S, 1 * S)),
            check(11 * S, 1, yes(0, 2 * S)),
        ],
    ),
    Scenario(
        "renew/at-the-end",
        "A microsecond before the end it takes effect, at the end it does not",
        [in_flight(2, 5)],
        [
            reserve(0, 1, yes(1, 5 * S)),
            reserve(0, 1, yes(0, 5 * S), name="b"),
            renew(5 * S - 1),
            renew(5 * S, HAD_ENDED, name="b"),
            peek(5 * S, 2, no(1, 5 * S - 1, 5 * S - 1)),
            peek(10 * S - 1, 2, yes(2, 0)),
        ],
    ),
    Scenario(
        "renew/again-and-again",
        "Work of 12 s under leases of 5 s",
        [in_flight(1, 5)],
        [
            reserve(0, 1, yes(0, 5 * S)),
            renew(4 * S),
            peek(4 * S, 1, no(0, 5 * S, 5 * S)),
            renew(8 * S),
            peek(12 * S, 1, no(0, 1 * S, 1 * S)),
            release(12 * S),
            peek(12 * S, 1, yes(1, 0)),
            renew(12 * S, HAD_ENDED),
        ],
    ),
    Scenario(
        "renew/order",
        "A renewed lease ends after those that were taken later",
        [in_flight(3, 10)],
        [
            reserve(0, 1, yes(2, 10 * S)),
            reserve(1 * S, 2, yes(0, 10 * S), name="b"),
            renew(2 * S),
            peek(2 * S, 1, no(0, 9 * S, 10 * S)),
            peek(2 * S, 3, no(0, 10 * S, 10 * S)),
            peek(11 * S, 3, no(2, 1 * S, 1 * S)),
        ],
    ),
    Scenario(
        "renew/order-of-charges",
        "a is charged at 9 s and b at 6 s; of the 5 s of debt at 6 s 2 are left at 9 s, and 4 come to them",
        [drips(lease=5)],
        [
            reserve(0, 4),
            reserve(1 * S, 5, yes(1, 9 * S), name="b"),
            renew(4 * S),
            peek(9 * S, 10, no(4, 6 * S, 6 * S)),
            peek(15 * S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "renew/weight-stays",
        "Renewing changes the end alone: the figures are the same as before",
        [budget(lease=5)],
        [
            reserve(0, 6, yes(4, 10 * S)),
            peek(2 * S, 5, no(4, 8 * S, 8 * S)),
            renew(2 * S),
            peek(2 * S, 5, no(4, 8 * S, 8 * S)),
            commit(2 * S),
            peek(2 * S, 5, no(4, 8 * S, 8 * S)),
        ],
    ),
    Scenario(
        "renew/ended",
        "What was committed, released or reset cannot be renewed",
        [budget()],
        [
            reserve(0, 1),
            commit(0),
            renew(0, HAD_ENDED),
            reserve(0, 1, name="b"),
            release(0, name="b"),
            renew(0, HAD_ENDED, name="b"),
            reserve(0, 1, name="c"),
            reset(0),
            renew(0, HAD_ENDED, name="c"),
            peek(0, 10, yes(10, 0)),
        ],
    ),
    *(
        Scenario(
            f"renew/resource-{name}",
            "Renewed at the key and at the resource",
            [two_level(name, 3, 5, lease_seconds=5)],
            [
                reserve(0, 3, resource="printer"),
                renew(4 * S),
                peek(6 * S, 1, {"allowed": False, "remaining": 0, "limit": 3}, resource="printer"),
                peek(6 * S, 3, {"allowed": False, "remaining": 2, "limit": 5}, key="bob", resource="printer"),
                release(8 * S),
                peek(8 * S, 3, yes(3, 0), resource="printer"),
            ],
        )
        for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    Scenario(
        "renew/two-limits",
        "Held in every limit of the rule until the new end",
        [
            rule(
                "fixed_window",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
                reservations=True,
                lease_seconds=5,
            )
        ],
        [
            reserve(0, 2, yes(0, 10 * S, limit=2)),
            renew(4 * S),
            peek(8 * S, 1, no(0, 1 * S, 2 * S, limit=2)),
            peek(9 * S, 1, no(0, 1 * S, 1 * S, limit=2)),
            peek(10 * S, 1, yes(2, 0, limit=2)),
        ],
    ),
    Scenario(
        "renew/limit",
        "The limit of the reserve stays with it: charged at 9 s by a limit of 20",
        [drips(lease=5)],
        [
            reserve(0, 8, yes(12, 4 * S, limit=20), limit=20),
            renew(4 * S),
            peek(9 * S, 3, no(2, 500 * 1000, 4 * S, limit=10)),
            peek(13 * S, 10, yes(10, 0)),
        ],
    ),
    Scenario(
        "renew/shadow",
        "One that holds nothing is renewed too, and commits what fits",
        [budget(shadow=True, lease=5)],
        [
            check(0, 8),
            reserve(0, 4, {"shadow_denied": True, "id": True}),
            renew(4 * S),
            commit(8 * S, 4),
            peek(8 * S, 1, {"shadow_denied": True, "remaining": 0}),
        ],
    ),
    Scenario(
        "renew/clock-steps-back",
        "Reserved in the future and renewed now: it ends a lease from now",
        [in_flight(1, 5)],
        [
            reserve(60 * S, 1, yes(0, 5 * S)),
            peek(50 * S, 1, no(0, 5 * S, 5 * S)),
            renew(50 * S),
            peek(50 * S, 1, no(0, 5 * S, 5 * S)),
            peek(55 * S, 1, yes(1, 0)),
        ],
    ),
]
