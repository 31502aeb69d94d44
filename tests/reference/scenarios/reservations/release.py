"""release: ends a reservation and charges nothing."""

from ..script import (
    BASE,
    HAD_ENDED,
    MS,
    S,
    Scenario,
    charge,
    check,
    commit,
    no,
    peek,
    refund,
    release,
    renew,
    reserve,
    reset,
    rule,
    yes,
)
from .held import budget, drips, holding, in_flight, per_algorithm, two_level

DESCRIPTION = "release ends a reservation and charges nothing"

SCENARIOS = [
    *per_algorithm(
        "release/as-never-reserved",
        "10 held and released: the key is as if never seen",
        [
            reserve(0, 10, {"allowed": True, "remaining": 0}),
            check(500 * MS, 1, {"allowed": False}),
            release(500 * MS),
            peek(500 * MS, 10, yes(10, 0)),
            check(500 * MS, 10, {"allowed": True, "remaining": 0}),
        ],
    ),
    *per_algorithm(
        "release/keeps-what-was-used",
        "3 used and 7 held: a release leaves the 3, and their time",
        [
            check(0, 3),
            reserve(1 * S, 7, {"allowed": True, "remaining": 0}),
            release(2 * S),
            peek(2 * S, 8),
            check(9 * S, 7, {"allowed": True}),
            peek(10 * S, 10),
        ],
    ),
    *per_algorithm(
        "release/late",
        "After 5 s it has ended and is charged: there is nothing to release",
        [
            reserve(0, 6),
            release(5 * S, HAD_ENDED),
            peek(5 * S, 5, {"allowed": False, "remaining": 4}),
            release(5 * S, HAD_ENDED),
            peek(5 * S, 4, {"allowed": True, "remaining": 4}),
        ],
        lease=5,
    ),
    Scenario(
        "release/uniform",
        "One at a time: a release makes room at once, a commit only 2 s later",
        [holding("uniform")],
        [
            reserve(0, 1),
            release(0),
            reserve(0, 1, yes(0, 2 * S, token=BASE + 1), name="b"),
            commit(0, name="b"),
            reserve(0, 1, no(0, 2 * S, 2 * S, id=False), name="c"),
        ],
    ),
    Scenario(
        "release/twice",
        "A second release, commit or renewal takes no effect, not even on a later reservation",
        [budget()],
        [
            reserve(0, 4),
            release(0),
            reserve(0, 4, name="b"),
            release(0, HAD_ENDED),
            commit(0, 4, HAD_ENDED),
            renew(0, HAD_ENDED),
            peek(0, 7, no(6, 10 * S, 10 * S)),
            release(0, name="b"),
            peek(0, 7, yes(10, 0)),
        ],
    ),
    Scenario(
        "release/at-the-end",
        "A microsecond before the end it takes effect, at the end it does not",
        [budget(lease=5)],
        [
            reserve(0, 6),
            reserve(0, 4, name="b"),
            release(5 * S - 1),
            release(5 * S, HAD_ENDED, name="b"),
            peek(5 * S, 7, no(6, 5 * S, 5 * S)),
        ],
    ),
    Scenario(
        "release/denied",
        "A reservation that was denied holds nothing to release",
        [budget()],
        [
            check(0, 4),
            reserve(0, 7, no(6, 10 * S, 10 * S, id=False)),
            release(0, HAD_ENDED),
            renew(0, HAD_ENDED),
            peek(0, 7, no(6, 10 * S, 10 * S)),
        ],
    ),
    Scenario(
        "release/overdraft",
        "What was charged beyond the limit stays when what is held is released",
        [drips()],
        [
            reserve(0, 4),
            charge(0, 12, no(0, 7 * S, 16 * S)),
            release(0),
            peek(0, 1, no(0, 3 * S, 12 * S)),
        ],
    ),
    Scenario(
        "release/refund-while-held",
        "5 used, 4 held, 2 given back; then released: 3 stay used",
        [drips()],
        [
            check(0, 5, yes(5, 5 * S)),
            reserve(0, 4, yes(1, 9 * S)),
            refund(0, 2, yes(3, 7 * S)),
            release(0),
            peek(0, 8, no(7, 1 * S, 3 * S)),
        ],
    ),
    *(
        Scenario(
            f"release/resource-{name}",
            "Released at the key and at the resource",
            [two_level(name, 3, 5)],
            [
                reserve(0, 3, resource="printer"),
                reserve(0, 2, name="b", key="bob", resource="printer"),
                release(0),
                reserve(0, 3, {"allowed": True, "remaining": 0, "limit": 5}, name="c", key="carol", resource="printer"),
                release(0, name="b"),
                peek(0, 3, {"allowed": False, "remaining": 2, "limit": 5}, resource="printer"),
            ],
        )
        for name in ("fixed_window", "sliding_window", "sliding_log", "sliding_buckets", "gcra")
    ),
    Scenario(
        "release/two-limits",
        "Released in every limit of the rule",
        [
            rule(
                "gcra",
                limits=[{"limit": 2, "window_size_seconds": 1}, {"limit": 5, "window_size_seconds": 10}],
                reservations=True,
            )
        ],
        [
            reserve(0, 2, yes(0, 4 * S, limit=2)),
            check(0, 1, no(0, 500 * MS, 4 * S, limit=2)),
            release(0),
            check(0, 2, yes(0, 4 * S, limit=2)),
        ],
    ),
    Scenario(
        "release/limit",
        "Of 20 for one call 15 were held; released, the rule's own 10 are free",
        [drips()],
        [reserve(0, 15, yes(5, 7_500 * MS, limit=20), limit=20), release(0), peek(0, 10, yes(10, 0, limit=10))],
    ),
    Scenario(
        "release/shadow",
        "Of a rule in shadow, held or not",
        [budget(shadow=True)],
        [
            reserve(0, 8, {"shadow_denied": False}),
            reserve(0, 8, {"shadow_denied": True, "id": True}, name="b"),
            release(0, name="b"),
            peek(0, 3, {"shadow_denied": True, "remaining": 2}),
            release(0),
            peek(0, 10, yes(10, 0)),
            release(0, HAD_ENDED, name="b"),
        ],
    ),
    Scenario(
        "release/reset",
        "A reset has ended it",
        [budget()],
        [reserve(0, 8), reset(0), release(0, HAD_ENDED), peek(0, 10, yes(10, 0))],
    ),
    Scenario(
        "release/clock-steps-back",
        "Held in the future, released before",
        [budget()],
        [
            reserve(3600 * S, 8),
            peek(3 * S, 3, no(2, 7 * S, 7 * S)),
            release(3 * S),
            peek(3 * S, 10, yes(10, 0)),
            release(3600 * S, HAD_ENDED),
        ],
    ),
    Scenario(
        "release/others-stay",
        "Each reservation ends alone, in any order",
        [in_flight(6)],
        [
            reserve(0, 1),
            reserve(0, 2, name="b"),
            reserve(0, 3, yes(0, 60 * S), name="c"),
            release(1 * S, name="b"),
            peek(1 * S, 3, no(2, 59 * S, 59 * S)),
            release(1 * S, name="c"),
            peek(1 * S, 5, yes(5, 59 * S)),
            release(1 * S, name="a"),
            peek(1 * S, 6, yes(6, 0)),
        ],
    ),
]
